# SPDX-License-Identifier: Apache-2.0
"""The options of ``diff``."""

from __future__ import annotations

from dataclasses import dataclass, field

from cannery.options.option import OptionSet, option
from cannery.options.shared import FORMAT

_SIDE = "an image, a target, a file below releases/, or with --target a commit"


@dataclass(frozen=True, kw_only=True)
class DiffOptions(OptionSet):
    """The two sides that are compared."""

    before: str = field(metadata=option(positional=True, metavar="A", help=_SIDE))
    after: str = field(metadata=option(positional=True, metavar="B", help=_SIDE))
    target: str = field(
        default="",
        metadata=option(metavar="ID", help="compare this target at two commits: A and B"),
    )
    format: str = field(default="text", metadata=FORMAT)
