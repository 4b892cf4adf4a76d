# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest

from cannery.errors import EngineError
from cannery.execute.history import read_commit, resolve, uncommitted
from cannery.matrix.project import Project
from cannery.options.ci import CiOptions
from cannery.pipeline.ci import plan_ci
from cannery.plan.affected import is_read
from tests.unit.changes import commit, git, render
from tests.unit.matrices import make_checkout

ODD = ("images/full/a b", "images/full/\n", "images/full/ü", 'images/full/"', "images/full/-x")


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
    commit(tmp_path / "outer")
    return root


def test_what_is_committed_is_read_as_it_is(repository: Path) -> None:
    for name in ODD:
        (repository / name).write_text(name, encoding="utf-8")
    (repository / "images/full/bytes").write_bytes(b"\xff\r\n")
    (repository / "images/full/link").symlink_to("nowhere")
    (repository / "images/full/empty").touch()
    commit(repository)
    found = read_commit(repository, "HEAD", is_read)
    assert {name: found.texts[name] for name in ODD} == {name: name for name in ODD}
    assert found.texts["images/full/bytes"].encode(errors="surrogateescape") == b"\xff\r\n"
    assert (found.texts["images/full/link"], found.texts["images/full/empty"]) == ("nowhere", "")
    assert found.texts["matrix.yaml"] == (repository / "matrix.yaml").read_text(encoding="utf-8")
    assert found.entries.keys() - found.texts.keys() == {
        ".gitignore",
        *(f"cannery/image/templates/{name}" for name in ("Dockerfile.j2", "macros.j2")),
    }


def test_a_mode_counts_where_no_key_is_computed(repository: Path) -> None:
    before = read_commit(repository, "HEAD", is_read)
    (repository / ".gitignore").chmod(0o755)
    assert uncommitted(repository) == [".gitignore"]
    commit(repository)
    after = read_commit(repository, "HEAD", is_read)
    assert before.entries[".gitignore"] != after.entries[".gitignore"]
    assert uncommitted(repository) == []


def test_what_is_outside_of_the_project_does_not_count(repository: Path) -> None:
    (repository.parent / "setup.sh").write_text("changed\n", encoding="utf-8")
    assert uncommitted(repository) == []


def test_another_repository_inside_is_no_file(repository: Path) -> None:
    inner = repository / "images" / "full" / "inner"
    inner.mkdir()
    git(inner, "init", "--quiet")
    commit(inner)
    git(repository, "-c", "advice.addEmbeddedRepo=false", "add", "--all", ".")
    git(repository, "commit", "--quiet", "--message", "a repository inside")
    found = read_commit(repository, "HEAD", is_read)
    assert "images/full/inner" in found.entries
    assert "images/full/inner" not in found.texts


def test_names_of_commits(repository: Path) -> None:
    head = git(repository, "rev-parse", "HEAD")
    git(repository, "tag", "--annotate", "--message", "x", "named")
    assert resolve(repository, "HEAD") == resolve(repository, "named") == head
    for name in ("", "x", "HEAD^1", "HEAD:matrix.yaml", "--help", "0" * 40, head[:-1] + "g"):
        assert not resolve(repository, name)


def test_a_base_that_is_not_here_whole_means_all(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    blob = git(repository, "rev-parse", "HEAD:./matrix.yaml")
    base = git(repository, "rev-parse", "HEAD")
    with (repository / "matrix.yaml").open("a", encoding="utf-8") as stream:
        stream.write("# another\n")
    commit(repository)
    objects = repository.parent / ".git" / "objects"
    (objects / blob[:2] / blob[2:]).unlink()
    with pytest.raises(EngineError, match="git has not got the file"):
        read_commit(repository, base, is_read)
    project = Project(root=repository)
    targets = [*project.matrix().targets.values()]
    artifacts = repository / "vendor"
    options = CiOptions(format="names", simulate=True, artifacts=artifacts, since=base)
    (repository / "vendor").mkdir()
    (repository / "vendor" / "cpython-3.8.18-aarch64.tar.gz").touch()
    jobs = plan_ci(project, targets, options)
    assert {name for job in jobs for name in job.targets} == {"full", "bare"}
    assert f"full: {base[:12]} cannot be read: git has not got" in capsys.readouterr().err
