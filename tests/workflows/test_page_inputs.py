# SPDX-License-Identifier: Apache-2.0
"""The workflow that publishes the page starts for every file that the page is made from."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.unit.changes import commit, git
from tests.workflows.steps import MAIN, WORKFLOWS, copy_project

RECORDER = """
import os, runpy, sys
root = os.getcwd()
def record(event, args):
    if event in ("open", "os.scandir") and args and isinstance(args[0], (str, os.PathLike)):
        name = os.path.relpath(os.fspath(args[0]), root)
        if not name.startswith("..") and name != ".":
            names.add(name if event == "open" else name + "/new")
names = set()
sys.addaudithook(record)
program, out, *words = sys.argv[1:]
sys.argv = [program, *words]
sys.path[0] = os.path.dirname(os.path.abspath(program))
try:
    runpy.run_path(program, run_name="__main__")
finally:
    with open(out, "w") as stream:
        print("\\n".join(sorted(names)), file=stream)
"""
"""Runs a program, and writes the files that Python opens and what could be added to folders."""

CACHES = (".cannery/", ".git/", ".venv/")
INSTALLED = {"setup.sh", "requirements.txt", ".github/workflows/pages.yml"}
"""What the job reads before the programs."""

PATHS: list[str] = WORKFLOWS["pages"][True]["push"]["paths"]  # YAML 1.1 takes 'on' for true


def starts_for(name: str) -> bool:
    """As GitHub compares a path: '/**' at the end stands for everything in the folder."""
    return any(
        name.startswith(path.removesuffix("**")) if path.endswith("/**") else name == path
        for path in PATHS
    )


@pytest.fixture
def names(tmp_path: Path) -> set[str]:
    """The files that the two programs read, in a fresh clone with a record of a push."""
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    copy_project(checkout)
    (checkout / "releases" / MAIN).mkdir(parents=True, exist_ok=True)
    git(checkout, "init", "--quiet", "--initial-branch", "main")
    commit(checkout)
    python = [str(checkout / ".venv/bin/python"), "-B", "-c", RECORDER]
    said, found = "", set[str]()
    for words in (
        ("build.py", tmp_path / "read", "list", "--format", "json", "--verbose"),
        ("site/make.py", tmp_path / "more", "--out", tmp_path / "public"),
    ):
        argv = [*python, *map(str, words)]
        done = subprocess.run(
            argv, cwd=checkout, input=said, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        said = done.stdout
        found |= {*Path(words[1]).read_text(encoding="utf-8").splitlines()}
    assert (tmp_path / "public" / "index.html").is_file()
    return found


def test_the_page_is_made_again_after_a_change_of_its_inputs_only(names: set[str]) -> None:
    assert not [path for path in PATHS if set("*?[!+") & {*path.removesuffix("/**")}]
    assert {"matrix.yaml", "cannery/data/compat.yaml", f"releases/{MAIN}/new"} <= names
    assert any(name.startswith("verified/") for name in names)
    read = {name for name in names if not name.startswith(CACHES)} | INSTALLED
    assert {name for name in read if not starts_for(name)} == set()
    for path in PATHS:
        assert any(name.startswith(path.removesuffix("**")) for name in read), path
