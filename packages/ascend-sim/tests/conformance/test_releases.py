# SPDX-License-Identifier: Apache-2.0
"""The measurements of torch_npu's releases: wheels, results, and the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from packaging.version import Version

from conformance.releases import native, profiles, report, tables
from conformance.releases.__main__ import CHECKED, PAGE
from conformance.releases.cann import Cann
from conformance.releases.scan import Reading
from conformance.releases.store import kept
from conformance.releases.wheels import PYTHONS, Wheel

OLD, NEW = Cann.parse("8.0.0"), Cann.parse("9.0.0")
EXPORTS = {
    name: frozenset({"libascendcl aclInit", "libascendcl aclrtMapMem", "libascendcl aclnnAdd"})
    for name in ("aarch64", "x86_64")
}
STATES = {"all", "no wheel"}


def reading(
    *importing: str,
    machine: str = "x86_64",
    named: Sequence[str] = (),
    declared: Sequence[str] = (),
) -> Reading:
    return Reading(
        file=f"torch_npu-1-cp311-cp311-{machine}.whl",
        python="3.11",
        machine=machine,
        importing=[f"libascendcl {name}" for name in importing],
        later=[],
        named=[*named],
        declared=[*declared],
    )


def cells(text: str, title: str) -> list[list[str]]:
    """The rows of the table below a heading of the page."""
    _, _, rest = text.partition(f"## {title}\n")
    lines = [line for line in rest.split("\n## ")[0].splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


@pytest.mark.parametrize(
    ("tag", "python", "machine"),
    [
        ("cp39-cp39-manylinux_2_17_x86_64.manylinux2014_x86_64", "3.9", "x86_64"),
        ("cp313-cp313-manylinux_2_28_aarch64", "3.13", "aarch64"),
    ],
)
def test_the_python_and_machine_of_a_wheel(tag: str, python: str, machine: str) -> None:
    wheel = Wheel.of(f"https://index.example/files/torch_npu-2.9.0.post2-{tag}.whl")
    assert (wheel.python, wheel.machine) == (python, machine)


def test_the_first_release_of_a_symbol_is_the_oldest_named_by_a_source() -> None:
    readings: Mapping[str, list[Reading]] = {
        "2.1.0": [reading("aclInit", declared=["aclrtMapMem"])],
        "2.9.0": [reading("aclInit", "aclrtMapMem", "aclrtNew", "aclrtNewer", "aclrtOther")],
        "2.9.0rc1": [reading("aclrtUnknown")],
    }
    headers = {"8.5.0": ["aclrtNew", "aclrtNobodyNeeds"]}
    found = profiles.firsts(readings, {"2.1.0": OLD, "2.9.0": NEW}, headers)
    assert {line.split()[1]: str(cann) for line, cann in found.items()} == {
        "aclInit": "8.0.0",
        "aclrtMapMem": "8.0.0",
        "aclrtNew": "8.5.0",
        "aclrtNewer": "9.0.0",
        "aclrtOther": "9.0.0",
    }
    assert profiles.least(["libascendcl aclInit", "libascendcl aclrtNew"], found) == (
        Cann.parse("8.5.0")
    )
    assert profiles.least(["libascendcl aclrtUnknown"], found) is None


def test_an_unfinished_check_has_the_reason() -> None:
    said = 'check: ["matmul", "pass"]\nTraceback:\nImportError: undefined symbol: aclX\n'
    found = native.results(CHECKED, said, -11)
    assert found["matmul"] == "pass"
    assert found["npu_smi"] == "ended with -11: ImportError: undefined symbol: aclX"
    assert set(found) == set(CHECKED.names)


def test_a_result_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "run" / "2.9.0.json"
    assert kept(path, lambda: {"matmul": "pass"}) == {"matmul": "pass"}
    assert kept(path, lambda: {"matmul": "made again"}) == {"matmul": "pass"}


def test_the_page_shows_releases_as_run_or_only_read() -> None:
    wheels = [
        reading("aclInit", named=["aclnnAdd", "aclnnNew", "aclrtMapMem", "aclrtLost", "aclText"]),
        reading("aclInit", "aclGone", machine="aarch64", declared=["aclrtLost", "aclrtMapMem"]),
    ]
    found = {"libascendcl aclInit": OLD}
    releases = [
        tables.release("2.9.0", wheels, NEW, found),
        tables.release("2.9.0.post2", wheels[:1], None, found),
        tables.release("2.9.1", wheels[1:], None, {}),
    ]
    runs = {"3.11": {"2.9.0": {"matmul": "pass", "training": "off | by 1"}}}
    text = report.page(releases, EXPORTS, runs, found, "a machine")
    rows = cells(text, "Releases")[2:]
    assert [row[:6] for row in rows] == [
        ["2.9.0", "9.0.0", "8.0.0", "not for 3.11", "all", "1 of 2"],
        ["2.9.0.post2", "no source", "8.0.0", "no wheel", "all", "1 of 2"],
        ["2.9.1", "no source", "no source", "not for 3.11", "no wheel", "0 of 0"],
    ]
    of_311 = 6 + PYTHONS.index("3.11")
    assert [row[of_311] for row in rows] == ["1 of 2 fail", "read", "read"]
    assert r"| 2.9.0 | 3.11 | training | off \| by 1 |" in text
    assert "`aclrtLost`" in text
    assert "`aclGone`" in text
    assert "aclText" not in text


def test_the_page_of_this_checkout_is_well_formed() -> None:
    text = PAGE.read_text(encoding="utf-8")
    head, _, *rows = cells(text, "Releases")
    assert {len(row) for row in rows} == {len(head)}
    names = [Version(row[0]) for row in rows]
    assert names == sorted(set(names))
    for row in rows:
        for cann in row[1:3]:
            assert cann == report.NO_SOURCE or Cann.parse(cann)
        for state in row[3:5]:
            assert state in STATES or state.startswith("not for 3.")
        assert {"pass", "read", "no wheel"}.issuperset(
            cell for cell in row[6:] if not cell.endswith(" fail")
        )
    of_failing = {(row[0], row[1]) for row in cells(text, "Checks that fail")[2:]}
    failing = {
        (row[0], python)
        for row in rows
        for python, cell in zip(PYTHONS, row[6:], strict=True)
        if cell.endswith(" fail")
    }
    assert of_failing == failing


def test_the_page_and_the_symbols_are_of_one_run() -> None:
    rows = cells(PAGE.read_text(encoding="utf-8"), "Symbols by release of CANN")[2:]
    shown: dict[str, list[str]] = {}
    for cann, library, symbols in rows:
        lines = [f"{library} {name.strip('`')}" for name in symbols.split(", ")]
        shown.setdefault(cann, []).extend(lines)
    assert profiles.as_json(
        {line: Cann.parse(cann) for cann, lines in shown.items() for line in lines}
        | {"libascendcl aclInit": Cann.parse("7.0.RC1")}
    ) == profiles.SYMBOLS.read_text(encoding="utf-8")
