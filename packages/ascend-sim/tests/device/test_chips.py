# SPDX-License-Identifier: Apache-2.0
"""What the software device does as one chip and not as another."""

from __future__ import annotations

import json

import pytest

from .hosts import Host
from .test_collectives import new_name, run_ranks

NOT_SUPPORTED, NO_ENGINE = 5, 500002
FLOAT, DOUBLE, BFLOAT16 = 0, 11, 27
BEYOND_HALF = 1.0001
"""Not a number of float16; the nearest is 1."""
TYPES = (
    *("int8", "int16", "int32", "float16", "float32", "int64"),
    *("uint64", "uint8", "uint16", "uint32", "float64", "bfloat16"),
)
FIRST = ["310p", "910"]
LATER = ["910b", "a3", "950"]


def on(host: Host, chip: str) -> Host:
    host.describe(chip)
    if chip != "910b":
        host.install_kernels(chip)
    return host


@pytest.mark.parametrize("chip", FIRST)
def test_the_first_chips_compile_operators_and_lack_bfloat16(host: Host, chip: str) -> None:
    assert on(host, chip).ask("compiler") == ["enable", "0", "0"]


@pytest.mark.parametrize("chip", LATER)
def test_later_chips_have_kernels_and_bfloat16(host: Host, chip: str) -> None:
    assert on(host, chip).ask("compiler") == ["disable", "1", "1"]


@pytest.mark.parametrize(
    ("chip", "lacking", "reduced"),
    [
        ("910b", set(), TYPES),
        ("310p", {"Broadcast", "Reduce", "Scatter"}, (*TYPES[:5],)),
        ("910", {"AllGatherV", "ReduceScatterV"}, ("int8", "int32", "float16", "float32", "int64")),
    ],
)
def test_a_chip_refuses_missing_collectives(
    host: Host, chip: str, lacking: set[str], reduced: tuple[str, ...]
) -> None:
    on(host, chip)
    name = new_name()
    ranks = [host.start("collectives", name, str(rank), str(rank)) for rank in range(2)]
    for answer in (json.loads(rank.communicate(timeout=60)[0]) for rank in ranks):
        codes, sums = answer
        assert {each for each, code in codes.items() if code == NOT_SUPPORTED} == lacking
        assert {code for each, code in codes.items() if each not in lacking} == {0}
        assert tuple(kind for kind, code in zip(TYPES, sums, strict=True) if not code) == reduced


@pytest.mark.parametrize("chip", FIRST)
def test_two_processes_of_a_group_cannot_share_a_first_chip(host: Host, chip: str) -> None:
    assert run_ranks(on(host, chip), 2, "collectives", "0") == [NOT_SUPPORTED] * 2


def test_two_processes_of_a_group_share_a_later_chip(host: Host) -> None:
    assert all(isinstance(answer, list) for answer in run_ranks(host, 2, "collectives", "0"))


@pytest.mark.parametrize("chip", FIRST)
@pytest.mark.parametrize("type_", ["MatMul", "MatMulV2"])
@pytest.mark.parametrize("dtype", [DOUBLE, BFLOAT16])
def test_the_older_interface_refuses_types(host: Host, chip: str, type_: str, dtype: int) -> None:
    failure = on(host, chip).ask("older_product", type_, str(dtype), "1", NPUSIM_LENIENT=None)
    assert failure["code"] == NO_ENGINE
    assert (
        f"EZ3003: No supported Ops kernel and engine are found for [{type_}]" in failure["message"]
    )


@pytest.mark.parametrize("chip", FIRST)
def test_products_of_the_first_chips_are_rounded(host: Host, chip: str) -> None:
    """In both interfaces; what is larger than a float16 becomes the largest."""
    on(host, chip)
    for value, found in ((BEYOND_HALF, 1.0), (1e6, 65504.0)):
        assert host.ask("product", str(value)) == found
        assert host.ask("older_product", "MatMul", str(FLOAT), str(value)) == found**2


@pytest.mark.parametrize("chip", LATER)
def test_products_of_later_chips_are_not(host: Host, chip: str) -> None:
    assert on(host, chip).ask("product", str(BEYOND_HALF)) == pytest.approx(BEYOND_HALF)
