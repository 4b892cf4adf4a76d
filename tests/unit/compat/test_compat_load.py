# SPDX-License-Identifier: Apache-2.0
"""Each wrong thing in compat.yaml is reported at its line, with what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from cannery.common.errors import MatrixError
from cannery.compat import parse_compat
from cannery.compat.files import load_archives
from cannery.compat.values import python_range
from tests.unit.matrices import OWN_FACTS

TEXT = OWN_FACTS.read_text(encoding="utf-8")
ROW = "torch: 2.3.1, torch_npu: 2.3.1.post2, cann: 8.0.RC3, pythons: 3.8-3.11"

DRIVER = "  - {cann: 8.2.RC1, minimum: 24.1.RC2, source: mindie-notes}"


def load(text: str) -> None:
    parse_compat(text, "compat.yaml")


# old text, new text, what is said
WRONG = {
    "source": (
        "branch: v2.3.1-6.0.rc3, source: torch-npu",
        "branch: v2.3.1-6.0.rc3, source: torch-npi",
        "there is no source 'torch-npi'. Did you mean 'torch-npu'?",
    ),
    "CANN": (ROW, ROW.replace("8.0.RC3", "8.0"), "'8.0' is not a CANN version"),
    "torch": (ROW, ROW.replace("2.3.1,", "new,"), "torch_npu[27].torch: Invalid version: 'new'."),
    "pythons": (ROW, ROW.replace("3.8-3.11", "3.11-3.8"), "'3.11-3.8' is not a range of Pythons"),
    "rank": (
        "{rank: 1, kind: maker, date: 2026-08-21",
        "{rank: one, kind: maker, date: 2026",
        "'one'",
    ),
    "a rank of truth": (
        "{rank: 1, kind: maker, date: 2026-08-21",
        "{rank: true, kind: maker, date: 2026",
        "this must be a number",
    ),
    "kind": (
        "{rank: 1, kind: maker, date: 2026-08-21",
        "{rank: 1, kind: makers, date: 2026-08-21",
        "there is no 'makers'. Did you mean 'maker'?",
    ),
    "date": (
        "{rank: 1, kind: maker, date: 2026-08-21",
        "{rank: 1, kind: maker, date: 21.8.2026",
        "'21.8.2026' is not a date. Write it as 2026, 2026-08 or 2026-08-21.",
    ),
    "no such month": (
        "{rank: 1, kind: maker, date: 2026-08-21",
        "{rank: 1, kind: maker, date: 2026-17-21",
        "'2026-17-21' is not a date. Write it as 2026, 2026-08 or 2026-08-21.",
    ),
    "abi": (
        'torch: ">=2.7", abi: 1',
        'torch: ">=2.7", abi: 2',
        "'2' should be less than or equal to 1.",
    ),
    "bounds": (
        'bound: "<2", torch: "<2.3"',
        'bound: "2", torch: "<2.3"',
        "packages[1].bound: Invalid specifier: '2'.",
    ),
    "two verdicts": (
        'bound: "<2", torch: "<2.3"',
        'bound: "<2", pin: ==1.26.4, torch: "<2.3"',
        "needs exactly one of bound, pin, seen and refused",
    ),
    "file": (
        "Ascend-cann-nnal_{version}_",
        "Ascend-cann-nnal_{release}_",
        "only {version}, {chip} and {machine} can be filled in",
    ),
    "requirement": (
        "with: llamafactory==0.9.0",
        "with: llamafactory=0.9.0",
        "Expected semicolon",
    ),
    "address": (
        "address: github.com/Ascend/pytorch/",
        "address: https://github.com/Ascend/pytorch/",
        "an address has no scheme and no space. Write it as host/path.",
    ),
    "triton-ascend": (
        "triton_ascend: 3.2.2",
        "triton_ascend: newest",
        "triton_ascend: Invalid version: 'newest'.",
    ),
    "toolkits": (
        "version: ==9.1.0, toolkits: [8.5.2, 9.0.0,",
        "version: ==9.1.0, toolkits: [8.5.2, 9.0,",
        "'9.0' is not a CANN version",
    ),
    "a source that nothing cites": (
        "  image-note: {",
        "  other-note: {rank: 6, kind: report, date: 2024, cite: a note}\n  image-note: {",
        "sources.other-note: nothing in compat.yaml cites it. Remove it, or add what it says.",
    ),
    "a row twice": (
        f"{DRIVER}\n",
        f"{DRIVER}\n  - {{minimum: 24.1.RC2, cann: 8.2.RC1, source: mindie-notes}}\n",
        "this says the same as the row in line",
    ),
    "a chip": ("chips: [310b, 910b], nnal", "chips: [310b, 910 b], nnal", "unknown chip '910 b'."),
    "an unknown chip": (
        "chips: [310b, 910b], nnal",
        "chips: [310b, 910z], nnal",
        "unknown chip '910z'. Known: 310b, 310p, 910, 910b, 950, a3.",
    ),
    "a patch of Python": (
        "python_below: 3.7.5",
        "python_below: newest",
        "python_below: Invalid version: 'newest'.",
    ),
    "text that is compared": (
        "pin: ==3.13.*",
        'pin: "===banana"',
        "'===' compares texts, and versions are meant; write '=='.",
    ),
    "a requirement that compares text": (
        "with: llamafactory==0.8.2",
        "with: llamafactory===banana",
        "'===' compares texts",
    ),
    "more Pythons than there are": ("3.10-3.14", "3.10-3.99999999999", "is not a range of Pythons"),
    "advice of more than one version": (
        'version: "==0.15.0", torch: ">=2.1,<2.4"',
        'version: "==0.15.*", torch: ">=2.1,<2.4"',
        "only one version can be advised. Write it as in ==0.18.4.",
    ),
    "Pythons that are only shown": (
        "cann: 8.0.T13, pythons: 3.9",
        "cann: 8.0.T13, pythons: 39",
        "'39' is not a range of Pythons",
    ),
}


@pytest.mark.parametrize(("old", "new", "said"), WRONG.values(), ids=WRONG)
def test_one_problem(old: str, new: str, said: str) -> None:
    assert old in TEXT
    line = TEXT[: TEXT.index(old)].count("\n") + 1 + old.startswith("\n")
    with pytest.raises(MatrixError) as caught:
        load(TEXT.replace(old, new, 1))
    places = [problem.where.line for problem in caught.value.problems if problem.where]
    assert said in str(caught.value)
    assert any(place in (line, line + 1) for place in places), (line, str(caught.value))


@pytest.mark.parametrize("text", ["", "- a", "\x00", "schema: 1", "schema: [", "{}"])
def test_invalid_compat_yaml_fails(text: str) -> None:
    with pytest.raises(MatrixError, match=r"compat\.yaml"):
        load(text)


@pytest.mark.parametrize(
    ("text", "found"),
    [("3.8", ("3.8",)), ("3.9-3.11", ("3.9", "3.10", "3.11")), ("3.10-3.10", ("3.10",))],
)
def test_a_range_of_pythons(text: str, found: tuple[str, ...]) -> None:
    assert python_range(text) == found


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("source: matrix", "source: matrixx", "there is no source 'matrixx'"),
        ("236a300f386", "236A300F386", "a sha256 has 64 digits"),
        ("release: 20231002", "relase: 20231002", "unknown key 'relase'"),
    ],
)
def test_wrong_archives(tmp_path: Path, old: str, new: str, said: str) -> None:
    from cannery.compat.files import ARCHIVES

    text = ARCHIVES.read_text(encoding="utf-8")
    path = tmp_path / "pythons.yaml"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(MatrixError) as caught:
        load_archives(path)
    assert said in str(caught.value)
