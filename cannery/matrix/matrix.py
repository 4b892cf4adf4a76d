# SPDX-License-Identifier: Apache-2.0
"""All that a matrix.yaml says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from cannery.common.cann import CannRelease
from cannery.common.model import Target
from cannery.compat import Finding


@dataclass(frozen=True, kw_only=True)
class Matrix:
    """Every target of a matrix.yaml, recommended ones first, and every CANN release.

    ``unused`` are the definitions that no target uses, each as in "pythons: cpython-3.9.2".
    ``findings`` has what compat.yaml says of each target, by its id; it is empty for a matrix that
    was read without it.
    """

    targets: Mapping[str, Target]
    cann: Mapping[str, CannRelease] = field(default_factory=dict)
    unused: tuple[str, ...] = ()
    findings: Mapping[str, Sequence[Finding]] = field(default_factory=dict)
