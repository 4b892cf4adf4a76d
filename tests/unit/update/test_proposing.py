# SPDX-License-Identifier: Apache-2.0
"""New targets with their locks: all of it or nothing is written."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

import pytest

from cannery.common.errors import EngineError, FileError, MatrixError
from cannery.common.model import Target
from cannery.common.package_index import PackageIndex
from cannery.lock.index_questions import Answers, Question
from cannery.matrix.project import Project
from cannery.update import proposing
from cannery.update.makers_table import read_table
from cannery.update.propose_pairs import Kind
from cannery.update.proposing import Proposals, propose
from tests.copies import copy_tree
from tests.unit.matrices import CHECKOUT, OWN_FACTS
from tests.unit.new_targets import TEXT, answers
from tests.unit.update.test_makers_table import CHINESE, NEWEST, NOTES, VLLM

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
        return f"# the lock of {target.id}\n"

    monkeypatch.setattr(proposing, "ask", ask)
    monkeypatch.setattr(proposing, "lock_target", lock)
    return Project(root=tmp_path)


def found_in(project: Project, *tables: str, kinds: Collection[Kind] = (*Kind,)) -> Proposals:
    return propose(project, PackageIndex(ca=None, index_url=""), tables, "2026-09-01", kinds)


def test_a_new_target_comes_with_its_lock(project: Project) -> None:
    result = found_in(project)
    assert NEW in [name for each in result.proposed for name in each.targets]
    [lock] = [path for path in result.files if path.parent.name == NEW]
    assert result.files[lock] == f"# the lock of {NEW}\n"
    assert result.rows == ()
    assert project.matrix_file.read_text(encoding="utf-8") == TEXT


def _without_places(result: Proposals) -> list[str]:
    return [each.what.partition(", as ")[0] for each in result.proposed]


@pytest.mark.slow
def test_each_kind_is_proposed_without_the_others(project: Project, tmp_path: Path) -> None:
    tables = {"COMPATIBILITY.md": CHINESE, "versioning_policy.md": VLLM}
    for name, text in tables.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    paths = [str(tmp_path / name) for name in tables]
    every = found_in(project, *paths)
    by_kind = {kind: found_in(project, *paths, kinds=[kind]) for kind in Kind}
    rows = [row for each in by_kind.values() for row in each.rows]
    assert len(rows) == len(every.rows)
    assert {*rows} == {*every.rows}
    assert {row.app != "" for row in by_kind[Kind.APPLICATIONS].rows} == {True}
    # A new value may stand beside another one, which is not there without the others.
    whats = {kind: _without_places(result) for kind, result in by_kind.items()}
    together = [what for kind in Kind for what in whats[kind]]
    assert sorted(together) == sorted(_without_places(every))
    # All targets of this matrix have CANN 9.0.0.
    assert whats[Kind.CANN]
    assert all("on CANN" in what and "on CANN 9.0.0" not in what for what in whats[Kind.CANN])
    assert all("on CANN 9.0.0" in what for what in whats[Kind.TORCH_NPU])
    assert not any("on CANN" in what for what in whats[Kind.APPLICATIONS])


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
    result = found_in(project, str(table))
    assert "torch_npu 2.9.0.post10 on CANN 9.2.0" in str([each.what for each in result.proposed])
    text = result.files[tmp_path / "compat.yaml"]
    assert "branch: v2.9.0-26.3.0, source: torch-npu-compatibility-2026-09-01}\n" in text
    assert (
        "  torch-npu-compatibility-2026-09-01: {rank: 1, state_of: torch-npu, kind: maker, "
        "date: 2026-09-01, read: 2026-09-01, "
        'cite: "COMPATIBILITY.md of Ascend/pytorch"'
    ) in text
    assert str(tmp_path) not in text


@pytest.mark.slow
def test_a_table_of_a_project_is_cited_as_one(project: Project, tmp_path: Path) -> None:
    table = tmp_path / "versioning_policy.md"
    table.write_text(VLLM, encoding="utf-8")
    result = found_in(project, str(table), "")
    text = result.files[tmp_path / "compat.yaml"]
    source = "vllm-ascend-versioning-policy-2026-09-01"
    assert f"  {source}: {{rank: 4, state_of: vllm-ascend, kind: project," in text
    assert [row.app for row in result.rows] == ["vllm-ascend v0.24.0"]
    # A second table of the same day has the same source.
    (tmp_path / "compat.yaml").write_text(text, encoding="utf-8")
    table.write_text(VLLM.replace("v0.24.0 | v0.24.0", "v0.24.1 | v0.24.0"), encoding="utf-8")
    again = found_in(project, str(table)).files[tmp_path / "compat.yaml"]
    assert again.count(f"  {source}: ") == 1
    assert again.count(f"source: {source}}}") == 2


@pytest.mark.parametrize(
    ("table", "error"), [("none.md", FileError), ("http://127.0.0.1:9/x.md", EngineError)]
)
def test_a_table_that_cannot_be_had(
    project: Project, table: str, error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with pytest.raises(error):
        found_in(project, table)


OF_SUMMER = """\
schema: 2
build_base: debian-12
families:
  pairs:
    id: "py311-{pair}"
    axes:
      pair:
        torch2100-cann910: {cann: 9.1.0, torch: 2.10.0, torch_npu: 2.10.0.post4}
        torch290-cann910: {cann: 9.1.0, torch: 2.9.0, torch_npu: 2.9.0.post6}
        torch271-cann910: {cann: 9.1.0, torch: 2.7.1, torch_npu: 2.7.1.post8}
        torch2110-cann910: {cann: 9.1.0, torch: 2.11.0, torch_npu: 2.11.0}
        torch2120-cann910: {cann: 9.1.0, torch: 2.12.0, torch_npu: 2.12.0}
    common: {platform: linux/arm64, base: debian-12, python: cpython-3.11.2}
