# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from cannery.errors import EngineError
from cannery.execute import origin
from cannery.execute.origin import builder, source
from cannery.provenance import LOCAL_BUILDER

GITHUB = {
    "GITHUB_ACTIONS": "true",
    "GITHUB_SERVER_URL": "https://git.example.com",
    "GITHUB_REPOSITORY": "a/b",
    "GITHUB_WORKFLOW_REF": "a/b/.github/workflows/release.yml@refs/heads/main",
    "GITHUB_RUN_ID": "7",
    "GITHUB_RUN_ATTEMPT": "2",
}
GITLAB = {
    "GITLAB_CI": "true",
    "CI_PROJECT_URL": "https://git.example.com/a/b",
    "CI_RUNNER_ID": "12",
    "CI_JOB_URL": "https://git.example.com/a/b/-/jobs/9",
}


def git(folder: Path, *words: str) -> str:
    named = ["-c", "user.name=someone", "-c", "user.email=someone@example.com"]
    argv = ["git", "-C", str(folder), *named, *words]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "--quiet")
    (tmp_path / "matrix.yaml").write_text("schema: 1\n", encoding="utf-8")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message", "first")
    return tmp_path


def test_a_checkout_says_where_it_is(repository: Path) -> None:
    found = source(repository)
    assert found.commit == git(repository, "rev-parse", "HEAD")
    assert (found.repository, found.changed) == ("", False)
    git(repository, "remote", "add", "origin", "https://git.example.com/a/b")
    assert source(repository).repository == "https://git.example.com/a/b"


@pytest.mark.parametrize("name", ["matrix.yaml", "new.yaml"])
def test_changed_and_new_files_are_noticed(repository: Path, name: str) -> None:
    (repository / name).write_text("schema: 2\n", encoding="utf-8")
    assert source(repository).changed


def test_a_record_of_a_push_changes_nothing_that_images_are_made_from(repository: Path) -> None:
    (repository / "releases").mkdir()
    (repository / "releases" / "record.json").write_text("{}", encoding="utf-8")
    assert not source(repository).changed


def test_without_a_checkout_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(EngineError, match="does not know the commit") as raised:
        source(tmp_path)
    assert "git checkout" in raised.value.problems[0].fix


@pytest.mark.parametrize(
    ("environ", "identity", "invocation"),
    [
        ({}, LOCAL_BUILDER, ""),
        ({"GITHUB_ACTIONS": "false"}, LOCAL_BUILDER, ""),
        (
            GITHUB,
            "https://git.example.com/a/b/.github/workflows/release.yml@refs/heads/main",
            "https://git.example.com/a/b/actions/runs/7/attempts/2",
        ),
        (
            GITLAB,
            "https://git.example.com/a/b/-/runners/12",
            "https://git.example.com/a/b/-/jobs/9",
        ),
    ],
)
def test_the_builder_is_the_job(
    environ: dict[str, str],
    identity: str,
    invocation: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client = SimpleNamespace(version=lambda: {"Version": "29.1.0"})
    said = "github.com/docker/buildx 0.13.1+ds1 0.13.1+ds1-3\n"
    monkeypatch.setattr("cannery.execute.engine.connect", lambda: client)
    monkeypatch.setattr(origin, "run", lambda *_, **__: (0, said))
    found = builder(environ)
    assert (found.id, found.invocation) == (identity, invocation)
    assert (found.engine, found.buildx) == ("29.1.0", "0.13.1+ds1")
