# SPDX-License-Identifier: Apache-2.0
"""The reference in docs/reference.md."""

from __future__ import annotations

import pytest

from cannery.cli.cmd_sync import END, START, with_reference
from cannery.cli.commands import SUMMARIES
from cannery.common.errors import MatrixError
from tests.unit.matrices import CHECKOUT


def test_the_page_has_what_the_commands_declare() -> None:
    page = (CHECKOUT / "docs" / "reference.md").read_text(encoding="utf-8")
    assert with_reference(page) == page, "Run: python build.py sync"
    for name in SUMMARIES:
        assert f"\n#### {name}\n" in page
    assert "| `ID`, `--target ID` | a target, or a pattern such as 'py39-*'" in page
    assert "| `-v HOST:CONTAINER`, `--mount HOST:CONTAINER` |" in page


def test_only_what_is_between_the_markers_changes() -> None:
    found = with_reference(f"a\n{START}\nstale\n{END}\nb\n")
    assert found.startswith(f"a\n{START}\n### Commands: choose\n")
    assert found.endswith(f"\n{END}\nb\n")
    assert "stale" not in found


def test_a_page_without_markers() -> None:
    with pytest.raises(MatrixError, match="has no lines"):
        with_reference("a\n")
