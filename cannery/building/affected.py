# SPDX-License-Identifier: Apache-2.0
"""Selects the targets that a change affects, by what their images are made of at two commits.

These are the targets whose content key differs and those for which a check differs. What is outside
of keys, code and the sources of simulated packages, acts on all targets in the same way: one target
of each kind is enough.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from cannery.building.code_changes import checks_that_differ, code_that_differs, is_code
from cannery.building.git import Commit
from cannery.common.errors import MatrixError
from cannery.common.model import Target
from cannery.image import simulator_spec
from cannery.image.content_key import KeyInputs, context_files, with_mode
from cannery.matrix.files import MATRIX, is_source
from cannery.matrix.schema import parse_files
from cannery.verify.image_checks import ALWAYS

IMAGES = "images/"
CONTEXT = "cannery/image/context/"

_EXECUTABLE = "100755 "
"""How git begins what it says of an executable file."""

_KEYS = "cannery/image/content_key.py"
_SCHEMA = re.compile(r"^_SCHEMA = ([0-9]+)$", re.MULTILINE)

_SIMULATOR = simulator_spec.SOURCES.relative_to(Path(__file__).parents[2])
_FRAMEWORKS = ("torch", "mindspore")


def is_read(path: str) -> bool:
    """Whether ``affected`` needs the text of ``path``."""
    return is_source(path) or path.startswith(IMAGES) or is_code(path)


def affected(
    before: Commit,
    after: Commit,
    targets: Sequence[Target],
    *,
    simulate: bool,
    stand_in: Callable[[Target], str],
) -> dict[str, str]:
    """Id to reason, for the ``targets`` of ``after`` that the change affects.

    ``stand_in`` returns the specification of a target's simulated packages. Of each kind the first
    target is taken.
    """
    changed = sorted(
        path
        for path in before.entries.keys() | after.entries.keys()
        if before.entries.get(path) != after.entries.get(path)
    )
    spec = stand_in if simulate else _no_stand_in
    found = {}
    if any(_is_of_keys(path) for path in changed):
        found = _by_keys(before, after, targets, spec)
    for path, component in checks_that_differ(before.texts, after.texts, changed):
        for target in targets:
            if component in ("", *ALWAYS, *target.components):
                found.setdefault(target.id, f"changed: {path}, which checks it")
    outside = code_that_differs(before.texts, after.texts, changed)
    outside += [path for path in changed if simulate and _makes_simulated_packages(path)]
    if outside:
        others = len(outside) - 1
        more = f" and {others} more file{'s' if others > 1 else ''}" if others else ""
        why = f"changed: {outside[0]}{more}, for which one target of each kind is built"
        found |= {target.id: why for target in _one_of_each_kind(targets, spec, found)}
    return {target.id: found[target.id] for target in targets if target.id in found}


def _no_stand_in(_: Target) -> str:
    return ""


def _is_of_keys(path: str) -> bool:
    return is_source(path) or path.startswith((IMAGES, CONTEXT)) or path == _KEYS


def _by_keys(
    before: Commit, after: Commit, targets: Sequence[Target], spec: Callable[[Target], str]
) -> dict[str, str]:
    """Id to reason, for the ``targets`` of ``after`` whose content key differs."""
    try:
        earlier = parse_files(before.texts).targets
    except KeyError:
        return {target.id: f"the earlier commit has no {MATRIX}" for target in targets}
    except MatrixError as error:
        return {
            target.id: f"the earlier matrix is invalid: {error.problems[0]}" for target in targets
        }
    if _schema(before) != _schema(after):
        return {target.id: "changed: the schema of content keys" for target in targets}
    folders = folders_of(before), folders_of(after)
    found = {}
    for target in targets:
        old = earlier.get(target.id)
        if old is None:
            found[target.id] = "new target"
            continue
        then = inputs_at(old, folders[0], spec(old))
        now = inputs_at(target, folders[1], spec(target))
        if names := now.names_that_differ(then):
            found[target.id] = f"changed: {', '.join(names)}"
    return found


def _one_of_each_kind(
    targets: Sequence[Target], spec: Callable[[Target], str], chosen: Mapping[str, str]
) -> Iterator[Target]:
    """The first target of each kind of which none is ``chosen``."""
    kinds = {target.id: _kind(target, spec(target)) for target in targets}
    seen = {kinds[name] for name in chosen}
    for target in targets:
        if kinds[target.id] not in seen:
            seen.add(kinds[target.id])
            yield target


def _kind(target: Target, spec: str) -> tuple[str, ...]:
    """What code tells targets apart by; the same ``spec`` gives the same simulated packages."""
    manager = target.base.distribution.package_manager
    frameworks = (name for name in _FRAMEWORKS if name in target.components)
    return spec, target.platform, target.chip, target.cann.version, manager, *frameworks


def _makes_simulated_packages(path: str) -> bool:
    name = Path(path)
    if not name.is_relative_to(_SIMULATOR):
        return False
    return simulator_spec.is_source(name.relative_to(_SIMULATOR))


def _schema(commit: Commit) -> str:
    match = _SCHEMA.search(commit.texts.get(_KEYS, ""))
    return match[1] if match else ""


def folders_of(commit: Commit) -> Mapping[str, Mapping[str, str]]:
    """Folder of a target, or of the shared context, to the names and texts of its files.

    Those of the context are as ``with_mode`` gives them.
    """
    found: dict[str, dict[str, str]] = {}
    for path, text in commit.texts.items():
        folder = CONTEXT if path.startswith(CONTEXT) else ""
        if path.startswith(IMAGES):
            folder = IMAGES + path.removeprefix(IMAGES).partition("/")[0] + "/"
        executable = folder == CONTEXT and commit.entries[path].startswith(_EXECUTABLE)
        content = with_mode(text, executable=executable)
        found.setdefault(folder, {})[path.removeprefix(folder)] = content
    return found


def inputs_at(target: Target, folders: Mapping[str, Mapping[str, str]], stand_in: str) -> KeyInputs:
    """The inputs of the content key of ``target`` at the commit with these ``folders``."""
    own, shared = folders.get(f"{IMAGES}{target.id}/", {}), folders.get(CONTEXT, {})
    return KeyInputs.committed(target, context_files(own, shared), simulator=stand_in)
