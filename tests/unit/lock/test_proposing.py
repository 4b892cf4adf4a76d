# SPDX-License-Identifier: Apache-2.0
"""New targets with their locks: all of it or nothing is written."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from cannery.common.errors import EngineError, FileError, MatrixError
from cannery.common.model import Target
from cannery.common.package_index import PackageIndex
from cannery.compat.makers_table import read_table
from cannery.lock import proposing
from cannery.lock.proposing import Proposals, propose
from cannery.matrix.index_questions import Answers, Question
from cannery.matrix.project import Project
from tests.unit.compat.test_makers_table import CHINESE, NEWEST, VLLM
from tests.unit.matrices import OWN_FACTS
from tests.unit.new_targets import TEXT, answers

VERSIONS = ["2.8.0.post4", "2.9.0.post6", "2.9.0.post9", "2.9.0.post10"]
NEW = "py311-torch290-cann920"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A checkout with an index that has these versions, and in which everything can be locked."""
    (tmp_path / "matrix.yaml").write_text(TEXT, encoding="utf-8")
    (tmp_path / "compat.yaml").write_text(OWN_FACTS.read_text(encoding="utf-8"), encoding="utf-8")

    def ask(_questions: Iterable[Question], _source: PackageIndex) -> Answers:
        return answers("torch_npu", VERSIONS)

    def lock(_project: Project, target: Target, *_: object) -> str:
        return f"the lock of {target.id}\n"

    monkeypatch.setattr(proposing, "ask", ask)
    monkeypatch.setattr(proposing, "lock_target", lock)
    return Project(root=tmp_path)


def found_in(project: Project, *tables: str) -> Proposals:
    return propose(project, PackageIndex(ca=None, index_url=""), tables, "2026-09-01")


def test_a_new_target_comes_with_its_lock(project: Project) -> None:
    found = found_in(project)
    assert NEW in [name for each in found.proposed for name in each.addition.targets]
    [lock] = [path for path in found.files if path.parent.name == NEW]
    assert found.files[lock] == f"the lock of {NEW}\n"
    assert found.rows == ()
    assert project.matrix_file.read_text(encoding="utf-8") == TEXT


def test_a_target_that_cannot_be_locked_is_left_out(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lock(_project: Project, target: Target, *_: object) -> str:
        raise MatrixError(f"the requirements of {target.id} cannot be satisfied.")

    monkeypatch.setattr(proposing, "lock_target", lock)
    found = found_in(project)
    assert found.files == {}
    reasons = [why for each in found.proposed for why in each.addition.refused.values()]
    assert f"the requirements of {NEW} cannot be satisfied." in reasons


def test_an_index_that_cannot_be_read_ends_it(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ask(*_: object) -> Answers:
        raise EngineError("the package index cannot be read.")

    monkeypatch.setattr(proposing, "ask", ask)
    with pytest.raises(EngineError, match="cannot be read"):
        found_in(project)
    assert project.matrix_file.read_text(encoding="utf-8") == TEXT


def test_new_rows_of_a_table_are_used_and_cited(project: Project, tmp_path: Path) -> None:
    table = tmp_path / "COMPATIBILITY.md"
    text = CHINESE.replace("2.9.0.post9", "2.9.0.post10").replace("9.1.1", "9.2.0")
    table.write_text(text, encoding="utf-8")
    found = found_in(project, str(table))
    assert "torch_npu 2.9.0.post10 on CANN 9.2.0" in str([each.what for each in found.proposed])
    text = found.files[tmp_path / "compat.yaml"]
    assert "branch: v2.9.0-26.3.0, source: torch-npu-2026-09-01}\n" in text
    assert (
        "  torch-npu-2026-09-01: {rank: 1, kind: maker, date: 2026-09-01, "
        'cite: "COMPATIBILITY.md of Ascend/pytorch"'
    ) in text
    assert str(tmp_path) not in text


def test_a_table_of_a_project_is_cited_as_one(project: Project, tmp_path: Path) -> None:
    table = tmp_path / "versioning_policy.md"
    table.write_text(VLLM, encoding="utf-8")
    found = found_in(project, str(table), "")
    text = found.files[tmp_path / "compat.yaml"]
    assert "vllm-ascend-2026-09-01: {rank: 4, kind: project," in text
    assert [row.app for row in found.rows] == ["vllm-ascend v0.24.0"]
    # A second table of the same day has the same source.
    (tmp_path / "compat.yaml").write_text(text, encoding="utf-8")
    table.write_text(VLLM.replace("v0.24.0 | v0.24.0", "v0.24.1 | v0.24.0"), encoding="utf-8")
    again = found_in(project, str(table)).files[tmp_path / "compat.yaml"]
    assert again.count("  vllm-ascend-2026-09-01: ") == 1
    assert again.count("source: vllm-ascend-2026-09-01}") == 2


@pytest.mark.parametrize(
    ("table", "error"), [("none.md", FileError), ("http://127.0.0.1:9/x.md", EngineError)]
)
def test_a_table_that_cannot_be_had(
    project: Project, table: str, error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with pytest.raises(error):
        found_in(project, table)


def test_the_table_of_a_new_cann_brings_its_pairs_judged_and_locked(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = tmp_path / "compat.yaml"
    lines = facts.read_text(encoding="utf-8").splitlines(keepends=True)
    kept = [line for line in lines if not ("torch_npu: " in line and "cann: 9.2.0," in line)]
    assert len(lines) - len(kept) == 7
    facts.write_text("".join(kept), encoding="utf-8")
    table = tmp_path / "COMPATIBILITY.md"
    table.write_text(NEWEST, encoding="utf-8")
    versions = [row.torch_npu for row in read_table(NEWEST, "table")]
    monkeypatch.setattr(proposing, "ask", lambda *_: answers("torch_npu", versions))
    found = found_in(project, str(table))
    assert [row.cann for row in found.rows] == ["9.2.0"] * 7
    new = [each for each in found.proposed if "CANN 9.2.0" in each.what]
    # The matrix has no torch 2.7.1, which is older than those that it has.
    assert {each.what.split()[1] for each in new} == {row.torch for row in found.rows} - {"2.7.1"}
    for each in new:
        assert each.addition.targets or each.addition.refused or each.problem
    targets = [name for each in new for name in each.addition.targets]
    assert {"py311-torch290-cann920", "py311-torch2100-cann920"} <= {*targets}
    locked = {path.parent.name for path in found.files if path.name == "requirements.lock"}
    assert {*targets} <= locked
