# SPDX-License-Identifier: Apache-2.0
"""Finds, in what HCCL writes on several ranks, the rank or card that the others wait for."""

from __future__ import annotations

import re
from collections import Counter
from itertools import combinations
from typing import Iterator, NamedTuple

from .events import Event
from .log_files import DIGITS, pieces, text_of
from .owners import Values
from .prefix import read_line
from .signs import pattern

_NEEDLES = (b"HCCL", b"rank", b"physic", b"index[", b"timeout")
_MOST = 64
"""How many lines that are the same but for their numbers are read."""

_SIZE, _RANK, _CARD, _PROCESS, _ROW, _AWAITED, _INDEX, _LIMIT, _ROOT, _CALLED = (
    pattern("peers-" + name)
    for name in (
        *("size", "rank", "card", "process", "row", "awaited", "index", "limit", "root", "called"),
    )
)


class _Seen(NamedTuple):
    """What the logs say of ranks; a process is known by its number until its rank is."""

    ranks: dict[str, str]
    """Process to rank."""
    cards: dict[str, str]
    """Process to the physical number of its card."""
    failed: dict[str, None]
    """Processes that reported an error."""
    rows: list[tuple[str, str, str, str]]
    """Address and rank that were asked for, and that asked for them."""
    awaited: Counter[str]
    """Card to how many processes wait for it."""
    indices: dict[str, int]
    """Process to the number of the collective in which it waits."""
    called: dict[str, tuple[str, str]]
    """Process to the group and the name of the collective in which it waits."""
    one: Values
    """Values of which the last counts: size, limit, root."""


def peers_say(event: Event, paths: list[str]) -> tuple[str, Values]:
    """The row that says which rank the others wait for, and its values; none if nothing says so."""
    if not re.search(r"(?i)hccl|hcom|rank|link", event.text):
        return "", {}
    seen = _Seen({}, {}, {}, [], Counter(), {}, {}, {})
    for path in paths:
        for line in _lines(path):
            _take(line, seen)
    return next(_told(seen), ("", {}))


def _lines(path: str) -> Iterator[str]:
    needles = [needle.translate(None, DIGITS) for needle in _NEEDLES]
    counts: Counter[bytes] = Counter()
    for piece in pieces(path):
        new = {each for each in piece.kinds if any(needle in each for needle in needles)}
        for shape, line in zip(piece.shapes, piece.lines) if new else ():
            if shape in new and counts[shape] < _MOST:
                counts[shape] += 1
                yield text_of(line)


def _take(text: str, seen: _Seen) -> None:
    """Note what a line says."""
    found = _PROCESS.search(text)
    process = found["pid"] if found else ""
    for search, into in ((_RANK, seen.ranks), (_CARD, seen.cards)):
        match = search.search(text)
        if match and process:
            into.setdefault(process, next(filter(None, match.groups())))
    for name, search in (("size", _SIZE), ("limit", _LIMIT), ("root", _ROOT)):
        match = search.search(text)
        if match:
            seen.one[name] = next(filter(None, match.groups()))
    if read_line(text).level != "error":
        return
    if process:
        seen.failed[process] = None
    row = _ROW.search(text)
    if row:
        seen.rows.append((row["ip"], row["rank"], row["own_ip"], row["own"]))
    card, index = _AWAITED.search(text), _INDEX.search(text)
    if card:
        seen.awaited[next(filter(None, card.groups()))] += 1
    called = _CALLED.search(text)
    if called and process:
        seen.called.setdefault(process, (called["group"], called["name"]))
    if index and process:
        seen.indices[process] = int(index["index"])


def _told(seen: _Seen) -> Iterator[tuple[str, Values]]:
    """The rows that fit, that which says most first."""
    limit = seen.one.get("limit", "120")
    longer = {"limit": limit, "longer": str(max(1200, 2 * int(limit)))}
    for one, other in combinations(seen.called, 2):
        (group, name), (its_group, its_name) = seen.called[one], seen.called[other]
        if group == its_group and name != its_name and {one, other} <= seen.ranks.keys():
            who = {"rank": seen.ranks[one], "other": seen.ranks[other]}
            yield "peer-differ", {**who, "one": name, "two": its_name}
    behind = min(seen.indices, key=lambda each: seen.indices[each], default="")
    ahead = max(seen.indices, key=lambda each: seen.indices[each], default="")
    if len({*seen.indices.values()}) > 1 and {behind, ahead} <= seen.ranks.keys():
        values = {"rank": seen.ranks[behind], "ahead": seen.ranks[ahead]}
        index, later = str(seen.indices[behind]), str(seen.indices[ahead])
        yield "peer-behind", {**values, "index": index, "later": later}
    if seen.awaited:
        card, _ = seen.awaited.most_common(1)[0]
        if card not in {seen.cards.get(each) for each in seen.failed}:
            yield "peer-missing", {"card": card, "of": _rank_of(card, seen), **longer}
    if seen.rows:
        asked = Counter((ip, rank) for ip, rank, _, _ in seen.rows)
        silent = [each for each in asked if each[1] not in {own for _, _, _, own in seen.rows}]
        if silent and len(seen.rows) > 1:
            ip, rank = max(silent, key=lambda each: asked[each])
            yield "peer-silent", {"rank": rank, "ip": ip, **longer}
        ip, rank, own_ip, own = seen.rows[0]
        yield "peer-link", {"rank": rank, "ip": ip, "own": own, "own_ip": own_ip, **longer}
    if "root" in seen.one and seen.failed:
        process = next(iter(seen.failed))
        if process in seen.ranks and "size" in seen.one:
            values = {"rank": seen.ranks[process], "size": seen.one["size"]}
            yield "peer-root", {**values, "root": seen.one["root"], **longer}


def _rank_of(card: str, seen: _Seen) -> str:
    """The rank of a card, by those of its server whose ranks are as far from their cards.

    With brackets around it, to be put behind the card; empty if it is unknown.
    """
    away = {
        int(seen.ranks[each]) - int(seen.cards[each]) for each in seen.ranks if each in seen.cards
    }
    return f" (rank {int(card) + away.pop()})" if len(away) == 1 else ""
