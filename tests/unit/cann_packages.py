# SPDX-License-Identifier: Apache-2.0
"""The packages of made-up CANN releases, which are the same for every machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from cannery.common.bases import File
from cannery.common.model import MACHINE_OF, CannPackages, CannRelease


def packages(
    toolkit: File, kernels: Mapping[str, File], nnal: File | None
) -> dict[str, CannPackages]:
    """Machine to these packages."""
    each = CannPackages(toolkit=toolkit, kernels=kernels, nnal=nnal)
    return dict.fromkeys(MACHINE_OF.values(), each)


def with_packages(release: CannRelease, **changes: object) -> CannRelease:
    """``release`` with other packages; ``changes`` are fields of CannPackages."""
    made = {
        machine: replace(each, **changes)  # type: ignore[arg-type]
        for machine, each in release.packages.items()
    }
    return replace(release, packages=made)
