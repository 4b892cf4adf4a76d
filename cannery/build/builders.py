# SPDX-License-Identifier: Apache-2.0
"""Which files of this project build images and check them, besides what images are made from."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from cannery.image.simulator_spec import SOURCES, is_source

_PACKAGE = Path(__file__).parents[1]
_COMMANDS = ("__init__.py", "cmd_build.py", "cmd_test.py", "cmd_ci.py")
"""The modules of cli/ at which every build and check begins."""

_OTHERS = (
    *("build.py", "requirements.txt", "requirements-dev.txt", "setup.sh"),
    *(".github/workflows/ci.yml", ".gitlab-ci.yml"),
)
_SIMULATOR = SOURCES.relative_to(_PACKAGE.parent)
_CHECKS = "tests/image/"
_TEMPLATES = "cannery/image/templates/"
"""What they write is below images/, of which content keys are computed."""


def builds(path: str) -> bool:
    """Whether ``path``, from the top of the project, takes part in building or checking images.

    Of cannery/ these are the rooms that the commands import, with all that is in them, because some
    of it is run and not imported. Of cli/, which imports everything, it is what is imported.
    """
    if path in _OTHERS or path.startswith(_CHECKS):
        return True
    if Path(path).is_relative_to(_SIMULATOR):
        return is_source(Path(path).relative_to(_SIMULATOR))
    top, _, rest = path.partition("/")
    if top != _PACKAGE.name or path.startswith(_TEMPLATES):
        return False
    room, inner, _ = rest.partition("/")
    rooms, commands = _imported()
    return room in rooms if inner and room != "cli" else rest in commands


@cache
def _imported() -> tuple[frozenset[str], frozenset[str]]:
    """The rooms that build and check, and the modules beside them and in cli/."""
    found: set[Path] = set()
    waiting = {_PACKAGE / "__init__.py", *(_PACKAGE / "cli" / name for name in _COMMANDS)}
    while waiting:
        path = waiting.pop()
        found.add(path)
        waiting |= {*_imports_of(path)} - found
    paths = [path.relative_to(_PACKAGE) for path in found]
    return frozenset(path.parts[0] for path in paths), frozenset(map(str, paths))


def _imports_of(path: Path) -> Iterator[Path]:
    """The modules of this program that ``path`` imports, wherever in the file."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        for name in names:
            place = _PACKAGE.parent / name.replace(".", "/")
            for each in (place.with_name(f"{place.name}.py"), place / "__init__.py"):
                if each.is_relative_to(_PACKAGE) and each.is_file():
                    yield each
