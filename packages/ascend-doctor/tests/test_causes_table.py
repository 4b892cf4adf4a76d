# SPDX-License-Identifier: Apache-2.0
"""The causes and the catalogue of codes: complete, with sources, and short enough to be read."""

from __future__ import annotations

import re
import string
from pathlib import Path

import pytest

from ascend_doctor import causes as module
from ascend_doctor.causes import KINDS, causes, causes_in
from ascend_doctor.codes import catalogue, family
from ascend_doctor.explain import explain
from ascend_doctor.log_report import cause_document
from ascend_doctor.owners import judge_line, owner_of
from ascend_doctor.report import paragraph
from ascend_doctor.table import load_table

FOLDER = Path(module.__file__).parent
PLACE = {
    "file": "/data/logs/run-1/rank-0.log",
    "line": 1203,
    "count": 7,
    "rank": 3,
    "text": "x" * 300,
}
OWNED = {"tbe-missing", "source-shadow"}
LONG = "lib" + "x" * 25 + ".so"


@pytest.mark.parametrize("name", causes())
def test_a_cause_is_complete_and_short(name: str) -> None:
    cause = causes()[name]
    assert cause.kind in KINDS
    assert cause.sure in ("certain", "likely", "possible")
    assert cause.sources
    fields = {field for _, field, _, _ in string.Formatter().parse(cause.named) if field}
    values = dict.fromkeys(fields | {"source"}, LONG)
    for document in (cause_document(cause), cause_document(cause, values)):
        here = {"here": "y" * 200} if causes()[name].versions else {}
        assert len(paragraph({**document, **PLACE, **here}).splitlines()) <= 16
        assert all(len(line) <= 100 for line in paragraph({**document, **PLACE}).splitlines())
        assert document["what"].endswith(".")
        assert document["mend"]
    assert (
        cause.log
        or cause.codes
        or cause.named
        or name in OWNED
        or cause.kind in ("bare", "question")
    )


def test_the_loader_and_the_imports_name_existing_causes() -> None:
    text = (FOLDER / "owners.py").read_text(encoding="utf-8")
    named = {*re.findall(r'"([a-z0-9]+(?:-[a-z0-9]+)+)"', text)}
    signs = (FOLDER / "signs.ini").read_text(encoding="utf-8")
    patterns = {*re.findall(r"(?m)^\[owner-(.+)\]$", signs)}
    assert named - patterns <= {*causes(), "vllm-ascend"}


def test_every_source_of_a_cause_is_cited() -> None:
    keys, cited = [], set()
    for name in ("known.ini", "causes.ini"):
        text = (FOLDER / name).read_text(encoding="utf-8")
        listed = text.partition("\n[sources]\n")[2].partition("\n\n")[0]
        keys += re.findall(r"(?m)^([a-z0-9-]+) = ", listed)
        for line in re.findall(r"(?m)^source = (.+)$", text):
            cited.update(line.split(", "))
    assert sorted(cited) == sorted(keys)


def test_every_code_has_a_source_with_a_date() -> None:
    assert len(catalogue()) > 1000
    for code in catalogue().values():
        assert code.meaning
        assert re.search(r"\((20\d\d(-\d\d){0,2})\)$", code.source), code
        assert family(code.code), code


@pytest.mark.parametrize(
    ("code", "of"),
    [
        *(("EM9001", "queue schedule"), ("E76002", "operator compiler"), ("E30008", "AI CPU")),
        *(("507018", "card"), ("107003", "runtime"), ("161002", "operator"), ("DRV:87", "driver")),
    ],
)
def test_the_family_of_a_code(code: str, of: str) -> None:
    assert of in family(code)


def test_every_code_of_a_cause_is_in_the_catalogue() -> None:
    codes = [code for cause in causes().values() for code in cause.codes]
    assert len({*codes}) == len(codes)
    assert {*codes} <= {*catalogue()}


