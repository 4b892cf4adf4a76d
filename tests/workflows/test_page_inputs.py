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

OTHER = (".cannery/", ".git/", ".venv/")
"""Its cache, and git's files."""

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
    """The files that the two programs read, in a fresh clone with a record of a push."""
    folder = tmp_path_factory.mktemp("page")
    checkout = folder / "checkout"
    checkout.mkdir()
    copy_project(checkout)
    (checkout / "releases" / MAIN).mkdir(parents=True, exist_ok=True)
    git(checkout, "init", "--quiet", "--initial-branch", "main")
    commit(checkout)
    python = [str(checkout / ".venv/bin/python"), "-B", "-c", RECORDER]
    listed = [*python, "build.py", str(folder / "read"), "list", "--format", "json", "--verbose"]
    done = subprocess.run(listed, cwd=checkout, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    made = [*python, "site/make.py", str(folder / "more"), "--out", str(folder / "public")]
    done = subprocess.run(
        made, cwd=checkout, input=done.stdout, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert (folder / "public" / "index.html").is_file()
    paths = (folder / "read", folder / "more")
    return {name for path in paths for name in path.read_text(encoding="utf-8").splitlines()}


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
