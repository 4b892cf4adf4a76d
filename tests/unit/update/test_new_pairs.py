# SPDX-License-Identifier: Apache-2.0
"""New targets with their locks: all of it or nothing is written."""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest

from cannery.common.cann_version import CannVersion
from cannery.common.errors import EngineError, FileError, MatrixError
from cannery.common.model import Target
from cannery.common.package_index import PackageIndex
from cannery.compat.facts import Compat
from cannery.lock import resolve
from cannery.matrix.project import Project
from cannery.matrix.schema import parse_matrix
from cannery.update.makers_table import read_table
from cannery.update.new_pairs import Proposals, propose_pairs
from tests.copies import copy_tree
from tests.unit.compat_targets import COMPAT
from tests.unit.matrices import CHECKOUT, DIGEST, OWN_FACTS, edited, write_facts
from tests.unit.update.test_makers_table import CHINESE, NEWEST, NOTES, VLLM

TEXT = """\
schema: 2
build_base: debian-12
bases:
  debian-11: {image: "debian:11@sha256:DIGEST", suite: bullseye, glibc: 2.31}
  debian-12: {image: "debian:12@sha256:DIGEST", suite: bookworm, glibc: 2.36}
pythons:
  cpython-3.9.2: {version: 3.9.2, source: base, base: debian-11}
  cpython-3.11.2: {version: 3.11.2, source: base, base: debian-12}
cann_layouts:
  cann:
    origin: Huawei
    toolkit: Ascend-cann-toolkit_{release}_linux-{machine}.run
    kernels: {default: "Ascend-cann-{chip}-ops_{release}_linux-{machine}.run"}
    nnal: Ascend-cann-nnal_{release}_linux-{machine}.run
    requirements: [numpy, protobuf==3.20.3]
cann:
  9.0.0: {layout: cann, chips: [910b]}

families:
  # Pairs of Huawei's table.
  pairs:
    id: "{python}-{pair}"
    axes:
      python:
        py311: {base: debian-12, python: cpython-3.11.2}
      pair:
        torch280-cann900: {cann: 9.0.0, torch: 2.8.0, torch_npu: 2.8.0.post4}
    common: {platform: linux/arm64}
""".replace("DIGEST", DIGEST)

OLD, NEW = "2.8.0.post4", "2.9.0.post6"
"""The torch_npu that is in use, on CANN 9.0.0, and one on CANN 9.1.0 for Python 3.10 and later."""

PAIR = "{cann: 9.0.0, torch: 2.8.0, torch_npu: 2.8.0.post4}"
TODAY = "2026-09-01"


