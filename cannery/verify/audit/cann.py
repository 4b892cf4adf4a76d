# SPDX-License-Identifier: Apache-2.0
"""Which CANN is in an image, in any of the layouts that releases have had."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from cannery.common.cann import Layout
from cannery.common.cann_version import CannVersion
from cannery.common.model import MACHINE_OF

_CFG = re.compile(r":([^:\]]+)\]")
"""The release in a line of version.cfg: runtime_running_version=[7.6.T13.0.B094:8.0.T63]."""

_OPERATOR_PARTS = ("ops_math", "ops_nn", "ops_cv", "ops_transformer")
"""Folders of share/info in the newer layout, whose kernels have no other file in every release."""

_OPERATORS = re.compile(r"ascend[0-9]\w*")
_CHIPS = {"ascend910_93": "a3"}
"""Folder of kernels to chip, where the chip is not the rest of the folder's name."""


@dataclass(frozen=True, kw_only=True)
class Cann:
    """The CANN of an image. Versions are as installed, and empty where nothing says one.

    ``folder`` is the one that the environment names, else the first; ``homes`` are all of them.
    ``chips`` are those that there are operator kernels for; ``set_env`` are the vendor's scripts
    that set its variables; ``stand_ins`` are the simulated packages.
    """

    folder: str
    homes: tuple[str, ...]
    layout: Layout
    toolkit: str
    kernels: str
    nnal: str
    arches: tuple[str, ...]
    operators: tuple[str, ...]
    set_env: tuple[str, ...]
    stand_ins: tuple[str, ...]

    @property
    def chips(self) -> tuple[str, ...]:
        return tuple(chip_of(each) for each in self.operators)


def chip_of(operators: str) -> str:
    """The chip whose kernels are in the folder ``operators``, as ascend910_93 for a3."""
    return _CHIPS.get(operators, operators.removeprefix("ascend"))


def cann_of(found: Mapping[str, Any], environment: Mapping[str, str]) -> Cann | None:
    """The CANN in what the probe has found below "ascend"; None if there is none."""
    homes = {str(real): [*map(str, names)] for real, names in dict(found.get("homes", {})).items()}
    infos = {str(path): dict(values) for path, values in dict(found.get("infos", {})).items()}
    toolkits = [home for home in homes if _version(_below(infos, home), ("toolkit", "nnae", ""))]
    if not toolkits:
        return None
    named = environment.get("ASCEND_HOME_PATH") or environment.get("ASCEND_TOOLKIT_HOME") or ""
    home = next((each for each in toolkits if named in (each, *homes[each])), toolkits[0])
    own = _below(infos, home)
    arches = {values.get("arch") or values.get("platform") or "" for values in own.values()}
    is_new = re.fullmatch(r"cann(-.*)?", posixpath.basename(home)) is not None
    return Cann(
        folder=home,
        homes=tuple(toolkits),
        layout=Layout.CANN if is_new else Layout.ASCEND_TOOLKIT,
        toolkit=_version(own, ("toolkit", "nnae", "")),
        kernels=_version(own, ("kernels", "ops", "opp_kernel", *_OPERATOR_PARTS)),
        nnal=_nnal({p: v for p, v in infos.items() if "/nnal/" in p}),
        arches=tuple(sorted(arches & {*MACHINE_OF.values()})),
        operators=tuple(filter(_OPERATORS.fullmatch, map(str, found.get("operators", ())))),
        set_env=tuple(map(str, found.get("set_env", ()))),
        stand_ins=tuple(map(str, found.get("simulated", ()))),
    )


def _below(infos: Mapping[str, dict[str, str]], home: str) -> dict[str, dict[str, str]]:
    return {path: values for path, values in infos.items() if path.startswith(home + "/")}


def _nnal(infos: Mapping[str, Mapping[str, str]]) -> str:
    """The release of NNAL, which not every file of it names; its folder does."""
    folders = (posixpath.basename(posixpath.dirname(path)) for path in infos)
    named = (_release({"version": folder}) for folder in folders)
    return _version(infos, ("nnal", "")) or next(filter(None, named), "")


def _version(infos: Mapping[str, Mapping[str, str]], packages: Iterable[str]) -> str:
    """The release of the first of ``packages`` that a file names; "" is any file's release."""
    for package in packages:
        for path, values in infos.items():
            name, folder = posixpath.basename(path), posixpath.basename(posixpath.dirname(path))
            own = not package and name in ("version.info", "version.cfg")
            own = own or name == f"ascend_{package}_install.info"
            own = own or (name, folder) == ("version.info", package)
            if own and (release := _release(values)):
                return release
    return ""


def _release(values: Mapping[str, str]) -> str:
    """The release in one file; internal versions, as 7.6.0.1.220, are none."""
    folder = str(values.get("version_dir", "")).removeprefix("cann-")
    named = [folder, values.get("ascend-cann-atb", ""), values.get("version", "")]
    named += [match[1] for value in values.values() if (match := _CFG.search(str(value)))]
    for text in map(str, named):
        # Some files have small letters, as 8.0.rc2.
        release = re.sub(r"\brc(?=[0-9])", "RC", text)
        try:
            CannVersion.parse(release)
        except ValueError:
            continue
        return release
    return ""
