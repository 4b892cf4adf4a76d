# SPDX-License-Identifier: Apache-2.0
"""Selects the targets that a change affects, by what their images are made of at two commits.

These are the targets whose content key differs and those for which a check differs. What is outside
of keys, code and the sources of simulated packages, acts on all targets in the same way: one target
of each kind is enough.

Comments, docstrings and formatting of code are no difference. A file of code counts if ``build``
imports it and ``render`` does not, because what ``render`` makes is in images/, of which keys are
computed.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

import yaml

from cannery.building import git
from cannery.building.git import Commit
from cannery.common.errors import MatrixError
from cannery.common.files import read_bytes
from cannery.common.model import Target
from cannery.image import simulator_spec
from cannery.image.content_key import KeyInputs, context_files, context_names, with_mode
from cannery.image.render import RECORD
from cannery.matrix.files import MATRIX, is_source
from cannery.matrix.project import Project
from cannery.matrix.schema import parse_files
from cannery.verify.image_checks import ALWAYS

IMAGES = "images/"
CONTEXT = "cannery/image/context/"

_CHECKS, _OWN_CHECKS = "tests/image/", "checks/"
_PACKAGE = "cannery/"
_WORKFLOW = ".github/workflows/ci.yml"
_OTHERS = ("build.py", "requirements.txt", _WORKFLOW)

_EXECUTABLE = "100755 "
"""The beginning of git's entry of an executable file."""

_KEYS = "cannery/image/content_key.py"
_SCHEMA = re.compile(r"^_SCHEMA = ([0-9]+)$", re.MULTILINE)

_SIMULATOR = Path("packages/ascend-sim")

_TOOL = f"{IMAGES}{RECORD}"

Texts = Mapping[str, str]
"""The texts of a commit's files by their paths."""

SpecOf = Callable[[Target], str]
"""Returns the specification of a target's simulated packages."""


def read_commit(project: Project, name: str) -> Commit:
    """The commit ``name`` as ``affected`` takes it; with the tool's files where it has none.

    Raises:
        EngineError, FileError: it cannot be read.
    """
    commit = git.read_commit(project.root, name, is_read)
    if project.is_checkout:
        return commit
    tools = {path: text for path, text in project.files().items() if path != MATRIX}
    texts, entries = {**tools, **commit.texts}, {**commit.entries}
    for file in context_names(project):
        path = project.build_context / file
        mode = "100755" if os.access(path, os.X_OK) else "100644"
        texts[f"{CONTEXT}{file}"] = read_bytes(path).decode(errors="surrogateescape")
        entries[f"{CONTEXT}{file}"] = f"{mode} blob"
    return Commit(entries=entries, texts=texts)


def is_read(path: str) -> bool:
    """Whether ``affected`` needs the text of ``path``."""
    return (
        is_source(path) or path.startswith((IMAGES, _PACKAGE)) or path in _OTHERS or is_check(path)
    )


def affected(
    before: Commit,
    after: Commit,
    targets: Sequence[Target],
    *,
    simulate: bool,
    stand_in: SpecOf,
) -> dict[str, str]:
    """Id to reason, for the ``targets`` of ``after`` that the change affects.

    Of each kind the first target is taken.
    """
    if before.texts.get(_TOOL) != after.texts.get(_TOOL):
        return {target.id: f"changed: {_TOOL}, by another cannery" for target in targets}
    paths = before.entries.keys() | after.entries.keys()
    changed = sorted(p for p in paths if before.entries.get(p) != after.entries.get(p))
    spec = stand_in if simulate else (lambda _: "")
    reasons = {}
    if any(is_source(p) or p.startswith((IMAGES, CONTEXT)) or p == _KEYS for p in changed):
        reasons = _by_keys(before, after, targets, spec)
    for path in changed:
        if is_check(path) and _differs(path, before.texts, after.texts):
            component = _component(path, before.texts.keys() | after.texts.keys())
            for target in targets:
                if component in ("", *ALWAYS, *target.components):
                    reasons.setdefault(target.id, f"changed: {path}, which checks it")
    outside = code_that_differs(before.texts, after.texts, changed)
    for path in changed if simulate else ():
        if (name := Path(path)).is_relative_to(_SIMULATOR):
            outside += [path] if simulator_spec.is_source(name.relative_to(_SIMULATOR)) else []
    if outside:
        others = len(outside) - 1
        more = f" and {others} more file{'s' if others > 1 else ''}" if others else ""
        why = f"changed: {outside[0]}{more}, for which one target of each kind is built"
        kinds = {target.id: _kind(target, spec(target)) for target in targets}
        seen = {kinds[name] for name in reasons}
        for target in targets:
            if kinds[target.id] not in seen:
                seen.add(kinds[target.id])
                reasons[target.id] = why
    return {target.id: reasons[target.id] for target in targets if target.id in reasons}


def _by_keys(
    before: Commit, after: Commit, targets: Sequence[Target], spec: SpecOf
) -> dict[str, str]:
    try:
        earlier = parse_files(before.texts).targets
    except KeyError:
        return {target.id: f"the earlier commit has no {MATRIX}" for target in targets}
    except MatrixError as error:
        why = f"the earlier matrix is invalid: {error.problems[0]}"
        return {target.id: why for target in targets}
    schemas = {match[1] if match else "" for match in map(_schema, (before, after))}
    if len(schemas) > 1:
        return {target.id: "changed: the schema of content keys" for target in targets}
    folders = folders_of(before), folders_of(after)
    reasons = {}
    for target in targets:
        old = earlier.get(target.id)
        if old is None:
            reasons[target.id] = "new target"
            continue
        then = inputs_at(old, folders[0], spec(old))
        now = inputs_at(target, folders[1], spec(target))
        if names := now.names_that_differ(then):
            reasons[target.id] = f"changed: {', '.join(names)}"
    return reasons


