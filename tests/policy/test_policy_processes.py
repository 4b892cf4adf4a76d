# SPDX-License-Identifier: Apache-2.0
"""Programs start in a stated environment: cannery/common/process.py."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.policy.test_policy_sources import PYTHON, read

# Programs of their own: they run in a build or in a container.
ELSEWHERE = (
    *("cannery/image/context/", "cannery/verify/probe/"),
    "cannery/cli/cmd_doctor.py",  # the doctor judges the user's environment
)
SOURCES = [
    name
    for name in PYTHON
    if name.startswith(("cannery/", "build.py")) and not name.startswith(ELSEWHERE)
]
STARTING = {
    "subprocess": {"run", "Popen", "call", "check_call", "check_output", "getoutput"},
    "os": {"system", "popen", "posix_spawn", "posix_spawnp"},
    "asyncio": {"create_subprocess_exec", "create_subprocess_shell"},
    "pty": {"spawn"},
}


def unstated(text: str) -> Iterator[str]:
    """The calls in ``text`` that start a program in an environment that nobody has stated."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module in STARTING:
            started = {each.name for each in node.names} & STARTING[node.module]
            yield from (f"{node.lineno}: from {node.module} import {each}" for each in started)
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        module, name = ast.unparse(node.func.value), node.func.attr
        own = ast.unparse(node)
        if module == "os" and name.startswith(("exec", "spawn")):
            if not (name.endswith("e") and "allowed_env(" in own):
                yield f"{node.lineno}: {own}"
        elif name in STARTING.get(module, ()):
            given = next(
                (ast.unparse(each.value) for each in node.keywords if each.arg == "env"), ""
            )
            if "allowed_env(" not in given or "environ" in given:
                yield f"{node.lineno}: {own}"


@pytest.mark.parametrize("name", SOURCES)
def test_a_program_is_started_in_a_stated_environment(name: str) -> None:
    assert [*unstated(read(name))] == []


@pytest.mark.parametrize(
    "text",
    [
        "subprocess.run(['docker'])",
        "subprocess.Popen(['docker'], env={**os.environ})",
        "subprocess.run(['docker'], env={**os.environ, **allowed_env('docker')})",
        "os.execvp('docker', argv)",
        "os.execve('docker', argv, os.environ)",
        "os.system('docker')",
        "from subprocess import run",
    ],
)
def test_another_is_found(text: str) -> None:
    assert [*unstated(text)]
