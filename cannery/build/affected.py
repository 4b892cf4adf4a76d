# SPDX-License-Identifier: Apache-2.0
"""Selects the targets that a change affects: those whose content key differs between two commits.

A changed file that is no input of content keys affects no target if it is known to be irrelevant
for building and checking images, and all targets otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from cannery.common.errors import MatrixError
from cannery.common.model import Target
from cannery.image.content_key import KeyInputs, context_files
from cannery.matrix.schema import parse_matrix

MATRIX = "matrix.yaml"
IMAGES = "images/"
CONTEXT = "cannery/image/context/"

_HARMLESS_FOLDERS = (
    *("bench/", "cannery/catalog/", "cannery/image/templates/", "cannery/ranktable/"),
    *("cannery/smoke/", "cannery/stuck/", "cannery/training/", "docs/", "releases/", "npm/"),
    "packages/ascend-doctor/",
    *("schemas/", "tests/applications/", "tests/browser/", "tests/campaign/", "tests/cli/"),
    *("tests/engine/", "tests/fetch/", "tests/fuzz/", "tests/policy/", "tests/publish/"),
    *("tests/simulator/", "tests/simulator_packages/", "tests/unit/", "tests/workflows/"),
    *("verified/", "examples/", "templates/"),
    # The wheel of the software device.
    *("ascend-sim/", "cannery/simulator/command/", "cannery/simulator/wheel/", "tests/ascend_sim/"),
)
_HARMLESS = (
    *(".gitignore", ".hadolint.yaml", "LICENSE", "compat.yaml", "noxfile.py", "publish.yaml"),
    *("action.yml", ".ci/run", ".ci/summary.py", ".github/dependabot.yml"),
    *(f".github/workflows/{name}.yml" for name in ("bench", "npu", "pages", "release")),
    *(f".github/workflows/{name}.yml" for name in ("retention", "update")),
)
"""Files without influence on the contents, the build or the checks of images. compat.yaml allows or
rejects targets, but does not change them. The workflow that builds is not in this list."""


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
        """Folder of a target, or of the shared context, to the names and texts of its files."""
        found: dict[str, dict[str, str]] = {}
        for path, text in self.texts.items():
            folder = CONTEXT if path.startswith(CONTEXT) else ""
            if path.startswith(IMAGES):
                folder = IMAGES + path.removeprefix(IMAGES).partition("/")[0] + "/"
            found.setdefault(folder, {})[path.removeprefix(folder)] = text
        return found


def is_read(path: str) -> bool:
    """Whether content keys are computed from ``path``."""
    return path == MATRIX or path.startswith((IMAGES, CONTEXT))


def is_harmless(path: str) -> bool:
    """Whether a change of ``path`` affects no image; for paths with ``is_read`` false."""
    if "/" not in path and path.endswith(".md"):
        return True
    return path in _HARMLESS or path.startswith(_HARMLESS_FOLDERS)


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
        earlier = parse_matrix(before.texts[MATRIX], MATRIX).targets
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
