# SPDX-License-Identifier: Apache-2.0
"""``build.py ranktable``: make, merge, check and show the rank tables of HCCL."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cannery.cli.common import raise_errors, read, read_files
from cannery.common import console
from cannery.common.errors import CanneryError, Problem, RankTableError, UsageError, counted
from cannery.common.files import write_files
from cannery.common.yaml_limits import read_limited
from cannery.matrix.project import Project
from cannery.options.given import Given
from cannery.options.ranktable import RankTableOptions
from cannery.ranktable.check import check_rank_table
from cannery.ranktable.make import Host, addresses_in, hosts_in, merged, of_config_map, of_hosts
from cannery.ranktable.model import RankTable
from cannery.ranktable.read import parse_rank_table


def run(given: Given, project: Project) -> int:
    """Do what the action says. Nothing is written if anything is wrong.

    Raises:
        UsageError: the action has no files, or files that it does not take.
        RankTableError: a table, or a file that one is made from, is wrong; with every problem.
        MatrixError, FileError: as ``read_limited`` and ``write_files``.
    """
    options = read(RankTableOptions, given, project)
    _check_use(options)
    if options.action == "generate":
        table = _generated(options)
    else:
        tables = _read(options.files, checked=options.action != "merge")
        if options.action == "check":
            for path, each in zip(options.files, tables, strict=True):
                servers = counted(len(each.servers), "server")
                ranks = counted(len(each.devices), "rank")
                console.say(f"{path}: {servers}, {ranks}", "ok")
            return 0
        if options.action == "show":
            print("\n".join(each.shown() for each in tables), end="")
            return 0
        table = merged(tables)
    _raise(check_rank_table(table, str(options.out or "the rank table")))
    if options.out:
        write_files({options.out: table.text()})
        console.say(f"wrote {options.out}: {counted(len(table.devices), 'rank')}", "ok")
    else:
        print(table.text(), end="")
    return 0


def _check_use(options: RankTableOptions) -> None:
    sources = options.servers or options.hosts or options.config_map
    if options.action == "generate":
        if not sources:
            what = "ranktable generate needs --server, --hosts or --config-map."
            raise UsageError(Problem(what=what, fix="See 'build.py ranktable --help'."))
        if options.files:
            what = f"ranktable generate takes no files, as {options.files[0]}."
            fix = "Name /etc/hccn.conf of a server with --server ID=FILE."
            raise UsageError(Problem(what=what, fix=fix))
        return
    if not options.files:
        raise UsageError(f"ranktable {options.action} needs a rank table, as in hccl.json.")
    if sources:
        what = f"ranktable {options.action} takes rank tables only."
        raise UsageError(
            Problem(what=what, fix="--server, --hosts and --config-map are for generate.")
        )


def _generated(options: RankTableOptions) -> RankTable:
    if options.config_map:
        return of_config_map(
            read_limited(options.config_map, str(options.config_map)), str(options.config_map)
        )
    if options.hosts:
        text = read_limited(options.hosts, str(options.hosts))
        return of_hosts(hosts_in(text, str(options.hosts), options.cards), options.table_version)
    hosts = []
    errors: list[CanneryError] = []
    for word in options.servers:
        server, _, file = word.partition("=")
        try:
            if not server or not file:
                fix = "Write it as in 90.90.3.11=node1.conf."
                raise UsageError(Problem(what=f"invalid server {word!r}.", fix=fix))
            addresses = addresses_in(read_limited(Path(file), file), file, options.cards)
            hosts.append(Host(server_id=server, addresses=addresses))
        except CanneryError as error:
            errors.append(error)
    raise_errors(errors)
    return of_hosts(hosts, options.table_version)


def _read(paths: Sequence[Path], *, checked: bool) -> list[RankTable]:
    def parse(text: str, name: str) -> RankTable:
        table = parse_rank_table(text, name)
        _raise(check_rank_table(table, name) if checked else [])
        return table

    return read_files(paths, parse)


def _raise(problems: Sequence[Problem]) -> None:
    if problems:
        raise RankTableError(problems)