def facts(*torch_npu: str) -> Compat:
    """compat.yaml with Huawei's rows for these versions only."""
    rows = [row for row in COMPAT.pairings if row.torch_npu in torch_npu and row.branch]
    return COMPAT.model_copy(update={"pairings": tuple(rows)})


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A checkout in which everything can be locked."""
    (tmp_path / "matrix.yaml").write_text(TEXT, encoding="utf-8")
    write_facts(tmp_path, OWN_FACTS.read_text(encoding="utf-8"))

    def lock(_project: Project, target: Target, *_: object) -> str:
        return f"# the lock of {target.id}\n"

    monkeypatch.setattr(resolve, "lock_target", lock)
    return Project(root=tmp_path)


def proposals(project: Project, *tables: str, today: str = TODAY) -> Proposals:
    return propose_pairs(project, PackageIndex(ca=None, index_url=""), tables, today)


@pytest.fixture
def knows(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """compat.yaml has but two pairs."""
    monkeypatch.setattr(Project, "compat", lambda _: facts(OLD, NEW))


@pytest.mark.usefixtures("knows")
def test_a_newer_pair_stands_beside_the_most_similar_one(project: Project) -> None:
    result = proposals(project)
    assert result.text == (
        f"PyTorch 2.9.0 with torch_npu {NEW} on CANN 9.1.0, as torch280-cann900 of family pairs.\n"
        "    py311-torch290-cann910\n  -> With --write these targets are added."
    )
    lock = project.root / "images/py311-torch290-cann910/requirements.lock"
    assert result.files[lock] == "# the lock of py311-torch290-cann910\n"
    text = result.files[project.matrix_file]
    after = parse_matrix(text, "matrix.yaml").targets["py311-torch290-cann910"]
    assert (after.torch, after.torch_npu, after.cann.version) == ("2.9.0", NEW, "9.1.0")
    lines = difflib.ndiff(TEXT.splitlines(), text.splitlines())
    assert not [line for line in lines if line.startswith("- ")]
    assert project.matrix_file.read_text(encoding="utf-8") == TEXT


@pytest.mark.usefixtures("knows")
@pytest.mark.parametrize(
    ("python", "reason"),
    [
        ("py39: {base: debian-11, python: cpython-3.9.2}", "no wheel for Python 3.9"),
        ("", "no disk"),
    ],
)
def test_nothing_is_written_if_a_target_is_refused(
    project: Project, monkeypatch: pytest.MonkeyPatch, python: str, reason: str
) -> None:
    def lock(_project: Project, target: Target, *_: object) -> str:
        raise MatrixError(f"no disk for {target.id}")

    monkeypatch.setattr(resolve, "lock_target", lock)
    py311 = "        py311: {base: debian-12, python: cpython-3.11.2}\n"
    if python:
        text = edited(py311, f"{py311}        {python}\n", TEXT)
        project.matrix_file.write_text(text, encoding="utf-8")
    result = proposals(project)
    assert result.files == {}
    assert reason in result.text
    assert "  -> Nothing is written for it." in result.text


def test_the_newest_of_each_series_of_cann_is_proposed(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    [row] = facts(NEW).pairings
    canns = ["9.1.0", "9.1.1", "9.2.0"]
    rows = [row.model_copy(update={"cann": CannVersion.parse(cann)}) for cann in canns]
    known = COMPAT.model_copy(update={"pairings": (*facts(OLD).pairings, *rows)})
    monkeypatch.setattr(Project, "compat", lambda _: known)
    assert proposals(project).targets == ("py311-torch290-cann911", "py311-torch290-cann920")


@pytest.mark.parametrize(("today", "is_new"), [("2026-10-15", True), ("2026-10-16", False)])
def test_a_torch_whose_maintenance_has_ended_is_left_out(
    project: Project, monkeypatch: pytest.MonkeyPatch, today: str, is_new: bool
) -> None:
    # Maintenance of torch_npu for torch 2.8.0 ends on 2026-10-15.
    [row] = facts(OLD).pairings
    newer = row.model_copy(update={"cann": CannVersion.parse("9.1.0"), "torch_npu": "2.8.0.post9"})
    monkeypatch.setattr(
        Project, "compat", lambda _: COMPAT.model_copy(update={"pairings": (row, newer)})
    )
    assert bool(proposals(project, today=today).text) == is_new


@pytest.mark.usefixtures("knows")
@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (
            f"      pair:\n        torch280-cann900: {PAIR}\n",
            f"      pair: {{torch280-cann900: {PAIR}}}\n",
            "it is not an indented mapping",
        ),
        ("torch_npu: 2.8.0.post4}", "torch_npu: 2.8.0.post4, deepspeed: 0.18.4}", "'build.py new'"),
        ("    common: {", "    exclude: []\n    common: {", "'build.py new' adds a single target"),
    ],
)
def test_other_families_are_left_to_people(
    project: Project, old: str, new: str, problem: str
) -> None:
    project.matrix_file.write_text(edited(old, new, TEXT), encoding="utf-8")
    result = proposals(project)
    assert result.files == {}
    assert problem in " ".join(result.text.split())


def test_new_rows_of_a_table_are_used_and_cited(project: Project, tmp_path: Path) -> None:
    table = tmp_path / "COMPATIBILITY.md"
    text = CHINESE.replace("2.9.0.post9", "2.9.0.post10").replace("9.1.1", "9.2.0")
    table.write_text(text, encoding="utf-8")
    result = proposals(project, str(table))
    assert "torch_npu 2.9.0.post10 on CANN 9.2.0" in result.text
    text = result.files[tmp_path / "cannery/data/compat.yaml"]
    assert "branch: v2.9.0-26.3.0, source: torch-npu-compatibility-2026-09-01}\n" in text
    assert (
        "  torch-npu-compatibility-2026-09-01: {rank: 1, state_of: torch-npu, kind: maker, "
        "date: 2026-09-01, read: 2026-09-01, "
        'cite: "COMPATIBILITY.md of Ascend/pytorch", about: its rows that were new when it was '
        "read in a copy}"
    ) in text
    assert str(tmp_path) not in text


@pytest.mark.slow
def test_a_table_of_a_project_is_cited_as_one(project: Project, tmp_path: Path) -> None:
    table = tmp_path / "versioning_policy.md"
    dated = f"{VLLM}\n| 2026.08.23 | v0.24.0 |\n| 2027.01.01 | later |\n"
    table.write_text(dated, encoding="utf-8")
    result = proposals(project, str(table), "")
    text = result.files[tmp_path / "cannery/data/compat.yaml"]
    source = "vllm-ascend-versioning-policy-2026-09-01"
    # A document is of the newest day that it names, and not of the one on which it was read.
    head = f"  {source}: {{rank: 4, state_of: vllm-ascend, kind: project, date: 2026-08-23, "
    assert f'{head}read: 2026-09-01, cite: "versioning_policy.md of vllm-project' in text
    assert [row.app for row in result.rows] == ["vllm-ascend v0.24.0"]
    assert result.unread[0].startswith("line 5 has no release: main, ")
    # A second table of the same day has the same source.
    write_facts(tmp_path, text)
    table.write_text(VLLM.replace("v0.24.0 | v0.24.0", "v0.24.1 | v0.24.0"), encoding="utf-8")
    again = proposals(project, str(table)).files[tmp_path / "cannery/data/compat.yaml"]
    assert again.count(f"  {source}: ") == 1
    assert again.count(f"source: {source}}}") == 2


@pytest.mark.parametrize(
    ("table", "error"), [("none.md", FileError), ("http://127.0.0.1:9/x.md", EngineError)]
)
def test_an_unavailable_table_is_an_error(
    project: Project, table: str, error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with pytest.raises(error):
        proposals(project, table)


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
    project: Project, tmp_path: Path
) -> None:
    rows = [*read_table(NEWEST, "table"), *read_table(NOTES, "notes")]
    new = {row.torch_npu for row in rows if row.cann != "9.0.0"}
    project.matrix_file.write_text(OF_SUMMER, encoding="utf-8")
    data = tmp_path / "cannery/data"
    copy_tree(CHECKOUT / "cannery/data", data)
    cann = (data / "cann.yaml").read_text(encoding="utf-8").partition("  9.2.0:\n")[0]
    (data / "cann.yaml").write_text(cann, encoding="utf-8")
    compat = tmp_path / "cannery/data/compat.yaml"
    lines = compat.read_text(encoding="utf-8").splitlines(keepends=True)
    # This source has nothing but the Pythons of such rows.
    gone = "  torch-npu-wheels: ", *(f"torch_npu: {each}," for each in new)
    kept = [line for line in lines if not any(each in line for each in gone)]
    compat.write_text("".join(kept), encoding="utf-8")
    tables = {"COMPATIBILITY.md": NEWEST, "release_notes.md": NOTES}
    for name, text in tables.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    result = proposals(project, *(str(tmp_path / name) for name in tables))
    assert len(result.rows) == 5 * 2 + 7
    series = {"cann911": ("271", "290", "2100", "2110", "2120"), "cann920": ("2130", "2140")}
    series["cann920"] = (*series["cann911"], *series["cann920"])
    targets = {f"py311-torch{t}-{cann}" for cann, torches in series.items() for t in torches}
    assert {*result.targets} == targets
    locked = {path.parent.name for path in result.files if path.name == "requirements.lock"}
    assert locked == targets
    for path, text in result.files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    definition = "  9.2.0:\n    layout: cann\n    chips: [310p, 910b, 950, a3]\n"
    assert definition in result.files[data / "cann.yaml"]
    sources = [row.sources[0].cite for row in project.compat().pairings if row.torch_npu in new]
    assert sources.count("COMPATIBILITY.md of Ascend/pytorch") == 10
    assert sources.count("release_notes.md of Ascend/pytorch") == 7
    again = proposals(project, *(str(tmp_path / name) for name in tables))
    assert (again.text, again.files) == ("", {})


def test_targets_without_a_solution_are_left_out(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lock(_project: Project, target: Target, *_: object) -> str:
        if target.torch == "2.9.0":
            raise MatrixError(f"the requirements of {target.id} cannot be satisfied.")
        return f"# the lock of {target.id}\n"

    monkeypatch.setattr(resolve, "lock_target", lock)
    result = proposals(project)
    assert "py311-torch2100-cann920" in result.targets
    assert "the requirements of py311-torch290-cann920 cannot be satisfied." in result.text
    locked = {path.parent.name for path in result.files if path.name == "requirements.lock"}
    assert locked == {*result.targets}
    assert "torch290-cann920" not in result.files[project.matrix_file]
