# SPDX-License-Identifier: Apache-2.0
"""docs/findings.md has every finding, with its source, as the doctor's table does."""

from __future__ import annotations

from pathlib import Path

from ascend_doctor.causes import causes
from ascend_doctor.table import load_table
from tools.page import MARK, PAGE, main, page


def test_the_page_is_up_to_date() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert page(text) == text, "run: python -m tools.page"


def test_the_page_has_every_finding_and_its_sources() -> None:
    generated = PAGE.read_text(encoding="utf-8").partition(MARK)[2]
    rows = [(name, row.sources) for name, row in load_table().items()]
    rows += [(name, row.sources) for name, row in causes().items()]
    for name, sources in rows:
        lines = [line for line in generated.splitlines() if line.startswith(f"| `{name}`")]
        assert any(all(source in line for source in sources) for line in lines), name


def test_text_written_by_hand_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "doctor.md"
    path.write_text(f"# By hand\n\n{MARK}what was here\n", encoding="utf-8")
    main(path)
    text = path.read_text(encoding="utf-8")
    assert text.startswith(f"# By hand\n\n{MARK}\n## Findings on a host\n")
    assert "what was here" not in text
