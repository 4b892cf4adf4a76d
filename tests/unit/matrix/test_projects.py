# SPDX-License-Identifier: Apache-2.0
"""Projects that are no checkout of cannery: its definitions, which they read and never change."""

from __future__ import annotations

from pathlib import Path

import pytest

from cannery import __version__
from cannery.common.errors import MatrixError
from cannery.common.tool import CHECKOUT
from cannery.matrix.project import Project
from cannery.matrix.text import MatrixText, with_sha256

TEXT = """\
schema: 2
build_base: debian-12
targets:
  one:
    summary: CANN alone
    platform: linux/arm64
    base: debian-12
    python: cpython-3.11.2
    cann: 9.1.0
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    (tmp_path / "matrix.yaml").write_text(TEXT, encoding="utf-8")
    return Project(root=tmp_path)


def test_the_files_of_the_tool_are_those_of_this_code(project: Project) -> None:
    assert not project.is_checkout
    assert Project(root=CHECKOUT).is_checkout
    assert [*project.matrix().targets] == ["one"]
    assert project.checks == CHECKOUT / "tests" / "image"
    assert project.templates == CHECKOUT / "cannery" / "image" / "templates"


def test_a_definition_goes_into_matrix_yaml(project: Project) -> None:
    matrix = MatrixText(project.files())
    before = dict(matrix.files)
    matrix.add(("pythons",), ["mine: {version: 3.11.2, source: base, base: debian-12}"])
    changed = {name for name, text in matrix.files.items() if text != before[name]}
    assert changed == {"matrix.yaml"}
    assert "pythons:\n  mine: {version" in matrix.files["matrix.yaml"]


def test_a_hash_is_not_written_into_the_files_of_the_tool(project: Project) -> None:
    files = project.files()
    toolkit = project.matrix().targets["one"].artifacts["toolkit"].name
    assert with_sha256(files, toolkit, "0" * 64) == files


NEWER = {
    "schema: 2": ("schema: 3", "matrix.yaml:1:9: schema 3 is of a newer cannery"),
    "build_base": (
        "requires: cannery>=99\nnew_key: 1\nbuild_base",
        f"matrix.yaml:2:11: this project requires cannery>=99, and this is cannery {__version__}.",
    ),
}


@pytest.mark.parametrize("old", NEWER)
def test_a_project_of_a_newer_cannery_is_refused_for_that_alone(project: Project, old: str) -> None:
    new, said = NEWER[old]
    project.matrix_file.write_text(TEXT.replace(old, new), encoding="utf-8")
    with pytest.raises(MatrixError) as caught:
        project.matrix()
    [problem] = caught.value.problems
    assert str(problem).startswith(said)
    newer = "cannery>=99" if "requires" in new else f"cannery>{__version__}"
    assert f"pip install --upgrade '{newer}'" in str(problem)


def test_a_combination_with_a_target_of_the_tool_is_refused_where_it_is_written(
    project: Project,
) -> None:
    mine = "  mine:\n    from: py39-torch231-cann8t39\n"
    mine += "    platform: {replace: linux/amd64}\n"
    project.matrix_file.write_text(TEXT + mine, encoding="utf-8")
    with pytest.raises(MatrixError) as caught:
        project.matrix()
    line = (TEXT + mine).splitlines().index("  mine:") + 1
    assert {f"{each.where}".rsplit(":", 1)[0] for each in caught.value.problems} <= {
        f"matrix.yaml:{number}" for number in range(line, line + 3)
    }


def test_what_is_required_must_be_cannery(project: Project) -> None:
    text = TEXT.replace("build_base", "requires: canery>=0.1\nbuild_base")
    project.matrix_file.write_text(text, encoding="utf-8")
    with pytest.raises(MatrixError, match=r"matrix\.yaml:2:11: .*Write it as cannery>=0\.1"):
        project.matrix()
    project.matrix_file.write_text(text.replace("canery", "cannery"), encoding="utf-8")
    assert project.matrix().targets
