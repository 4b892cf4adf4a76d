# SPDX-License-Identifier: Apache-2.0
"""Wheels of a package index that do not fit the base or the machine are refused before a lock."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cannery.common.errors import MatrixError
from cannery.common.model import Target
from cannery.common.wheels import TorchIndex
from cannery.compat import parse_compat
from cannery.compat.wheel_rules import recorded
from cannery.lock.lock_file import read_lock
from cannery.matrix.files import FACTS
from cannery.matrix.project import Project
from tests.unit.compat_targets import BASE, GOOD, cann, changed, file_of, problems, python
from tests.unit.matrices import CHECKOUT, OWN_FACTS, edited

NEWER = replace(
    BASE, name="debian-12", image="debian:12@sha256:" + "0" * 64, suite="bookworm", glibc="2.36"
)


def serving(requirement: str, **changes: object) -> Target:
    return changed(requirements=(*GOOD.requirements, requirement), **changes)


def test_a_wheel_for_a_newer_glibc_names_the_nearest_base() -> None:
    [said] = [each for each in problems(serving("vllm-ascend==0.23.0")) if "the wheels" in each]
    assert "the wheels of vllm-ascend 0.23.0 in package indexes are for glibc 2.34 or newer" in said
    assert "Take a base with glibc 2.34 or newer, such as debian bookworm" in said
    assert "base debian-11 has 2.31" in said


def test_a_wheel_for_another_chip_says_where_else_it_is() -> None:
    own = serving("vllm-ascend==0.23.0", base=NEWER, chip="a3", cann=cann("9.1.0", chip="a3"))
    [said] = [each for each in problems(own) if " is refused" in each and "910b (A2)" in each]
    assert "check_ascend_device_type() stops each worker" in said
    assert "Take chip 910b, or vllm-ascend's own image for the chip." in said
    other = problems(replace(own, chip="910b", cann=cann("9.1.0")))
    assert not [each for each in other if "910b (A2)" in each]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"torch": "2.7.1", "torch_npu": "2.7.1", "python": python("3.13.5")},
            "python: torch_npu 2.7.1 has no wheel for Python 3.13 in package indexes",
        ),
        (
            {"torch": "2.12.0", "torch_npu": "2.12.0", "python": python("3.14.0")},
            "python: torch_npu 2.12.0 has no wheel for Python 3.14 in package indexes",
        ),
        (
            {"torch": "2.1.0", "torch_npu": "2.1.0.post6", "python": python("3.11.9")},
            "python: torch_npu 2.1.0.post6 has no wheel for Python 3.11 in package indexes",
        ),
        (
            {"torch": "2.10.0", "torch_npu": "2.10.0.post6", "python": python("3.12.3")}
            | {"platform": "linux/amd64"},
            "python: torch_npu 2.10.0.post6 has no wheel for Python 3.12 in package indexes",
        ),
        (
            {"torch": "2.1.0", "torch_npu": "2.1.0.post4"},
            "torch_npu: package indexes have no wheel of torch_npu 2.1.0.post4",
        ),
        (
            {"base": BASE, "extras": {"mooncake": "0.3.11.post1"}},
            "mooncake: the wheels of mooncake-transfer-engine-npu 0.3.11.post1 in package indexes",
        ),
        (
            {"requirements": ("mindspore==2.10.0",), "python": python("3.13.5")},
            "requirements: mindspore 2.10.0 has no wheel for Python 3.13 in package indexes",
        ),
        (
            {"requirements": ("sglang==0.5.23",), "python": python("3.10.9")},
            "requirements: sglang 0.5.23 has no wheel for Python 3.10 in package indexes",
        ),
    ],
)
def test_a_version_without_a_wheel_for_the_image_is_refused_before_a_lock(
    changes: dict[str, object], said: str
) -> None:
    target = changed(**{"apex": None, "deepspeed": "", "base": NEWER, **changes})
    assert [each for each in problems(target) if each.startswith(said)]
    # A file need not be in an index.
    if said.startswith(("python", "torch_npu")):
        wheel = file_of("torch_npu", target.torch_npu)
        texts = problems(replace(target, torch_npu_wheel=wheel))
        assert not [each for each in texts if said.partition(": ")[2] in each]


def test_a_range_is_left_to_the_lock() -> None:
    target = changed(requirements=("mindspore>=2.7",), python=python("3.13.5"))
    assert not [each for each in problems(target) if "package indexes" in each and "minds" in each]


def test_every_lock_has_what_the_recorded_tags_say() -> None:
    project = Project(root=CHECKOUT)
    compat = project.compat()
    seen = 0
    for target in project.matrix().targets.values():
        for wheel in read_lock(project, target).wheels:
            row = recorded(compat, wheel.name, wheel.version, target.machine)
            if row and wheel.files[0].name.endswith(".whl"):
                assert target.python.minor in row.pythons, (target.id, wheel.name)
                seen += 1
    assert seen > 50


def test_vllm_ascend_needs_nnal() -> None:
    own = serving("vllm-ascend==0.18.0", with_nnal=False)
    [said] = [each for each in problems(own) if "NNAL" in each]
    assert said.startswith("cann: This combination fails: a worker of vllm-ascend loads libatb.so")
    assert "NNAL, which the target does not have" in said
    assert not [each for each in problems(replace(own, with_nnal=True)) if "libatb" in each]


def test_a_torch_npu_older_than_a_chip_is_not_compatible_with_its_cann() -> None:
    own: dict[str, object] = {"torch": "2.9.0", "torch_npu": "2.9.0", "apex": None, "deepspeed": ""}
    own |= {"base": NEWER, "python": python("3.11.9"), "with_nnal": False}
    a3 = problems(changed(**own, chip="a3", cann=cann("9.1.0", chip="a3")))
    assert a3 == []
    [said] = problems(changed(**own, chip="950", cann=cann("9.1.0", chip="950")))
    assert "torch_npu 2.9.0 and torch 2.9.0 are not known to work on CANN 9.1.0" in said
    assert "only on CANN 8.5.0" in said
    newer = changed(
        **{**own, "torch_npu": "2.9.0.post2"}, chip="950", cann=cann("9.1.0", chip="950")
    )
    assert problems(newer) == []


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "machine: x86_64, usual_index",
            "machine: x86, usual_index",
            "there is no 'x86'. Did you mean 'x86_64'?",
        ),
        (
            "glibc: 2.35, source: wheels",
            "glibc: new, source: wheels",
            "'new' is not a version of glibc. Write it as in 2.34.",
        ),
    ],
)
def test_a_wrong_condition(old: str, new: str, said: str) -> None:
    text = edited(old, new, OWN_FACTS.read_text(encoding="utf-8"))
    with pytest.raises(MatrixError) as caught:
        parse_compat(text, FACTS)
    assert said in str(caught.value)


def changed_torch(**changes: object) -> list[str]:
    """What is wrong with torch 2.10.0 on CANN 9.1.0, so changed."""
    pair = {"torch": "2.10.0", "torch_npu": "2.10.0.post4", "python": python("3.11.9")}
    plain = {"apex": None, "deepspeed": "", "cann": cann("9.1.0")}
    return problems(changed(**{**pair, **plain, "base": NEWER, **changes}))


def test_torch_for_x86_64_is_for_cuda_in_the_usual_index() -> None:
    [said] = changed_torch(platform="linux/amd64")
    assert "name an index of builds for the CPU with torch_index, or take platform linux" in said
    index = TorchIndex(name="cpu", url="https://example.com/cpu", local="cpu")
    assert changed_torch(platform="linux/amd64", torch_index=index) == []
    assert changed_torch() == []


def test_an_application_whose_pin_contradicts_the_pair() -> None:
    said = changed_torch(requirements=("sglang==0.5.10.post1", "protobuf>=5.26.0"))
    assert any("SGLang 0.5.10.post1 requires torch 2.9.1" in each for each in said)


def test_a_package_without_which_an_application_is_not_known_to_work() -> None:
    asked = {"requirements": ("vllm-ascend==0.23.0", "protobuf>=5.29.6")}
    said = [each for each in changed_torch(**asked) if "triton-ascend" in each]
    assert len(said) == 1
    assert "no requirement keeps triton-ascend at triton-ascend==3.2.2" in said[0]
    assert "Add 'triton_ascend: 3.2.2' to the target." in said[0]
    assert "add 'unverified: why' to the target" in said[0]
    with_it = changed_torch(**asked, extras={"triton_ascend": "3.2.2"})
    assert not [each for each in with_it if "no requirement keeps" in each]
    known = changed_torch(**asked, unverified="it is added later")
    assert not [each for each in known if "triton-ascend" in each]
