# SPDX-License-Identifier: Apache-2.0
"""The options of ``doctor``, which are those of ``ascend-doctor`` in the images."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from cannery.options.option import OptionSet, option

FIXES = ("reserve-ports", "stop-processes", "shm")
"""The names of the fixes; cannery/image/context/ascend_doctor/fixes.py has what they do."""


@dataclass(frozen=True, kw_only=True)
class DoctorOptions(OptionSet):
    """What is examined; this host, if nothing else is named."""

    json: bool = field(default=False, metadata=option(help="print a JSON document"))
    cann: str = field(
        default="",
        metadata=option(
            metavar="VERSION",
            help="the CANN to judge the driver for",
            default_text="the CANN that is installed",
        ),
    )
    explain: str = field(
        default="",
        metadata=option(
            metavar="CODE",
            help="explain an error code, the id of a finding, or a message",
            conflicts=("log", "nodes", "fix"),
        ),
    )
    log: Path | None = field(
        default=None,
        metadata=option(
            metavar="FILE", help="find known errors in a log", conflicts=("nodes", "fix")
        ),
    )
    nodes: tuple[Path, ...] = field(
        default=(),
        metadata=option(
            metavar="FILE",
            count="+",
            help="compare nodes by the documents that --json printed on each",
            conflicts=("fix",),
        ),
    )
    fix: str = field(
        default="",
        metadata=option(
            metavar="NAME",
            choices=FIXES,
            help="change this host: reserve the ports of HCCL, stop the processes on cards, or "
            "enlarge /dev/shm; shows the changes first, and asks",
        ),
    )
    yes: bool = field(default=False, metadata=option(help="do not ask", needs="fix"))
