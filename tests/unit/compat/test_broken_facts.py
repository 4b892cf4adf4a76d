# SPDX-License-Identifier: Apache-2.0
"""A target with one broken fact has one problem."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cannery.common.bases import File
from cannery.common.model import Target
from tests.unit.cann_packages import with_packages
from tests.unit.compat_targets import (
    GOOD,
    PLUGIN,
    cann,
    changed,
    file_of,
    problems,
    python,
)


def with_file(component: str, name: str) -> Target:
    file = File(name=name, origin="its makers")
    value = {"910b": file} if component == "kernels" else file
    return changed(cann=with_packages(GOOD.cann, **{component: value}))


# One fact that is wrong; the key that is blamed; what is said.
BROKEN: dict[str, tuple[Target, str, str]] = {
    "torch_npu of another torch": (
        changed(torch_npu="2.1.0.post6"),
        "torch_npu",
        "cannot be imported with torch 2.3.1",
    ),
    "torch_npu of another CANN": (
        changed(torch_npu="2.3.1.post6"),
        "torch_npu",
        "not known to work on CANN 8.0.RC3, only on CANN 8.1.RC1. Source: Ascend/pytorch",
    ),
    "torch_npu of another CANN, what to do": (
        changed(torch_npu="2.3.1.post6"),
        "torch_npu",
        "change torch_npu to 2.3.1.post2 (CANN 8.0.RC3, Ascend/pytorch@HEAD:COMPATIBILITY.md)",
    ),
    "torch_npu that is no version in its source": (
        changed(torch="2.1.0", torch_npu="2.1.0.post3-20240523"),
        "torch_npu",
        "is a mistake in its source: 2.1.0.post3-20240523 is no PEP 440 version",
    ),
    "torch_npu that never was": (
        changed(torch_npu="2.3.1.post99"),
        "torch_npu",
        "change torch_npu to 2.3.1.post2",
    ),
    "python that is too new": (
        changed(python=python("3.12.3"), apex=None),
        "python",
        "no wheel for Python 3.12 in package indexes, only for 3.8, 3.9, 3.10, 3.11. Source: names",
    ),
    "python that is too old": (
        changed(python=python("3.7.9"), deepspeed="", apex=None),
        "python",
        "no wheel for Python 3.7",
    ),
    "python patch that is too old": (
        changed(
            python=python("3.7.2"),
            torch="1.11.0",
            torch_npu="1.11.0.post14",
            torch_npu_wheel=file_of("torch_npu", "1.11.0.post14"),
            cann=cann("8.0.RC2"),
            deepspeed="",
        ),
        "python",
        "needs Python 3.7.5 or newer",
    ),
    "chip without kernels": (
        changed(cann=cann("8.0.RC3", chip="a3"), chip="a3"),
        "cann",
        "not known to have kernels for chip a3; they were seen for 310b, 910b",
    ),
    "kernels of another chip": (
        with_file("kernels", "Ascend-cann-kernels-310p_8.0.RC3_linux-aarch64.run"),
        "cann",
        "it is for chip 310p, and the target's chip is 910b. Source: Huawei's community downloads",
    ),
    "kernels of another chip, A3": (
        with_file("kernels", "Atlas-A3-cann-kernels_8.0.RC3_linux-aarch64.run"),
        "cann",
        "it is for chip a3",
    ),
    "kernels of another chip, new name": (
        with_file("kernels", "Ascend-cann-310p-ops_8.0.RC3_linux-aarch64.run"),
        "cann",
        "it is for chip 310p",
    ),
    "kernels of another release": (
        with_file("kernels", "Ascend-cann-kernels-910b_8.0.RC2_linux.run"),
        "cann",
        "package of CANN 8.0.RC3: it is of CANN 8.0.RC2. Source: Huawei's community downloads",
    ),
    "toolkit for another machine": (
        with_file("toolkit", "Ascend-cann-toolkit_8.0.RC3_linux-x86_64.run"),
        "cann",
        "it is for x86_64, and the target's machine is aarch64",
    ),
    "toolkit in the place of NNAL": (
        with_file("nnal", "Ascend-cann-toolkit_8.0.RC3_linux-aarch64.run"),
        "cann",
        "cannot be the nnal package of CANN 8.0.RC3: it is a toolkit package",
    ),
    "NNAL that the release has not": (
        changed(cann=cann("8.0.RC1"), torch="2.2.0", torch_npu="2.2.0"),
        "cann",
        "CANN 8.0.RC1 is not known to have an NNAL package. Leave nnal out.",
    ),
    "no CANN version": (changed(cann=cann("8.0")), "cann", "'8.0' is not a CANN version"),
    "unknown CANN": (changed(cann=cann("8.0.RC9")), "torch_npu", "work on CANN 8.0.RC9"),
    "DeepSpeed that is refused": (
        changed(deepspeed="0.10.0"),
        "deepspeed",
        "neither detection nor op_builder/npu. Source: deepspeedai/DeepSpeed",
    ),
    "DeepSpeed that wants its plugin": (
        changed(deepspeed="0.9.2"),
        "deepspeed",
        "needs the deepspeed_npu plugin made for it. Source: Ascend/DeepSpeed",
    ),
    "DeepSpeed that takes no plugin": (
        changed(deepspeed_plugin=PLUGIN),
        "deepspeed",
        "which takes none",
    ),
    "old DeepSpeed": (changed(deepspeed="0.9.1"), "deepspeed", "no NPU support and no plugin"),
    "no version": (changed(torch="2.3"), "torch", "'2.3' is not a full version"),
    "numpy 2 in the target's requirements": (
        changed(requirements=("numpy>=2",)),
        "requirements",
        "'numpy>=2' contradicts numpy<2, which CANN <=8.2.RC2 needs. Source: vllm-project/vllm-",
    ),
    "numpy 2 with torch 2.1.0": (
        changed(
            torch="2.1.0",
            torch_npu="2.1.0.post17",
            cann=replace(cann("8.3.RC1"), requirements=("numpy==2.0.1",)),
        ),
        "cann",
        "'numpy==2.0.1' contradicts numpy<2, which torch <2.3 needs",
    ),
    "numpy that nobody bounds": (
        changed(cann=replace(GOOD.cann, requirements=("numpy",))),
        "cann",
        "'numpy' does not keep numpy<2, which CANN <=8.2.RC2 needs",
    ),
    "numpy that nobody names": (
        changed(cann=replace(GOOD.cann, requirements=())),
        "requirements",
        "no requirement keeps numpy at numpy<2, which CANN <=8.2.RC2 needs",
    ),
    "protobuf of another age": (
        changed(cann=replace(GOOD.cann, requirements=("numpy<2", "protobuf==4.25.0"))),
        "cann",
        "not known to work; protobuf==3.20.* or protobuf==3.13.* is",
    ),
    "accelerate that LLaMA-Factory 0.9.0 lets in": (
        changed(requirements=("llamafactory[metrics]==0.9.0",)),
        "requirements",
        "no requirement keeps accelerate at accelerate>=0.34.0, which llamafactory==0.9.0 needs",
    ),
    "triton": (changed(requirements=("triton",)), "requirements", "'triton' is refused"),
    "MindSpore of another CANN": (
        changed(requirements=("mindspore==2.7.1",)),
        "requirements",
        "'mindspore==2.7.1' is not known to work on CANN 8.0.RC3",
    ),
    "apex for a Python that it has no build for": (
        changed(
            python=python("3.12.3"),
            torch="2.7.1",
            torch_npu="2.7.1.post4",
            cann=cann("9.0.0"),
        ),
        "apex",
        "not known to build for Python 3.12 and torch 2.7.1",
    ),
}


@pytest.mark.parametrize(("target", "key", "said"), BROKEN.values(), ids=BROKEN)
def test_one_broken_fact_is_one_problem(target: Target, key: str, said: str) -> None:
    found = problems(target)
    assert any(each.startswith(f"{key}: ") and said in each for each in found), found
    if key != "torch_npu" or "9" not in target.cann.version:
        assert len(found) == 1, found
