# SPDX-License-Identifier: Apache-2.0
"""The options of ``stuck``."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from cannery.options import values
from cannery.options.option import OptionSet, option


@dataclass(frozen=True, kw_only=True)
class StuckOptions(OptionSet):
    """Which run is looked at, and how."""

    run: str = field(
        default="",
        metadata=option(
            positional=True,
            metavar="PID|CONTAINER",
            count="?",
            help="the launcher or a rank of the run, or the container in which it runs",
            conflicts=("dumps",),
        ),
    )
    dumps: tuple[Path, ...] = field(
        default=(),
        metadata=option(
            flags=("--dump",),
            metavar="FILE",
            count="+",
            help="read saved dumps instead: of 'py-spy dump', as text or JSON, with the rank in "
            "the file's name (rank3.json); or of 'build.py stuck --json', one of each node",
            conflicts=("native", "timeout", "interval"),
        ),
    )
    native: bool = field(
        default=False,
        metadata=option(help="also show the functions of C and C++, which tell what CANN does"),
    )
    interval: int = field(
        default=2,
        metadata=option(
            metavar="SECONDS",
            parse=values.number(0, 600),
            help="the time until a second sample, which tells what moves; 0 for none",
        ),
    )
    timeout: int = field(
        default=10,
        metadata=option(
            metavar="SECONDS",
            parse=values.number(1, 600),
            help="the time after which a py-spy that does not answer is stopped; a process that "
            "waits in the kernel is then read without stopping it",
        ),
    )
    json: bool = field(
        default=False,
        metadata=option(help="print a JSON document, which --dump can read on another node"),
    )
