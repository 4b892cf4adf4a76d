# SPDX-License-Identifier: Apache-2.0
"""The table of findings: complete rows, of which each is used, and texts that can be filled in."""

from __future__ import annotations

import ast
import re
import string
from pathlib import Path

import pytest

from ascend_doctor import table as module
from ascend_doctor.table import SEVERITIES, load_table

TABLE = load_table()
FOLDER = Path(module.__file__).parent
SURE = {"certain", "likely", "possible"}


def used() -> dict[str, set[str]]:
    """Id to the names of the values with which the checks find it."""
    found: dict[str, set[str]] = {}
    for path in FOLDER.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and node.value in TABLE:
                found.setdefault(node.value, set())
    return found


@pytest.mark.parametrize("name", TABLE)
def test_a_row_is_complete(name: str) -> None:
    row = TABLE[name]
    assert row.severity in SEVERITIES
    assert row.sure in SURE
    assert row.what and row.why and row.mend and row.sources
    assert all(source == source.strip() != "" for source in row.sources)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name)
    for text in (row.what, row.why, row.mend):
        assert not text.endswith((",", ";")), text
        for _, value, spec, conversion in string.Formatter().parse(text):
            assert value is None or value.isidentifier()
            assert not spec and not conversion


@pytest.mark.parametrize("name", [name for name, row in TABLE.items() if row.codes])
def test_a_known_error_can_be_explained_without_a_host(name: str) -> None:
    row = TABLE[name]
    assert not re.search(r"\{\w+\}", row.what + row.why + row.mend)


def test_every_finding_is_used() -> None:
    nodes = {f"nodes-{key}" for key in ("driver", "firmware", "cann")}
    codes = {f"dcmi{code}" for code in (-8005, -8020, -9005)}
    by_checks = {*used(), *nodes, *codes}
    assert {name for name, row in TABLE.items() if not row.codes} <= by_checks
    assert by_checks <= {*TABLE}


def test_every_source_is_cited() -> None:
    text = (FOLDER / "findings.ini").read_text(encoding="utf-8")
    head, rows = text.split("\n\n[no-device]")
    keys = re.findall(r"(?m)^([a-z0-9-]+) = ", head.rpartition("[sources]")[2])
    cited = {key for line in re.findall(r"(?m)^source = (.+)$", rows) for key in line.split(", ")}
    assert cited == {*keys}
