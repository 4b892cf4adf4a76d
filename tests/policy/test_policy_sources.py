# SPDX-License-Identifier: Apache-2.0
"""What holds for every source file of the project."""

from __future__ import annotations

import ast
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LONGEST_FILE = 300
LONGEST_TEST_FILE = 350
LONGEST_FUNCTION = 45
OWN_FILES = ("build.py", "noxfile.py", "setup.sh")
SPDX = "SPDX-License-Identifier: Apache-2.0"


def tracked(*suffixes: str) -> list[str]:
    """The files of the checkout, as git sees them, with those that are not committed yet."""
    argv = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    try:
        said = subprocess.run(argv, cwd=ROOT, capture_output=True, check=True).stdout.decode()
        names = {name for name in said.split("\0") if (ROOT / name).is_file()}
    except (OSError, subprocess.CalledProcessError):
        folders = [ROOT / "cannery", ROOT / "tests"]
        found = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
        names = {str(path.relative_to(ROOT)) for path in [*found, ROOT / "build.py"]}
    return sorted(name for name in names if name.endswith(suffixes))


def sources(*suffixes: str) -> list[str]:
    """The project's own programs."""
    ours = ("cannery/", "packages/", "tests/", "bench/", "schemas/", ".ci/", *OWN_FILES)
    return [name for name in tracked(*suffixes) if name.startswith(ours)]


PYTHON = sources(".py")
CPP = sources(".cpp", ".h", ".hpp")
SHELL = sources(".sh")


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_sources_were_found() -> None:
    assert {"build.py", "cannery/common/model.py", "tests/policy/test_policy_sources.py"} <= {
        *PYTHON
    }
    assert len(CPP) > 10


@pytest.mark.parametrize("name", [*PYTHON, *CPP, *SHELL])
def test_a_file_is_short_and_says_its_licence(name: str) -> None:
    lines = read(name).splitlines()
    assert len(lines) <= (LONGEST_TEST_FILE if "/tests/" in f"/{name}" else LONGEST_FILE)
    assert not lines or any(SPDX in line for line in lines[:3])


@pytest.mark.parametrize("name", PYTHON)
def test_a_function_is_short(name: str) -> None:
    long = {
        node.name: node.end_lineno - node.lineno + 1
        for node in ast.walk(ast.parse(read(name)))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno
        if node.end_lineno - node.lineno + 1 > LONGEST_FUNCTION
    }
    assert not long


def test_test_modules_have_names_of_their_own() -> None:
    names = [Path(name).name for name in PYTHON if Path(name).name.startswith("test_")]
    assert len(set(names)) == len(names)
