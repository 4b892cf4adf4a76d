# SPDX-License-Identifier: Apache-2.0
"""Which pairs of torch and torch_npu, and which DeepSpeeds, are known to work."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from cannery.common.model import Target
from cannery.common.wheels import VendorWheel
from cannery.compat import Verdict
from tests.unit.compat_targets import cann, changed, file_of, findings, problems, python

PLUGIN = VendorWheel(
    version="0.9.2", file="deepspeed_npu-0.1-py3-none-any.whl", origin="its makers"
)


@pytest.mark.parametrize(
    ("torch", "torch_npu", "fix"),
    [
        ("2.1.0", "2.3.1.post2", "Take a torch_npu 2.1.0, or torch 2.3.1."),
        ("2.3.0", "2.3.1", "Take a torch_npu 2.3.0, or torch 2.3.1."),
        ("2.3.1", "2.1.0.post6", "Take a torch_npu 2.3.1, or torch 2.1.0."),
    ],
)
def test_an_impossible_pair_is_forbidden(torch: str, torch_npu: str, fix: str) -> None:
    said = findings(changed(torch=torch, torch_npu=torch_npu))["torch_npu"]
    assert (said.verdict, said.key, said.fix) == (Verdict.FORBIDDEN, "torch_npu", fix)
    assert f"cannot be imported with torch {torch}" in said.text


@pytest.mark.parametrize("key", ["torch", "torch_npu", "deepspeed"])
@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("latest", "Write it as in 2.3.1."),
        ("2", "Write all three numbers, as in 2.0.0."),
        ("2.3", "Write all three numbers, as in 2.3.0."),
        ("v2.3.1", "Write 2.3.1, as the wheel's own metadata does."),
        ("02.3.1", "Write 2.3.1, as the wheel's own metadata does."),
        ("2.3.1-post2", "Write 2.3.1.post2, as the wheel's own metadata does."),
        ("2.1.0.rc1", "Write 2.1.0rc1, as the wheel's own metadata does."),
    ],
)
def test_only_full_versions_are_accepted(key: str, text: str, fix: str) -> None:
    changes: dict[str, Any] = {key: text}
    found = [each for each in problems(changed(**changes)) if "full version" in each]
    assert found == [f"{key}: {text!r} is not a full version. {fix}"]


@pytest.mark.parametrize(
    ("deepspeed", "torch", "minor", "plugin", "said"),
    [
        ("", "2.3.1", "3.9", None, ""),
        ("0.6.0", "1.11.0", "3.8", PLUGIN, ""),
        ("0.9.2", "2.1.0", "3.9", PLUGIN, ""),
        ("0.10.1", "2.0.1", "3.9", None, ""),
        ("0.15.0", "2.3.1", "3.9", None, ""),
        ("0.18.4", "2.9.0", "3.12", None, ""),
        ("0.6.0", "1.11.0", "3.8", None, "needs the deepspeed_npu plugin"),
        ("0.9.2", "2.1.0", "3.9", None, "needs the deepspeed_npu plugin"),
        ("0.9.3", "2.1.0", "3.9", PLUGIN, "takes none"),
        ("0.15.0", "2.3.1", "3.9", PLUGIN, "takes none"),
        ("0.5.9", "1.11.0", "3.8", None, "no NPU support and no plugin"),
        ("0.9.3", "2.1.0", "3.9", None, "neither detection nor op_builder/npu"),
        ("0.10.0", "2.1.0", "3.9", None, "neither detection nor op_builder/npu"),
        # What its torch or its Python is too new or too old for.
        ("0.6.0", "2.3.1", "3.9", PLUGIN, "it imports torch._six, which torch 2.0 removed"),
        ("0.6.0", "1.11.0", "3.10", PLUGIN, "not known to work with torch 1.11.0 and Python 3.10"),
        ("0.9.2", "2.12.0", "3.9", PLUGIN, "not known to work with torch 2.12.0 and Python 3.9"),
        ("0.10.1", "2.9.0", "3.11", None, "not known to work with torch 2.9.0 and Python 3.11"),
        ("0.19.0", "1.11.0", "3.9", None, "not known to work with torch 1.11.0 and Python 3.9"),
        ("0.99.0", "2.3.1", "3.9", None, "no source names this version"),
        ("0.19.99", "2.10.0", "3.11", None, "no source names this version"),
    ],
)
def test_deepspeed_is_judged_with_torch_and_python(
    deepspeed: str, torch: str, minor: str, plugin: VendorWheel | None, said: str
) -> None:
    target = changed(
        deepspeed=deepspeed,
        deepspeed_plugin=plugin,
        torch=torch,
        python=python(f"{minor}.9"),
        apex=None,
    )
    found = findings(target).get("deepspeed")
    if not said:
        assert found is None or found.verdict in (Verdict.ALLOWED, Verdict.DISPUTED), found
        return
    assert found
    assert said in found.text
    unknown = "not known" in found.text
    assert found.verdict is (Verdict.UNKNOWN if unknown else Verdict.FORBIDDEN)


def test_known_versions_for_deepspeed_are_named() -> None:
    target = changed(deepspeed="0.6.0", deepspeed_plugin=replace(PLUGIN, version="0.6.0"))
    [problem] = [each for each in problems(target) if each.startswith("deepspeed: ")]
    assert "It is known with torch <2,>=1.5 and Python 3.7-3.9" in problem
    [problem] = problems(changed(deepspeed="0.99.0"))
    assert "Known for torch 2.3.1 and Python 3.9: " in problem


def test_apex_is_judged_with_torch_and_python() -> None:
    old = {"torch": "2.9.0", "torch_npu": "2.9.0", "cann": cann("8.5.0"), "deepspeed": ""}
    said = findings(changed(**old, python=python("3.10.9")))["apex"]
    assert said.verdict is Verdict.UNKNOWN
    assert "not known to build for Python 3.10 and torch 2.9.0" in said.text
    assert "Known: Python 3.7-3.10 with torch <2.2,>=1.5; " in said.fix


@pytest.mark.parametrize("component", ["apex", "deepspeed"])
def test_apex_and_deepspeed_are_refused_without_torch(component: str) -> None:
    other: dict[str, Any] = {"apex": {"deepspeed": ""}, "deepspeed": {"apex": None}}
    bare: Target = changed(torch="", torch_npu="", with_nnal=False, **other[component])
    [problem] = problems(bare)
    assert problem.startswith(f"{component}: {component} ")
    assert "needs torch, which the target does not have" in problem


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


def test_triton_is_refused_if_its_files_overwrite_triton_ascend() -> None:
    own = today(
        extras={"triton_ascend": "3.2.2"}, triton_ascend_wheel=file_of("triton_ascend", "3.2.2")
    )
    [said] = problems(changed(**own, requirements=("triton==3.5.0",)))
    assert "its files overwrite those of triton-ascend" in said


def test_triton_ascend_321_accepts_only_its_required_triton() -> None:
    pair = {
        "torch_npu": "2.10.0",
        "cann": cann("9.0.0"),
        "extras": {"triton_ascend": "3.2.1"},
        "triton_ascend_wheel": file_of("triton_ascend", "3.2.1"),
    }
    assert problems(changed(**today(**pair, requirements=("triton==3.5.0",)))) == []
    [said] = problems(changed(**today(**pair, requirements=("triton==3.6.0",))))
    assert "triton==3.5.0" in said


def test_a_triton_ascend_of_another_pair_is_not_known() -> None:
    [said] = problems(changed(**today(extras={"triton_ascend": "3.2.0"})))
    assert said.startswith("triton_ascend: 'triton-ascend==3.2.0' is not known to go with")
