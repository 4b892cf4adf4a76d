# SPDX-License-Identifier: Apache-2.0
"""Everything that can be said of an image from what the probe found."""

from __future__ import annotations

from collections.abc import Mapping

from cannery.common.cann import CannRelease
from cannery.compat.facts import Compat
from cannery.verify.audit.contents import judge_contents
from cannery.verify.audit.found import Found, ImageConfig
from cannery.verify.audit.inherited import judge_inherited
from cannery.verify.audit.result import Result
from cannery.verify.audit.versions import judge_versions


def judge_image(
    found: Found,
    config: ImageConfig,
    compat: Compat,
    known: Mapping[str, CannRelease],
    chip: str = "",
) -> tuple[Result, ...]:
    """The results of all checks that need no more than the facts.

    ``known`` are the releases of matrix.yaml, ``chip`` is the one that the image must be for.
    """
    return (
        *judge_inherited(found, config),
        *judge_versions(found, config, compat, known),
        *judge_contents(found, config, compat, chip),
    )
