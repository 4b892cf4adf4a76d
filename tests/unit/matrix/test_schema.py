# SPDX-License-Identifier: Apache-2.0
"""How a matrix is read, and how a file that is none is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from cannery.common.bases import PythonSource
from cannery.common.errors import FileError, MatrixError
from cannery.matrix.schema import load_matrix, parse_matrix
from tests.unit.matrices import FACTS, MATRIX, edited, load, write_facts

NOT_A_MATRIX = {
    "empty": (b"", "matrix.yaml:1:1: the file is empty"),
    "list": (b"- a\n- b\n", "matrix.yaml:1:1: matrix.yaml must be a mapping"),
    "another encoding": (
        "schema: 1 # café".encode("latin-1"),
        "matrix.yaml:1:16: this is not UTF-8 text",
    ),
    "nothing in it": (b"{}", "matrix.yaml:1:1: matrix.yaml has no 'schema'. Add it."),
    "a list that holds itself": (b"targets: &a\n  x: *a\n", "has no 'schema'"),
}


@pytest.mark.parametrize(("content", "said"), NOT_A_MATRIX.values(), ids=NOT_A_MATRIX)
def test_an_invalid_matrix_fails(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "matrix.yaml").write_bytes(content)
    write_facts(tmp_path)
    with pytest.raises(MatrixError) as caught:
        load_matrix(tmp_path / "matrix.yaml")
    assert said in str(caught.value)


def test_a_missing_matrix_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"cannot read .*matrix\.yaml: no such file"):
        load_matrix(tmp_path / "matrix.yaml")


def test_the_targets_of_a_valid_matrix(tmp_path: Path) -> None:
    targets = load(tmp_path).targets
    assert [*targets] == ["full", "bare"]
    full, bare = targets.values()
    assert full.python.source is PythonSource.BASE
    assert bare.python.source is PythonSource.STANDALONE
    assert (full.machine, full.docker_arch, full.cxx_abi) == ("aarch64", "arm64", 0)
    assert [file.name for file in full.artifacts.values()] == [
        "toolkit_8.0.RC2_linux-aarch64.run",
        "kernels-910b_8.0.RC2_linux.run",
        "nnal_8.0.RC2_linux-aarch64.run",
        "apex-0.1+ascend-cp39-cp39-linux_aarch64.whl",
    ]
    assert [*bare.artifacts] == ["python", "toolkit", "kernels"]
    assert [*bare.components] == ["base", "python", "toolkit", "kernels", "torch", "torch_npu"]
    assert (bare.cann.interim, bare.cann.nearest_public) == (True, "8.0.RC3")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("", "PyTorch 2.3.1 with apex and DeepSpeed 0.15.0 on CANN 8.0.RC2 for 910B"),
        (
            "    ray: 2.48.0\n    hccl_test: true\n",
            "with apex, ray, DeepSpeed 0.15.0 and the HCCL tests on",
        ),
        ("    flavour: runtime\n", "on CANN 8.0.RC2 for 910B without a compiler"),
    ],
)
def test_a_default_summary_names_the_components(more: str, said: str) -> None:
    text = edited("    summary: everything there is\n", more)
    assert said in parse_matrix(text, "matrix.yaml").targets["full"].summary


def test_versions_stay_as_they_are_written() -> None:
    text = edited("glibc: 2.31", "glibc: 2.30")
    assert parse_matrix(text, "matrix.yaml").targets["full"].base.glibc == "2.30"


@pytest.mark.parametrize(("torch", "abi"), [("2.5.1", 0), ("2.6.0", 1), ("2.10.0", 1)])
def test_the_abi_of_torch(torch: str, abi: int) -> None:
    text = MATRIX.replace("2.3.1", torch)
    data = {"cannery/data/compat.yaml": FACTS}
    assert parse_matrix(text, "matrix.yaml", data=data).targets["full"].cxx_abi == abi


@pytest.mark.parametrize(
    ("platform", "version", "abi"),
    [("linux/arm64", "2.9.0", 0), ("linux/amd64", "2.9.0", 1), ("linux/amd64", "2.8.0", None)],
)
def test_the_abi_of_mindspore_is_that_of_its_machine(
    platform: str, version: str, abi: int | None
) -> None:
    text = edited("    torch: 2.3.1\n    torch_npu: 2.3.1.post2\n", "")
    text = text.replace("platform: linux/arm64", f"platform: {platform}", 1)
    text = edited("deepspeed: 0.15.0\n", f"requirements: [mindspore=={version}]\n", text)
    data = {"cannery/data/compat.yaml": FACTS}
    assert parse_matrix(text, "matrix.yaml", data=data).targets["full"].cxx_abi == abi


@pytest.mark.parametrize("digit", ["\u0662", "\u00b2", "\uff12"])
@pytest.mark.parametrize("version", ["2.3.1", "3.9.2"])
def test_odd_digits_in_a_version(digit: str, version: str) -> None:
    odd = version[:-1] + digit
    with pytest.raises(MatrixError, match=r"is not a version|no patch level"):
        parse_matrix(MATRIX.replace(version, odd), "matrix.yaml")
