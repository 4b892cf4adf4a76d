# SPDX-License-Identifier: Apache-2.0
"""What the packages beside cannery know of compat.yaml and matrix.yaml, in files of their own.

ascend-sim has the CANN releases, and ascend-doctor the drivers by which it judges hosts.
``python -m cannery.image.companion_facts`` writes both.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from packaging.version import Version

from cannery.common.cann_version import CannVersion
from cannery.common.files import write_files
from cannery.common.model import SIMULATED_CHIPS
from cannery.common.tool import CHECKOUT
from cannery.compat.facts import Compat, Pairing
from cannery.compat.files import file_row, name_in
from cannery.image.environment import atb_variables
from cannery.image.simulator_spec import DEVICES, DRIVER_VERSION, SOURCES, firsts, later
from cannery.matrix.matrix import Matrix
from cannery.matrix.project import Project
from cannery.update.new_target import layout_of

SIM_FILE = SOURCES / "ascend_sim" / "releases.json"
DOCTOR_FILE = CHECKOUT / "packages" / "ascend-doctor" / "ascend_doctor" / "facts.json"

MACHINE = "{machine}"
"""Stands for the machine in the names of packages, which are the same for each."""

_VLLM_ASCEND = "vllm-ascend v"

OLDEST = CannVersion.parse("7.0.0")
"""Of the first torch_npu that the package index has."""


def sim_facts(compat: Compat) -> dict[str, Any]:
    """The releases, the oldest first, and what torch_npu is made for which."""
    named = {row.cann for row in compat.pairings} | {row.cann for row in compat.releases}
    releases: list[dict[str, Any]] = []
    for cann in sorted(release for release in named if release >= OLDEST):
        before = releases[-1]["driver"] if releases else DRIVER_VERSION
        release = _release(compat, cann, before)
        if release["kernels"]:
            releases.append(release)
    known = {release["version"] for release in releases}
    final = [text for text in known if not CannVersion.parse(text).is_preview]
    return {
        "chips": list(SIMULATED_CHIPS),
        "cards": DEVICES,
        "newest": max(final, key=CannVersion.parse),
        "releases": releases,
        "cann_of_torch_npu": _cann_of_torch_npu(compat.pairings, known),
        "oldest_cann": {
            "of_any_source": _oldest_cann(compat.pairings),
            "of_makers": _oldest_cann(row for row in compat.pairings if row.is_makers),
        },
        "order": [str(cann) for cann in sorted({*named, *map(CannVersion.parse, firsts())})],
    }


def _release(compat: Compat, cann: CannVersion, driver: str) -> dict[str, Any]:
    """The values of a release; ``driver`` is that of the release before."""
    version = str(cann).removesuffix(".beta1")
    seen = [row for row in compat.releases if row.cann == cann]
    chips = {chip for row in seen for chip in row.chips} if seen else {*SIMULATED_CHIPS}
    nnal = not seen or any(row.nnal for row in seen)
    # The driver of the release; else the oldest that fits, if a source names one.
    drivers = [row for row in compat.drivers if row.cann == cann]
    paired = [row.paired for row in drivers if row.paired]

    def name(component: str, chip: str = "") -> str:
        row = file_row(compat, component, cann, chip)
        return name_in(row, version, chip, MACHINE) if row else ""

    kernels = {chip: name("kernels", chip) for chip in SIMULATED_CHIPS if chip in chips}
    return {
        "version": version,
        "layout": layout_of(cann, compat),
        "driver": next(iter([*paired, *(row.minimum for row in drivers)]), driver),
        "toolkit": name("toolkit"),
        "nnal": name("nnal") if nnal else "",
        "kernels": {chip: file for chip, file in kernels.items() if file},
        "lacks_those_of": [] if cann.is_interim else later(cann),
        "variables": atb_variables(version) if nnal else {},
    }


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


def _oldest_cann(pairings: Iterable[Pairing]) -> dict[str, str]:
    """Of the releases that sources name for a torch_npu; the place of interim builds is unknown."""
    oldest: dict[str, CannVersion] = {}
    for row in pairings:
        if row.torch_npu and not row.cann.is_interim:
            name = Version(row.torch_npu).public
            oldest[name] = min(oldest.get(name, row.cann), row.cann)
    return {name: str(oldest[name]) for name in sorted(oldest, key=Version)}


def doctor_facts(matrix: Matrix, compat: Compat) -> dict[str, Any]:
    """The drivers that sources name for each CANN, and the public releases near interim builds.

    The most trusted source comes first.
    """
    releases = [target.cann for target in matrix.targets.values()]
    nearest = {cann.version: cann.nearest_public for cann in releases if cann.interim}
    rows = sorted(compat.drivers, key=lambda row: (row.rank, row.line))
    return {
        "nearest_public": dict(sorted(nearest.items())),
        "drivers": [
            {
                "cann": str(row.cann),
                "minimum": row.minimum,
                "maximum": row.maximum,
                "source": "; ".join(map(str, row.sources)),
            }
            for row in rows
        ],
        "partners": partners(compat),
    }


def partners(compat: Compat) -> dict[str, list[str]]:
    """Versions that belong together, one row a line; the newest CANN comes first.

    torch_npu: torch, torch_npu, CANN and Pythons; vllm_ascend: its version, torch_npu, CANN,
    Pythons and triton-ascend; torchvision and mindspore: each with its torch or CANN.
    """
    rows = [
        row
        for row in compat.pairings
        if row.torch_npu and row.cann >= OLDEST and not row.cann.is_interim
    ]
    rows.sort(key=lambda row: (row.rank, -len(row.pythons)))
    pairs = {(row.torch_npu, row.cann): row for row in reversed(rows)}
    apps = {_of_vllm(row): row for row in reversed(rows) if row.app.startswith(_VLLM_ASCEND)}
    pins = [
        row for row in compat.packages if row.package == "torchvision" and row.pin and row.torch
    ]
    return {
        "torch_npu": _lines(
            (row.torch, row.torch_npu, row.cann, _span(row.pythons))
            for row in sorted(
                pairs.values(), key=lambda row: (row.cann, Version(row.torch_npu)), reverse=True
            )
        ),
        "vllm_ascend": _lines(
            (
                name,
                row.torch_npu,
                row.cann,
                _span(row.pythons),
                row.triton_ascend.replace("N/A", ""),
            )
            for name, row in sorted(apps.items(), key=lambda item: Version(item[0]), reverse=True)
        ),
        "torchvision": _lines((_lowest(row.torch), _lowest(row.pin)) for row in pins),
        "mindspore": _lines((row.version, row.cann) for row in compat.mindspore),
    }


def _of_vllm(row: Pairing) -> str:
    return row.app.removeprefix(_VLLM_ASCEND)


def _lines(rows: Iterable[tuple[object, ...]]) -> list[str]:
    return [" ".join(str(cell or "-") for cell in row) for row in rows]


def _span(pythons: tuple[str, ...]) -> str:
    return "-".join(dict.fromkeys((pythons[0], pythons[-1]))) if pythons else ""


def _lowest(versions: object) -> str:
    """The lowest version that specifiers name."""
    found: list[str] = re.findall(r"[\d.]+", str(versions))
    return min(found, key=Version)


def companion_files(matrix: Matrix, compat: Compat) -> dict[Path, str]:
    """The files of this checkout's packages, and their texts."""
    return {
        SIM_FILE: json.dumps(sim_facts(compat), indent=1) + "\n",
        DOCTOR_FILE: json.dumps(doctor_facts(matrix, compat), indent=2) + "\n",
    }


if __name__ == "__main__":
    checkout = Project(root=CHECKOUT)
    write_files(companion_files(checkout.matrix(), checkout.compat()))
