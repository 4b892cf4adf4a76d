# SPDX-License-Identifier: Apache-2.0
"""Which room of cannery/ may import which, and which may touch the world.

A room imports only rooms that stand before it in ROOMS, so that a build's steps read in one
direction. Rooms before ``execute`` are pure: they know no clock, network, environment or process.
"""

from __future__ import annotations

import ast
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "cannery"
ROOMS = (
    *(
        "errors",
        "extras",
        "sources",
        "bases",
        "wheels",
        "cann",
        "model",
        "console",
        "files",
        "cache",
    ),
    *(
        "options",
        "syntax",
        "compat",
        "matrix",
        "deploy",
        "ranktable",
        "training",
        "stuck",
        "smoke",
        "image",
        "audit",
        "scan",
    ),
    *("plan", "publish", "report", "catalog", "execute", "pipeline"),
    "cli",
)
OUTSIDE = ("execute", "pipeline", "cli")
WORLD = {
    *("docker", "subprocess", "socket", "ssl", "http", "urllib", "requests", "asyncio"),
    *("time", "datetime", "random", "secrets", "uuid", "locale", "getpass", "platform", "signal"),
}
OF_OS = {"environ", "environb", "getenv", "getcwd", "system", "popen", "fork", "execvp", "kill"}


def modules() -> dict[str, Path]:
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        if parts[1] != "simulator" and parts[1:3] != ("image", "context"):
            found[".".join(part for part in parts if part != "__init__")] = path
    return found


MODULES = modules()


def room(module: str) -> str:
    return [*module.split("."), ""][1]


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imports(path: Path) -> frozenset[str]:
    """Every module that ``path`` imports, wherever in the file."""
    found: set[str] = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: a relative import"
            assert node.module
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in MODULES else node.module for name in inner}
    return frozenset(found)


def test_every_module_has_a_room() -> None:
    assert {room(name) for name in MODULES} - {""} == {*ROOMS}


@pytest.mark.parametrize("own", ROOMS)
def test_imports_point_one_way(own: str) -> None:
    known = MODULES.keys() - {"cannery"}
    used = {name: imports(MODULES[name]) & known for name in known if room(name) == own}
    assert used
    later = {*ROOMS[ROOMS.index(own) + 1 :]}
    wrong = {(by, name) for by, names in used.items() for name in names if room(name) in later}
    assert not wrong


def test_no_module_imports_itself_in_the_end() -> None:
    graph = {name: imports(path) & MODULES.keys() - {name} for name, path in MODULES.items()}
    assert len([*TopologicalSorter(graph).static_order()]) == len(MODULES)


@pytest.mark.parametrize("own", ["", *(each for each in ROOMS if each not in OUTSIDE)])
def test_what_is_left_of_execute_does_not_touch_the_world(own: str) -> None:
    names = [name for name in MODULES if room(name) == own]
    assert names
    for name in names:
        _touches_nothing(name)


def _touches_nothing(module: str) -> None:
    # The clock, and what the terminal and NO_COLOR say, are the business of who talks to people.
    allowed = {"time", "environ"} if module == "cannery.console" else set()
    names = imports(MODULES[module]) - {"urllib.parse"}
    assert {name.split(".")[0] for name in names} & WORLD <= allowed, module
    touched = {
        node.attr
        for node in ast.walk(tree(MODULES[module]))
        if isinstance(node, ast.Attribute) and node.attr in OF_OS | {"cwd", "home", "expanduser"}
    }
    assert touched <= allowed, module
    assert not {name for name in names if name.startswith("os.")}, module
    assert "from os import" not in MODULES[module].read_text(encoding="utf-8"), module


def test_help_needs_nothing_heavy() -> None:
    """All that is imported before a command runs, and what that imports in its turn."""
    options = {name for name in MODULES if room(name) == "options"}
    light, waiting = {"cannery"}, {"cannery.cli", *options}
    while waiting:
        module = waiting.pop()
        light.add(module)
        waiting |= (imports(MODULES[module]) & MODULES.keys()) - light
    rooms = {"cli", "console", "errors", "options", "sources"}
    assert {room(name) for name in light} - {""} == rooms
    outside = {name.partition(".")[0] for name in light for name in imports(MODULES[name])}
    assert outside <= {"cannery", "__future__", *sys.stdlib_module_names}
