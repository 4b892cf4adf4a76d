# SPDX-License-Identifier: Apache-2.0
"""Shows a comparison as tables for people, or as JSON for programs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cannery.common.columns import columns, fold, size_text
from cannery.common.printable import json_text, one_line, printable
from cannery.publish.difference import Contents, Difference, Kind, Section

_ABSENT = "-"
_LONG = 60
"""Values with more characters are on lines of their own."""

_SIZES = {Kind.IMAGE: "unpacked", Kind.RECORD: "compressed"}


def difference_text(found: Difference, width: int = 0) -> str:
    """Tables of all that differs. Lines longer than ``width`` are folded, if it is not 0."""
    before, after = found.before, found.after
    lines = columns([("before", before.name, before.kind), ("after", after.name, after.kind)])
    if sizes := _sizes(before, after):
        lines += ["", sizes]
    for section in found.sections:
        if section.differs:
            lines += ["", f"{section.name}: {_counts(section)}", *_rows(section)]
    if found.layers:
        lines += ["", *_layers(found)]
    if found.only_one:
        lines += ["", f"not compared, because only one side has them: {', '.join(found.only_one)}"]
    if not found.differs:
        lines += ["", "no difference"]
    return printable("\n".join(fold(lines, width)))


def difference_json(found: Difference) -> str:
    """The same as JSON, with sizes in bytes."""
    content: dict[str, Any] = {
        "before": _side(found.before),
        "after": _side(found.after),
        "differs": found.differs,
        "sections": {
            each.name: {
                "added": each.added,
                "removed": each.removed,
                "changed": each.changed,
                "equal": each.equal,
            }
            for each in found.sections
        },
        "layers": [
            {"name": each.name, "state": each.state, "sizes": each.sizes} for each in found.layers
        ],
        "not_compared": found.only_one,
    }
    return json_text(content)


def _side(side: Contents) -> dict[str, Any]:
    return {"name": side.name, "kind": side.kind, "size": side.size}


def _sizes(before: Contents, after: Contents) -> str:
    """The line of sizes; empty if a size is unknown."""
    if before.size is None or after.size is None:
        return ""
    sizes = f"{size_text(before.size)} -> {size_text(after.size)}"
    if before.kind is not after.kind:
        kinds = f"{_SIZES[before.kind]} and {_SIZES[after.kind]}"
        return f"size: {sizes} ({kinds}, which cannot be compared)"
    change = after.size - before.size
    sign = "-" if change < 0 else "+"
    return f"size: {sizes} ({sign}{size_text(abs(change))}), {_SIZES[after.kind]}"


def _counts(section: Section) -> str:
    counts = {
        "changed": len(section.changed),
        "added": len(section.added),
        "removed": len(section.removed),
        "equal": section.equal,
    }
    return ", ".join(f"{count:,} {name}" for name, count in counts.items() if count)


def _rows(section: Section) -> Iterator[str]:
    """A table of short values, and then the long ones, each on its own line."""
    found = [
        *((name, old, new) for name, (old, new) in section.changed.items()),
        *((name, _ABSENT, new) for name, new in section.added.items()),
        *((name, old, _ABSENT) for name, old in section.removed.items()),
    ]
    rows = sorted((one_line(name), one_line(old), one_line(new)) for name, old, new in found)
    short = [row for row in rows if max(map(len, row)) <= _LONG]
    if short:
        yield from (f"  {line}" for line in columns([("", "before", "after"), *short]))
    for name, old, new in rows:
        if (name, old, new) not in short:
            yield from (f"  {name}", f"    before  {old}", f"    after   {new}")


def _layers(found: Difference) -> Iterator[str]:
    states = [layer.state for layer in found.layers]
    counts = [
        f"{states.count(state)} {state}"
        for state in ("changed", "added", "removed", "equal")
        if state in states
    ]
    yield f"layers: {', '.join(counts)}"
    # Without any size, as of commits, equal layers say nothing more.
    sized = any(size is not None for layer in found.layers for size in layer.sizes)
    rows = [
        (layer.name, layer.state, *((_size(each) for each in layer.sizes) if sized else ()))
        for layer in found.layers
        if sized or layer.state != "equal"
    ]
    if rows:
        head = ("", "", "before", "after") if sized else ("", "")
        lines = columns([head, *rows] if sized else rows, right=(2, 3))
        yield from (f"  {line}" for line in lines)


def _size(size: int | None) -> str:
    return _ABSENT if size is None else size_text(size)
