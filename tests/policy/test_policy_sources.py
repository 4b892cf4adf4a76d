# SPDX-License-Identifier: Apache-2.0
"""What holds for every source file of the project."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator
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


APART = ("cannery/image/context/", "cannery/verify/probe/")
"""Programs that run in builds and containers, without the modules of cannery."""

TREES = {
    name: ast.parse(read(name))
    for name in PYTHON
    if name.startswith(("cannery/", "build.py")) and not name.startswith(APART)
}


def calls(tree: ast.AST) -> Iterator[tuple[str, ast.Call]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            yield ast.unparse(node.func), node


OWN_DOCUMENTS = {
    *("cannery/common/files.py", "cannery/fetch/store.py", "cannery/fetch/transfer.py"),
    *("cannery/image/environment.py", "cannery/image/simulator_spec.py"),
    *("cannery/engine/bake.py", "cannery/engine/images.py"),
    *("cannery/image/bake_events.py", "cannery/registry/image_archive.py"),
}
"""Modules that read files of .cannery or of this package, and what the local engine says."""


def test_documents_of_others_are_read_by_one_module() -> None:
    """It limits their size and depth, and refuses what is not of their language."""
    parsing = {"json.loads", "json.load", "tomllib.loads", "tomllib.load"}
    found = {
        name
        for name, tree in TREES.items()
        if any(call in parsing or call.endswith(".json") for call, _ in calls(tree))
    }
    assert found == {"cannery/common/outside.py", *OWN_DOCUMENTS}


def test_servers_are_asked_by_one_session() -> None:
    """cannery.common.http.Session has the timeouts, the size limits and the certificates."""
    asking = {f"requests.{name}" for name in ("Session", "get", "head", "post", "put", "request")}
    asking |= {"urllib.request.urlopen", "request.urlopen"}
    assert not {name for name, tree in TREES.items() for call, _ in calls(tree) if call in asking}


def started_otherwise(tree: ast.AST) -> Iterator[str]:
    """The calls that start a program in another environment than ``allowed_env``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in ("subprocess", "os", "pty"):
            started = {each.name for each in node.names} & {"run", "Popen", "system", "spawn"}
            yield from (f"from {node.module} import {name}" for name in started)
    for call, node in calls(tree):
        module, _, name = call.rpartition(".")
        env = next((ast.unparse(each.value) for each in node.keywords if each.arg == "env"), "")
        if module == "os" and name.startswith(("exec", "spawn", "posix_spawn")):
            env = ast.unparse(node.args[-1]) if name.endswith("e") else ""
        elif module not in ("subprocess", "pty") and call not in ("os.system", "os.popen"):
            continue
        if "allowed_env(" not in env or "environ" in env:
            yield ast.unparse(node)


def test_programs_are_started_in_a_stated_environment() -> None:
    found = {name: [*started_otherwise(tree)] for name, tree in TREES.items()}
    # The doctor judges the environment of its user.
    assert found.pop("cannery/cli/cmd_doctor.py")
    assert {name: started for name, started in found.items() if started} == {}
