# SPDX-License-Identifier: Apache-2.0
"""A stand-in of each generation of CANN, for both machines: install-cann, image tests and audit.

The trees have the paths at which checks were wrong with the vendor's packages: libraries for the
device's own CPU, archives, wheels and lists of files.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from cannery.matrix.project import Project
from cannery.verify.audit.contents import judge_image
from cannery.verify.audit.facts import ImageConfig, parse_probe
from cannery.verify.audit.report import Result, Standing
from cannery.verify.auditing import probe_program

from .conftest import ROOT, Packed
from .generations import (
    Site,
    driver_inside,
    half_installed,
    installer,
    no_opp,
    other_kernels,
    other_nnal,
)
from .test_image_facts import probe

GENERATIONS = (
    *("6.3.RC1.alpha003", "8.0.RC3", "8.1.RC1", "8.3.RC1", "8.5.0", "9.0.0", "9.1.0", "9.2.0"),
)
MACHINES = {"aarch64": "linux/arm64", "x86_64": "linux/amd64"}
PROJECT = Project(root=ROOT)
COMPAT, KNOWN = PROJECT.compat(), PROJECT.matrix().cann


@pytest.fixture
def install(
    tmp_path: Path, pack: Callable[..., Packed], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Site]:
    return installer(tmp_path, pack, monkeypatch)


def sourced(site: Site) -> dict[str, str]:
    """The variables that CANN's script sets."""
    script = f"set +u; . {site.machine.ascend}/ascend-toolkit/set_env.sh; env -0"
    # It asks for the machine, too.
    env = {"PATH": f"{site.machine.root}/bin:/usr/bin:/bin"}
    done = subprocess.run(["bash", "-c", script], env=env, capture_output=True, check=True)
    pairs = (each.split("=", 1) for each in done.stdout.decode().split("\0") if "=" in each)
    return dict(pairs)


def torch_moved(site: Site) -> None:
    """The distributions of ``judged`` have it."""


DEFECTS: dict[Callable[[Site], None], str] = {
    half_installed: "cann/files",
    other_kernels: "kernels/chip",
    other_nnal: "compat/nnal",
    no_opp: "cann/files",
    driver_inside: "driver/baked-in",
    torch_moved: "compat/torch_npu",
}


def probed(site: Site) -> dict[str, Any]:
    """What the probe says of this CANN; of all else, what it says of an image of others."""
    program = probe_program().replace('"/usr/local/Ascend"', repr(str(site.machine.ascend)))
    program = program.replace('("/usr/local",)', repr((str(site.machine.ascend.parent),)))
    argv = [sys.executable, "-I", "-c", program]
    done = subprocess.run(argv, env=sourced(site), capture_output=True, text=True, check=True)
    facts: dict[str, Any] = json.loads(done.stdout.splitlines()[-1].partition(": ")[2])
    facts |= {"python": {"path": "/usr/local/bin/python3", "version": "3.11.14"}}
    facts |= {"torch_file": "", "other_pythons": {}, "triton": {}, "shell_files": {}}
    # This machine's Python has not what CANN's programs import.
    facts |= {"cann_programs": {}}
    facts["driver"] = [each for each in facts["driver"] if "/Ascend/" in each]
    return facts


@dataclass(frozen=True, kw_only=True)
class Tagged:
    """An image of others: its name, and the torch and torch_npu in it."""

    name: str
    torch: str = ""
    torch_npu: str = ""


def judged(site: Site, facts: Mapping[str, Any], image: Tagged) -> list[Result]:
    """What the audit says of an image with these facts."""
    place = "/usr/local/python3.11/lib/python3.11/site-packages"
    versions = {"torch": image.torch, "torch-npu": image.torch_npu} if image.torch else {}
    found = {name: [[each, place]] for name, each in versions.items()}
    parsed = parse_probe(f"cannery-probe: {json.dumps({**facts, 'distributions': found})}")
    environment = dict(facts["environment"])
    architecture = {"aarch64": "arm64", "x86_64": "amd64"}[site.packed.target.machine]
    config = ImageConfig(reference=image.name, architecture=architecture, environment=environment)
    return [*judge_image(parsed, config, COMPAT, KNOWN)]


