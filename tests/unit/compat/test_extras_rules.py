# SPDX-License-Identifier: Apache-2.0
"""What compat.yaml says of components that are one package each, and of what they exclude."""

from __future__ import annotations

import pytest

from tests.unit.compat_targets import cann, changed, problems, python

TODAY = {
    "python": python("3.11.9"),
    "cann": cann("9.1.0"),
    "torch": "2.10.0",
    "torch_npu": "2.10.0.post4",
    "apex": None,
    "deepspeed": "",
}


def today(**changes: object) -> dict[str, object]:
    return {**TODAY, **changes}


@pytest.mark.parametrize(
    ("component", "version", "right"),
    [("torchvision", "0.24.0", "0.25.0"), ("torchaudio", "2.9.0", "2.10.0")],
)
def test_one_of_another_torch_is_not(component: str, version: str, right: str) -> None:
    [said] = problems(changed(**today(extras={component: version})))
    assert f"'{component}=={version}' is not known to work; {component}=={right} is." in said


def test_triton_is_refused_without_triton_ascend() -> None:
    [said] = problems(changed(**today(requirements=("triton==3.5.0",))))
    assert "it is for CUDA and hides triton-ascend's module" in said


def test_triton_is_refused_beside_a_triton_ascend_that_it_would_overwrite() -> None:
    extras = {"triton_ascend": "3.2.2"}
    [said] = problems(changed(**today(extras=extras, requirements=("triton==3.5.0",))))
    assert "its files overwrite those of triton-ascend" in said


def test_triton_ascend_321_takes_the_triton_that_it_depends_on() -> None:
    pair = {"torch_npu": "2.10.0", "cann": cann("9.0.0"), "extras": {"triton_ascend": "3.2.1"}}
    assert problems(changed(**today(**pair, requirements=("triton==3.5.0",)))) == []
    [said] = problems(changed(**today(**pair, requirements=("triton==3.6.0",))))
    assert "triton==3.5.0" in said


def test_a_triton_ascend_of_another_pair_is_not_known() -> None:
    [said] = problems(changed(**today(extras={"triton_ascend": "3.2.0"})))
    assert said.startswith("triton_ascend: 'triton-ascend==3.2.0' is not known to go with")
