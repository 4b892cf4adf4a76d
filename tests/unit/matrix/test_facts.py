# SPDX-License-Identifier: Apache-2.0
"""A matrix is judged by the compat.yaml below its folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from cannery.common.errors import MatrixError
from cannery.matrix.files import FACTS, read_facts
from cannery.matrix.project import Project
from cannery.matrix.schema import load_matrix
from tests.unit.matrices import MATRIX, OWN_FACTS, write_facts


def test_facts_are_read_again_when_they_have_changed(tmp_path: Path) -> None:
    project, path = Project(root=tmp_path), write_facts(tmp_path, OWN_FACTS.read_text("utf-8"))
    assert project.compat().pairings
    path.write_text("schema: 1\n", encoding="utf-8")
    with pytest.raises(MatrixError, match=r"compat\.yaml:1:1: "):
        project.compat()


def test_a_project_without_facts_is_judged_by_those_of_the_tool(tmp_path: Path) -> None:
    facts = OWN_FACTS.read_text(encoding="utf-8")
    assert read_facts(tmp_path / "matrix.yaml") == {FACTS: facts}


def test_a_symlinked_matrix_uses_the_facts_beside_the_link(tmp_path: Path) -> None:
    checkout, elsewhere = tmp_path / "checkout", tmp_path / "elsewhere"
    checkout.mkdir()
    elsewhere.mkdir()
    (elsewhere / "matrix.yaml").write_text(MATRIX, encoding="utf-8")
    (checkout / "matrix.yaml").symlink_to(elsewhere / "matrix.yaml")
    write_facts(checkout)
    assert [*load_matrix(checkout / "matrix.yaml").targets] == ["full", "bare"]
    bad = MATRIX.replace("torch_npu: 2.3.1.post2", "torch_npu: 2.3.1.post4")
    (elsewhere / "matrix.yaml").write_text(bad, encoding="utf-8")
    with pytest.raises(MatrixError, match=r"not known to work on CANN 8\.0\.RC2"):
        load_matrix(checkout / "matrix.yaml")
