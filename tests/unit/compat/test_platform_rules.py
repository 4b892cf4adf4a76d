# SPDX-License-Identifier: Apache-2.0
"""Wheels of a package index that do not fit the base or the machine are refused before a lock."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cannery.common.errors import MatrixError
from cannery.common.model import Target
from cannery.common.wheels import TorchIndex
from cannery.compat import parse_compat
from cannery.matrix.files import FACTS
from tests.unit.compat_targets import BASE, GOOD, cann, changed, problems, python
from tests.unit.matrices import OWN_FACTS, edited

NEWER = replace(
    BASE, name="debian-12", image="debian:12@sha256:" + "0" * 64, suite="bookworm", glibc="2.36"
)


def serving(requirement: str, **changes: object) -> Target:
    return changed(requirements=(*GOOD.requirements, requirement), **changes)


def test_a_wheel_for_a_newer_glibc_names_the_nearest_base() -> None:
    [said] = [each for each in problems(serving("vllm-ascend==0.23.0")) if " is refused" in each]
    assert "is refused: its wheels are for glibc 2.34 or newer" in said
    assert "Take a base with glibc 2.34 or newer, such as debian bookworm" in said
    assert "base debian-11 has 2.31" in said


def test_a_wheel_for_another_chip_says_where_else_it_is() -> None:
    own = serving("vllm-ascend==0.23.0", base=NEWER, chip="a3", cann=cann("9.1.0", chip="a3"))
    [said] = [each for each in problems(own) if " is refused" in each and "910b (A2)" in each]
    assert "check_ascend_device_type() stops each worker" in said
    assert "Take chip 910b, or vllm-ascend's own image for the chip." in said
    other = problems(replace(own, chip="910b", cann=cann("9.1.0")))
    assert not [each for each in other if "910b (A2)" in each]


def test_a_platform_without_wheels_names_the_other() -> None:
    own = serving("sglang==0.5.23", base=NEWER, platform="linux/amd64")
    [said] = [each for each in problems(own) if " is refused" in each]
    assert "its wheels are for aarch64 only" in said
    assert "Take platform linux/arm64, or another version." in said
    other = problems(replace(own, platform="linux/arm64"))
    assert not [each for each in other if "sglang" in each]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "machine: x86_64, source",
            "machine: x86, source",
            "there is no 'x86'. Did you mean 'x86_64'?",
        ),
        (
            "vllm-ascend==0.23.0, glibc_below: 2.34",
            "vllm-ascend==0.23.0, glibc_below: new",
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
