# SPDX-License-Identifier: Apache-2.0
"""A machine with CANN, which the program of the build has installed, and defects of it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from cannery.common.model import Layout
from tests.unit.image.context_programs import load

from .conftest import COMPONENTS, PLATFORM, Machine, Packed

CHIPS = {"310p": "ascend310p", "910b": "ascend910b", "a3": "ascend910_93", "950": "ascend950"}
KERNELS = "opp/built-in/op_impl/ai_core/tbe/kernel"


@dataclass(frozen=True)
class Site:
    """A machine with CANN, which ``install-cann`` has installed."""

    machine: Machine
    packed: Packed

    @property
    def home(self) -> Path:
        version = self.packed.target.cann.version
        names = {Layout.CANN: f"cann-{version}", Layout.ASCEND_TOOLKIT: f"ascend-toolkit/{version}"}
        return self.machine.ascend / names[self.packed.target.cann.layout]


def installer(
    tmp_path: Path, pack: Callable[..., Packed], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Site]:
    """Installs packages with the program of the build, which may refuse them."""
    module = load("install-cann", monkeypatch)
    machine = Machine.make(tmp_path)
    monkeypatch.setattr(module, "ASCEND", machine.ascend)
    monkeypatch.setattr(module, "RECORDS", tmp_path / "etc/Ascend")
    monkeypatch.setattr(module, "BEFORE", tmp_path / "before")
    monkeypatch.setattr(module, "FACTS", tmp_path / "facts.json")
    logs = (tmp_path / "var/log/ascend_seclog", tmp_path / "var/log/cann_atb_log")
    monkeypatch.setattr(module, "LOGS", logs)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("ASCEND_SIM_ROOT", str(tmp_path))

    def site(cann: str, chip: str = "910b", platform: str = PLATFORM) -> Site:
        packed = pack(cann, chip, platform)
        target = packed.target
        for name, word in (("uname", target.machine), ("arch", target.machine)):
            (tmp_path / "bin" / name).write_text(f"#!/bin/sh\necho {word}\n", encoding="utf-8")
            (tmp_path / "bin" / name).chmod(0o755)
        facts = {"release": cann, "toolkit": cann, "layout": str(target.cann.layout)}
        facts |= {"machine": target.machine, "operators": CHIPS[chip]}
        (tmp_path / "facts.json").write_text(json.dumps(facts), encoding="utf-8")
        for component in (each for each in COMPONENTS if each in target.artifacts):
            module.main(component, str(packed.file(component)), "", "true")
        return Site(machine, packed)

    return site


def half_installed(site: Site) -> None:
    folder = site.home / KERNELS
    for path in [each for each in sorted(folder.rglob("*.json")) if "simulated" not in each.name]:
        path.unlink()
    for path in site.home.rglob("libop*_nn.so"):
        path.unlink()


def other_kernels(site: Site) -> None:
    [folder] = (site.home / KERNELS).glob("ascend*")
    folder.rename(folder.with_name("ascend910" if folder.name != "ascend910" else "ascend310p"))


def other_nnal(site: Site) -> None:
    """Of another release of CANN, whose file set of ATB this one does not have."""
    release, other = site.packed.target.cann.version, "8.5.0"
    other = other if release != other else "8.3.RC1"
    top = site.machine.ascend / "nnal/atb"
    (top / release).rename(top / other)
    (top / "latest").unlink()
    (top / "latest").symlink_to(other)
    for path in [*(top / other).glob("ascend_nnal_install.info"), top / other / "version.info"]:
        text = path.read_text(encoding="utf-8")
        path.chmod(0o644)
        path.write_text(text.replace(release, other), encoding="utf-8")


def no_opp(site: Site) -> None:
    shutil.rmtree(site.home / "opp")


def driver_inside(site: Site) -> None:
    (site.machine.ascend / "driver/lib64/driver").mkdir(parents=True)
    (site.machine.ascend / "driver/lib64/driver/libascend_hal.so").touch()
