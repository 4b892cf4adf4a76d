# SPDX-License-Identifier: Apache-2.0
"""The makers' table of torch_npu, in the forms in which it was published."""

from __future__ import annotations

import json

import pytest

from cannery.common.errors import MatrixError
from cannery.update.makers_table import left_out, new_rows, read_table
from tests.unit.compat_targets import COMPAT

CHINESE = """\
# 版本配套

| 组件 | 推荐版本 |
|:---:|:---:|
| PyTorch | 2.12.0 |

| TorchNPU 版本 | GitCode 分支 | PyTorch 版本 | CANN 版本 |
|:----:|:----:|:----:|:----:|
| 2.9.0.post9 | v2.9.0-26.3.0 | 2.9.0 | CANN 9.1.1 |
| 1.11.0.rc9\uff08beta\uff09 | v1.11.0-3.0.0 | 1.11.0 | CANN 6.0.1 |

| PyTorch 版本 | Python 版本 |
|:----:|:----:|
| PyTorch 2.9.0 | Python3.10, Python3.11, Python 3.13 |
"""
ENGLISH = """\
| CANN Version | Supported PyTorch Version | Supported Extension Version | Github Branch |
| --- | --- | --- | --- |
| CANN 9.1.1 | 2.9.0 | 2.9.0.post9 | v2.9.0-26.3.0 |
"""
ROW = "torch: 2.9.0, torch_npu: 2.9.0.post9, cann: 9.1.1"
BETA = "torch: 1.11.0, torch_npu: 1.11.0rc9, cann: 6.0.1"


VLLM = """\
| vLLM Ascend | vLLM | Python | Stable CANN | PyTorch/torch_npu | Triton Ascend |
|---|---|---|---|---|---|
| v0.24.0 | v0.24.0 | >= 3.10, < 3.13 | 9.1.1 | 2.10.0 / 2.10.0.post6 | 3.2.2 |
| v0.18.0rc1 | v0.18.0 | >= 3.10, < 3.12 | 8.5.1 | 2.9.0 / 2.9.0 | 3.2.0 |
| main | abc, v0.25.0 tag | >= 3.10, < 3.13 | 9.1.1 | 2.10.0 / 2.10.0.post6 | |
"""


NEWEST = """\
| 组件 | 推荐版本 |
|---|---|
| TorchNPU | 2.12.0 |

| TorchNPU版本 | TorchNPU安装包版本 | PyTorch版本 | CANN版本 |
|:---:|:---:|:---:|:---:|
| 26.1.1 | 2.12.0.post2 | 2.12.0 | CANN 9.1.X |
| 26.1.1 | 2.11.0.post2 | 2.11.0 | CANN 9.1.X |
| 26.1.1 | 2.10.0.post6 | 2.10.0 | CANN 9.1.X |
| 26.1.1 | 2.9.0.post8 | 2.9.0 | CANN 9.1.X |
| 26.1.1 | 2.7.1.post10 | 2.7.1 | CANN 9.1.X |
| 26.1.1 | 无配套版本 | 2.8.0 | CANN 9.1.X |
| 26.0.0 | 2.10.0 | 2.10.0 | CANN 9.0.0 |

| PyTorch版本 | Python版本 |
|---|---|
| PyTorch 2.12.0 | Python3.10, Python3.11, Python 3.12, Python 3.13, Python 3.14 |
| PyTorch 2.9.0 | Python3.10, Python3.11, Python 3.12, Python 3.13 |
"""
"""The shape of October 2026: the number of the whole beside that of the wheel, a series of CANN,
and a version that there is not."""

NOTES = """\
|代码分支名称|PyTorch版本|TorchNPU版本|TorchNPU安装包版本|CANN版本|Python版本|Triton Ascend版本|
|--|--|--|--|--|--|--|
|v2.7.1-26.2.0|2.7.1|26.2.0|2.7.1.post11|9.2.0|Python3.9.*x*、Python3.13.*x*|v3.2.2|
|v2.9.0-26.2.0|2.9.0|26.2.0|2.9.0.post9|9.2.0|Python3.10.*x*、Python3.14.*x*|无配套版本|
|v2.10.0-26.2.0|2.10.0|26.2.0|2.10.0.post7|9.2.0|Python3.10.*x*、Python3.14.*x*|v3.6.0|
|v2.11.0-26.2.0|2.11.0|26.2.0|2.11.0.post3|9.2.0|Python3.10.*x*、Python3.14.*x*|无配套版本|
|v2.12.0-26.2.0|2.12.0|26.2.0|2.12.0.post3|9.2.0|Python3.10.*x*、Python3.14.*x*|无配套版本|
|v2.13.0-26.2.0|2.13.0|26.2.0|2.13.0|9.2.0|Python3.10.*x*、Python3.14.*x*|v3.6.0|
|v2.14.0-26.2.0|2.14.0|26.2.0|2.14.0|9.2.0|Python3.10.*x*、Python3.14.*x*|无配套版本|

表格中“Y”表示兼容。

| TorchNPU | CANN版本 | | |
|---|---|---|---|
| | 8.5.X | 9.0.X | 9.1.X |
| 7.3.X | Y | Y | Y |
"""
"""The shape of the release notes, which have a second table."""


