# SPDX-License-Identifier: Apache-2.0
"""Writes the generated part of docs/findings.md from the table of findings."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ascend_doctor.explain import general
from ascend_doctor.table import Finding, load_table

PAGE = Path(__file__).resolve().parents[1] / "docs" / "findings.md"
MARK = "<!-- findings: python -m tools.page writes what follows -->\n"
"""The line of the page after which everything is generated."""


def page(text: str) -> str:
    """The page ``text`` with its generated part made anew."""
    head, mark, _ = text.partition(MARK)
    return head + (mark or MARK) + "\n" + findings_text(load_table().values())


def findings_text(rows: Iterable[Finding]) -> str:
    """The findings and the known errors, each with all that the table says about it."""
    found = list(rows)
    on_hosts = [row for row in found if not row.codes]
    known = [row for row in found if row.codes]
    head = (
        "| finding | severity | what, why and how to mend it | sure | source |\n|--|--|--|--|--|\n"
    )
    parts = ["## Findings on a host\n", head + _table(on_hosts)]
    head = head.replace("| finding |", "| finding, codes |")
    parts += ["## Known errors and questions\n", head + _table(known)]
    return "\n".join(parts)


def _table(rows: Iterable[Finding]) -> str:
    return "".join(_row(row) for row in rows)


def _row(row: Finding) -> str:
    document = general(row)
    names = ", ".join([f"`{row.id}`", *row.codes])
    text = "<br>".join(document[key] for key in ("what", "why", "mend"))
    cells = (names, row.severity, text, row.sure, "; ".join(row.sources))
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def main(path: Path = PAGE) -> None:
    """Write the page at ``path``."""
    text = page(path.read_text(encoding="utf-8"))
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
