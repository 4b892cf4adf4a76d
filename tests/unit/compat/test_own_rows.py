# SPDX-License-Identifier: Apache-2.0
"""A project's compat.yaml: rows beside those of cannery, each with its source."""

from __future__ import annotations

from pathlib import Path

import pytest

from cannery.common.errors import MatrixError
from cannery.compat.check_report import outdated
from cannery.compat.facts import parse_compat
from cannery.matrix.project import Project
from tests.unit.matrices import CHECKOUT, FACTS, MATRIX, write_facts

NOT_KNOWN = MATRIX.replace("torch_npu: 2.3.1.post2", "torch_npu: 2.3.1.post4")
ROWS = """\
schema: 1
sources:
  platform-team: {rank: 5, kind: report, date: 2026-11-20, cite: "our run 4711 on eight cards"}
torch_npu:
  - {torch: 2.3.1, torch_npu: 2.3.1.post4, cann: 8.0.RC2, source: platform-team}
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """With a target that no row of cannery knows."""
    (tmp_path / "matrix.yaml").write_text(NOT_KNOWN, encoding="utf-8")
    write_facts(tmp_path)
    return Project(root=tmp_path)


def write(project: Project, text: str) -> None:
    (project.root / "compat.yaml").write_text(text, encoding="utf-8")


def problems(project: Project) -> str:
    with pytest.raises(MatrixError) as caught:
        project.matrix()
    return str(caught.value)


def test_a_row_of_its_own_makes_a_target_known_and_is_cited_with_its_file(
    project: Project,
) -> None:
    assert "not known to work on CANN 8.0.RC2" in problems(project)
    write(project, ROWS)
    said = [
        source
        for finding in project.matrix().findings["full"]
        for source in (row.cited for row in finding.rows)
        if "4711" in source
    ]
    assert set(said) == {"our run 4711 on eight cards, 2026-11-20, ./compat.yaml:5"}


def test_its_rows_can_refuse_what_cannery_allows(project: Project) -> None:
    project.matrix_file.write_text(MATRIX, encoding="utf-8")
    assert project.matrix().targets
    row = 'known_bad:\n  - {torch: "==2.3.1", why: hangs in our cluster, source: platform-team}\n'
    write(project, ROWS.partition("torch_npu:")[0] + row)
    assert "hangs in our cluster" in problems(project)


def test_its_sources_are_to_be_read_again_and_those_of_cannery_are_not(project: Project) -> None:
    write(project, ROWS.replace("date: 2026-11-20", "date: 2026-01-01, read: 2026-01-01"))
    sources = project.compat().sources
    assert [source.name for source in sources.values() if source.is_own] == ["platform-team"]
    [said] = outdated([sources["platform-team"]], "2026-11-28")
    assert "our run 4711 on eight cards was last read on 2026-01-01" in said


def test_it_can_cite_a_source_of_cannery(project: Project) -> None:
    ours = next(iter(parse_compat(FACTS, "compat.yaml").sources))
    row = ROWS.replace("source: platform-team", f"source: [{ours}, platform-team]")
    write(project, row)
    assert project.matrix().targets


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("source: platform-team}", "source: platform-taem}", "compat.yaml:5:67: "),
        ("source: platform-team}", "source: platform-taem}", "Did you mean 'platform-team'?"),
        ("cann: 8.0.RC2, s", "cnan: 8.0.RC2, s", "compat.yaml:5"),
        ("schema: 1", "schema: 7", "compat.yaml:1"),
        ("torch_npu:\n", "torch_pnu:\n", "Did you mean 'torch_npu'?"),
        ("torch_npu:\n  -", "packages:\n  -", "compat.yaml:5"),
        ("  platform-team:", "  makers:", "compat.yaml:3:11: sources.makers: cannery has a source"),
        ("schema: 1\n", "- 1\n", "compat.yaml:"),
    ],
)
def test_a_mistake_has_its_place_in_the_own_file(
    project: Project, before: str, after: str, said: str
) -> None:
    assert before in ROWS
    write(project, ROWS.replace(before, after, 1))
    found = problems(project)
    assert said in found
    assert "cannery/data" not in found.partition("\n")[0]


def test_a_source_that_no_row_of_it_cites(project: Project) -> None:
    write(project, ROWS.partition("torch_npu:")[0])
    assert "nothing in compat.yaml cites it" in problems(project)


def test_rows_of_cannery_are_as_they_were() -> None:
    text = (CHECKOUT / "cannery/data/compat.yaml").read_text(encoding="utf-8")
    ours = parse_compat(text, "x")
    joined = parse_compat(text, "x", ROWS.replace("2.3.1.post4", "2.3.1.post99"))
    assert joined.pairings[:-1] == ours.pairings
    assert joined.by_package == ours.by_package
    assert joined.cann_python is ours.cann_python


def test_the_rows_of_the_documentation_are_read() -> None:
    page = (CHECKOUT / "docs/matrix.md").read_text(encoding="utf-8")
    section = page.partition("### Rows of one's own\n")[2].partition("\n### ")[0]
    lines = [line[4:] for line in section.splitlines() if line.startswith("    ")]
    text = (CHECKOUT / "cannery/data/compat.yaml").read_text(encoding="utf-8")
    joined = parse_compat(text, "x", "\n".join(lines))
    assert joined.pairings[-1].torch_npu == "2.9.0.post9"
    assert joined.known_bad[-1].cited.endswith("./compat.yaml:7")