def lines(text: str) -> list[str]:
    return [row.line("table") for row in read_table(text, "table.md")]


def test_the_table_of_today() -> None:
    assert lines(CHINESE) == [
        f"{{{ROW}, pythons: 3.10-3.13, branch: v2.9.0-26.3.0, source: table}}",
        f"{{{BETA}, branch: v1.11.0-3.0.0, beta: true, source: table}}",
    ]


def test_the_table_of_vllm_ascend() -> None:
    rows = read_table(VLLM, "table.md")
    assert [row.app for row in rows] == ["vllm-ascend v0.24.0", "vllm-ascend v0.18.0rc1"]
    [new] = new_rows(rows, COMPAT)
    assert new.line("table") == (
        "{torch: 2.10.0, torch_npu: 2.10.0.post6, cann: 9.1.1, pythons: 3.10-3.12, "
        "app: vllm-ascend v0.24.0, triton_ascend: 3.2.2, source: table}"
    )


def test_a_blank_cell_of_cann_is_the_one_above_and_what_names_no_pair_is_told() -> None:
    table = ENGLISH + "|  | 2.8.0 | 2.8.0.post9 | v2.8.0-26.3.0 |\n"
    table += "| CANN 9.0.9 | 2.7.1 | N/A | - |\n|  | 2.6.0 | 2.6.0.post9 | v2.6.0-26.0.9 |\n"
    rows = read_table(table, "README.md")
    pairs = [("2.9.0.post9", "9.1.1"), ("2.8.0.post9", "9.1.1"), ("2.6.0.post9", "9.0.9")]
    assert [(row.torch_npu, row.cann) for row in rows] == pairs
    assert left_out(table) == ["line 5 has no torch_npu: 9.0.9, 2.7.1, N/A, -"]


def test_the_description_of_a_wheel_names_pythons_without_a_space() -> None:
    pythons = "\n| PyTorch Version | Python Version |\n|---|:---|\n"
    table = f"{ENGLISH}{pythons}| PyTorch2.9.0 | Python3.10.x,Python3.11.x |\n"
    assert lines(table)[0].startswith(f"{{{ROW}, pythons: 3.10-3.11, branch")


def test_a_row_with_a_cann_that_makes_no_row_is_told_whatever_it_lacks() -> None:
    table = f"{ENGLISH}| CANN 9.0.9 |\n\n| OS | CANN | Branch |\n|--|--|--|\n| x | 9.1.1 | main |\n"
    assert [row.cann for row in read_table(table, "README.md")] == ["9.1.1"]
    assert left_out(table) == [
        "line 4 has no torch and no torch_npu: 9.0.9",
        "line 8 has no column for torch and torch_npu: 9.1.1, main",
    ]


def image(chip: str, service: str = "vllm", **versions: str) -> dict[str, object]:
    """An entry of gpustack's catalogue."""
    return {
        "backend": "cann",
        "backend_version": "9.9",
        "original_backend_version": "9.9.0.rc1",
        "backend_variant": chip,
        "service": service,
        "service_version": "0.40.0",
        "dependencies": {name.replace("_", "-"): text for name, text in versions.items()},
    }


def test_the_catalogue_of_images_has_the_chips_of_each_release() -> None:
    versions = {"torch": "2.10.0+cpu", "torch_npu": "2.10.0.post9", "vllm_ascend": "0.40.0rc1"}
    entries = [image(chip, **versions) for chip in ("a3", "910b", "a3")]
    entries += [image("910b"), {"backend": "cuda"}, image("a3"), image("910b")]
    entries.append(image("950", "sglang", torch="2.10.0+cpu", torch_npu="2.10.0", sglang="0.6.0"))
    text = json.dumps(entries)
    pair = "torch: 2.10.0, torch_npu: 2.10.0.post9, cann: 9.9.RC1"
    other = "torch: 2.10.0, torch_npu: 2.10.0, cann: 9.9.RC1"
    assert lines(text.replace("9.9.0.rc1", "9.9.rc1")) == [
        f"{{{pair}, app: vllm-ascend v0.40.0rc1, chips: [910b, a3], source: table}}",
        f"{{{other}, app: sglang v0.6.0, chips: [950], source: table}}",
    ]
    why = "no torch and no torch_npu: 9.9.0.RC1, vllm v0.40.0, 910b"
    assert left_out(text) == [f"entries 4, 6 and 7 have {why}, a3"]
    assert left_out(json.dumps(entries[:5])) == [f"entry 4 has {why}"]


