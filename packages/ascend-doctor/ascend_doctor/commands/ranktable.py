# SPDX-License-Identifier: Apache-2.0
"""``ascend-doctor ranktable``: generate, merge, check and show the rank tables of HCCL."""

from __future__ import annotations

import argparse
import sys
from typing import Callable, Sequence

from ascend_doctor.problems import Problem, RankTableError, UsageError, collected, counted
from ascend_doctor.ranktable.check import check_rank_table
from ascend_doctor.ranktable.make import (
    Host,
    addresses_in,
    hosts_in,
    merged,
    of_config_map,
    of_hosts,
)
from ascend_doctor.ranktable.model import VERSIONS, RankTable
from ascend_doctor.ranktable.read import parse_rank_table
from ascend_doctor.untrusted import read_files, read_text, write_text

from .options import parser

SUMMARY = "generate, merge, check or show rank tables of HCCL"

_ACTIONS = ("generate", "merge", "check", "show")


def main(argv: Sequence[str]) -> int:
    """Do what the action says. Nothing is written if anything is wrong.

    Raises:
        UsageError: a server of --server is no ID=FILE.
        RankTableError: a table, or a file that one is made from, is wrong; with every problem.
        FileError: a file cannot be read or written.
    """
    options = _options()
    given = options.parse_args(argv)
    wrong = _wrong_use(given)
    if wrong:
        options.error(wrong)
    if given.action == "generate":
        table = _generated(given)
    else:
        tables = _read(given.files, checked=given.action != "merge")
        if given.action == "check":
            for path, each in zip(given.files, tables):
                servers = counted(len(each.servers), "server")
                print(f"{path}: {servers}, {counted(len(each.devices), 'rank')}")
            return 0
        if given.action == "show":
            print("\n".join(each.shown() for each in tables), end="")
            return 0
        table = merged(tables)
    _raise(check_rank_table(table, given.out or "the rank table"))
    if given.out:
        write_text(given.out, table.text())
        print(f"wrote {given.out}: {counted(len(table.devices), 'rank')}", file=sys.stderr)
    else:
        print(table.text(), end="")
    return 0


def _wrong_use(given: argparse.Namespace) -> str:
    sources = given.server or given.hosts or given.config_map
    if given.action == "generate":
        if not sources:
            return "generate needs --server, --hosts or --config-map"
        if given.files:
            return (
                f"generate takes no files, as {given.files[0]}: name /etc/hccn.conf of a server "
                "with --server ID=FILE"
            )
        return ""
    if not given.files:
        return f"{given.action} needs a rank table, as in hccl.json"
    if sources:
        return (
            f"{given.action} takes rank tables only: --server, --hosts and --config-map are for "
            "generate"
        )
    return ""


def _generated(given: argparse.Namespace) -> RankTable:
    if given.config_map:
        return of_config_map(read_text(given.config_map), given.config_map)
    if given.hosts:
        hosts = hosts_in(read_text(given.hosts), given.hosts, given.cards)
    else:
        hosts = collected(_server(word, given.cards) for word in given.server)
    return of_hosts(hosts, given.table_version)


def _server(word: str, cards: str) -> Callable[[], Host]:
    def read() -> Host:
        server, _, file = word.partition("=")
        if not server or not file:
            fix = "Write it as in 90.90.3.11=node1.conf."
            raise UsageError(Problem(f"invalid server {word!r}.", fix))
        return Host(server_id=server, addresses=addresses_in(read_text(file), file, cards))

    return read


def _read(paths: Sequence[str], *, checked: bool) -> list[RankTable]:
    def parse(text: str, name: str) -> RankTable:
        table = parse_rank_table(text, name)
        _raise(check_rank_table(table, name) if checked else [])
        return table

    return read_files(paths, parse)


def _raise(problems: Sequence[Problem]) -> None:
    if problems:
        raise RankTableError(problems)


def _options() -> argparse.ArgumentParser:
    options = parser(
        "ranktable",
        "Generates the rank table of a run on several servers from their /etc/hccn.conf, from a "
        "list of hosts, or from a ConfigMap of Kubernetes; merges tables of single servers; checks "
        "tables, with all problems at once; or shows them.",
        "0 done, 8 a table is wrong, 2 wrong use, 9 a file cannot be read or written",
    )
    options.add_argument("action", choices=_ACTIONS, help="what to do")
    options.add_argument("files", metavar="FILE", nargs="*", help="the rank tables to read")
    sources = options.add_mutually_exclusive_group()
    sources.add_argument(
        "--server",
        metavar="ID=FILE",
        action="append",
        help="with generate: a server and its /etc/hccn.conf, as in 90.90.3.11=node1.conf; "
        "repeatable; ranks are numbered in this order",
    )
    sources.add_argument(
        "--hosts", metavar="FILE", help="with generate: a file with a line for each server"
    )
    sources.add_argument(
        "--config-map",
        metavar="FILE",
        help="with generate: a ConfigMap with hccl.json, as kubectl prints it with -o json or yaml",
    )
    options.add_argument(
        "--cards",
        metavar="LIST",
        default="",
        help="with generate: the cards of each server, as in 0-7 or 0,1 (default: all)",
    )
    options.add_argument(
        "--table-version",
        choices=VERSIONS,
        default=VERSIONS[0],
        help="with generate: the version of the rank table; 1.2 is for A3 SuperPoDs",
    )
    options.add_argument(
        "--out",
        metavar="FILE",
        help="with generate and merge: the file to write (default: standard output)",
    )
    return options
