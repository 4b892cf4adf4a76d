# SPDX-License-Identifier: Apache-2.0
"""Locks a target's wheels: versions that uv resolves, and the one file of each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from cannery.common import console
from cannery.common.bases import Base
from cannery.common.errors import CanneryError, MatrixError, Problem, Span
from cannery.common.files import read_text
from cannery.common.model import Target
from cannery.common.package_index import PackageIndex
from cannery.common.wheels import MACHINES, WheelPlatform
from cannery.lock.lock_file import INPUTS, parse_lock, with_files
from cannery.lock.locked_files import Pinned, exact, nearest, platform_options
from cannery.lock.requirements import Requirements
from cannery.lock.uv import Job, UnsolvedError, compiled, stated_metadata
from cannery.lock.wheel_requirements import Metadata
from cannery.matrix.files import FACTS
from cannery.matrix.project import Project

HEADER = "# Locked by 'python build.py lock'. Do not edit: change matrix.yaml and lock again.\n"

_BUILD_CONSTRAINT = "setuptools<81"
"""Old sdists import pkg_resources, which setuptools 82 has removed."""

_BUILD = (_BUILD_CONSTRAINT, "uv", "wheel", "packaging", "py-cpuinfo", "pip")
"""uv, the build requirements of DeepSpeed's sdist, and pip, which downloads sdists by hash."""

_BUILD_FILES = {"build.txt": _BUILD_CONSTRAINT + "\n"}

_BUILD_PYTHON = "3.11"
"""The Python version of the ``build`` stage."""

_OUTPUT = ("--annotation-style", "split", "--build-constraint", "build.txt")

_EXCLUDED = "\n# The following packages were excluded from the output:"

_NO_FILE = re.compile(r"\b(?P<name>[\w.-]+)==(?P<version>\S+) has no (?:usable )?wheels\b")
"""What uv says of a version whose files do not fit the target."""


@dataclass(frozen=True, kw_only=True)
class Locking:
    """What became of locks. ``failures`` maps a target's id to the reason why it has no new one."""

    changed: tuple[Path, ...]
    failures: Mapping[str, CanneryError]


@dataclass(frozen=True, kw_only=True)
class _Lock:
    """A lock of a target: groups of requirements, and options of uv with the files they name."""

    name: str
    path: Path
    groups: Mapping[str, tuple[str, ...]]
    more: Mapping[str, str] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    indexes: tuple[str, ...] = ()
    sdists: tuple[str, ...] = ()


def write_locks(
    project: Project, targets: Sequence[Target], upgrade: Sequence[str], source: PackageIndex
) -> Locking:
    """Lock the build stage and every target; each target is tried, also after a failure."""
    before = {path: _text(path) for path in _paths(project, targets)}
    console.say("resolving the packages of the build stage")
    base = _oldest(project.matrix().targets.values())
    texts = {project.build_lock: lock_build_stage(project, base, source)}
    failures: dict[str, CanneryError] = {}
    metadata = Metadata(source)
    for number, target in enumerate(targets, 1):
        console.say(f"resolving the packages of {target.id} ({number} of {len(targets)})")
        try:
            text = lock_target(project, target, upgrade, source)
            path = project.lock(target)
            texts[path] = metadata.added(target, text, before[path])
            if target.built_wheels:
                path = project.build_requirements_lock(target)
                texts[path] = lock_build_requirements(project, target, upgrade, source)
        except CanneryError as error:
            failures[target.id] = error
    changed = {path: text for path, text in texts.items() if before[path] != text}
    project.replace(changed, {path: before[path] for path in changed})
    return Locking(changed=tuple(changed), failures=failures)


def _paths(project: Project, targets: Iterable[Target]) -> Iterator[Path]:
    """Every lock that locking ``targets`` can change."""
    yield project.build_lock
    for target in targets:
        yield project.lock(target)
        yield project.build_requirements_lock(target)


def _text(path: Path) -> str | None:
    with suppress(FileNotFoundError):
        return read_text(path)
    return None


def _oldest(targets: Iterable[Target]) -> Base:
    """The build base with the oldest glibc: all targets share the lock of the build stage."""
    bases = [target.build_base for target in targets]
    return min(bases, key=lambda base: [int(number) for number in base.glibc.split(".")])


def lock_target(
    project: Project, target: Target, upgrade: Iterable[str], source: PackageIndex
) -> str:
    """The text of the lock of ``target``; locked versions stay, except those in ``upgrade``.

    Raises:
        MatrixError: the requirements cannot be satisfied; the message has uv's explanation. Or the
            lock that is there has an invalid line, or the index has other files than it names.
        EngineError: uv failed for another reason, such as an index that cannot be reached.
    """
    requirements = Requirements(target)
    override = requirements.overrides
    allowed_env = {wheel.package: wheel.version for wheel in target.built_wheels.values()}
    files = {"overrides.txt": "\n".join(override)} if override else {}
    options = ("--override", "overrides.txt") if override else ()
    if wheel := target.torch_wheel:
        # Whoever requires torch must go with the file, and gets none from an index.
        allowed_env["torch"] = wheel.version
        files["torch.txt"] = f"torch=={wheel.version}\n"
        options = (*options, "--constraint", "torch.txt", "--no-emit-package", "torch")
    lock = _Lock(
        name=target.id,
        path=project.lock(target),
        groups=requirements.groups,
        more=stated_metadata(allowed_env) | files,
        options=options,
        indexes=requirements.index_options,
        sdists=requirements.sdists,
    )
    text = _locked(project, target, lock, upgrade, source)
    return f"{HEADER}{INPUTS}{requirements.digest}\n{text}"


