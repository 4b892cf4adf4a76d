# SPDX-License-Identifier: Apache-2.0
"""The report on an image of any origin: text, JSON and JUnit."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from cannery.common.model import DeviceKind
from cannery.verify.audit.report import Audit, Result, Standing, to_json, to_junit, to_text

RESULTS = (
    Result(
        check="compat/torch_npu",
        standing=Standing.BROKEN,
        text="torch_npu does not fit <torch> & CANN\nat all",
        fix="Take another one.",
        sources=("COMPATIBILITY.md, 2026",),
    ),
    Result(check="compat/apex", standing=Standing.UNKNOWN, text="apex is not known."),
    Result(check="kernels/chip", standing=Standing.NOT_OURS, text="Nobody says which chip."),
    Result(check="compat/protobuf", standing=Standing.NOTE, text="sources disagree."),
    Result(check="driver/baked-in", standing=Standing.PASSED, text="no driver."),
    Result(
        check="image/torch/test_torch.py::test_imports",
        standing=Standing.BROKEN,
        text="it imports \x1b[31mnot\x00",
        device=DeviceKind.NONE,
    ),
    Result(check="device/used", standing=Standing.NOT_RUN, text="This machine has no NPU."),
)
AUDIT = Audit(
    reference="mine:1",
    image_id="sha256:1",
    origin="foreign",
    what={"torch": "2.3.1"},
    results=RESULTS,
    hardware={DeviceKind.NONE: "x86_64, no NPU"},
)


def only(*standings: Standing, strict: bool = False) -> Audit:
    kept = tuple(each for each in RESULTS if each.standing in standings)
    return replace(AUDIT, results=kept, strict=strict)


def test_the_image_stands_as_its_gravest_check() -> None:
    assert AUDIT.standing is Standing.BROKEN
    assert only(Standing.UNKNOWN, Standing.PASSED).standing is Standing.UNKNOWN
    assert only(Standing.NOTE, Standing.NOT_OURS, Standing.PASSED).standing is Standing.PASSED
    assert only(Standing.NOT_OURS).standing is Standing.NOT_OURS


def test_an_unknown_pairing_fails_only_if_strict() -> None:
    assert only(Standing.UNKNOWN).failures == ()
    assert len(only(Standing.UNKNOWN, strict=True).failures) == 1


def test_text() -> None:
    text = to_text(AUDIT)
    lines = text.splitlines()
    assert lines[0] == "mine:1: broken (2 checks)"
    assert "  torch:    2.3.1" in lines
    assert "2 broken, 1 unknown pairing, 1 not ours to say, 1 note, 1 passed, 1 not run" in text
    order = [lines.index(f"{each}:") for each in ("broken", "unknown pairing", "not ours to say")]
    assert order == sorted(order)
    assert "    Take another one." in lines
    assert "    source: COMPATIBILITY.md, 2026" in lines
    assert "no driver." not in text
    assert "This machine has no NPU." in text
    assert "no driver." in to_text(AUDIT, verbose=True)
    assert "it imports \\x1b[31mnot\\x00" in text


def test_json() -> None:
    loaded = json.loads(to_json(AUDIT))
    assert (loaded["verdict"], loaded["failed"], loaded["schema"]) == ("broken", True, 1)
    assert loaded["results"][0]["standing"] == "broken"
    assert loaded["hardware"] == {"none": "x86_64, no NPU"}


def test_junit() -> None:
    root = ET.fromstring(to_junit(AUDIT))
    assert root.attrib == {
        "tests": "7",
        "failures": "2",
        "errors": "0",
        "skipped": "3",
        "name": "mine:1",
    }
    suites = {each.get("name"): each for each in root}
    assert [*suites] == ["compat", "kernels", "driver", "image", "device"]
    failure = suites["compat"][0].find("failure")
    assert failure is not None
    assert failure.get("message") == "broken: torch_npu does not fit <torch> & CANN"
    assert "Take another one." in (failure.text or "")
    assert suites["image"][0].get("name") == "torch/test_torch.py::test_imports [none]"
    skipped = suites["kernels"][0].find("skipped")
    assert skipped is not None
    assert (skipped.get("message") or "").startswith("not ours to say: ")


@pytest.mark.parametrize("form", [to_text, to_json, to_junit])
def test_text_of_an_image_cannot_inject_commands(form: Callable[[Audit], str]) -> None:
    odd = "a\n::error::b\x1b[2J\x9b\u202e"
    results = tuple(replace(each, text=odd, fix=odd, sources=(odd,)) for each in RESULTS)
    audit = replace(AUDIT, reference=odd, what={"torch": odd}, results=results)
    lines = form(audit).split("\n")
    assert all(line.isprintable() for line in lines)
    assert not [line for line in lines if line.lstrip().startswith("::")]
