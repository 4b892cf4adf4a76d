# SPDX-License-Identifier: Apache-2.0
"""What is asked of git, and that a git that fails is never taken for an answer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cannery.building.affected import is_read
from cannery.building.git import (
    NoRepositoryError,
    changed,
    commit,
    names,
    origin,
    read_commit,
    resolve,
)
from cannery.cli.cmd_ci import CiOptions, plan_ci
from cannery.common.errors import EngineError
from cannery.matrix.project import Project
from tests.unit.changes import commit as commit_all
from tests.unit.changes import git, render
from tests.unit.matrices import make_checkout

ODD = ("images/full/a b", "images/full/\n", "images/full/ü", 'images/full/"', "images/full/-x")

ASK: dict[str, Callable[[Path], Any]] = {
    "resolve": resolve,
    "names": names,
    "changed": changed,
    "read_commit": lambda root: read_commit(root, "HEAD", is_read),
}
TOLERANT: dict[str, Callable[[Path], str]] = {"commit": commit, "origin": origin}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository in which the project is not at the top."""
    root = tmp_path / "outer" / "inner"
    root.mkdir(parents=True)
    make_checkout(root)
    render(Project(root=root))
    (root / ".gitignore").write_text("/.cannery/\n", encoding="utf-8")
    (tmp_path / "outer" / "setup.sh").write_text("outside\n", encoding="utf-8")
    git(tmp_path / "outer", "init", "--quiet")
    commit_all(tmp_path / "outer")
    return root


def test_a_clean_checkout(repository: Path) -> None:
    assert commit(repository) == git(repository, "rev-parse", "HEAD")
    assert changed(repository) == []
    assert origin(repository) == ""
    git(repository, "remote", "add", "origin", "https://git.example.com/cannery.git")
    assert origin(repository) == "https://git.example.com/cannery.git"


def test_changed_files_are_named_from_the_project(repository: Path) -> None:
    (repository / "matrix.yaml").unlink()
    (repository / "images/full/Dockerfile").write_text("other\n", encoding="utf-8")
    for name in ODD:
        (repository / name).write_text("new\n", encoding="utf-8")
    edited = ["images/full/Dockerfile", "matrix.yaml"]
    assert sorted(changed(repository, untracked=False)) == edited
    assert sorted(changed(repository)) == sorted([*edited, *ODD])
    assert changed(repository, ["matrix.yaml"]) == ["matrix.yaml"]
    git(repository, "add", "--all", ".")
    assert sorted(changed(repository, untracked=False)) == sorted([*edited, *ODD])


def test_a_renamed_file_is_two_changes(repository: Path) -> None:
    git(repository, "mv", "matrix.yaml", "images/other.yaml")
    assert sorted(changed(repository)) == ["images/other.yaml", "matrix.yaml"]


def test_files_outside_of_the_project_do_not_count(repository: Path) -> None:
    (repository.parent / "setup.sh").write_text("changed\n", encoding="utf-8")
    (repository.parent / "new").touch()
    assert changed(repository) == []


def test_a_question_writes_nothing_to_the_repository(repository: Path) -> None:
    index = repository.parent / ".git" / "index"
    (repository / "matrix.yaml").touch()
    before = index.read_bytes()
    assert changed(repository) == []
    assert index.read_bytes() == before


def test_committed_files_are_read_as_they_are(repository: Path) -> None:
    for name in ODD:
        (repository / name).write_text(name, encoding="utf-8")
    (repository / "images/full/bytes").write_bytes(b"\xff\r\n")
    (repository / "images/full/link").symlink_to("nowhere")
    (repository / "images/full/empty").touch()
    commit_all(repository)
    found = read_commit(repository, "HEAD", is_read)
    assert {name: found.texts[name] for name in ODD} == {name: name for name in ODD}
    assert found.texts["images/full/bytes"].encode(errors="surrogateescape") == b"\xff\r\n"
    assert (found.texts["images/full/link"], found.texts["images/full/empty"]) == ("nowhere", "")
    assert found.texts["matrix.yaml"] == (repository / "matrix.yaml").read_text(encoding="utf-8")
    assert found.entries.keys() - found.texts.keys() == {".gitignore"}


def test_names_of_commits(repository: Path) -> None:
    head = git(repository, "rev-parse", "HEAD")
    git(repository, "tag", "--annotate", "--message", "x", "named")
    assert resolve(repository, "HEAD") == resolve(repository, "named") == head
    for name in ("", "x", "HEAD^1", "HEAD:matrix.yaml", "--help", "0" * 40, head[:-1] + "g"):
        assert not resolve(repository, name)


def test_a_repository_without_a_commit(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    (tmp_path / "new").touch()
    assert (commit(tmp_path), origin(tmp_path), changed(tmp_path)) == ("", "", ["new"])


@pytest.mark.parametrize("ask", ASK.values(), ids=ASK)
def test_no_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ask: Callable[[Path], Any]
) -> None:
    with pytest.raises(NoRepositoryError, match="is in no git repository"):
        ask(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoRepositoryError, match="git is not installed"):
        ask(tmp_path)


@pytest.mark.parametrize("ask", TOLERANT.values(), ids=TOLERANT)
def test_provenance_can_do_without_a_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ask: Callable[[Path], str]
) -> None:
    assert ask(tmp_path) == ""
    monkeypatch.setenv("PATH", str(tmp_path))
    assert ask(tmp_path) == ""


@pytest.mark.parametrize("ask", [*ASK.values(), commit], ids=[*ASK, "commit"])
def test_a_damaged_repository_is_an_error_and_not_an_empty_answer(
    repository: Path, ask: Callable[[Path], Any]
) -> None:
    (repository.parent / ".git" / "HEAD").write_text("nothing\n", encoding="utf-8")
    with pytest.raises(EngineError, match=r"git [a-z-]+ failed in .*not a git repo") as caught:
        ask(repository)
    assert not isinstance(caught.value, NoRepositoryError)


def test_an_incomplete_base_commit_selects_all_targets(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    blob = git(repository, "rev-parse", "HEAD:./matrix.yaml")
    base = git(repository, "rev-parse", "HEAD")
    with (repository / "matrix.yaml").open("a", encoding="utf-8") as stream:
        stream.write("# another\n")
    commit_all(repository)
    objects = repository.parent / ".git" / "objects"
    (objects / blob[:2] / blob[2:]).unlink()
    with pytest.raises(EngineError, match="this clone does not have the file"):
        read_commit(repository, base, is_read)
    project = Project(root=repository)
    targets = [*project.matrix().targets.values()]
    artifacts = repository / "vendor"
    options = CiOptions(format="names", simulate=True, artifacts=artifacts, since=base)
    (repository / "vendor").mkdir()
    (repository / "vendor" / "cpython-3.8.18-aarch64.tar.gz").touch()
    jobs = plan_ci(project, targets, options)
    assert {name for job in jobs for name in job.targets} == {"full", "bare"}
    said = capsys.readouterr().err
    assert f"full: {base[:12]} cannot be read: this clone does not have the file" in said
