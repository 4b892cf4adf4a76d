# SPDX-License-Identifier: Apache-2.0
"""The differences between two images, records or commits, and how they are told."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from cannery.common.console import columns, fold, size_text
from cannery.common.outside import json_text, one_line, printable

PACKAGES = ("wheels", "debian", "vendor")
"""The sections whose values are versions of packages."""


class SideKind(StrEnum):
    """The kind of thing that is compared. Each has sizes and layers of its own meaning."""

    IMAGE = "image"
    """A local image: sizes are unpacked."""
    RECORD = "record"
    """The record of a push: sizes are those of compressed layers."""
    COMMIT = "commit"
    """The files of a target at a commit, which have no sizes."""


@dataclass(frozen=True, kw_only=True)
class LayerContent:
    """One layer. Layers of equal ``identity`` are equal; ``size`` in bytes is None if unknown."""

    name: str
    identity: str
    size: int | None = None


@dataclass(frozen=True, kw_only=True)
class Contents:
    """One side of a comparison, with everything that is known about it.

    ``sections`` maps headings, such as ``wheels`` or ``labels``, to names and values. ``files``
    maps those of ``PACKAGES`` to names and the files that these packages were installed from.
    ``size`` is in bytes, and None if it is unknown.
    """

    name: str
    kind: SideKind
    sections: Mapping[str, Mapping[str, str]]
    files: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    layers: Sequence[LayerContent] = ()
    size: int | None = None


@dataclass(frozen=True, kw_only=True)
class Section:
    """The differences below one heading; ``equal`` is the number of equal entries."""

    name: str
    added: Mapping[str, str]
    removed: Mapping[str, str]
    changed: Mapping[str, tuple[str, str]]
    equal: int

    @property
    def differs(self) -> bool:
        """True for any difference."""
        return bool(self.added or self.removed or self.changed)


@dataclass(frozen=True, kw_only=True)
class LayerChange:
    """A layer with its ``sizes`` on both sides; ``state`` is equal, changed, added or removed."""

    name: str
    state: str
    sizes: tuple[int | None, int | None]


@dataclass(frozen=True, kw_only=True)
class Difference:
    """The comparison of ``before`` with ``after``.

    ``only_one`` names the sections that only one side has, so that they cannot be compared.
    """

    before: Contents
    after: Contents
    sections: tuple[Section, ...]
    layers: tuple[LayerChange, ...]
    only_one: tuple[str, ...]

    @property
    def differs(self) -> bool:
        """True for any difference."""
        changed = any(layer.state != "equal" for layer in self.layers)
        return changed or any(section.differs for section in self.sections)


def difference(before: Contents, after: Contents) -> Difference:
    """Compare two sides, section by section and layer by layer."""
    common = [name for name in before.sections if name in after.sections]
    sections = []
    for name in common:
        old, new = before.sections[name], after.sections[name]
        sections.append(_section(name, old, new))
        if name in PACKAGES:
            # A package with another version has another file in any case.
            old_files, new_files = before.files.get(name, {}), after.files.get(name, {})
            equal = {package for package in old if old[package] == new.get(package)}
            both = sorted(equal & {*old_files} & {*new_files})
            files = [
                {package: side[package] for package in both} for side in (old_files, new_files)
            ]
            if (of_files := _section(f"files of {name}", *files)).differs:
                sections.append(of_files)
    return Difference(
        before=before,
        after=after,
        sections=tuple(sections),
        layers=_layers(before, after) if before.layers and after.layers else (),
        only_one=tuple(sorted({*before.sections} ^ {*after.sections})),
    )


def _section(name: str, old: Mapping[str, str], new: Mapping[str, str]) -> Section:
    both = sorted({*old} & {*new})
    changed = {each: (old[each], new[each]) for each in both if old[each] != new[each]}
    return Section(
        name=name,
        added={each: new[each] for each in sorted({*new} - {*old})},
        removed={each: old[each] for each in sorted({*old} - {*new})},
        changed=changed,
        equal=len(both) - len(changed),
    )


def _layers(before: Contents, after: Contents) -> tuple[LayerChange, ...]:
    """The layers of both sides by name, those of ``after`` first."""
    old, new = ({layer.name: layer for layer in side.layers} for side in (before, after))
    changes = []
    for name in [*new, *(name for name in old if name not in new)]:
        a, b = old.get(name), new.get(name)
        if a and b:
            state = "equal" if a.identity == b.identity else "changed"
        else:
            state = "removed" if a else "added"
        sizes = (a.size if a else None, b.size if b else None)
        changes.append(LayerChange(name=name, state=state, sizes=sizes))
    return tuple(changes)


_ABSENT = "-"
_LONG = 60
"""Values with more characters are on lines of their own."""

_SIZES = {SideKind.IMAGE: "unpacked", SideKind.RECORD: "compressed"}


def difference_text(compared: Difference, width: int = 0) -> str:
    """Tables of all that differs. Lines longer than ``width`` are folded, if it is not 0."""
    before, after = compared.before, compared.after
    lines = columns([("before", before.name, before.kind), ("after", after.name, after.kind)])
    if sizes := _sizes(before, after):
        lines += ["", sizes]
    for section in compared.sections:
        if section.differs:
            counts = {
                "changed": len(section.changed),
                "added": len(section.added),
                "removed": len(section.removed),
                "equal": section.equal,
            }
            parts = [f"{count:,} {name}" for name, count in counts.items() if count]
            lines += ["", f"{section.name}: {', '.join(parts)}", *_rows(section)]
    if compared.layers:
        lines += ["", *_layer_lines(compared)]
    if compared.only_one:
        lines += [
            "",
            f"not compared, because only one side has them: {', '.join(compared.only_one)}",
        ]
    if not compared.differs:
        lines += ["", "no difference"]
    return printable("\n".join(fold(lines, width)))


def difference_json(compared: Difference) -> str:
    """The same as JSON, with sizes in bytes."""
    content: dict[str, Any] = {
        **{
            side: {"name": contents.name, "kind": contents.kind, "size": contents.size}
            for side, contents in (("before", compared.before), ("after", compared.after))
        },
        "differs": compared.differs,
        "sections": {
            section.name: {
                "added": section.added,
                "removed": section.removed,
                "changed": section.changed,
                "equal": section.equal,
            }
            for section in compared.sections
        },
        "layers": [asdict(layer) for layer in compared.layers],
        "not_compared": compared.only_one,
    }
    return json_text(content)


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


def _rows(section: Section) -> Iterator[str]:
    """A table of short values, and then the long ones, each on its own line."""
    values = [
        *((name, old, new) for name, (old, new) in section.changed.items()),
        *((name, _ABSENT, new) for name, new in section.added.items()),
        *((name, old, _ABSENT) for name, old in section.removed.items()),
    ]
    rows = sorted((one_line(name), one_line(old), one_line(new)) for name, old, new in values)
    short = [row for row in rows if max(map(len, row)) <= _LONG]
    if short:
        yield from (f"  {line}" for line in columns([("", "before", "after"), *short]))
    for name, old, new in rows:
        if (name, old, new) not in short:
            yield from (f"  {name}", f"    before  {old}", f"    after   {new}")


def _layer_lines(compared: Difference) -> Iterator[str]:
    states = [layer.state for layer in compared.layers]
    counts = [
        f"{states.count(state)} {state}"
        for state in ("changed", "added", "removed", "equal")
        if state in states
    ]
    yield f"layers: {', '.join(counts)}"
    # Without sizes, as of commits, equal layers are left out.
    sized = any(size is not None for layer in compared.layers for size in layer.sizes)
    rows = [
        (layer.name, layer.state, *(map(_size, layer.sizes) if sized else ()))
        for layer in compared.layers
        if sized or layer.state != "equal"
    ]
    if rows:
        head = ("", "", "before", "after") if sized else ("", "")
        lines = columns([head, *rows] if sized else rows, right=(2, 3))
        yield from (f"  {line}" for line in lines)


def _size(size: int | None) -> str:
    return _ABSENT if size is None else size_text(size)
