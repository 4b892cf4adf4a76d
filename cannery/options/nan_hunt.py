# SPDX-License-Identifier: Apache-2.0
"""The options of ``nan-hunt``."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from cannery.options.option import OptionSet, option


@dataclass(frozen=True, kw_only=True)
class NanHuntOptions(OptionSet):
    """Which dump is searched."""

    dump: Path = field(
        metadata=option(
            positional=True,
            metavar="DUMP",
            help="a dump.json of msprobe, or a folder with dumps of steps and ranks",
        )
    )
    json: bool = field(default=False, metadata=option(help="print a JSON document"))
