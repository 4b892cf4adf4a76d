# SPDX-License-Identifier: Apache-2.0
"""docs/doctor.md, of which the tables are made from the doctor's table of findings."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from cannery.errors import CanneryError
from cannery.files import write_files
from cannery.image.context.ascend_doctor.explain import general
from cannery.image.context.ascend_doctor.table import Finding, load_table

PAGE = Path(__file__).resolve().parents[2] / "docs" / "doctor.md"
MARK = "<!-- findings: python -m cannery.report.doctor_page writes what follows -->\n"
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


def main(path: Path = PAGE) -> int:
    """Write the page at ``path``; return the exit code, as docs/exit-codes.md has it."""
    text = path.read_text(encoding="utf-8")
    try:
        write_files({path: page(text)})
    except CanneryError as error:
        for problem in error.problems:
            print(f"doctor_page: {problem}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
