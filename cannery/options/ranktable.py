# SPDX-License-Identifier: Apache-2.0
"""The options of ``ranktable``."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from cannery.options.option import OptionSet, option

ACTIONS = ("generate", "merge", "check", "show")
TABLE_VERSIONS = ("1.0", "1.2")

_FOR = "; with generate"


@dataclass(frozen=True, kw_only=True)
class RankTableOptions(OptionSet):
    """What is done with which rank tables."""

    action: str = field(
        metadata=option(
            positional=True,
            metavar="ACTION",
            choices=ACTIONS,
            help="generate, merge, check or show",
        )
    )
    files: tuple[Path, ...] = field(
        default=(),
        metadata=option(positional=True, metavar="FILE", count="*", help="the rank tables to read"),
    )
    servers: tuple[str, ...] = field(
        default=(),
        metadata=option(
            flags=("--server",),
            metavar="ID=FILE",
            help="a server and its /etc/hccn.conf, as in 90.90.3.11=node1.conf; ranks are numbered "
            f"in this order{_FOR}",
            conflicts=("hosts", "config_map"),
        ),
    )
    hosts: Path | None = field(
        default=None,
        metadata=option(
            metavar="FILE",
            help=f"a file with a line for each server; docs/rank-tables.md has its form{_FOR}",
            conflicts=("config_map",),
        ),
    )
    config_map: Path | None = field(
        default=None,
        metadata=option(
            metavar="FILE",
            help=f"a ConfigMap with hccl.json, as kubectl prints it with -o yaml or json{_FOR}",
        ),
    )
    cards: str = field(
        default="",
        metadata=option(
            metavar="LIST",
            help=f"the cards of each server, as in 0-7 or 0,1{_FOR}",
            default_text="all",
        ),
    )
    table_version: str = field(
        default=TABLE_VERSIONS[0],
        metadata=option(
            choices=TABLE_VERSIONS,
            help=f"the version of the rank table: 1.2 is for A3 SuperPoDs{_FOR}",
        ),
    )
    out: Path | None = field(
        default=None,
        metadata=option(
            metavar="FILE",
            help="the file to write; with generate and merge",
            default_text="standard output",
        ),
    )
