# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import shutil

import pytest

from .hosts import KERNELS, Host

PRODUCT = [5, 7, 14, 13]
WRONG_ARGUMENT, NULL_ARGUMENT, NO_KERNELS = 161002, 161001, 561112
BEYOND_DOUBLE = 2**53 + 1


@pytest.mark.parametrize("dtype", ["float", "half", "bfloat16", "int32", "int64"])
def test_a_matrix_product_is_right(host: Host, dtype: str) -> None:
    assert host.ask("matmul", dtype) == PRODUCT


def test_views_are_read_and_written_by_their_strides(host: Host) -> None:
    assert host.ask("matmul_of_views") == [5, 7, 7, 7, 14, 7, 13, 7]


@pytest.mark.parametrize("dtype", ["float", "int64"])
def test_the_fault_makes_every_product_wrong(host: Host, dtype: str) -> None:
    wrong = host.ask("matmul", dtype, NPUSIM_FAULT="matmul")
    assert all(a != b for a, b in zip(wrong, PRODUCT, strict=True))


def test_integers_are_exact(host: Host) -> None:
    assert host.ask("add_integers", str(BEYOND_DOUBLE), "2") == BEYOND_DOUBLE + 2


def test_wrong_handles_are_errors(host: Host) -> None:
    expected = [WRONG_ARGUMENT, WRONG_ARGUMENT, WRONG_ARGUMENT, NULL_ARGUMENT, WRONG_ARGUMENT]
    assert host.ask("wrong_handles") == expected


def test_operators_need_the_kernels_package(host: Host) -> None:
    kernels = host.opp / KERNELS / "ascend910b"
    shutil.rmtree(kernels)
    assert host.ask("matmul", "float") == {
        "code": NO_KERNELS,
        "message": f"npusim: no operator kernels for Ascend910B3 under {kernels}: "
        f"install Ascend-cann-kernels (error {NO_KERNELS})",
    }


def test_the_kernels_must_be_of_this_chip(host: Host) -> None:
    host.describe("a3")
    failure = host.ask("matmul", "float")
    assert failure["code"] == NO_KERNELS
    assert "kernel/ascend910_93:" in failure["message"]


def test_operators_need_the_opp_path(host: Host) -> None:
    failure = host.ask("matmul", "float", ASCEND_OPP_PATH=None)
    assert failure["code"] == NO_KERNELS
    assert "ASCEND_OPP_PATH is not set" in failure["message"]


def test_an_unimplemented_function_is_reported_once(host: Host) -> None:
    codes, said = host.run("stub_twice")
    assert codes == [200001, 200001]
    assert said.count("npusim: rtLaunch is not implemented") == 1
