# SPDX-License-Identifier: Apache-2.0
"""Resolves a target's wheels with uv, for an interpreter that need not be installed here."""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cannery import console
from cannery.errors import (
    CanneryError,
    EngineError,
    MatrixError,
    Problem,
    Span,
)
from cannery.execute.engine.buildx import PackageIndex
from cannery.execute.process import run
from cannery.files import read_text, write_files
from cannery.image.lock import INPUTS, parse_lock
from cannery.image.requirements import (
    build_inputs_digest,
    build_requirement_groups,
    inputs_digest,
    overrides,
    requirement_groups,
    sdists,
    uv_platform,
)
from cannery.matrix.project import Project
from cannery.model import Target
from cannery.wheels import BuiltWheel

HEADER = "# Locked by 'python build.py lock'. Do not edit: change matrix.yaml and lock again.\n"

_BUILD_CONSTRAINT = "setuptools<81"
"""Old sdists import pkg_resources, which setuptools 82 has removed."""

_BUILD = (_BUILD_CONSTRAINT, "uv", "wheel", "packaging", "py-cpuinfo")
"""uv, and the build requirements of DeepSpeed's sdist."""

_BUILD_PYTHON = "3.11"
"""The Python version of the ``build`` stage."""

SETTINGS = "uv.toml"
"""A file of this name in its folder is read by uv, besides the user's own settings."""

_FIXED = (
    *("--build-constraint", "build.txt", "--generate-hashes", "--no-header", "--quiet"),
    *("--annotation-style", "split"),
)

_NO_UV = re.compile(r"No module named '?uv\b")
_UNREACHED = re.compile(r"Failed to fetch|Request failed|certificate|invalid value")
_REACH = (
    "Check the network, the proxy and --index-url; name a file with your own certificates with "
    "--ca."
)


@dataclass(frozen=True, kw_only=True)
class Locking:
    """What became of locks. ``failures`` maps a target's id to the reason why it has no new one."""

    changed: tuple[Path, ...]
    failures: Mapping[str, CanneryError]


class _UnsolvedError(MatrixError):
    """No versions satisfy all requirements."""


@dataclass(frozen=True, kw_only=True)
class _Job:
    """What uv is asked: groups of requirements, and options. ``old`` is the lock that is there."""

    name: str
    groups: Mapping[str, tuple[str, ...]]
    old: Path
    options: tuple[str, ...]
    override: tuple[str, ...] = ()
    unbuilt: tuple[BuiltWheel, ...] = ()
    """sdists that cannot be built here, so uv must not ask them for their requirements."""

    @property
    def files(self) -> dict[str, str]:
        """The files that uv reads, besides the old lock."""
        found = {f"{group}.in": "\n".join(texts) + "\n" for group, texts in self.groups.items()}
        if self.override:
            found["overrides.txt"] = "\n".join(self.override)
        if self.unbuilt:
            found[SETTINGS] = stated_metadata(self.unbuilt)
        return found | {"build.txt": _BUILD_CONSTRAINT + "\n"}

    def argv(self, output: str) -> list[str]:
        argv = [
            sys.executable,
            "-m",
            "uv",
            "pip",
            "compile",
            *(f"{each}.in" for each in self.groups),
        ]
        override = ("--override", "overrides.txt") if self.override else ()
        return [*argv, *_FIXED, *self.options, *override, "--output-file", output]


def stated_metadata(wheels: Iterable[BuiltWheel]) -> str:
    """Settings with which uv asks no sdist of ``wheels``; matrix.yaml has their requirements."""
    return "".join(
        f'[[dependency-metadata]]\nname = "{wheel.package}"\nversion = "{wheel.version}"\n'
        "requires-dist = []\n"
        for wheel in wheels
    )


def write_locks(
    project: Project, targets: Sequence[Target], upgrade: Sequence[str], source: PackageIndex
) -> Locking:
    """Lock the build stage and every target; a target that fails does not keep the others from it.

    Raises:
        FileError: a lock cannot be written; no lock has changed.
        MatrixError, EngineError: the build stage cannot be locked; no lock has changed.
    """
    console.say("resolving the packages of the build stage")
    texts = {project.build_lock: lock_build_stage(project, source)}
    failures: dict[str, CanneryError] = {}
    for number, target in enumerate(targets, 1):
        console.say(f"resolving the packages of {target.id} ({number} of {len(targets)})")
        try:
            texts[project.lock(target)] = lock_target(project, target, upgrade, source)
            if target.built_wheels:
                path = project.build_requirements_lock(target)
                texts[path] = lock_build_requirements(project, target, upgrade, source)
        except CanneryError as error:
            failures[target.id] = error
    changed = {
        path: text for path, text in texts.items() if not path.exists() or read_text(path) != text
    }
    write_files(changed)
    return Locking(changed=tuple(changed), failures=failures)


