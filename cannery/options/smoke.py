# SPDX-License-Identifier: Apache-2.0
"""The options of ``smoke``."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from cannery.options import values
from cannery.options.option import OptionSet, changed, option
from cannery.options.run import MAX_CARDS
from cannery.options.shared import SIMULATE

SECONDS = 60
SIMULATED_SECONDS = 600
"""The time for a simulated device, whose programs are usually emulated, too."""


@dataclass(frozen=True, kw_only=True)
class SmokeOptions(OptionSet):
    """Where the cards are tested, and what the results are compared with."""

    image: str = field(
        default="",
        metadata=option(
            metavar="REF",
            help="start a container of this image with the cards of this host; it needs torch_npu",
            conflicts=("container",),
        ),
    )
    container: str = field(
        default="",
        metadata=option(
            metavar="NAME",
            help="use this running container, with the cards that it has",
            conflicts=("simulate",),
        ),
    )
    simulate: bool = field(default=False, metadata=changed(SIMULATE, needs="image"))
    cards: int | None = field(
        default=None,
        metadata=option(
            metavar="N",
            parse=values.number(1, MAX_CARDS),
            help="the number of cards of the all-reduce",
            default_text="all; 2 on a simulated device",
        ),
    )
    seconds: int | None = field(
        default=None,
        metadata=option(
            metavar="SECONDS",
            parse=values.number(10, 3600),
            help="the time after which it is stopped",
            default_text=f"{SECONDS}; {SIMULATED_SECONDS} on a simulated device",
        ),
    )
    json: Path | None = field(
        default=None,
        metadata=option(metavar="FILE", help="write the results as JSON, for --compare"),
    )
    compare: tuple[Path, ...] = field(
        default=(),
        metadata=option(
            metavar="FILE",
            count="+",
            help="compare with the results of other hosts; without --image and --container, "
            "compare the first of these files with the others",
        ),
    )
