# SPDX-License-Identifier: Apache-2.0
"""The workflow that publishes the page starts for every file that the page is made from."""

from __future__ import annotations

import subprocess

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
sys.path.insert(0, root)
sys.argv = ["build.py", "catalog", "--out", sys.argv[1]]
try:
    runpy.run_path("build.py", run_name="__main__")
finally:
    print("\\n".join(sorted(names)))
"""
"""Runs the command, and prints the files that Python opens and what could be added to folders."""

OTHER = (".cannery/", ".git/", ".venv/", "docs/targets.md")
"""Its cache, git's files, and the page that it writes, too."""

INSTALLED = {"setup.sh", "requirements.txt", ".github/workflows/pages.yml"}
"""What the job reads before the command."""

PATHS: list[str] = WORKFLOWS["pages"][True]["push"]["paths"]  # YAML 1.1 takes 'on' for true


def starts_for(name: str) -> bool:
    """As GitHub compares a path: '/**' at the end stands for everything in the folder."""
    return any(
        name.startswith(path.removesuffix("**")) if path.endswith("/**") else name == path
        for path in PATHS
    )


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The files that the command reads, in a fresh clone with a record of a push."""
    folder = tmp_path_factory.mktemp("page")
    checkout = folder / "checkout"
    checkout.mkdir()
    copy_project(checkout)
    (checkout / "releases" / MAIN).mkdir(parents=True, exist_ok=True)
    git(checkout, "init", "--quiet", "--initial-branch", "main")
    commit(checkout)
    argv = [str(checkout / ".venv/bin/python"), "-B", "-c", RECORDER, str(folder / "site")]
    done = subprocess.run(argv, cwd=checkout, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (folder / "site" / "index.html").is_file()
    return {*done.stdout.splitlines()}


def test_paths_are_names_or_folders() -> None:
    assert not [path for path in PATHS if set("*?[!+") & {*path.removesuffix("/**")}]


def test_the_page_is_made_again_after_a_change_of_what_it_reads(names: set[str]) -> None:
    assert {"matrix.yaml", "compat.yaml", f"releases/{MAIN}/new"} <= names
    assert any(name.startswith("verified/") for name in names)
    read = {name for name in names if not name.startswith(OTHER)}
    assert {name for name in read | INSTALLED if not starts_for(name)} == set()


def test_it_does_not_start_for_anything_else(names: set[str]) -> None:
    read = names | INSTALLED
    for path in PATHS:
        assert any(name.startswith(path.removesuffix("**")) for name in read), path
