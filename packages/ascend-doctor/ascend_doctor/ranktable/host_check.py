# SPDX-License-Identifier: Apache-2.0
"""What is wrong with the rank table of a host: also version 2.0, which the 950 takes."""

from __future__ import annotations

import json
from typing import Any, Iterator

from ascend_doctor.problems import RankTableError

from .check import check_rank_table
from .model import COMPLETED
from .read import parse_rank_table

_NEW_ONLY = "950"
_SHOWN = 8


def rank_table_problems(text: str | None, chips: list[str]) -> Iterator[str]:
    """Everything that is wrong with the rank table ``text`` on a host with these ``chips``."""
    if text is None:
        yield "there is no such file, or it may not be read"
        return
    try:
        table = json.loads(text)
    except (ValueError, RecursionError):
        yield "it is not complete JSON"
        return
    version = str(table.get("version", "1.0")) if isinstance(table, dict) else "1.0"
    if version.startswith("2."):
        yield from _new(table)
        return
    if any(_NEW_ONLY in chip for chip in chips):
        yield f"its version is {version}, and a 950 takes version 2.0 only (HCCL says EI0014)"
    try:
        problems = check_rank_table(parse_rank_table(text, ""), "")
    except RankTableError as error:
        problems = [*error.problems]
    yield from (problem.what.rstrip(".") for problem in problems)


def _new(table: dict[str, Any]) -> Iterator[str]:
    if table.get("status") != COMPLETED:
        yield "the status is {!r}, not {!r}".format(table.get("status"), COMPLETED)
    ranks = table.get("rank_list")
    if not isinstance(ranks, list) or not all(isinstance(each, dict) for each in ranks):
        yield "it has no rank_list"
        return
    count = table.get("rank_count")
    if count != len(ranks):
        yield f"rank_count is {count}, and the list has {len(ranks)} ranks"
    without = [str(each.get("rank_id")) for each in ranks if not any(_addresses(each))]
    if without:
        more = ", …" if len(without) > _SHOWN else ""
        yield f"rank_addr_list of rank {', '.join(without[:_SHOWN])}{more} has no address"
    ids = [str(each.get("rank_id")) for each in ranks]
    if sorted(ids, key=lambda each: (len(each), each)) != [str(n) for n in range(len(ids))]:
        yield f"its ranks are not numbered from 0 to {len(ids) - 1}, each once"


def _addresses(rank: dict[str, Any]) -> Iterator[str]:
    levels = rank.get("level_list")
    for level in levels if isinstance(levels, list) else ():
        entries = level.get("rank_addr_list") if isinstance(level, dict) else None
        for entry in entries if isinstance(entries, list) else ():
            if isinstance(entry, dict) and str(entry.get("addr", "")).strip("-. "):
                yield str(entry["addr"])
