# SPDX-License-Identifier: Apache-2.0
"""Resolves a target's wheels with uv, for an interpreter that need not be installed here."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from cannery.errors import EngineError, MatrixError
from cannery.execute.process import run
from cannery.files import read_text, write_files
from cannery.image.lock import INPUTS
from cannery.image.requirements import (
    inputs_digest,
    overrides,
    requirement_groups,
    sdists,
    uv_platform,
)
from cannery.matrix.project import Project
from cannery.model import Target

HEADER = "# Locked by 'python build.py lock'. Do not edit: change matrix.yaml and lock again.\n"

_BUILD_CONSTRAINT = "setuptools<81"
"""Old sdists import pkg_resources, which setuptools 82 has removed."""

_BUILD = (_BUILD_CONSTRAINT, "uv", "wheel", "packaging", "py-cpuinfo")
"""uv, and the build requirements of DeepSpeed's sdist."""

_BUILD_PYTHON = "3.11"
"""The Python version of the ``build`` stage."""


def lock_target(project: Project, target: Target, upgrade: Iterable[str] = ()) -> str:
    """The text of the lock of ``target``; locked versions stay, except those in ``upgrade``.

    Raises:
        MatrixError: the requirements cannot be satisfied; the message has uv's explanation.
        EngineError: uv failed for another reason, such as an index that cannot be reached.
    """
    text = _compile(
        requirement_groups(target),
        override=overrides(target),
        old=project.lock(target),
        name=target.id,
        options=[
            *("--python-version", target.python.version),
            *("--python-platform", uv_platform(target)),
            *("--only-binary", ":all:"),
            *(word for name in sdists(target) for word in ("--no-binary", name)),
            *(option for package in upgrade for option in ("--upgrade-package", package)),
        ],
    )
    return f"{HEADER}{INPUTS}{inputs_digest(target)}\n{text}"


def lock_build_stage(project: Project) -> str:
    """The text of the lock of the ``build`` stage, for all building platforms."""
    return HEADER + _compile(
        {"build": _BUILD},
        old=project.build_lock,
        name="the build stage",
        options=["--python-version", _BUILD_PYTHON, "--universal", "--only-binary", ":all:"],
    )


def write_locks(project: Project, targets: Iterable[Target], upgrade: Iterable[str]) -> list[Path]:
    """Lock the build stage and every target; return the changed files.

    Raises:
        FileError: a lock cannot be written; no lock has changed.
        MatrixError: the requirements of a target cannot be satisfied; no lock has changed.
    """
    upgrade = list(upgrade)
    texts = {project.build_lock: lock_build_stage(project)}
    for target in targets:
        texts[project.lock(target)] = lock_target(project, target, upgrade)
    changed = {
        path: text for path, text in texts.items() if not path.exists() or read_text(path) != text
    }
    write_files(changed)
    return [*changed]


def _compile(
    groups: dict[str, tuple[str, ...]],
    *,
    old: Path,
    name: str,
    options: list[str],
    override: tuple[str, ...] = (),
) -> str:
    with tempfile.TemporaryDirectory(prefix="cannery-lock-") as folder:
        inputs = []
        for group, texts in groups.items():
            (Path(folder) / f"{group}.in").write_text("\n".join(texts) + "\n", encoding="utf-8")
            inputs.append(f"{group}.in")
        if override:
            (Path(folder) / "overrides.txt").write_text("\n".join(override), encoding="utf-8")
            options = [*options, "--override", "overrides.txt"]
        (Path(folder) / "build.txt").write_text(_BUILD_CONSTRAINT + "\n", encoding="utf-8")
        output = Path(folder) / "lock.txt"
        if old.exists():
            output.write_text(read_text(old), encoding="utf-8")
        fixed = [
            "--build-constraint",
            "build.txt",
            "--generate-hashes",
            "--no-header",
            "--quiet",
            "--annotation-style",
            "split",
        ]
        argv = [sys.executable, "-m", "uv", "pip", "compile", *inputs, *fixed, *options]
        code, said = run([*argv, "--output-file", output.name], cwd=Path(folder), capture=True)
        if code and "No solution found" in said:
            what = f"the requirements of {name} cannot be satisfied. uv says:\n{said.strip()}"
            raise MatrixError(what)
        if code:
            raise EngineError(f"uv could not lock {name}. uv says:\n{said.strip()}")
        lines = output.read_text(encoding="utf-8").splitlines(keepends=True)
        return "".join(line for line in lines if not line.startswith((HEADER.strip(), INPUTS)))
