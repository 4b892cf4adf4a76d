# SPDX-License-Identifier: Apache-2.0
"""Finds the known combinations that differ least from one that is not known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from packaging.version import InvalidVersion, Version

from cannery.common.cann_version import CannVersion
from cannery.common.model import Target
from cannery.compat.facts import Compat, Pairing

_ORDER = ("torch_npu", "cann", "python", "torch")
"""The cheapest change first: a wheel, then CANN, then the versions that code depends on."""


@dataclass(frozen=True, kw_only=True)
class Combination:
    """A Python minor, a torch, a torch_npu and a CANN release that a row has together."""

    python: str
    torch: str
    torch_npu: str
    cann: CannVersion
    row: Pairing


@dataclass(frozen=True, kw_only=True)
class Suggestion:
    """What to change, in the order of ``_ORDER``, to arrive at a known combination."""

    changes: tuple[tuple[str, str], ...]
    combination: Combination

    def __str__(self) -> str:
        steps = " and ".join(f"{component} to {value}" for component, value in self.changes)
        source = self.combination.row.sources[0]
        beside = "" if "cann" in dict(self.changes) else f"CANN {self.combination.cann}, "
        return f"change {steps} ({beside}{source.cite})"


def combinations(compat: Compat, chip: str, *, previews: bool = False) -> list[Combination]:
    """Every combination that is known, with kernels for ``chip``; best and newest rows first.

    Betas, and versions that no index serves (dev builds and those with a +local part), are known,
    but never what anybody should be sent to; nor are CANN's previews, unless ``previews`` is set.
    """
    with_kernels = {row.cann for row in compat.releases if chip in row.chips}
    return [
        Combination(python=python, torch=row.torch, torch_npu=row.torch_npu, cann=row.cann, row=row)
        for row in sorted(compat.pairings, key=lambda row: (row.rank, row.line))
        if is_published(row) and row.cann in with_kernels and (previews or not row.cann.is_preview)
        for python in row.pythons or row.wheels_pythons
    ]


def is_published(row: Pairing) -> bool:
    """Whether an index can have its torch_npu, and it is no beta."""
    if not row.torch_npu or row.beta:
        return False
    version = Version(row.torch_npu)
    return not (version.is_devrelease or version.local)


def nearest(target: Target, compat: Compat, *, limit: int = 3) -> list[Suggestion]:
    """At most ``limit`` known combinations, nearest first, one for each set of changes.

    The order is: fewer changes; then changes that cost less (``_ORDER``); then versions that are
    fewer steps away; then the better source; then the order of compat.yaml.
    """
    own = {
        "python": target.python.minor,
        "torch": target.torch,
        "torch_npu": target.torch_npu,
        "cann": target.cann.nearest_public if target.cann.interim else target.cann.version,
    }
    known = combinations(compat, target.chip)
    places = {key: _places(key, known, own[key]) for key in _ORDER}
    ranked = []
    for line, each in enumerate(known):
        values = _values(each)
        changed = tuple(key for key in _ORDER if _differ(key, values[key], own[key]))
        distance = tuple(abs(places[key][values[key]] - places[key][own[key]]) for key in changed)
        cost = tuple(_ORDER.index(key) for key in changed)
        ranked.append(((len(changed), cost, distance, each.row.rank, line), changed, each))
    ranked.sort(key=lambda entry: entry[0])
    found: dict[tuple[str, ...], Suggestion] = {}
    for _, changed, each in ranked:
        changes = tuple((key, _values(each)[key]) for key in changed)
        found.setdefault(changed, Suggestion(changes=changes, combination=each))
    found.pop((), None)
    return [*found.values()][:limit]


def _values(each: Combination) -> dict[str, str]:
    return {
        "python": each.python,
        "torch": each.torch,
        "torch_npu": each.torch_npu,
        "cann": str(each.cann),
    }


def _places(key: str, known: list[Combination], own: str) -> dict[str, int]:
    """Every value of ``key`` to its place among the known ones, in the order of versions."""
    texts = {_values(each)[key] for each in known} | {own}
    return {text: place for place, text in enumerate(sorted(texts, key=_order(key)))}


def _order(key: str) -> Callable[[str], tuple[int, ...]]:
    """The sort key for versions of ``key``; texts that are not versions come first."""

    def cann(text: str) -> tuple[int, ...]:
        try:
            return CannVersion.parse(text).key
        except ValueError:
            return ()

    def package(text: str) -> tuple[int, ...]:
        try:
            version = Version(text)
        except InvalidVersion:
            return ()
        return (*version.release, -1 if version.pre else version.post or 0)

    return cann if key == "cann" else package


def _differ(key: str, first: str, second: str) -> bool:
    # 8.0.RC2.beta1 is 8.0.RC2.
    return first != second and (key != "cann" or _order(key)(first) != _order(key)(second))


def pinned_beside(package: str, torch: str, compat: Compat) -> str:
    """The version of ``package`` that compat.yaml pins for ``torch``; "" for none."""
    for row in compat.packages:
        pinned = row.torch is not None and row.torch.contains(torch)
        if row.package == package and row.pin is not None and pinned:
            return next((each.version for each in row.pin if each.operator == "=="), "")
    return ""
