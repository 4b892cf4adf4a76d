# SPDX-License-Identifier: Apache-2.0
"""The known combinations that differ least from one that is not known."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import partial

from packaging.version import InvalidVersion, Version

from cannery.common.cann_version import CannVersion
from cannery.common.model import Target
from cannery.compat.facts import Compat, Compatible, Pairing
from cannery.compat.wheel_rules import TORCH_NPU, recorded

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

    def value(self, key: str) -> str:
        """The text of the field ``key``."""
        return str(getattr(self, key))


@dataclass(frozen=True, kw_only=True)
class Suggestion:
    """The changes, in the order of ``_ORDER``, that lead to a known combination."""

    changes: tuple[tuple[str, str], ...]
    combination: Combination

    def __str__(self) -> str:
        steps = " and ".join(f"{component} to {value}" for component, value in self.changes)
        source = self.combination.row.sources[0]
        beside = "" if "cann" in dict(self.changes) else f"CANN {self.combination.cann}, "
        return f"change {steps} ({beside}{source.cite})"


def combinations(
    compat: Compat, chip: str, machine: str, files: Collection[str], *, previews: bool = False
) -> list[Combination]:
    """Every combination that is known, with kernels for ``chip``; best and newest rows first.

    Betas, and versions that no index serves (dev builds and those with a +local part), are not
    suggested; nor are CANN's previews, unless ``previews`` is set, nor a torch_npu without a wheel
    in package indexes, unless it is in ``files``, those that are declared as files.
    """
    with_kernels = releases_for(compat, chip)
    return [
        Combination(python=python, torch=row.torch, torch_npu=row.torch_npu, cann=row.cann, row=row)
        for row in sorted(compat.pairings, key=lambda row: (row.rank, row.line))
        if is_published(row) and row.cann in with_kernels and (previews or not row.cann.is_preview)
        for python in _pythons_of(row, compat, machine, files)
    ]


def _pythons_of(
    row: Pairing, compat: Compat, machine: str, files: Collection[str]
) -> tuple[str, ...]:
    """The Pythons for which torch_npu has a wheel: by its tags, else by the source of ``row``."""
    wheels = recorded(compat, TORCH_NPU, row.torch_npu, machine)
    if wheels and row.torch_npu not in files:
        return wheels.pythons
    return row.pythons or row.wheels_pythons


def releases_for(compat: Compat, chip: str) -> set[CannVersion]:
    """The releases of CANN that kernels for ``chip`` were seen for."""
    return {row.cann for row in compat.releases if chip in row.chips}


def compatible_rows(
    compat: Compat, cann: CannVersion, chip: str, pairings: Iterable[Pairing]
) -> list[tuple[Compatible, Pairing]]:
    """Those of ``pairings`` whose torch_npu may be used with ``cann``, each with the row for it.

    Previews are not releases that a maker's table of compatible releases is about. A torch_npu of a
    release of CANN without kernels for the chip was made when there was no such chip.
    """
    if cann.is_preview:
        return []
    with_kernels = releases_for(compat, chip)
    return [
        (row, pairing)
        for row in compat.compatible
        if cann in row.cann
        for pairing in pairings
        if pairing.is_makers and pairing.cann in row.cann and pairing.cann in with_kernels
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
    current = {
        "python": target.python.minor,
        "torch": target.torch,
        "torch_npu": target.torch_npu,
        "cann": target.cann.nearest_public if target.cann.interim else target.cann.version,
    }
    files = {row.torch_npu for row in compat.pairings if target.torch_npu_wheel}
    known = combinations(compat, target.chip, target.machine, files)
    places = {}
    for key in _ORDER:
        texts = {combination.value(key) for combination in known} | {current[key]}
        ranked = sorted(texts, key=partial(_version_key, key))
        places[key] = {text: place for place, text in enumerate(ranked)}
    candidates = []
    for line, combination in enumerate(known):
        changed = tuple(key for key in _ORDER if _differ(key, combination.value(key), current[key]))
        steps = tuple(
            abs(places[key][combination.value(key)] - places[key][current[key]]) for key in changed
        )
        cost = tuple(_ORDER.index(key) for key in changed)
        order = (len(changed), cost, steps, combination.row.rank, line)
        candidates.append((order, changed, combination))
    suggestions: dict[tuple[str, ...], Suggestion] = {}
    for _, changed, combination in sorted(candidates, key=lambda candidate: candidate[0]):
        changes = tuple((key, combination.value(key)) for key in changed)
        suggestion = Suggestion(changes=changes, combination=combination)
        suggestions.setdefault(changed, suggestion)
    suggestions.pop((), None)
    return [*suggestions.values()][:limit]


def _version_key(key: str, text: str) -> tuple[int, ...]:
    """The sort key for versions of ``key``; texts that are not versions come first."""
    try:
        if key == "cann":
            return CannVersion.parse(text).key
        version = Version(text)
    except (ValueError, InvalidVersion):
        return ()
    return (*version.release, -1 if version.pre else version.post or 0)


def _differ(key: str, first: str, second: str) -> bool:
    # 8.0.RC2.beta1 is 8.0.RC2.
    equal = key == "cann" and _version_key(key, first) == _version_key(key, second)
    return first != second and not equal


def pinned_beside(package: str, torch: str, compat: Compat) -> str:
    """The version of ``package`` that compat.yaml pins for ``torch``; "" for none."""
    for row in compat.packages:
        pinned = row.torch is not None and row.torch.contains(torch)
        if row.package == package and row.pin is not None and pinned:
            return next((pin.version for pin in row.pin if pin.operator == "=="), "")
    return ""
