# SPDX-License-Identifier: Apache-2.0
"""What the wheel knows of CANN releases: a part of compat.yaml, for one machine."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from packaging.version import Version

from cannery.common.cann_version import CannVersion
from cannery.common.model import SIMULATED_CHIPS
from cannery.compat.facts import Compat, Pairing
from cannery.compat.file_names import file_row, name_in
from cannery.image.cann_environment import atb_variables
from cannery.image.cann_symbols import lacking
from cannery.image.simulator_spec import DEVICES, DRIVER_VERSION, HBM_MB
from cannery.matrix.choice import layout_of

OLDEST = CannVersion.parse("7.0.0")
"""Of the first torch_npu that the package index has."""


def facts_of(compat: Compat, machine: str) -> dict[str, Any]:
    """The values of facts.json but for those that say what the wheel itself is."""
    named = {row.cann for row in compat.pairings} | {row.cann for row in compat.releases}
    releases: list[dict[str, Any]] = []
    for cann in sorted(each for each in named if each >= OLDEST):
        before = releases[-1]["driver"] if releases else DRIVER_VERSION
        release = _release(compat, cann, machine, before)
        if release["kernels"]:
            releases.append(release)
    known = {each["version"] for each in releases}
    final = [text for text in known if not CannVersion.parse(text).is_preview]
    return {
        "models": SIMULATED_CHIPS,
        "cards": DEVICES,
        "memory_mb": HBM_MB,
        "newest": max(final, key=CannVersion.parse),
        "releases": releases,
        "cann_of_torch_npu": _cann_of_torch_npu(compat.pairings, known),
    }


def _release(compat: Compat, cann: CannVersion, machine: str, driver: str) -> dict[str, Any]:
    """The values of a release; ``driver`` is that of the release before."""
    version = str(cann).removesuffix(".beta1")
    seen = [row for row in compat.releases if row.cann == cann]
    chips = {chip for row in seen for chip in row.chips} if seen else {*SIMULATED_CHIPS}
    nnal = not seen or any(row.nnal for row in seen)

    def name(component: str, chip: str = "") -> str:
        row = file_row(compat, component, cann, chip)
        return name_in(row, version, chip, machine) if row else ""

    kernels = {chip: name("kernels", chip) for chip in SIMULATED_CHIPS if chip in chips}
    return {
        "version": version,
        "layout": layout_of(cann, compat),
        "driver": _driver(compat, cann) or driver,
        "toolkit": name("toolkit"),
        "nnal": name("nnal") if nnal else "",
        "kernels": {chip: file for chip, file in kernels.items() if file},
        "lacks": [] if cann.is_interim else lacking(cann),
        "variables": atb_variables(version) if nnal else {},
    }


def _driver(compat: Compat, cann: CannVersion) -> str:
    """The driver of the release; else the oldest that fits; "" where no source names one."""
    rows = [row for row in compat.drivers if row.cann == cann]
    paired = [row.paired for row in rows if row.paired]
    return next(iter([*paired, *(row.minimum for row in rows)]), "")


def _cann_of_torch_npu(pairings: Iterable[Pairing], known: set[str]) -> dict[str, str]:
    """Of several CANN releases, that of the best source; of several of these, the first."""
    best: dict[str, Pairing] = {}
    for row in pairings:
        if row.torch_npu and str(row.cann) in known:
            public = Version(row.torch_npu).public
            old = best.get(public)
            if old is None or (not old.is_makers, old.rank) > (not row.is_makers, row.rank):
                best[public] = row
    return {name: str(best[name].cann) for name in sorted(best, key=Version)}
