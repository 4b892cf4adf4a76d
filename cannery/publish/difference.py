# SPDX-License-Identifier: Apache-2.0
"""The differences between two images, records or commits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

PACKAGES = ("wheels", "debian", "vendor")
"""The sections whose values are versions of packages."""


class Kind(StrEnum):
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
    kind: Kind
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
        """Whether there is any difference."""
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
        """Whether there is any difference."""
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
            same = {each for each in old if old[each] == new.get(each)}
            files = [
                {each: file for each, file in side.files.get(name, {}).items() if each in same}
                for side in (before, after)
            ]
            both = {*files[0]} & {*files[1]}
            known = [{each: side[each] for each in sorted(both)} for side in files]
            if (of_files := _section(f"files of {name}", *known)).differs:
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
    old, new = ({each.name: each for each in side.layers} for side in (before, after))
    found = []
    for name in [*new, *(each for each in old if each not in new)]:
        a, b = old.get(name), new.get(name)
        if a and b:
            state = "equal" if a.identity == b.identity else "changed"
        else:
            state = "removed" if a else "added"
        sizes = (a.size if a else None, b.size if b else None)
        found.append(LayerChange(name=name, state=state, sizes=sizes))
    return tuple(found)