def test_an_entry_of_the_catalogue_for_an_unknown_chip_is_named() -> None:
    text = json.dumps([image("a7", torch="2.10.0", torch_npu="2.10.0", vllm_ascend="0.40.0")])
    with pytest.raises(MatrixError, match="entry 1 cannot be read: 'a7' is no chip"):
        read_table(text.replace("9.9.0.rc1", "9.9.rc1"), "runner.py.json")


@pytest.mark.parametrize("text", ["[", "[1, 2]", '[{"backend": "cann", "dependencies": []}]'])
def test_a_catalogue_that_is_none(text: str) -> None:
    with pytest.raises(MatrixError):
        read_table(text, "runner.py.json")


def test_the_column_of_mooncake() -> None:
    head, line, row, *_ = VLLM.splitlines()
    table = f"{head} Mooncake |\n{line}---|\n{row} v0.3.11.post1 |\n"
    [found] = read_table(table, "table.md")
    assert found.line("x").endswith("triton_ascend: 3.2.2, mooncake: 0.3.11.post1, source: x}")


def test_known_and_rejected_rows_are_not_new() -> None:
    known = "| CANN 9.1.0 | 2.9.0 | 2.9.0.post6 | v2.9.0-26.1.0 |\n"
    rejected = "| CANN 5.0.3 | 1.8.1 | 1.5.0.post3 | 2.0.3.tr5 |\n"
    rows = new_rows(read_table(ENGLISH + known + rejected, "table.md"), COMPAT)
    assert [row.torch_npu for row in rows] == ["2.9.0.post9"]


@pytest.mark.parametrize(
    "text", ["", "<html>log in</html>", "| a | b |\n|--|--|\n| 1 | 2 |\n", ENGLISH.splitlines()[0]]
)
def test_a_page_without_the_table(text: str) -> None:
    with pytest.raises(MatrixError, match="page has no table with columns for PyTorch, TorchNPU"):
        read_table(text, "page")


def test_all_unreadable_rows_are_named() -> None:
    wrong = "| soon | 2.9.0 | 2.9.0.post9 | x |\n| CANN 9.1.1 | 2.9 or so | 2.9.0 | x |\n| CANN |\n"
    with pytest.raises(MatrixError) as caught:
        read_table(ENGLISH + wrong, "table.md")
    places = [str(each.where) for each in caught.value.problems]
    assert places == ["table.md:4:1", "table.md:5:1"]
    assert "Correct it in a copy of the table" in str(caught.value)


def test_the_table_of_october() -> None:
    rows = read_table(NEWEST, "table.md")
    assert [row.torch_npu for row in rows if row.cann == "9.1.X"] == [
        *("2.12.0.post2", "2.11.0.post2", "2.10.0.post6", "2.9.0.post8", "2.7.1.post10")
    ]
    assert (rows[0].branch, rows[0].pythons) == ("v2.12.0-26.1.1", "3.10-3.14")
    assert len(rows) == 6


def test_the_table_of_the_release_notes() -> None:
    rows = read_table(NOTES, "table.md")
    assert {(row.cann, row.branch.partition("-")[2]) for row in rows} == {("9.2.0", "26.2.0")}
    assert [row.torch_npu for row in rows] == [
        *("2.7.1.post11", "2.9.0.post9", "2.10.0.post7", "2.11.0.post3", "2.12.0.post3"),
        *("2.13.0", "2.14.0"),
    ]
    assert [row.triton_ascend for row in rows] == ["3.2.2", "", "3.6.0", "", "", "3.6.0", ""]
    assert (rows[0].pythons, rows[1].pythons) == ("3.9-3.13", "3.10-3.14")


def test_a_series_stands_for_each_of_its_releases() -> None:
    rows = read_table(NEWEST.replace("2.12.0.post2", "2.12.0.post5"), "table.md")
    new = new_rows(rows, COMPAT)
    assert [(row.torch_npu, row.cann) for row in new] == [
        ("2.12.0.post5", "9.1.0"),
        ("2.12.0.post5", "9.1.1"),
    ]


@pytest.mark.parametrize(
    ("branch", "python"),
    [
        ("main, beta: true", ""),
        ("x}, {torch: 9", ""),
        ("main # source", ""),
        ("\x1b[2J", ""),
        ("v2.9.0", "Python3." + "9" * 5000),
    ],
)
def test_a_cell_adds_nothing_to_the_row_of_compat_yaml(branch: str, python: str) -> None:
    """Whoever can change the table would change other fields of the file."""
    table = "| branch | PyTorch | TorchNPU | CANN | Python |\n|--|--|--|--|--|\n"
    table += f"| {branch} | 2.9.0 | 2.9.0.post9 | CANN 9.1.1 | {python} |\n"
    table += "\n| PyTorch | Python |\n|--|--|\n" + f"| PyTorch 2.9.0 | {python} |\n"
    with pytest.raises(MatrixError, match="this row cannot be read"):
        read_table(table, "table")
