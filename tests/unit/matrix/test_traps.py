# SPDX-License-Identifier: Apache-2.0
"""Mistakes in the project's own matrix.yaml that look right: each is refused where it is made."""

from __future__ import annotations

from pathlib import Path

import pytest

from cannery.errors import CanneryError
from cannery.matrix.schema import load_matrix

ROOT = Path(__file__).resolve().parents[3]
MATRIX = (ROOT / "matrix.yaml").read_text(encoding="utf-8")
FACTS = (ROOT / "compat.yaml").read_text(encoding="utf-8")
LAYOUT_91 = "  9.1.0:\n    layout: "
LAYOUT_RC3 = "  8.0.RC3:\n    layout: "
ARCHIVE = "cpython-3.8.18+20231002-aarch64"
T39 = "cann: {toolkit: 8.0.T39, kernels: 8.0.T39, nnal: 8.0.T39, chip: 910b}"
CURRENT = "base: debian-12, python: cpython-3.11.2, deepspeed: 0.18.4}"
ALPHA = "cann: {toolkit: 6.3.RC1.alpha003, kernels: 6.3.RC1.alpha003, chip: 910b}"
MINDSPORE = f"cpython-3.7.17\n    {ALPHA}\n    application: mindspore-2.0.0"

# What is replaced (the first time it is there), by what, where the mistake is, what is said.
TRAPS = {
    "a DeepSpeed with its plugin on a torch that it cannot import": (
        "deepspeed: 0.15.0",
        "deepspeed: 0.6.0",
        "0.6.0\n    common:",
        "deepspeed 0.6.0 does not work here: it imports torch._six, which torch 2.0 removed.",
    ),
    "a DeepSpeed that was never released": (
        "deepspeed: 0.15.0",
        "deepspeed: 0.99.0",
        "0.99.0",
        "deepspeed 0.99.0 is not known to work; no source names this version.",
    ),
    "a DeepSpeed that is older than the torch": (
        CURRENT,
        CURRENT.replace("0.18.4", "0.14.3"),
        "0.14.3}",
        "deepspeed 0.14.3 is not known to work with torch 2.7.1 and Python 3.11.",
    ),
    "an apex for a torch that it was never built for": (
        "deepspeed: 0.18.4}",
        "apex: 0.1+ascend, deepspeed: 0.18.4}",
        "0.1+ascend, deepspeed: 0.18.4}",
        "apex 0.1+ascend is not known to build for Python 3.11 and torch 2.9.0.",
    ),
    "an apex for another Python": (
        "apex-0.1+ascend-{tag}-{abi}-",
        "apex-0.1+ascend-cp311-cp311-",
        "apex-0.1+ascend-cp311",
        "it is for cp311-cp311 only, and the target has another Python.",
    ),
    "an apex for another machine": (
        "-{abi}-linux_{machine}.whl",
        "-{abi}-linux_x86_64.whl",
        "apex-0.1+ascend-{tag}",
        "it is for linux_x86_64, and the target's machine is aarch64.",
    ),
    "an apex of another version": (
        "apex-0.1+ascend-",
        "apex-0.2+ascend-",
        "apex-0.2",
        "it is version 0.2+ascend, and 0.1+ascend is declared.",
    ),
    "an apex as an archive": (
        "linux_{machine}.whl\n    origin: built",
        "linux_{machine}.tar.gz\n    origin: built",
        "apex-0.1",
        "it is not named as a wheel is",
    ),
    "a torch_npu of another version": (
        "torch_npu-1.11.0-",
        "torch_npu-1.11.0.post4-",
        "torch_npu-1.11.0.post4",
        "it is version 1.11.0.post4, and 1.11.0 is declared.",
    ),
    "kernels in small letters": (
        "Ascend-cann-A3-ops_9.1.0",
        "Ascend-cann-a3-ops_9.1.0",
        "Ascend-cann-a3",
        "Huawei's name for it is Ascend-cann-A3-ops_9.1.0_linux-aarch64.run.",
    ),
    "a toolkit as an archive": (
        "Ascend-cann-toolkit_9.1.0_linux-aarch64.run",
        "Ascend-cann-toolkit_9.1.0_linux-aarch64.tar.gz",
        "Ascend-cann-toolkit_9.1.0",
        "it is not a .run file, which is what the image runs.",
    ),
    "the layout of before 8.5": (
        f"{LAYOUT_91}cann",
        f"{LAYOUT_91}ascend-toolkit",
        "ascend-toolkit\n    toolkit:\n      file: Ascend-cann-toolkit_9.1.0",
        "CANN 9.1.0 installs itself as cann, not as ascend-toolkit.",
    ),
    "the layout of 8.5": (
        f"{LAYOUT_RC3}ascend-toolkit",
        f"{LAYOUT_RC3}cann",
        "cann\n    toolkit:\n      file: Ascend-cann-toolkit_8.0.RC3",
        "CANN 8.0.RC3 installs itself as ascend-toolkit, not as cann.",
    ),
    "a base without apt": (
        "image: debian:bullseye-slim@",
        "image: openeuler/openeuler:22.03@",
        "openeuler/openeuler",
        "base debian-11 is made from image 'openeuler'",
    ),
    "a base of another suite": (
        "image: debian:bullseye-slim@",
        "image: debian:trixie-slim@",
        "debian:trixie-slim",
        "base debian-11 is image debian:trixie-slim, which is trixie, not bullseye.",
    ),
    "no glibc": ("glibc: 2.31", "glibc: banana", "banana", "is not a version of glibc."),
    "another glibc": ("glibc: 2.31", "glibc: 2.30", "2.30", "bullseye has glibc 2.31, not 2.30."),
    "an unknown suite": (
        "suite: bullseye",
        "suite: bulsseye",
        "bulsseye",
        "unknown suite 'bulsseye' of base debian-11.",
    ),
    "a Python that Debian has not": (
        "version: 3.11.2",
        "version: 3.11.9",
        "3.11.9",
        "bookworm has Python 3.11.2, not 3.11.9.",
    ),
    "an interpreter for another machine": (
        ARCHIVE,
        ARCHIVE.replace("aarch64", "x86_64"),
        "cpython-3.8.18+20231002-x86_64",
        "it is for x86_64, and the target's machine is aarch64.",
    ),
    "an interpreter of another version": (
        ARCHIVE,
        ARCHIVE.replace("3.8.18", "3.8.20"),
        "cpython-3.8.20",
        "it is Python 3.8.20, and the version is 3.8.18.",
    ),
    "an id that is no tag with -sim": (
        "  py39-mindspore271-cann83rc1:\n",
        f"  {'a' * 129}:\n",
        "summary: MindSpore 2.7.1",
        "has 129 characters, and may have 124.",
    ),
    "a chip that is only missing here": (
        "cann: {toolkit: 8.3.RC1, kernels: 8.3.RC1, chip: 910b}",
        "cann: {toolkit: 8.3.RC1, kernels: 8.3.RC1, chip: a3}",
        "a3}\n    application: mindspore-2.7.1",
        "Huawei has it: add a3: {file: Atlas-A3-cann-kernels_8.3.RC1_linux-aarch64.run, origin: ",
    ),
    "ops on a toolkit that they do not go on": (
        "cann: {toolkit: 8.3.RC1, kernels: 8.3.RC1, chip: 910b}",
        "cann: {toolkit: 8.3.RC1, kernels: 9.1.0, chip: 910b}",
        "{toolkit: 8.3.RC1",
        "kernels 9.1.0 cannot be installed on toolkit 8.3.RC1, only on 8.5.2, 9.0.0, 9.1.0.",
    ),
    "NNAL of another release": (
        "nnal: 9.1.0, chip: a3",
        "nnal: 9.0.0, chip: a3",
        "{toolkit: 9.1.0, kernels: 9.1.0, nnal: 9.0.0",
        "nnal 9.0.0 cannot be installed on toolkit 9.1.0, only on the toolkit of the same version.",
    ),
    "several chips in one image": (
        T39,
        T39.replace("910b", "[910b, a3]"),
        "[910b, a3]",
        "cannot share one installation path",
    ),
    "apex without torch": (
        "application: mindspore-2.7.1",
        "apex: 0.1+ascend\n    application: mindspore-2.7.1",
        "0.1+ascend\n    application: mindspore-2.7.1",
        "apex 0.1+ascend needs torch, which the target does not have.",
    ),
    "triton beside triton-ascend": (
        "requirements: [llamafactory==0.9.0, ",
        "requirements: [triton-ascend==3.2.2, triton, llamafactory==0.9.0, ",
        "triton, ",
        "'triton' is refused: its files overwrite those of triton-ascend",
    ),
    "a MindSpore for another Python": (
        MINDSPORE,
        MINDSPORE.replace("3.7.17", "3.9.2"),
        "mindspore==2.0.0",
        "'mindspore==2.0.0' is not known to work with Python 3.9 on CANN 6.3.RC1.alpha003.",
    ),
    "a triton-ascend of another torch_npu": (
        "requirements: [llamafactory==0.9.0, ",
        "requirements: [triton-ascend==3.2.1, llamafactory==0.9.0, ",
        "triton-ascend==3.2.1",
        "'triton-ascend==3.2.1' is not known to go with torch_npu 2.3.1.post2 and Python 3.9 on",
    ),
    "a vllm-ascend of another CANN": (
        "vllm_ascend-0.7.3-py3-none-any.whl",
        "vllm_ascend-0.18.0-py3-none-any.whl",
        "vllm_ascend-0.18.0",
        "It is known with torch_npu 2.9.0.post1+git4c901a4 on CANN 8.5.1.",
    ),
    "requirements that exclude each other": (
        "requirements: [llamafactory==0.9.0, accelerate>=0.34.0,",
        "requirements: [llamafactory==0.9.0, protobuf>=4, accelerate>=0.34.0,",
        "protobuf>=4",
        "'protobuf>=4' and 'protobuf==3.20.3' exclude each other: no version of protobuf",
    ),
}


