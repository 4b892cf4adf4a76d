# SPDX-License-Identifier: Apache-2.0
"""The options of ``align``."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from cannery.options.option import OptionSet, option
from cannery.options.values import number, percent


@dataclass(frozen=True, kw_only=True)
class AlignOptions(OptionSet):
    """Which runs are compared, and how closely."""

    reference: Path = field(
        metadata=option(
            positional=True,
            metavar="REFERENCE",
            help="the log of the run that trains right, as on another machine",
        )
    )
    run: Path = field(
        metadata=option(positional=True, metavar="RUN", help="the log of the run to check")
    )
    steps: int = field(
        default=10,
        metadata=option(
            metavar="N",
            parse=number(1, 1_000_000),
            help="compare the first N losses that both logs have",
        ),
    )
    tolerance: float = field(
        default=1.0,
        metadata=option(
            metavar="PERCENT",
            parse=percent,
            help="how far a loss may be from the reference; the first one may be half as far",
        ),
    )
    svg: Path | None = field(
        default=None, metadata=option(metavar="FILE", help="draw both curves into this SVG file")
    )
    json: bool = field(default=False, metadata=option(help="print a JSON document"))
