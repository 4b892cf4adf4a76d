# SPDX-License-Identifier: Apache-2.0
"""Selects the targets that a change affects: those whose content key differs between two commits.

A changed file that is no input of content keys affects all targets if it takes part in building or
checking images, and no target otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from cannery.build.builders import builds
from cannery.common.errors import MatrixError
from cannery.common.model import Target
from cannery.image.build_context import with_mode
from cannery.image.content_key import KeyInputs, context_files
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