@pytest.mark.parametrize(
    ("symbol", "owner"),
    [
        ("_ZN3Mki2DlC1ERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEb", "NNAL's libmki"),
        (
            "_ZN3atb15CreateOperationINS_5infer14GroupTopkParamEEEiRKT_PPNS_9OperationE",
            "ATB of NNAL",
        ),
        ("MsprofSysCycleTime", "CANN"),
        ("aclrtGetStreamAttribute", "CANN"),
        ("HcclGroupStart", "CANN"),
        ("_ZN2ge14GetShapeErrMsgEjRKSsS1_", "CANN"),
        ("_ZNK3c1010TensorImpl20is_contiguous_customENS_12MemoryFormatE", "torch"),
        ("_ZN5torch10ValueErrorC1EPKcz", "torch"),
        ("_ZN7c10_npu3acl20AclrtPeekAtLastErrorE17aclrtLastErrLevel", "torch_npu"),
        ("halMemAgentOpen", "the driver"),
        ("_ZN6google8protobuf8internal14ArenaStringPtr", "protobuf"),
        ("_PyThreadState_UncheckedGet", "Python"),
        ("some_function_of_nobody", ""),
    ],
)
def test_whose_a_symbol_is(symbol: str, owner: str) -> None:
    assert owner_of(symbol) == owner


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        ("libatb.so: cannot open shared object file", "cann-library", "NNAL"),
        ("libdcmi.so: cannot open shared object file", "hal-missing", "driver"),
        ("libcudart.so.12: cannot open shared object file", "cuda-package", "CUDA"),
        ("libGL.so.1: cannot open shared object file", "library-missing", ""),
        ("/l/libc.so.6: version `GLIBC_2.34' not found (required by /x/a.so)", "glibc-old", "a.so"),
        ("/l/libstdc++.so.6: version `CXXABI_1.3.13' not found", "glibcxx-old", "CXXABI_1.3.13"),
        ("/x/torchvision/_C.so: undefined symbol: _ZN3c106detail", "torchvision", "torch"),
        ("No module named 'tbe.common'", "tbe-missing", "tbe"),
        ("No module named 'flash_attn'", "cuda-package", "flash_attn"),
        ("No module named 'vllm.lora.lora_model'", "package-range", "vllm"),
        ("No module named 'jieba'", "python-package-missing", "jieba"),
        (
            "cannot import name 'X' from 'accelerate.utils' (/s/site-packages/a.py)",
            "accelerate-range",
            "",
        ),
    ],
)
def test_whose_fault_a_missing_thing_is(line: str, name: str, value: str) -> None:
    judged = judge_line(line)
    assert judged
    assert judged[0] == name
    assert value in judged[1].values() or value in str(judged[1])


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        *(("507018", "aicpu-failed"), ("EJ0001", "hccp-start"), ("ej0001", "hccp-start")),
        *(("8020", "card-in-use"), ("-8020", "card-in-use"), ("hal-missing", "hal-missing")),
        *(
            ("libatb.so", "cann-library"),
            ("HCCL:11", "code"),
            ("DRV:87", "code"),
            ("507013", "code"),
        ),
        *(
            ("MsprofSysCycleTime", "cann-torch-npu"),
            ("driver-old", "driver-old"),
            ("oom", "card-memory"),
        ),
        ("RuntimeError: call aclnnCat failed, error code is 161002", "operator-arguments"),
        *(("ERR02200", "code"), ("shm-small", "shm-small")),
        *(("EI9999", "inner"), ("EZ3002", "operator-unsupported"), ("E30006", "kernels-missing")),
        ("undefined symbol", "torch-replaced"),
    ],
)
def test_explain_finds_the_cause(asked: str, name: str) -> None:
    assert name in [each["id"] for each in explain(asked, load_table())]


@pytest.mark.parametrize("asked", ["507999", "nothing of this kind", "E99", ""])
def test_an_unknown_query_gets_no_explanation(asked: str) -> None:
    assert explain(asked, load_table()) == []


def test_a_line_names_the_reason_before_the_code() -> None:
    line = "EE1001: The argument is invalid.Reason: set ASCEND_RT_VISIBLE_DEVICES:1,0 error, it "
    found = causes_in(line + "must be configured in ascending order, error code is 207004")
    assert [each.cause.id for each in found] == ["visible-order", "no-device"]