def lock_target(
    project: Project, target: Target, upgrade: Iterable[str], source: PackageIndex
) -> str:
    """The text of the lock of ``target``; locked versions stay, except those in ``upgrade``.

    Raises:
        MatrixError: the requirements cannot be satisfied; the message has uv's explanation. Or the
            lock that is there has an invalid line.
        EngineError: uv failed for another reason, such as an index that cannot be reached.
    """
    job = _Job(
        name=target.id,
        groups=requirement_groups(target),
        old=project.lock(target),
        override=overrides(target),
        unbuilt=tuple(target.built_wheels.values()),
        options=(
            *_options(target, upgrade),
            *(word for name in sdists(target) for word in ("--no-binary", name)),
        ),
    )
    return f"{HEADER}{INPUTS}{inputs_digest(target)}\n{_solved(project, target, job, source)}"


def lock_build_requirements(
    project: Project, target: Target, upgrade: Iterable[str], source: PackageIndex
) -> str:
    """The text of the lock of what builds wheels of ``target`` from sdists; as ``lock_target``."""
    job = _Job(
        name=f"the builder of {target.id}",
        groups=build_requirement_groups(target),
        old=project.build_requirements_lock(target),
        options=_options(target, upgrade),
    )
    return f"{HEADER}{INPUTS}{build_inputs_digest(target)}\n{_solved(project, target, job, source)}"


def _options(target: Target, upgrade: Iterable[str]) -> tuple[str, ...]:
    return (
        *("--python-version", target.python.version),
        *("--python-platform", uv_platform(target)),
        *("--only-binary", ":all:"),
        *(option for package in upgrade for option in ("--upgrade-package", package)),
    )


def _solved(project: Project, target: Target, job: _Job, source: PackageIndex) -> str:
    """What uv answers; an error has the place in matrix.yaml of the requirement that it names."""
    try:
        return _compile(project, job, source)
    except _UnsolvedError as error:
        problem = Problem(what=error.problems[0].what, where=_place(project, target, str(error)))
        raise MatrixError(problem) from error


def lock_build_stage(project: Project, source: PackageIndex) -> str:
    """The text of the lock of the ``build`` stage, for all building platforms."""
    job = _Job(
        name="the build stage",
        groups={"build": _BUILD},
        old=project.build_lock,
        options=("--python-version", _BUILD_PYTHON, "--universal", "--only-binary", ":all:"),
    )
    return HEADER + _compile(project, job, source)


def _place(project: Project, target: Target, said: str) -> Span:
    """Where matrix.yaml has the requirement that uv names; the target, if that is not clear."""
    lines = read_text(project.matrix_file).splitlines()
    built = [
        text
        for wheel in target.built_wheels.values()
        for text in (wheel.requirement, *wheel.requirements)
    ]
    for text in (*target.requirements, *overrides(target), *target.cann.requirements, *built):
        word = re.compile(rf"(?<![\w.-]){re.escape(text)}(?![\w.-])")
        if word.search(said):
            places = [
                (line, found) for line, each in enumerate(lines, 1) if (found := word.search(each))
            ]
            if len(places) == 1:
                [(line, found)] = places
                return Span(file=target.span.file, line=line, column=found.start() + 1)
    return target.span


def _compile(project: Project, job: _Job, source: PackageIndex) -> str:
    before = read_text(job.old) if job.old.exists() else ""
    # uv would name a temporary file for a line that is wrong.
    parse_lock(before, str(job.old.relative_to(project.root)))
    with tempfile.TemporaryDirectory(prefix="cannery-lock-") as place:
        folder = Path(place)
        for name, text in job.files.items():
            (folder / name).write_text(text, encoding="utf-8")
        output = folder / "lock.txt"
        if before:
            output.write_text(before, encoding="utf-8")
        code, said = run(
            job.argv(output.name),
            cwd=folder,
            capture=True,
            env=_environment(source),
            waiting=lambda: console.say(f"still resolving the packages of {job.name}"),
        )
        if code:
            raise _failure(source.redacted(said).strip(), job.name)
        lines = output.read_text(encoding="utf-8").splitlines(keepends=True)
        return "".join(line for line in lines if not line.startswith((HEADER.strip(), INPUTS)))


def _environment(source: PackageIndex) -> dict[str, str]:
    """Settings for uv, as variables, because everybody can see the arguments of a process."""
    found = {"UV_DEFAULT_INDEX": source.index_url} if source.index_url else {}
    return found | ({"SSL_CERT_FILE": str(source.ca)} if source.ca else {})


def _failure(said: str, name: str) -> Exception:
    """The error for what uv ``said`` about the packages of ``name``."""
    if _NO_UV.search(said):
        return ModuleNotFoundError(said, name="uv")
    if "No solution found" in said:
        return _UnsolvedError(f"the requirements of {name} cannot be satisfied. uv says:\n{said}")
    what = f"uv could not lock {name}. uv says:\n{said}\n"
    return EngineError(Problem(what=what, fix=_REACH if _UNREACHED.search(said) else ""))
