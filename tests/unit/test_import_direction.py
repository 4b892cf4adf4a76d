# SPDX-License-Identifier: Apache-2.0
"""Which room of cannery/ may import which, and which of its modules may touch the world.

A room imports only rooms that stand before it in ROOMS, which are the stages that data goes
through. A module that is not in TOUCHING, and not in a room of OUTSIDE, is pure: it knows no clock,
network, environment or process.
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
    *("common", "options", "registry", "compat", "matrix", "deploy", "fetch", "lock", "update"),
    *("image", "engine", "verify", "building", "publish", "cli", "__main__"),
)
OUTSIDE = ("engine", "cli", "__main__")
TOUCHING = {
    "building.failure_report",
    "building.git",
    "common.console",
    "common.files",
    "common.package_index",
    "common.process",
    "common.progress",
    "common.http",
    "common.tls",
    "fetch.apt",
    "fetch.fetcher",
    "fetch.fetching",
    "fetch.http",
    "fetch.store",
    "fetch.transfer",
    "publish.cosign",
    "publish.oci_image",
    "registry.client",
    "registry.http",
    "registry.transfer",
    "verify.auditing",
    "verify.probe.probe",
    "verify.probe.run_check",
    "verify.pytest_report",
    "verify.run_checks",
}
WORLD = {
    *("docker", "subprocess", "socket", "ssl", "http", "urllib", "requests", "asyncio"),
    *("time", "datetime", "random", "secrets", "uuid", "locale", "getpass", "platform", "signal"),
}
OF_OS = {"environ", "environb", "getenv", "getcwd", "system", "popen", "fork", "execvpe", "kill"}
OF_PATH = {"cwd", "home", "expanduser"}


def modules() -> dict[str, Path]:
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        if parts[1:3] != ("image", "context"):
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


def needs_the_world(module: str) -> bool:
    """Whether a module knows the clock, the network, the environment or a process by itself.

    A module that only calls one that does is no different from its caller.
    """
    names = imports(MODULES[module]) - {"urllib.parse"}
    touched = {
        node.attr
        for node in ast.walk(tree(MODULES[module]))
        if isinstance(node, ast.Attribute) and node.attr in OF_OS | OF_PATH
    }
    return bool(
        {name.split(".")[0] for name in names} & WORLD
        or touched
        or {name for name in names if name.startswith("os.")}
        or "from os import" in MODULES[module].read_text(encoding="utf-8")
    )


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


def test_only_the_listed_modules_touch_the_outside_world() -> None:
    inside = [name for name in MODULES if room(name) not in OUTSIDE]
    found = {name.removeprefix("cannery.") for name in inside if needs_the_world(name)}
    assert found == TOUCHING


def in_the_end(module: str) -> set[str]:
    """All modules that ``module`` imports, with those that these import, and itself."""
    found, waiting = set(), {module}
    while waiting:
        name = waiting.pop()
        found.add(name)
        waiting |= (imports(MODULES[name]) & MODULES.keys()) - found
    return found


def test_help_needs_nothing_heavy() -> None:
    """All that is imported before the file of a command is, and what that imports in its turn."""
    light = in_the_end("cannery.cli") | {"cannery"}
    assert {room(name) for name in light} - {""} == {"cli", "common"}
    assert "cannery.common.model" not in light
    outside = {name.partition(".")[0] for name in light for name in imports(MODULES[name])}
    assert outside <= {"cannery", "__future__", *sys.stdlib_module_names}


@pytest.mark.parametrize(
    ("command", "foreign"),
    [
        ("list", {"engine", "building"}),
        ("explain", {"lock", "image", "engine", "verify", "building", "publish"}),
        ("new", {"lock", "image", "engine", "verify", "building", "publish"}),
        ("lock", {"image", "engine", "verify", "building", "publish"}),
        ("render", {"engine", "verify", "building"}),
        ("fetch", {"lock", "image", "engine", "verify", "building", "publish"}),
    ],
)
def test_a_command_imports_only_the_rooms_of_its_subject(command: str, foreign: set[str]) -> None:
    found = in_the_end(f"cannery.cli.cmd_{command}")
    assert not {name for name in found if room(name) in foreign}


def test_the_page_lists_the_rooms() -> None:
    page = (PACKAGE.parent / "docs" / "architecture.md").read_text(encoding="utf-8")
    said = []
    for own in ROOMS:
        whole = ast.get_docstring(tree(MODULES[f"cannery.{own}"])) or ""
        text = whole.partition("\n\n")[0].replace("\n", " ")
        said.append(f"| `{own}` | {text} |")
    assert "\n".join(said) in page
