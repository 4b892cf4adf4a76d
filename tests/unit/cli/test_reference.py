# SPDX-License-Identifier: Apache-2.0
"""The reference in docs/reference.md."""

from __future__ import annotations

from cannery.cli.cmd_sync import MARKERS, reference
from cannery.cli.commands import SUMMARIES
from cannery.publish.catalog import inserted
from tests.unit.matrices import CHECKOUT


def test_the_page_has_what_the_commands_declare() -> None:
    page = (CHECKOUT / "docs" / "reference.md").read_text(encoding="utf-8")
    assert inserted(page, reference(), "docs/reference.md", MARKERS) == page, (
        "Run: python build.py sync"
    )
    for name in SUMMARIES:
        assert f"\n#### {name}\n" in page
    assert "| `ID`, `--target ID` | a target, or a pattern such as 'py39-*'" in page
    assert "| `-v HOST:CONTAINER`, `--mount HOST:CONTAINER` |" in page
