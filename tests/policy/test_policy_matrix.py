# SPDX-License-Identifier: Apache-2.0
"""What holds for every target of the matrix, its lock and its generated files."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from cannery.common.model import EXTRAS, Target
from cannery.image.drift import compare, require_in_sync
from cannery.image.plan import plan_image
from cannery.image.render import Renderer
from cannery.lock.lock_file import LockedWheel, parse_lock, read_lock
from cannery.matrix.project import Project
from tests.policy.conftest import TARGETS
from tests.unit.described import described_folder

HASH_LINE = re.compile(r"    --hash=sha256:[0-9a-f]{64}( \\)?")
PACKAGE_LINE = re.compile(r"[a-z0-9._-]+==[^\s;]+( ; [^\\]+)? \\")


def wheels_of(path: Path) -> list[LockedWheel]:
    return [*parse_lock(path.read_text(encoding="utf-8")).wheels]


@pytest.fixture(params=TARGETS)
def target(request: pytest.FixtureRequest) -> Target:
    """Every target: what is tested here depends on its line in the matrix."""
    return TARGETS[request.param]


def test_images_are_in_sync_with_the_matrix(project: Project) -> None:
    renderer = Renderer(project)
    targets = project.matrix().targets
    rendered = {
        p: text
        for each in targets.values()
        for p, text in renderer.render(each).paths(project).items()
    }
    require_in_sync(project, compare(project, rendered, targets), "python build.py render")


def test_torch_npu_is_made_for_the_torch_beside_it(target: Target, folder: Path) -> None:
    locked = {wheel.name: wheel.version for wheel in wheels_of(folder / "requirements.lock")}
    assert locked.get("torch", "") == ("" if target.torch_wheel else target.torch)
    assert bool(target.torch) == bool(target.torch_npu)
    if target.torch:
        assert Version(target.torch_npu).base_version == target.torch
    if wheel := target.torch_npu_wheel:
        # It is in no registry, so it comes as a file.
        assert wheel.version == target.torch_npu
        assert target.torch_npu in target.artifacts["torch_npu"].name
        assert "torch-npu" not in locked
    else:
        assert locked.get("torch-npu", "") == target.torch_npu


def test_a_lock_holds_packages_with_hashes_and_nothing_else(folder: Path) -> None:
    text = (folder / "requirements.lock").read_text(encoding="utf-8")
    for line in text.splitlines():
        known = PACKAGE_LINE.fullmatch(line) or HASH_LINE.fullmatch(line)
        assert known or re.match(r"(    )?# ", line) or line == "    #", line
    assert "://" not in text
    names = [wheel.name for wheel in wheels_of(folder / "requirements.lock")]
    assert len(set(names)) == len(names) > 20


def split(folder: Path, place: Path, project: Project) -> dict[str, list[str]]:
    """Layer to the lines that the build installs it from, by the Dockerfile's own program."""
    program = project.build_context / "describe-image"
    argv = [sys.executable, str(program), str(folder), str(place)]
    subprocess.run(argv, check=True)
    return {
        path.stem: path.read_text(encoding="utf-8").splitlines()
        for path in (place / "lock").iterdir()
    }


def test_layers_have_the_wheels_of_the_split_lock(
    target: Target, folder: Path, tmp_path: Path, project: Project
) -> None:
    found = split(folder, tmp_path, project)
    layers = [each for each in Renderer(project).render(target).layers if each.wheels]
    assert found == {
        layer.name: [line for wheel in layer.wheels for line in wheel.requirement.splitlines()]
        for layer in layers
    }


def local_versions(target: Target) -> dict[str, str]:
    """Package to the version of the wheel that the build makes of it."""
    return {each.package: each.installed_version for each in target.built_wheels.values()}


def test_constraints_have_the_versions_of_the_matrix(target: Target, folder: Path) -> None:
    lines = described_folder(folder)["constraints.txt"].splitlines()
    found: dict[str, Requirement] = {}
    for line in lines[2:]:
        requirement, mark, reason = line.partition("  # ")
        assert mark and len(reason) > 10, line
        found[canonicalize_name(Requirement(requirement).name)] = Requirement(requirement)
    locked = {wheel.name: wheel.version for wheel in wheels_of(folder / "requirements.lock")}
    framework = {"torch": target.torch, "torch-npu": target.torch_npu}
    if not target.torch:
        framework = {"mindspore": locked["mindspore"]}
    exact = {**framework, "numpy": locked["numpy"]}
    if wheel := target.vendor_wheels.get("torch"):
        exact["torch"] = wheel.file_version
    assert {name: str(found[name].specifier) for name in exact} == {
        name: f"=={version}" for name, version in exact.items()
    }
    for name, version in (locked | local_versions(target)).items():
        assert name not in found or found[name].specifier.contains(version, prereleases=True)
    asked = map(Requirement, (*target.cann.requirements, *target.requirements))
    assert {canonicalize_name(each.name) for each in asked if each.specifier} <= found.keys()


PACKAGES = {"torch": "torch", "torch_npu": "torch-npu", "deepspeed": "deepspeed", **EXTRAS}


def test_every_component_is_locked_in_its_version(target: Target, folder: Path) -> None:
    """What target.json, labels and 'list' say is what is installed: a file, or the lock's wheel."""
    locked = {wheel.name: wheel.version for wheel in wheels_of(folder / "requirements.lock")}
    application = target.application.component if target.application else ""
    for component, version in target.components.items():
        package = PACKAGES.get(component, canonicalize_name(component))
        if component in target.vendor_wheels:
            assert package not in locked
        elif component in PACKAGES or (component == application and package in locked):
            assert Version(locked[package]).public == version, component


def test_the_record_has_the_locked_versions(target: Target, folder: Path, project: Project) -> None:
    made = described_folder(folder)
    record = json.loads(made["target.json"])
    # The image tests compare the image with this one.
    expected = plan_image(target, read_lock(project, target)).image_record
    assert record == json.loads(json.dumps(expected))
    locked = {wheel.name: wheel.version for wheel in wheels_of(folder / "requirements.lock")}
    assert record["wheels"] == locked | local_versions(target)
    assert record["components"] == target.components
    lines = made["constraints.txt"].splitlines()
    assert record["held"] == [line.partition("  # ")[0] for line in lines if line[0] != "#"]
    lock = (folder / "requirements.lock").read_bytes()
    label = f'io.cannery.lock="sha256:{hashlib.sha256(lock).hexdigest()}"'
    assert label in (folder / "Dockerfile").read_text(encoding="utf-8")