def _schema(commit: Commit) -> re.Match[str] | None:
    return _SCHEMA.search(commit.texts.get(_KEYS, ""))


def _kind(target: Target, spec: str) -> tuple[str, ...]:
    """The properties that code distinguishes; an equal ``spec`` gives equal simulated packages."""
    manager = target.base.distribution.package_manager
    frameworks = (name for name in ("torch", "mindspore") if name in target.components)
    return spec, target.platform, target.chip, target.cann.version, manager, *frameworks


def folders_of(commit: Commit) -> Mapping[str, Mapping[str, str]]:
    """Folder of a target, or of the shared context, to the names and texts of its files.

    Those of the context are as ``with_mode`` gives them.
    """
    folders: dict[str, dict[str, str]] = {}
    for path, text in commit.texts.items():
        folder = CONTEXT if path.startswith(CONTEXT) else ""
        if path.startswith(IMAGES):
            folder = IMAGES + path.removeprefix(IMAGES).partition("/")[0] + "/"
        executable = folder == CONTEXT and commit.entries[path].startswith(_EXECUTABLE)
        content = with_mode(text, executable=executable)
        folders.setdefault(folder, {})[path.removeprefix(folder)] = content
    return folders


def inputs_at(target: Target, folders: Mapping[str, Mapping[str, str]], stand_in: str) -> KeyInputs:
    """The inputs of the content key of ``target`` at the commit with these ``folders``."""
    local, shared = folders.get(f"{IMAGES}{target.id}/", {}), folders.get(CONTEXT, {})
    return KeyInputs.committed(target, context_files(local, shared), simulator=stand_in)


# ---- code


def is_check(path: str) -> bool:
    """Whether ``path`` is a file of the checks of images."""
    return path.startswith(_OWN_CHECKS) or (path.startswith(_CHECKS) and path.endswith(".py"))


def _component(path: str, paths: Iterable[str]) -> str:
    """The component that ``path`` checks; empty for what all checks use."""
    top = _CHECKS if path.startswith(_CHECKS) else _OWN_CHECKS
    folder, inner, _ = path.removeprefix(top).partition("/")
    start = f"{top}{folder}/test_"
    return folder if inner and any(file.startswith(start) for file in paths) else ""


def code_that_differs(before: Texts, after: Texts, changed: Iterable[str]) -> list[str]:
    """Those of the ``changed`` files that build images, if more than comments differs."""
    paths = [path for path in changed if path.startswith(_PACKAGE) or path in _OTHERS]
    if not paths:
        return []
    code = {*_OTHERS}
    for texts in (before, after):
        code |= _used(texts, "cannery/cli/cmd_build.py") - _used(texts, "cannery/cli/cmd_render.py")
    return [path for path in paths if path in code and _differs(path, before, after)]


def _used(texts: Texts, start: str) -> set[str]:
    files = [path for path in texts if path.startswith(_PACKAGE) and not path.endswith(".py")]
    used: set[str] = set()
    waiting = {start} & texts.keys()
    while waiting:
        path = waiting.pop()
        used.add(path)
        if path.endswith(".py"):
            waiting |= {*_named(path, texts, files)} - used
    return used


def _named(path: str, texts: Texts, files: Iterable[str]) -> Iterator[str]:
    names, strings = _words(texts[path])
    for name in names | strings:
        parts = name.split(".")
        for count in range(1, len(parts) + 1):
            place = "/".join(parts[:count])
            yield from {f"{place}.py", f"{place}/__init__.py"} & texts.keys()
    folder = path.rpartition("/")[0] + "/"
    yield from (
        file for file in files if file.startswith(folder) and file.rpartition("/")[2] in strings
    )


@cache
def _words(text: str) -> tuple[frozenset[str], frozenset[str]]:
    names: set[str] = set()
    strings: set[str] = set()
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return frozenset(), frozenset()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            strings |= {node.value} - {""} if len(node.value.split()) == 1 else set()
    return frozenset(names), frozenset(strings)


def _differs(path: str, before: Texts, after: Texts) -> bool:
    if path not in before or path not in after:
        return True
    return _meaning(path, before[path]) != _meaning(path, after[path])


def _meaning(path: str, text: str) -> str:
    """``text`` without comments, and without formatting that is easily told from the rest."""
    if path == _WORKFLOW:
        try:
            return yaml.safe_dump(yaml.safe_load(text)["jobs"]["build"])
        except (yaml.YAMLError, LookupError, TypeError):
            return text
    if path.endswith(".py") or text.startswith(("#!/usr/bin/python3", "#!/usr/bin/env python3")):
        return _syntax(text)
    lines = (line.strip() for line in text.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("#"))


@cache
def _syntax(text: str) -> str:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return text
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [
                statement
                for statement in node.body
                if not isinstance(statement, ast.Expr)
                or not isinstance(statement.value, ast.Constant)
                or not isinstance(statement.value.value, str)
            ]
    return ast.dump(tree)