"""


@pytest.mark.slow
def test_both_tables_of_october_bring_all_their_pairs_judged_and_locked_in_one_run(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [*read_table(NEWEST, "table"), *read_table(NOTES, "notes")]
    new = {row.torch_npu for row in rows if row.cann != "9.0.0"}
    project.matrix_file.write_text(OF_SUMMER, encoding="utf-8")
    data = tmp_path / "cannery/data"
    copy_tree(CHECKOUT / "cannery/data", data)
    cann = (data / "cann.yaml").read_text(encoding="utf-8").partition("  9.2.0:\n")[0]
    (data / "cann.yaml").write_text(cann, encoding="utf-8")
    facts = tmp_path / "compat.yaml"
    lines = facts.read_text(encoding="utf-8").splitlines(keepends=True)
    # This source has nothing but the Pythons of such rows.
    gone = "  torch-npu-wheels: ", *(f"torch_npu: {each}," for each in new)
    kept = [line for line in lines if not any(each in line for each in gone)]
    facts.write_text("".join(kept), encoding="utf-8")
    tables = {"COMPATIBILITY.md": NEWEST, "release_notes.md": NOTES}
    for name, text in tables.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    versions = [row.torch_npu for row in rows]
    monkeypatch.setattr(proposing, "ask", lambda *_: answers("torch_npu", versions))
    result = found_in(project, *(str(tmp_path / name) for name in tables))
    assert len(result.rows) == 5 * 2 + 7
    targets = {name for each in result.proposed for name in each.targets}
    series = {"cann911": ("271", "290", "2100", "2110", "2120"), "cann920": ("2130", "2140")}
    series["cann920"] = (*series["cann911"], *series["cann920"])
    assert targets == {f"py311-torch{t}-{cann}" for cann, each in series.items() for t in each}
    assert {
        path.parent.name for path in result.files if path.name == "requirements.lock"
    } == targets
    for path, text in result.files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    definition = "  9.2.0:\n    layout: cann\n    chips: [910b, 950, a3]\n"
    assert definition in result.files[data / "cann.yaml"]
    sources = [row.sources[0].cite for row in project.compat().pairings if row.torch_npu in new]
    assert sources.count("COMPATIBILITY.md of Ascend/pytorch") == 10
    assert sources.count("release_notes.md of Ascend/pytorch") == 7
    again = found_in(project, *(str(tmp_path / name) for name in tables))
    assert (again.rows, again.proposed, again.files) == ((), (), {})


def test_targets_that_cannot_be_locked_are_left_out(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def lock(_project: Project, target: Target, *_: object) -> str:
        asked.append(target.id)
        if target.torch == "2.9.0":
            raise MatrixError(f"the requirements of {target.id} cannot be satisfied.")
        return f"# the lock of {target.id}\n"

    monkeypatch.setattr(proposing, "lock_target", lock)
    new = found_in(project)
    targets = [name for proposal in new.proposed for name in proposal.targets]
    assert "py311-torch2100-cann920" in targets
    assert NEW not in targets
    problems = [proposal.problem for proposal in new.proposed]
    assert f"the requirements of {NEW} cannot be satisfied." in problems
    assert len(asked) == len({*asked})
    locked = {path.parent.name for path in new.files if path.name == "requirements.lock"}
    assert locked == {*targets}
    assert NEW.partition("-")[2] not in new.files[project.matrix_file]
