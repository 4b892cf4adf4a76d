# SPDX-License-Identifier: Apache-2.0
"""Selects the targets that a change affects: those whose content key differs between two commits.

A changed file that is no input of content keys affects all targets if it takes part in building or
checking images, and no target otherwise. ``builds`` finds these files by what the commands import.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from cannery.common.errors import MatrixError
from cannery.common.model import Target
from cannery.image import simulator_spec
from cannery.image.content_key import KeyInputs, context_files, with_mode
from cannery.image.simulator_spec import SOURCES
from cannery.matrix.files import MATRIX, is_source
from cannery.matrix.schema import parse_files

IMAGES = "images/"
CONTEXT = "cannery/image/context/"

_EXECUTABLE = "100755 "
"""How git begins what it says of an executable file."""


@dataclass(frozen=True, kw_only=True)
class Commit:
    """The project at a commit.

    ``entries`` maps the path of every file to an identifier of its content and mode; ``texts`` maps
    the paths for which ``is_read`` is true to their texts.
    """

    entries: Mapping[str, str]
    texts: Mapping[str, str]

    @cached_property
    def folders(self) -> Mapping[str, Mapping[str, str]]:
        """Folder of a target, or of the shared context, to the names and texts of its files.

        Those of the context are as ``with_mode`` gives them.
        """
        found: dict[str, dict[str, str]] = {}
        for path, text in self.texts.items():
            folder = CONTEXT if path.startswith(CONTEXT) else ""
            if path.startswith(IMAGES):
                folder = IMAGES + path.removeprefix(IMAGES).partition("/")[0] + "/"
            executable = folder == CONTEXT and self.entries[path].startswith(_EXECUTABLE)
            content = with_mode(text, executable=executable)
            found.setdefault(folder, {})[path.removeprefix(folder)] = content
        return found


def is_read(path: str) -> bool:
    """Whether content keys are computed from ``path``."""
    return is_source(path) or path.startswith((IMAGES, CONTEXT))


def is_harmless(path: str) -> bool:
    """Whether a change of ``path`` affects no image; for paths with ``is_read`` false."""
    return not builds(path)


def affected(
    before: Commit,
    after: Commit,
    targets: Iterable[Target],
    *,
    simulate: bool,
    stand_in: Callable[[Target], str],
) -> dict[str, str]:
    """Id to reason, for the ``targets`` of ``after`` that the change affects.

    ``stand_in`` returns the specification of a target's simulated packages.
    """
    changed = sorted(
        path
        for path in before.entries.keys() | after.entries.keys()
        if before.entries.get(path) != after.entries.get(path)
    )
    unsure = [path for path in changed if not is_read(path) and not is_harmless(path)]
    if unsure:
        others = len(unsure) - 1
        more = f" and {others} more file{'s' if others > 1 else ''}" if others else ""
        return {t.id: f"{unsure[0]}{more} may affect any image" for t in targets}
    try:
        earlier = parse_files(before.texts).targets
    except KeyError:
        return {target.id: f"the earlier commit has no {MATRIX}" for target in targets}
    except MatrixError as error:
        return {
            target.id: f"the earlier matrix is invalid: {error.problems[0]}" for target in targets
        }
    found = {}
    for target in targets:
        old = earlier.get(target.id)
        if old is None:
            found[target.id] = "new target"
            continue
        now = inputs_at(target, after, stand_in(target) if simulate else "")
        then = inputs_at(old, before, stand_in(old) if simulate else "")
        if names := now.names_that_differ(then):
            found[target.id] = f"changed: {', '.join(names)}"
    return found


def inputs_at(target: Target, commit: Commit, stand_in: str) -> KeyInputs:
    """The inputs of the content key of ``target`` at ``commit``."""
    own, shared = commit.folders.get(f"{IMAGES}{target.id}/", {}), commit.folders.get(CONTEXT, {})
    return KeyInputs.committed(target, context_files(own, shared), simulator=stand_in)


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
        return simulator_spec.is_source(Path(path).relative_to(_SIMULATOR))
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
