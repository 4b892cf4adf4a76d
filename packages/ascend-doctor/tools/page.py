# SPDX-License-Identifier: Apache-2.0
"""Writes the generated part of docs/findings.md from the table of findings."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ascend_doctor.causes import causes
from ascend_doctor.explain import general
from ascend_doctor.log_report import cause_document
from ascend_doctor.table import load_table

PAGE = Path(__file__).resolve().parents[1] / "docs" / "findings.md"
MARK = "<!-- findings: python -m tools.page writes what follows -->\n"
"""The line of the page after which everything is generated."""


HEAD = (
    "| finding, codes, names | severity | what, why and what to do | sure | source |\n"
    "|--|--|--|--|--|\n"
)


def page(text: str) -> str:
    """The page ``text`` with its generated part made anew."""
    head, mark, _ = text.partition(MARK)
    hosts = "".join(_row(general(row), row.codes) for row in load_table().values())
    logs = "".join(_row(cause_document(row), (*row.codes, *row.names)) for row in causes().values())
    parts = [
        "## Findings on a host\n",
        HEAD + hosts,
        "## Causes in logs, and questions\n",
        HEAD + logs,
    ]
    return head + (mark or MARK) + "\n" + "\n".join(parts)


def _row(document: dict[str, Any], names: Iterable[str]) -> str:
    text = "<br>".join(document[key] for key in ("what", "why", "mend"))
    known = ", ".join([f"`{document['id']}`", *names])
    cells = (known, document["severity"], text, document["sure"], "; ".join(document["sources"]))
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def main(path: Path = PAGE) -> None:
    """Write the page at ``path``."""
    text = page(path.read_text(encoding="utf-8"))
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
