# SPDX-License-Identifier: Apache-2.0
"""Versions of a log that belong together or do not, and names that other releases have."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_doctor.causes import causes_in
from ascend_doctor.partners import misfits, partners
from tests.test_evidence import reported

MISFITS = [
    ({"torch": "2.9.0", "torch_npu": "2.7.1.post2"}, "torch==2.7.1 torch_npu==2.7.1.post2"),
    ({"vllm": "0.11.0", "vllm_ascend": "0.9.1"}, "vllm==0.9.1 vllm-ascend==0.9.1"),
    ({"torch_npu": "2.6.0", "CANN": "8.3.RC1"}, "torch==2.6.0 torch_npu==2.6.0.post3"),
    ({"torch": "2.7.1", "torchvision": "0.24.0"}, "torchvision==0.22.1"),
    ({"torch_npu": "2.5.1", "python": "3.12"}, "--python 3.11"),
    ({"mindspore": "2.7.1", "CANN": "8.0.0"}, "CANN 8.3.RC1"),
]
PAIRS: list[dict[str, str]] = [
    {"torch": "2.7.1+cpu", "torch_npu": "2.7.1.post2", "CANN": "8.5.0", "python": "3.10"},
    {"vllm": "0.11.0", "vllm_ascend": "0.11.0rc1"},
    {"torch_npu": "2.9.0", "CANN": "9.0.0"},
    {"torch_npu": "0.0.1", "CANN": "9.0.0"},
    {"vllm": "0.1.dev1+g0", "vllm_ascend": "0.11.0"},
    {},
]


@pytest.mark.parametrize(("known", "mend"), MISFITS)
def test_versions_that_are_no_pair(known: dict[str, str], mend: str) -> None:
    [found] = misfits(known)
    assert mend in found.mend


@pytest.mark.parametrize("known", PAIRS)
def test_versions_that_are_a_pair_or_unknown(known: dict[str, str]) -> None:
    assert not [*misfits(known)]


@pytest.mark.parametrize(
    ("known", "one", "others"),
    [
        ({"vllm": "0.9.1"}, "vllm-ascend 0.9.1", "torch_npu 2.5.1.post1, CANN 8.2.RC1"),
        ({"torch_npu": "2.6.0"}, "torch_npu 2.6.0", "torch 2.6.0, CANN 8.2.RC1"),
        ({"torch": "2.8.0"}, "torch 2.8.0", "torch_npu 2.8.0 (CANN 8.3."),
        ({"torch": "2.8.0", "CANN": "8.3.RC1"}, "torch_npu 2.8.0", "torch_npu==2.8.0"),
        ({"mindspore": "2.7.1"}, "mindspore 2.7.1", "CANN 8.3.RC1"),
        ({"python": "3.10"}, "", ""),
    ],
)
def test_partners_of_a_version(known: dict[str, str], one: str, others: str) -> None:
    found = partners(known)
    assert found[0] == one
    assert others in found[1]


@pytest.mark.parametrize(
    ("line", "pin"),
    [
        ("module 'inspect' has no attribute 'getargspec'", "python<3.11"),
        ("No module named 'distutils.nine'", "python<3.12"),
        ("cannot import name 'AdamW' from 'transformers' (/s/t.py)", "transformers<4.50"),
        ("'DynamicCache' object has no attribute 'seen_tokens'", "transformers<4.54"),
        ("Client.__init__() got an unexpected keyword argument 'proxies'", "httpx<0.28"),
        ("module 'torch.library' has no attribute 'register_fake'", "torch>=2.4"),
    ],
)
def test_names_that_other_releases_have(line: str, pin: str) -> None:
    found = causes_in(f"AttributeError: {line}")[0]
    assert found.values["pin"] == pin


@pytest.mark.parametrize(
    "line", ["module 'inspect' has no attribute 'nine'", "No module named 'x'"]
)
def test_other_names(line: str) -> None:
    assert not {"python-gone", "package-gone"} & {each.cause.id for each in causes_in(line)}


def test_a_log_whose_versions_are_no_pair(tmp_path: Path) -> None:
    log = "torch==2.9.0\ntorch_npu==2.7.1\nImportError: x.so: undefined symbol: _ZN3c105nineEv\n"
    found = reported(tmp_path, log)
    assert "torch 2.9.0 and torch_npu 2.7.1, which are no pair" in found["mend"]
    assert "pip install torch==2.7.1 torch_npu==2.7.1" in found["mend"]
