# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from cannery.execute import git


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "a file").write_text("1\n", encoding="utf-8")
    (tmp_path / "notes").write_text("1\n", encoding="utf-8")
    run(tmp_path, "init", "--quiet")
    run(tmp_path, "add", "--all")
    run(tmp_path, "commit", "--quiet", "--message", "all")
    return tmp_path


def run(root: Path, *words: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
    argv = ["git", *identity, *words]
    return subprocess.run(argv, cwd=root, check=True, capture_output=True, text=True).stdout


def test_a_clean_checkout(checkout: Path) -> None:
    assert git.commit(checkout) == run(checkout, "rev-parse", "HEAD").strip()
    assert git.changed(checkout) == []
    assert git.address(checkout) == ""
    run(checkout, "remote", "add", "origin", "https://git.example.com/cannery.git")
    assert git.address(checkout) == "https://git.example.com/cannery.git"


def test_what_has_changed(checkout: Path) -> None:
    (checkout / "images" / "a file").write_text("2\n", encoding="utf-8")
    (checkout / "images" / "new").write_text("1\n", encoding="utf-8")
    (checkout / "notes").unlink()
    assert sorted(git.changed(checkout)) == ["images/a file", "images/new", "notes"]
    assert git.changed(checkout, ["images"]) == ["images/a file", "images/new"]
    run(checkout, "add", "--all")
    assert git.changed(checkout, ["notes"]) == ["notes"]


def test_no_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert (git.commit(tmp_path), git.changed(tmp_path)) == ("", [])
    monkeypatch.setenv("PATH", str(tmp_path))
    assert git.commit(tmp_path) == ""
