# SPDX-License-Identifier: Apache-2.0
"""What holds for every source file of the project."""

from __future__ import annotations

import ast
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LONGEST_FILE = 500
LONGEST_FUNCTION = 70
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
    ours = ("cannery/", "packages/", "site/", "tests/", "bench/", ".ci/", *OWN_FILES)
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


def test_files_are_short_and_say_their_licence() -> None:
    texts = {name: read(name).splitlines() for name in (*PYTHON, *CPP, *SHELL)}
    assert not {name: len(lines) for name, lines in texts.items() if len(lines) > LONGEST_FILE}
    assert not [
        name
        for name, lines in texts.items()
        if lines and not any(SPDX in line for line in lines[:3])
    ]


def test_functions_are_short() -> None:
    assert not {
        f"{name}:{node.lineno} {node.name}": node.end_lineno - node.lineno + 1
        for name in PYTHON
        for node in ast.walk(ast.parse(read(name)))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno
        if node.end_lineno - node.lineno + 1 > LONGEST_FUNCTION
    }


def test_test_modules_have_names_of_their_own() -> None:
    names = [Path(name).name for name in PYTHON if Path(name).name.startswith("test_")]
    assert len(set(names)) == len(names)
