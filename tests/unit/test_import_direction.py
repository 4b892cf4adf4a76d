# SPDX-License-Identifier: Apache-2.0
"""Who may import whom, and who may touch the world.

errors, model <- pure steps <- report <- execute <- pipeline <- cli. Reports are data and their
text; what executes fills them in. Only ``console`` and what stands right of the pure steps may
know the time, the environment, other programs or the network.
"""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "cannery"
LAYERS = ("errors", "model", "pure", "report", "console", "execute", "pipeline", "cli")
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
        if parts[1] != "simulator":
            found[".".join(part for part in parts if part != "__init__")] = path
    return found


MODULES = modules()


def layer(module: str) -> str:
    first = [*module.split("."), ""][1]
    return first if first in LAYERS else "pure"


def imports(path: Path) -> set[str]:
    """Every module that ``path`` imports, wherever in the file."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: a relative import"
            assert node.module
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in MODULES else node.module for name in inner}
    return found


@pytest.mark.parametrize("module", [name for name in MODULES if name != "cannery"])
def test_imports_point_one_way(module: str) -> None:
    own = LAYERS.index(layer(module))
    used = {name for name in imports(MODULES[module]) if name in MODULES and name != "cannery"}
    assert not {name for name in used if LAYERS.index(layer(name)) > own}
    if layer(module) in ("errors", "model"):
        assert {layer(name) for name in used} <= {"errors"} - {layer(module)}


def test_no_module_imports_itself_in_the_end() -> None:
    graph = {name: imports(path) & MODULES.keys() - {name} for name, path in MODULES.items()}
    assert len([*TopologicalSorter(graph).static_order()]) == len(MODULES)


@pytest.mark.parametrize("module", [name for name in MODULES if layer(name) not in OUTSIDE])
def test_what_is_left_of_execute_does_not_touch_the_world(module: str) -> None:
    allowed = {"time"} if module == "cannery.console" else set()
    names = imports(MODULES[module]) - {"urllib.parse"}
    assert {name.split(".")[0] for name in names} & WORLD <= allowed
    tree = ast.parse(MODULES[module].read_text(encoding="utf-8"))
    touched = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr in OF_OS | {"cwd", "home", "expanduser"}
    }
    assert not touched
    assert not {name for name in names if name.startswith("os.")}
    assert "from os import" not in MODULES[module].read_text(encoding="utf-8")


def test_help_needs_nothing_heavy() -> None:
    options = {name for name in MODULES if name.endswith("_options")}
    modules = {"cannery.cli", "cannery.cli.parser", *options}
    light = {"cannery", "cannery.errors", *modules}
    for module in modules:
        names = imports(MODULES[module]) - light
        assert not {name for name in names if name.split(".")[0] in ("cannery", "yaml", "jinja2")}
