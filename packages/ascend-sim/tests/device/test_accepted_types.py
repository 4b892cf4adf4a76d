# SPDX-License-Identifier: Apache-2.0
"""What an operator refuses, and what a kernel meets while it runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from device.gen_types import CODES, parse

from . import accepted_types_page
from .hosts import DEVICE, HBM_MB, Host

TABLE = DEVICE / "aclnn" / "accepted_types_910b.txt"
KNOWN = sorted({*CODES.values()} - {CODES["i4"]})
# Operators whose arguments are tensors only.
OPERATORS = (
    *("Abs", "Atan", "Atan2", "BitwiseAndTensor", "BitwiseOrTensor"),
    *("BitwiseXorTensor", "Ceil", "ClampMaxTensor", "ClampMinTensor", "Cos", "Div"),
    *("Dot", "EqTensor", "Erfinv", "Exp", "Exp2", "Expm1", "FmodTensor", "Frac"),
    *("GeTensor", "Gelu", "GeluBackward", "GtTensor", "Hardsigmoid", "Hardswish"),
    *("HardswishBackward", "InplaceExp", "InplaceRelu", "InplaceSqrt", "IsFinite", "IsInf"),
    *("LeTensor", "Log", "Log10", "Log1p", "Log2", "LogAddExp", "LogicalAnd", "LogicalNot"),
    *("LogicalOr", "LtTensor", "Max", "Maximum", "Min", "Minimum", "Mish", "Mul", "NeTensor"),
    *("Neg", "PowTensorTensor", "Reciprocal", "Relu", "Round", "Selu"),
    *("SigmoidBackward", "Signbit", "Silu", "SiluBackward", "Sin", "Sinh", "Sqrt", "Tan"),
    *("Tanh", "TanhBackward", "Trunc"),
)
VECTOR_CORE = 507035


def table() -> dict[str, list[set[int]]]:
    """The types that each tensor of an operator may have."""
    found: dict[str, list[set[int]]] = {name: [] for name in OPERATORS}
    lines = TABLE.read_text(encoding="utf-8").splitlines()
    for row in sorted(parse(lines), key=lambda each: each.place):
        if row.operator in found:
            assert row.place == len(found[row.operator]), row.operator
            found[row.operator].append({CODES[name] for name in row.types} & {*KNOWN})
    return found


def test_operators_refuse_what_the_documents_deny(host: Host) -> None:
    """At least 60 of them, with each of 16 types in each place."""
    known = table()
    assert len(known) >= 60
    first = {name: [min(types) for types in places] for name, places in known.items()}
    refused = host.ask("refused_types", json.dumps(first), NPUSIM_LENIENT=None)
    expected = {
        name: [sorted({*KNOWN} - types) for types in places] for name, places in known.items()
    }
    assert {name: [sorted(each) for each in places] for name, places in refused.items()} == expected


def test_what_the_source_of_an_operator_takes_is_not_refused(host: Host) -> None:
    """Their documents have bfloat16 for the A3 series only, and op_api for the 910B too."""
    float32, bfloat16 = CODES["f32"], CODES["bf16"]
    names = ("Atanh", "Cosh", "Erf", "Erfc")
    first = {name: [float32, float32] for name in names}
    refused = host.ask("refused_types", json.dumps(first), NPUSIM_LENIENT=None)
    assert not [name for name in names for each in refused[name] if bfloat16 in each]


def test_the_refusal_names_the_parameter_and_the_document(host: Host) -> None:
    failure = host.ask("matmul", "int64", NPUSIM_LENIENT=None)
    assert failure["code"] == 161002
    expected = (
        "aclnnMatmul: self is int64, and Ascend910B3 takes float32, float16, bfloat16 (ops-nn/"
    )
    assert expected in failure["message"]


def test_a_lenient_device_says_so(host: Host) -> None:
    product, said = host.run("matmul", "int64", NPUSIM_LENIENT="1")
    assert isinstance(product, list)
    assert "cannery: NPUSIM_LENIENT=1: operators take data types that an NPU refuses\n" in said


def test_another_chip_refuses_nothing(host: Host) -> None:
    config = host.driver / "simulated_devices.conf"
    config.write_text(f"count=1\nname=910_9392\nhbm_mb={HBM_MB}\n")
    (host.opp / "built-in/op_impl/ai_core/tbe/kernel/ascend910_93").mkdir()
    assert isinstance(host.ask("matmul", "int64", NPUSIM_LENIENT=None), list)


def test_a_wrong_index_is_told_when_the_host_waits(host: Host) -> None:
    """And each time that it waits, until the device is reset."""
    codes, said = host.ask("index_out_of_range")
    assert codes == [VECTOR_CORE, VECTOR_CORE, VECTOR_CORE]
    assert "aclnnEmbedding: index 5 is out of range 2" in said


def test_operands_on_two_devices_are_refused(host: Host) -> None:
    code, said = host.ask("operands_on_two_devices")
    assert code == VECTOR_CORE
    assert "is in the memory of device 1, and the operator runs on device 0" in said


@pytest.mark.parametrize(("device", "blanks"), [(0, 0), (3, 0), (3, 60_000)])
def test_the_settings_name_the_device_of_a_thread_that_sets_none(
    host: Host, tmp_path: Path, device: int, blanks: int
) -> None:
    settings = tmp_path / "acl.json"
    text = json.dumps({"defaultDevice": {"default_device": str(device)}})
    settings.write_text(text.replace('": "', f'": {" " * blanks}"'))
    assert host.ask("default_device", str(settings)) == [device, HBM_MB << 20]


def test_the_page_of_known_types_is_that_of_the_table() -> None:
    """Else: python -m tests.device.accepted_types_page."""
    assert accepted_types_page.PAGE.read_text(encoding="utf-8") == accepted_types_page.page()