def lock_build_requirements(
    project: Project, target: Target, upgrade: Iterable[str], source: PackageIndex
) -> str:
    """The text of the lock of what builds wheels of ``target`` from sdists; as ``lock_target``."""
    requirements = Requirements(target)
    lock = _Lock(
        name=f"the builder of {target.id}",
        path=project.build_requirements_lock(target),
        groups=requirements.build_groups,
    )
    text = _locked(project, target, lock, upgrade, source)
    return f"{HEADER}{INPUTS}{requirements.build_digest}\n{text}"


def _locked(
    project: Project, target: Target, lock: _Lock, upgrade: Iterable[str], source: PackageIndex
) -> str:
    before = _before(project, lock.path)
    platform = Requirements(target).platform
    job = Job(
        name=lock.name,
        inputs=_inputs(lock.groups),
        before=with_files(before, {}),
        more={**_BUILD_FILES, **lock.more},
        options=(
            *_OUTPUT,
            *platform_options(platform, lock.sdists),
            *(option for package in upgrade for option in ("--upgrade-package", package)),
            *lock.options,
            *lock.indexes,
        ),
        output="lock.txt",
    )
    try:
        text = _packages_only(compiled(job, source))
    except UnsolvedError as error:
        raise _unsolved(project, target, error, source) from error
    pinned = Pinned(
        name=str(lock.path.relative_to(project.root)),
        text=text,
        before=before,
        platforms=[platform],
        sdists=lock.sdists,
        settings=lock.more,
        indexes=lock.indexes,
    )
    return exact(pinned, source)


def lock_build_stage(project: Project, base: Base, source: PackageIndex) -> str:
    """The text of the lock of the ``build`` stage on ``base``, for all building machines."""
    before = _before(project, project.build_lock)
    job = Job(
        name="the build stage",
        inputs=_inputs({"build": _BUILD}),
        before=with_files(before, {}),
        more=_BUILD_FILES,
        options=(
            *_OUTPUT,
            *("--python-version", _BUILD_PYTHON, "--universal", "--only-binary", ":all:"),
        ),
        output="lock.txt",
    )
    abi = "cp" + _BUILD_PYTHON.replace(".", "")
    pinned = Pinned(
        name=str(project.build_lock.relative_to(project.root)),
        text=_packages_only(compiled(job, source)),
        before=before,
        platforms=[
            WheelPlatform(python=_BUILD_PYTHON, abi=abi, machine=machine, glibc=base.glibc)
            for machine in MACHINES
        ],
    )
    return HEADER + exact(pinned, source)


def _before(project: Project, path: Path) -> str:
    """The text of the lock that is there; uv would name a temporary file for a wrong line."""
    text = read_text(path) if path.exists() else ""
    parse_lock(text, str(path.relative_to(project.root)))
    return text


def _inputs(groups: Mapping[str, Sequence[str]]) -> dict[str, str]:
    return {f"{group}.in": "\n".join(texts) + "\n" for group, texts in groups.items()}


def _packages_only(text: str) -> str:
    """``text`` without what uv keeps of the file that was there before, or adds at the end."""
    lines = text.partition(_EXCLUDED)[0].splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith((HEADER.strip(), INPUTS)))


def _unsolved(
    project: Project, target: Target, error: UnsolvedError, source: PackageIndex
) -> MatrixError:
    """``error`` with its place in matrix.yaml, and with the nearest file if no file fits."""
    said = str(error)
    problems = [Problem(what=error.problems[0].what, where=_place(project, target, said))]
    if found := _NO_FILE.search(said):
        problems += nearest(found["name"], found["version"], Requirements(target).platform, source)
    return MatrixError(problems)


def _place(project: Project, target: Target, said: str) -> Span:
    """Where the matrix has the requirement that uv names; the target, if that is not clear."""
    built = [
        text
        for wheel in target.built_wheels.values()
        for text in (wheel.requirement, *wheel.requirements)
    ]
    declared = (*target.requirements, *target.cann.requirements, *built)
    for text in (*declared, *Requirements(target).overrides):
        word = re.compile(rf"(?<![\w.-]){re.escape(text)}(?![\w.-])")
        if word.search(said):
            places = [
                Span(file=name, line=line, column=found.start() + 1)
                for name, file in project.files().items()
                if name != FACTS
                for line, each in enumerate(file.splitlines(), 1)
                if (found := word.search(each))
            ]
            if len(places) == 1:
                return places[0]
    return target.span