def checks(results: list[Result], standing: Standing) -> set[str]:
    return {each.check for each in results if each.standing is standing}


def require_verdicts(whole: Site, images: list[Tagged], kept: Path) -> None:
    """Assert that the image is judged well under each name, and each defect of it is told."""
    facts = probed(whole)
    for image in images:
        results = judged(whole, facts, image)
        assert not checks(results, Standing.BROKEN), results
        assert {"cann/files", "kernels/chip"} <= checks(results, Standing.PASSED), results
    shutil.copytree(whole.machine.ascend, kept, symlinks=True)
    for spoil, check in DEFECTS.items():
        if spoil is other_nnal and not (whole.machine.ascend / "nnal").exists():
            continue  # releases before 8.0.RC2 have none
        spoil(whole)
        facts = probed(whole)
        moved = [replace(each, torch="2.12.0") for each in images if each.torch]
        for image in moved if spoil is torch_moved else images:
            results = judged(whole, facts, image)
            assert check in checks(results, Standing.BROKEN), (spoil.__name__, image, results)
        shutil.rmtree(whole.machine.ascend)
        shutil.copytree(kept, whole.machine.ascend, symlinks=True)


def require_right_files(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Assert what the image tests ask of libraries, and of the lists of the packages' files."""
    for name, value in sourced(site).items():
        monkeypatch.setenv(name, value)
    found = probe(site.machine, str(site.home.relative_to(site.machine.ascend)))
    machine = site.packed.target.machine
    found["RECORD"] = {"machine": machine}
    files = found["elf_machines"](str(site.machine.root / "site-packages"))
    assert files["wrong"] == []
    other = {"aarch64": "x86_64", "x86_64": "aarch64"}[machine]
    assert files["counts"][other] > 1
    lists = found["compare"](str(site.home))
    assert len(lists) > 4
    assert [each for each in lists if each["missing"] and not each["few"]] == []
    # A library in a folder that programs load from is another matter.
    folder = Path(os.environ["LD_LIBRARY_PATH"].split(":")[0]).resolve()
    device = next(path for path in site.home.rglob("libruntime.so") if "device" in path.parts)
    shutil.copy(device, folder / "libwrong.so")
    monkeypatch.setitem(found["RECORD"], "machine", "x86_64")
    found["FILES"].append(str(folder / "libwrong.so"))
    wrong = found["elf_machines"](str(site.machine.root / "site-packages"))["wrong"]
    assert str(folder / "libwrong.so") in wrong


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("cann", GENERATIONS)
def test_each_generation_passes_and_each_defect_of_it_is_told(
    install: Callable[..., Site],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    cann: str,
    machine: str,
) -> None:
    site = install(cann, platform=MACHINES[machine])
    target = site.packed.target
    name = f"quay.io/ascend/cann:{cann.lower()}-{target.chip}-ubuntu22.04-py{target.python.minor}"
    image = Tagged(name=name, torch=target.torch, torch_npu=target.torch_npu)
    require_verdicts(site, [image], tmp_path / "kept")
    require_right_files(site, monkeypatch)


CANN, VLLM = "quay.io/ascend/cann:9.1.0", "quay.io/ascend/vllm-ascend:v0.22.1rc1"
TAGS = {
    "310p": (f"{CANN}-310p-ubuntu22.04-py3.12", f"{VLLM}-310p"),
    "910b": (f"{CANN}-910b-openeuler24.03-py3.11", VLLM),
    "a3": (f"{CANN}-a3-ubuntu22.04-py3.12", f"{VLLM}-910c"),
    "950": (f"{CANN}-950-ubuntu22.04-py3.12", f"{VLLM}-a5-openeuler"),
}
"""Chip to names as the vendor and vllm-ascend tag their images."""


@pytest.mark.parametrize("chip", TAGS)
def test_images_of_others_get_the_right_verdict(
    install: Callable[..., Site], tmp_path: Path, chip: str
) -> None:
    site = install("9.1.0", chip)
    cann, vllm = TAGS[chip]
    images = [Tagged(name=cann), Tagged(name=vllm, torch="2.10.0", torch_npu="2.10.0")]
    require_verdicts(site, images, tmp_path / "kept")
