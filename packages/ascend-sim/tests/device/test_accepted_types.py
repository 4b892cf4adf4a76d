# SPDX-License-Identifier: Apache-2.0
"""What an operator refuses, and what a kernel meets while it runs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from ascend_sim.packages.packer import chips
from ascend_sim.packages.packer.chips import CODES, accepted_types

from . import accepted_types_page
from .hosts import MEMORY_MB, Host
from .type_probes import SIZES

KNOWN = sorted(SIZES)
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


def table(chip: str) -> dict[str, list[set[int]]]:
    """The types that each tensor of an operator may have, where the chip's are all known."""
    found: dict[str, list[set[int]]] = {name: [] for name in OPERATORS}
    tensors = dict.fromkeys(OPERATORS, 0)
    for row in accepted_types("910b"):
        if row.operator in found:
            tensors[row.operator] += 1
    for row in sorted(accepted_types(chip), key=lambda each: each.place):
        if row.operator in found and row.place == len(found[row.operator]):
            found[row.operator].append({CODES[name] for name in row.types} & {*KNOWN})
    return {name: places for name, places in found.items() if len(places) == tensors[name]}


@pytest.mark.parametrize(
    ("chip", "least"), [("910b", 60), ("a3", 60), ("950", 60), ("910", 50), ("310p", 30)]
)
def test_operators_refuse_undocumented_types(host: Host, chip: str, least: int) -> None:
    """With each of the types in each place."""
    host.describe(chip)
    if chip != "910b":
        host.install_kernels(chip)
    known = table(chip)
    assert len(known) >= least
    first = {name: [min(types) for types in places] for name, places in known.items()}
    refused = host.ask("refused_types", json.dumps(first), NPUSIM_LENIENT=None)
    expected = {
        name: [sorted({*KNOWN} - types) for types in places] for name, places in known.items()
    }
    assert {name: [sorted(each) for each in places] for name, places in refused.items()} == expected


def test_types_accepted_by_the_operator_source_are_allowed(host: Host) -> None:
    """Their documents have bfloat16 for the A3 series only, and op_api for the 910B too."""
    float32, bfloat16 = CODES["f32"], CODES["bf16"]
    names = ("Atanh", "Cosh", "Erf", "Erfc")
    first = {name: [float32, float32] for name in names}
    refused = host.ask("refused_types", json.dumps(first), NPUSIM_LENIENT=None)
    assert not [name for name in names for each in refused[name] if bfloat16 in each]


@pytest.mark.parametrize(
    ("operator", "types"),
    [
        ("IsFinite", {"bool", "u8", "i8", "i16", "i32", "i64"}),
        ("Relu", {"u8"}),
        ("LeakyRelu", {"f64"}),
        ("Elu", {"f64"}),
        ("Log10", {"f64"}),
        ("Linspace", {"i64"}),
        ("LinalgCholesky", {"f16"}),
        ("InplaceFillTensor", {"f64", "c64", "c128"}),
        ("InplaceAdds", {"c64", "c128"}),
        ("InplaceDivMod", {"bf16", "c64", "c128"}),
        ("InplaceBernoulliTensor", {"bf16"}),
        ("InplaceNormal", {"bool", "i64"}),
        ("Inverse", {"f64", "c64", "c128"}),
    ],
)
def test_a_source_that_takes_more_than_its_document_wins(operator: str, types: set[str]) -> None:
    """For the floating results as well as for the operands; both files are cited."""
    for chip in ("910b", "a3"):
        rows = [each for each in accepted_types(chip) if each.operator == operator]
        for row in rows:
            if row.types != ("bool",):
                assert types <= {*row.types}
            assert re.fullmatch(r"\S+/docs/\S+\.md,\S+/op_api/\S+\.cpp", row.document)


@pytest.mark.parametrize(
    ("operator", "place", "type_"), [("MinDim", 4, "i64"), ("PowScalarTensor", 1, "bool")]
)
def test_a_source_that_converts_what_its_document_denies_wins(
    operator: str, place: int, type_: str
) -> None:
    """torch_npu gives them these types; op_api converts the first and only checks the second."""
    for chip in chips.names():
        rows = [each for each in accepted_types(chip) if each.operator == operator]
        [row] = [each for each in rows if each.place == place]
        assert type_ in row.types
        assert re.fullmatch(r"\S+/docs/\S+\.md,\S+/op_api/\S+\.cpp", row.document)


def test_the_running_sum_of_booleans(host: Host) -> None:
    """The document has no booleans for self, which op_api converts without a check."""
    assert host.ask("running_sum_of_booleans", NPUSIM_LENIENT=None) == [1, 1, 2, 3]


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


@pytest.mark.parametrize(
    ("chip", "takes"),
    [("310p", "float32, float16 ("), ("910", "float32, float16 ("), ("950", "bfloat16 (")],
)
def test_a_product_of_another_chip(host: Host, chip: str, takes: str) -> None:
    host.describe(chip)
    host.install_kernels(chip)
    failure = host.ask("matmul", "int64", NPUSIM_LENIENT=None)
    assert failure["code"] == 161002
    assert f"Ascend{chips.load_chip(chip).name} takes float32, float16" in failure["message"]
    assert takes in failure["message"]


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
def test_the_settings_name_the_default_device_of_a_thread(
    host: Host, tmp_path: Path, device: int, blanks: int
) -> None:
    settings = tmp_path / "acl.json"
    text = json.dumps({"defaultDevice": {"default_device": str(device)}})
    settings.write_text(text.replace('": "', f'": {" " * blanks}"'))
    assert host.ask("default_device", str(settings)) == [device, MEMORY_MB << 20]


def test_the_page_of_known_types_matches_the_table() -> None:
    """Else: python -m tests.device.accepted_types_page."""
    assert accepted_types_page.PAGE.read_text(encoding="utf-8") == accepted_types_page.page()
