# SPDX-License-Identifier: Apache-2.0
"""Reads what a target is made from at a commit."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from cannery.build import git
from cannery.build.affected import CONTEXT, IMAGES, MATRIX, Commit, is_read
from cannery.common.errors import MatrixError, Problem, UsageError, did_you_mean
from cannery.common.model import Target
from cannery.image.environment import full_environment
from cannery.image.layers import layers_of
from cannery.lock.lock_file import Lock, parse_lock
from cannery.matrix.project import Project
from cannery.matrix.schema import parse_matrix
from cannery.publish.difference import Contents, Kind, LayerContent

_LOCK = "requirements.lock"


def commit_contents(project: Project, revision: str, target_id: str) -> Contents:
    """The components, packages, layers and rendered files of a target at a commit.

    Raises:
        UsageError: there is no such commit, or no such target at it.
        MatrixError: matrix.yaml or the lock is invalid at it, or missing.
        EngineError: git fails.
    """
    root = project.root
    resolved = git.resolve(root, revision)
    if not resolved:
        hint = did_you_mean(revision, git.names(root))
        raise UsageError(Problem(what=f"there is no commit {revision!r}.", fix=hint))
    folder = f"{IMAGES}{target_id}/"
    commit = git.read_commit(root, resolved, is_read)
    target = _target(commit, revision, target_id)
    files = commit.folders.get(folder, {})
    lock = _lock(files, f"{revision}:{folder}{_LOCK}")
    programs = commit.folders.get(CONTEXT, {})
    return Contents(
        name=f"{target_id} at {revision}",
        kind=Kind.COMMIT,
        sections={
            "components": {**target.components, "chip": target.chip},
            "wheels": {wheel.name: wheel.version for wheel in lock.wheels},
            "vendor": {name: file.name for name, file in target.artifacts.items()},
            "environment": full_environment(target),
            "rendered files": {name: _short(files[name]) for name in files if name != _LOCK},
            "build programs": {name: _short(text) for name, text in programs.items()},
        },
        files={"wheels": _files(lock)},
        layers=[
            LayerContent(name=layer.name, identity=layer.identity)
            for layer in layers_of(target, lock)
        ],
    )


def _target(commit: Commit, revision: str, target_id: str) -> Target:
    if MATRIX not in commit.texts:
        raise MatrixError(f"{revision} has no {MATRIX}.")
    targets = parse_matrix(commit.texts[MATRIX], f"{revision}:{MATRIX}").targets
    if target_id not in targets:
        what = f"there is no target {target_id!r} at {revision}."
        raise UsageError(Problem(what=what, fix=did_you_mean(target_id, targets)))
    return targets[target_id]


def _lock(files: Mapping[str, str], name: str) -> Lock:
    if _LOCK not in files:
        raise MatrixError(f"there is no {name}.")
    return parse_lock(files[_LOCK], name)


def _files(lock: Lock) -> dict[str, str]:
    return {
        wheel.name: f"{wheel.files[0].name} (sha256 {wheel.files[0].sha256[:12]})"
        for wheel in lock.wheels
        if len(wheel.files) == 1
    }


def _short(text: str) -> str:
    """The beginning of the sha256 of a file's text."""
    digest = hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()
    return f"sha256 {digest[:12]}"
