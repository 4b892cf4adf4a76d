# SPDX-License-Identifier: Apache-2.0
"""What holds for every application of the matrix, and that every environment asked for is there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
import yaml
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from cannery.common.model import Application, Target
from cannery.lock.lock_file import LockedWheel, parse_lock
from tests.policy.conftest import PROJECT, TARGETS

IMAGE_TESTS = PROJECT.root / "tests" / "image"
NOT_OF_A_COMPONENT = {"os", "driver", "guard", "probes"}

# Applications by the name that matrix.yaml gives them, and the targets that have them.
APPLICATIONS: dict[str, tuple[Application, list[Target]]] = {}
for each in TARGETS.values():
    if each.application:
        key = f"{each.application.component}-{each.application.version}"
        APPLICATIONS.setdefault(key, (each.application, []))[1].append(each)


def locked(target: Target) -> dict[str, LockedWheel]:
    text = PROJECT.lock(target).read_text(encoding="utf-8")
    return {wheel.name: wheel for wheel in parse_lock(text).wheels}


def checks(folder: Path) -> list[str]:
    """The tests in ``folder`` with what each says that it checks."""
    return [
        ast.get_docstring(node) or ""
        for path in sorted(folder.glob("test_*.py"))
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    ]


OF_THE_VENDOR = {"python", "toolkit", "kernels", "nnal"}
"""Components that are in no lock."""

COMPARED = re.compile(r'(?:==|\bin) record\["components"\]\["(\w+)"\]')
LOCKED = re.compile(r'locked\("([\w-]+)"\)')


def test_image_checks_compare_packages_with_the_lock() -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in IMAGE_TESTS.rglob("test_*.py")}
    compared = {(path.name, name) for path in texts for name in COMPARED.findall(texts[path])}
    assert {each for each in compared if each[1] not in OF_THE_VENDOR} == set()
    assert COMPARED.findall('assert found == record["components"]["torch"]') == ["torch"]


def test_what_image_checks_compare_is_in_the_lock(target: Target) -> None:
    vendor = {canonicalize_name(name) for name in target.vendor_wheels}
    known = {*locked(target), *vendor}
    for component in target.components:
        for path in (IMAGE_TESTS / component).glob("test_*.py"):
            assert {*LOCKED.findall(path.read_text(encoding="utf-8"))} <= known


@pytest.fixture(params=TARGETS)
def target(request: pytest.FixtureRequest) -> Target:
    """Every target: what is tested here depends on its line in the matrix."""
    return TARGETS[request.param]


def test_every_stack_of_the_file_is_used() -> None:
    text = (PROJECT.root / "cannery" / "data" / "applications.yaml").read_text(encoding="utf-8")
    raw = yaml.load(text, yaml.BaseLoader)
    declared = {f"{each['component']}-{each['version']}" for each in raw["applications"].values()}
    assert declared == APPLICATIONS.keys()
    used = {each.application.name for each in TARGETS.values() if each.application}
    assert used == raw["applications"].keys()


def test_every_component_has_image_tests(target: Target) -> None:
    named = {"base": "os"}
    for component in target.components:
        # The plugin is part of DeepSpeed for whoever uses it.
        folder = named.get(component, component).removesuffix("_plugin")
        assert checks(IMAGE_TESTS / folder), f"tests/image/{folder} has no tests"


def test_no_image_tests_are_of_nothing() -> None:
    known = {name for target in TARGETS.values() for name in target.components}
    folders = {path.name for path in IMAGE_TESTS.iterdir() if path.is_dir()}
    assert folders - {"__pycache__"} - NOT_OF_A_COMPONENT <= known


@pytest.mark.parametrize("name", APPLICATIONS)
def test_sdists_are_locked(name: str) -> None:
    application, targets = APPLICATIONS[name]
    found = {wheel for target in targets for wheel in locked(target)}
    assert not {*application.sdists} - found
    assert [canonicalize_name(each) for each in application.sdists] == [*application.sdists]
    assert len({*application.sdists}) == len(application.sdists)


@pytest.mark.parametrize("name", APPLICATIONS)
def test_an_override_is_locked_or_takes_the_package_away(name: str) -> None:
    application, targets = APPLICATIONS[name]
    for target in targets:
        wheels = locked(target)
        for override in map(Requirement, application.overrides):
            name = canonicalize_name(override.name)
            wheel = wheels.get(name)
            if wheel and name.replace("-", "_") in wheel.groups:
                continue  # The target names it itself.
            if override.marker and not holds(override.marker, target):
                assert wheel is None, f"{target.id} has {override.name}"
            else:
                assert wheel, f"{target.id} has no {override.name}"
                assert override.specifier.contains(wheel.version)


def holds(marker: Marker, target: Target) -> bool:
    return marker.evaluate(
        {
            "python_version": target.python.minor,
            "python_full_version": target.python.version,
            "platform_machine": target.machine,
            "sys_platform": "linux",
        }
    )


def test_a_stack_finds_its_wheels_in_the_lock(target: Target) -> None:
    vendors = {name.replace("_", "-") for name in target.vendor_wheels}
    assert not vendors & locked(target).keys()
    if target.application:
        for requirement in map(Requirement, target.application.requirements):
            assert locked(target)[canonicalize_name(requirement.name)].groups >= {"application"}


def test_unverified_targets_are_marked_in_the_dockerfile(target: Target) -> None:
    text = (PROJECT.images / target.id / "Dockerfile").read_text(encoding="utf-8")
    assert ("NOT KNOWN TO WORK" in text) == bool(target.unverified)
    assert ("io.cannery.unverified=" in text) == bool(target.unverified)