@pytest.mark.parametrize(("old", "new", "anchor", "said"), TRAPS.values(), ids=TRAPS)
def test_a_trap(tmp_path: Path, old: str, new: str, anchor: str, said: str) -> None:
    assert old in MATRIX
    text = MATRIX.replace(old, new, 1)
    (tmp_path / "matrix.yaml").write_text(text, encoding="utf-8")
    (tmp_path / "compat.yaml").write_text(FACTS, encoding="utf-8")
    with pytest.raises(CanneryError) as caught:
        load_matrix(tmp_path / "matrix.yaml")
    found = [each for each in caught.value.problems if said in str(each)]
    assert len(found) == 1, str(caught.value)
    before = text[: text.index(anchor)]
    place = f"matrix.yaml:{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}"
    assert str(found[0].where) == place


def test_ops_may_be_of_another_release_than_the_toolkit(tmp_path: Path) -> None:
    old = "cann: {toolkit: 9.0.0, kernels: 9.0.0, nnal: 9.0.0, chip: 910b}"
    assert old in MATRIX
    text = MATRIX.replace(old, old.replace("kernels: 9.0.0", "kernels: 9.1.0"))
    (tmp_path / "matrix.yaml").write_text(text, encoding="utf-8")
    (tmp_path / "compat.yaml").write_text(FACTS, encoding="utf-8")
    target = load_matrix(tmp_path / "matrix.yaml").targets["py311-torch271-cann900-mindspeed"]
    assert target.components["toolkit"] == "9.0.0"
    assert target.components["kernels"] == "9.1.0 (910b)"
    assert target.artifacts["kernels"].name == "Ascend-cann-910b-ops_9.1.0_linux-aarch64.run"
