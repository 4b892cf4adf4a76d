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
from cannery.matrix.project import select
from tests.policy.conftest import PROJECT, TARGETS

IMAGE_TESTS = PROJECT.root / "tests" / "image"
NOT_OF_A_COMPONENT = {"os", "driver", "guard", "probes"}

# Applications by the name that matrix.yaml gives them, and the targets that have them.
APPLICATIONS: dict[str, tuple[Application, list[Target]]] = {}
for each in TARGETS.values():
    if each.application:
        key = f"{each.application.component}-{each.application.version}"
        APPLICATIONS.setdefault(key, (each.application, []))[1].append(each)

# Target to some of what it must have, whatever else it has; '' is for what it must not have.
WANTED: dict[str, dict[str, str]] = {
    # The training images, and what is used on them.
    "py38-torch210-cann8rc2": {
        "python": "3.8.18",
        "toolkit": "8.0.RC2",
        "torch": "2.1.0",
        "apex": "0.1+ascend",
        "torch_npu": "2.1.0.post6",
        "nnal": "8.0.RC2",
        "deepspeed": "0.14.3",
    },
    "py39-torch210-cann8rc2": {"python": "3.9.2", "toolkit": "8.0.RC2", "torch": "2.1.0"},
    "py39-torch231-cann8t39": {"toolkit": "8.0.T39", "torch": "2.3.1", "deepspeed": "0.15.0"},
    "py39-torch231-cann8t39-ds0143": {"torch": "2.3.1", "deepspeed": "0.14.3"},
    "py39-torch231-cann8t39-llamafactory090": {"llamafactory": "0.9.0", "deepspeed": "0.14.3"},
    "py311-torch231-cann8t39-opencompass039": {"opencompass": "0.3.9", "torch": "2.3.1"},
    "py39-torch251-cann81rc1-vllm073": {"vllm": "0.7.3", "torch_npu": "2.5.1"},
    # An early PyTorch and an early MindSpore.
    "py37-torch1110-cann63rc1-llama13b": {
        "python": "3.7.17",
        "toolkit": "6.3.RC1.alpha003",
        "torch": "1.11.0",
        "nnal": "",
        "torch_npu": "1.11.0",
        "deepspeed": "0.6.0",
        "deepspeed_plugin": "0.6.0",
        "apex": "0.1+ascend",
        "transformers": "4.28.1",
    },
    "py37-mindspore200-cann63rc1": {"python": "3.7.17", "mindspore": "2.0.0", "torch": ""},
    "py39-mindspore271-cann83rc1": {"mindspore": "2.7.1", "torch": "", "torch_npu": ""},
    # ms-swift.
    "py310-torch210-cann8rc3-swift261": {"python": "3.10.14", "swift": "2.6.1", "torch": "2.1.0"},
    "py311-torch210-cann8rc3-swift261": {"python": "3.11.2", "swift": "2.6.1"},
    # LLaMA-Factory with a compose file.
    "py310-torch210-cann80rc1-llamafactory082": {
        "python": "3.10.14",
        "toolkit": "8.0.RC1",
        "torch": "2.1.0",
        "deepspeed": "0.13.2",
        "torch_npu": "2.1.0.post3",
        "llamafactory": "0.8.2",
    },
    # MindSpeed-LLM.
    "py310-torch271-cann900-mindspeed2600": {
        "toolkit": "9.0.0",
        "nnal": "9.0.0",
        "apex": "0.1+ascend",
        "mindspeed_llm": "26.0.0",
    },
    # What is current, for both kinds of chip.
    "py311-torch271-cann910-910b": {"torch": "2.7.1", "kernels": "9.1.0 (910b)"},
    "py311-torch271-cann910-a3": {"torch": "2.7.1", "kernels": "9.1.0 (a3)"},
    "py311-torch290-cann910-910b": {"torch": "2.9.0", "kernels": "9.1.0 (910b)"},
    "py311-torch290-cann910-a3": {"torch": "2.9.0", "kernels": "9.1.0 (a3)"},
}


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


@pytest.fixture(params=TARGETS)
def target(request: pytest.FixtureRequest) -> Target:
    """Every target: what is tested here depends on its line in the matrix."""
    return TARGETS[request.param]


@pytest.mark.parametrize("name", WANTED)
def test_a_target_that_was_asked_for_is_there(name: str) -> None:
    found = TARGETS[name].components
    assert {key: found.get(key, "") for key in WANTED[name]} == WANTED[name]


def test_torch_210_is_not_torch_21() -> None:
    found = select(PROJECT.matrix(), ["*"], ["torch=2.10"])
    assert {target.torch for target in found} == {"2.10.0"}


@pytest.mark.parametrize("name", TARGETS)
def test_an_id_names_the_versions_of_its_target(name: str) -> None:
    target = TARGETS[name]
    shown = {
        "py": target.python.minor.replace(".", ""),
        "torch": target.torch.replace(".", ""),
        "cann": target.cann.version.lower().replace(".", ""),
    }
    for word in name.split("-")[:3]:
        if found := re.fullmatch(r"(py|torch|cann)(\d\w*)", word):
            kind, digits = found.groups()
            # Older ids write 8.0.RC2 as 8rc2, and leave out the alpha of 6.3.RC1.alpha003.
            spellings = {shown[kind], shown[kind].replace("80", "8", 1)}
            assert any(each.startswith(digits) for each in spellings), (name, word)


def test_an_id_tells_ports_of_torch_apart() -> None:
    pairs = {each.id: (each.torch, each.cann.version) for each in TARGETS.values()}
    for name, pair in pairs.items():
        if re.fullmatch(r"py\d+-torch\d+-cann\w+", name):
            same = [each for each in pairs if each.split("-")[1:] == name.split("-")[1:]]
            assert {pairs[each] for each in same} == {pair}


def test_every_stack_of_the_file_is_used() -> None:
    text = (PROJECT.root / "cannery" / "data" / "applications.yaml").read_text(encoding="utf-8")
    raw = yaml.load(text, yaml.BaseLoader)
    declared = {f"{each['component']}-{each['version']}" for each in raw["applications"].values()}
    assert declared == APPLICATIONS.keys()
    assert len(declared) == len(raw["applications"])


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
            wheel = wheels.get(canonicalize_name(override.name))
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
