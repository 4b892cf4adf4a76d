# SPDX-License-Identifier: Apache-2.0
"""A target's lock: every wheel of its image with its version, file and hash."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement

from cannery.common.errors import MatrixError, Problem, Span, some_of
from cannery.common.files import read_text
from cannery.common.model import Target
from cannery.common.specifiers import (
    admits,
    applies,
    normal_name,
    overlap,
    parse_requirement,
)
from cannery.lock.debs import DebLock, parse_debs
from cannery.lock.requirements import Requirements
from cannery.matrix.project import Project

INPUTS = "# Inputs: "
"""The beginning of the line with the hash of a lock's inputs; see ``inputs_digest``."""

_FILE = "    # file: "
"""The beginning of the line with the name of a package's file."""

_WANTS = "    # wants: "
"""The beginning of the line with what a package's wheel wants of others that the target names."""

PYTHON = "python"
"""Stands in such a line for the interpreter. No index has a package of this name."""

_PACKAGE = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^\s;]+)(?: ;[^\\]*)?(?: \\)?$")
_BLOCK = re.compile(r"\n(?=[A-Za-z0-9._-])")
"""Where the lines of a package begin. It names the line's end, which is quick to search for."""

_HASH = "    --hash=sha256:"
_DIGITS = 64
_SHOWN = 5
"""How many packages without a file are named."""

_VIA = re.compile(r"^    # (?:via |  )(?P<parent>(?:-r )?\S+)$")


_Misfit = tuple[str, str]
"""What does not fit in a lock, and the package whose lines it is about, if they are there."""


@dataclass(frozen=True, kw_only=True)
class LockedFile:
    """A wheel or an sdist by its file name; ``sha256`` is without its algorithm."""

    name: str
    sha256: str


@dataclass(frozen=True, kw_only=True)
class LockedWheel:
    """One package of a lock.

    ``hash_lines`` has a line for each file that may be installed, and ``file_names`` their names in
    the same order. The lock of a target has one file of each package; that of the build stage has
    one for each machine. ``parents`` are the packages that require this one, and ``groups`` the
    requirement groups that name it. ``wants`` is what its metadata asks of Python and of the
    packages that the target names, as in ``python>=3.10`` and ``torch==2.9.0``.
    """

    name: str
    version: str
    hash_lines: tuple[str, ...]
    file_names: tuple[str, ...]
    parents: frozenset[str]
    groups: frozenset[str]
    wants: tuple[str, ...] = ()

    @property
    def files(self) -> tuple[LockedFile, ...]:
        """The files that may be installed; none if the lock does not name every one."""
        if len(self.file_names) != len(self.hash_lines):
            return ()
        pairs = zip(self.file_names, self.hashes, strict=True)
        return tuple(LockedFile(name=name, sha256=sha256) for name, sha256 in pairs)

    @cached_property
    def has_one_file(self) -> bool:
        """Whether ``files`` has one; this is asked of thousands of packages, and makes none."""
        return len(self.file_names) == len(self.hash_lines) == 1

    def file_for(self, machine: str) -> LockedFile | None:
        """The one file that is installed on ``machine`` (``aarch64``); None if that is unknown."""
        fitting = [file for file in self.files if _fits(file.name, machine)]
        return fitting[0] if len(fitting) == 1 else None

    @property
    def hashes(self) -> tuple[str, ...]:
        """The sha256 of each file that may be installed, without its algorithm."""
        return tuple(line[len(_HASH) : len(_HASH) + _DIGITS] for line in self.hash_lines)

    @property
    def requirement(self) -> str:
        """The package in a requirements file, with its hashes."""
        return "\n".join([f"{self.name}=={self.version} \\", *self.hash_lines])


@dataclass(frozen=True, kw_only=True)
class Lock:
    """A parsed lock. ``text`` is the file, ``inputs`` the hash of its inputs.

    ``build`` is the lock of what builds the wheels that the target has only as sdists, if any, and
    ``debs`` the record of what apt resolved, if there is one.
    """

    text: str
    wheels: tuple[LockedWheel, ...]
    inputs: str = ""
    build: Lock | None = None
    debs: DebLock | None = None

    @cached_property
    def digest(self) -> str:
        """The sha256 of the file, as ``sha256:`` and 64 digits."""
        return "sha256:" + hashlib.sha256(self.text.encode()).hexdigest()

    @cached_property
    def by_name(self) -> Mapping[str, LockedWheel]:
        """Package to its wheel."""
        return {wheel.name: wheel for wheel in self.wheels}

    @cached_property
    def versions(self) -> Mapping[str, str]:
        """Package to its version."""
        return {wheel.name: wheel.version for wheel in self.wheels}

    def version(self, name: str) -> str:
        """The version of the package ``name``; empty if the lock does not have it."""
        return self.versions.get(name, "")


def parse_lock(text: str, name: str = "requirements.lock") -> Lock:
    """Read a lock: the output of ``uv pip compile`` for ``GROUP.in`` files, with names of files.

    ``name`` is the file name in messages.

    Raises:
        MatrixError: with every invalid line.
    """
    blocks = [_parsed(block) for block in _BLOCK.split(text)]
    if any(block.invalid for block in blocks):
        # With the numbers that the lines have in the whole text.
        lines = _parsed(text).invalid
        raise MatrixError([_invalid(name, number, line) for number, line in lines])
    wheels = tuple(wheel for block in blocks for wheel in block.wheels)
    inputs = [block.inputs for block in blocks if block.inputs]
    return Lock(text=text, wheels=wheels, inputs=inputs[-1] if inputs else "")


@dataclass(frozen=True, kw_only=True)
class _Parsed:
    """A part of a lock; ``invalid`` are the numbers and texts of lines."""

    wheels: tuple[LockedWheel, ...]
    inputs: str
    invalid: tuple[tuple[int, str], ...]


@cache
def _parsed(text: str) -> _Parsed:
    """What is in a part that begins with a package, of which a matrix's locks share many."""
    wheels: list[LockedWheel] = []
    invalid: list[tuple[int, str]] = []
    inputs = ""
    package: re.Match[str] | None = None
    hashes: list[str] = []
    comments: list[str] = []

    def close() -> None:
        if package:
            name, version = package["name"], package["version"]
            wheels.append(_wheel(name, version, tuple(hashes), tuple(comments)))
        hashes.clear()
        comments.clear()

    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith(_HASH) and package:
            hashes.append(line)
        elif line.startswith("    #"):
            comments.append(line)
            if not all(map(_is_requirement, _wants(line))):
                invalid.append((number, line))
        elif found := _PACKAGE.match(line):
            close()
            package = found
        elif line.startswith(INPUTS):
            inputs = line.removeprefix(INPUTS)
        elif line.strip() and not line.lstrip().startswith("#"):
            invalid.append((number, line))
    close()
    return _Parsed(wheels=tuple(wheels), inputs=inputs, invalid=tuple(invalid))


def _invalid(file: str, number: int, line: str) -> Problem:
    return Problem(
        what=f"invalid line in a lock: {line.strip()!r}.",
        where=Span(file=file, line=number, column=1),
        fix="Restore the file, or delete it and run 'python build.py lock'.",
    )


def _wheel(
    name: str, version: str, hashes: tuple[str, ...], comments: tuple[str, ...]
) -> LockedWheel:
    """The package of these lines."""
    parents = {via["parent"] for line in comments if (via := _VIA.match(line))}
    files = (line.removeprefix(_FILE) for line in comments if line.startswith(_FILE))
    groups = {p.removeprefix("-r ").removesuffix(".in") for p in parents if p.startswith("-r ")}
    return LockedWheel(
        name=normal_name(name),
        version=version,
        hash_lines=hashes,
        file_names=tuple(files),
        parents=frozenset(normal_name(p) for p in parents if not p.startswith("-r ")),
        groups=frozenset(groups),
        wants=tuple(each for line in comments for each in _wants(line)),
    )


def _wants(line: str) -> list[str]:
    """The requirements in a line with what a package wants; none in another line."""
    return line.removeprefix(_WANTS).split() if line.startswith(_WANTS) else []


def _is_requirement(text: str) -> bool:
    try:
        parse_requirement(text)
    except InvalidRequirement:
        return False
    return True


def _fits(file: str, machine: str) -> bool:
    """Whether a file is for all machines or for ``machine``, by its name."""
    return not file.endswith(".whl") or file.removesuffix(".whl").endswith(("-any", machine))


def with_files(text: str, files: Mapping[str, Sequence[LockedFile]]) -> str:
    """A lock's ``text`` with the names and hashes of ``files`` in place of those it has."""
    lines = []
    for line in text.splitlines():
        if line.startswith((_HASH, _FILE, _WANTS)):
            continue
        package = _PACKAGE.match(line)
        own = files.get(normal_name(package["name"]), ()) if package else ()
        each = [line.removesuffix(" \\"), *(f"{_HASH}{file.sha256}" for file in own)]
        lines.append(" \\\n".join(each))
        lines += [f"{_FILE}{file.name}" for file in own]
    return "".join(f"{line}\n" for line in lines)


def with_wants(text: str, wants: Mapping[str, Sequence[str]]) -> str:
    """A lock's ``text``, which has none yet, with what each package of ``wants`` wants."""
    lines = []
    name = ""
    for line in text.splitlines():
        lines.append(line)
        if package := _PACKAGE.match(line):
            name = normal_name(package["name"])
        elif line.startswith(_FILE) and (own := wants.get(name)):
            lines.append(_WANTS + " ".join(own))
    return "".join(f"{line}\n" for line in lines)


def check_lock(requirements: Requirements, lock: Lock) -> None:
    """Raise MatrixError unless ``lock`` has the ``requirements``, with one file for each.

    That of the build requirements is checked as well, if there is one.
    """
    problems: list[_Misfit] = []
    target = requirements.target
    over = _overrides(requirements)
    for group, texts in requirements.groups.items():
        for text in texts:
            requirement = parse_requirement(text)
            name = normal_name(requirement.name)
            bounds = over.get(name, [text])
            if not bounds or not applies(requirement, target):
                continue
            wheel = lock.by_name.get(name)
            if wheel is None or group not in wheel.groups:
                problems.append((f"{requirement} is not locked.", ""))
            elif not all(admits(each, wheel.version) for each in bounds):
                problems.append((f"{requirement} is locked as {wheel.version}.", name))
    problems += _unclear(lock)
    if not problems and lock.inputs != requirements.digest:
        problems.append(("the requirements of the target have changed since it was locked.", ""))
    if problems:
        raise _out_of_date(target, lock, "requirements.lock", problems)
    if lock.build:
        _check_build_lock(requirements, lock.build)


def contradictions(target: Target, lock: Lock) -> list[Problem]:
    """Where the target has another version of something than one of its locked wheels wants.

    A wheel that is locked in another version than the target names by now says nothing, nor one
    that the target takes in any version, because the next lock finds one that fits.
    """
    asked: dict[str, list[str]] = {}
    requirements = Requirements(target)
    for text in (text for texts in requirements.groups.values() for text in texts):
        requirement = parse_requirement(text)
        if applies(requirement, target):
            asked.setdefault(normal_name(requirement.name), []).append(text)
    if wheel := target.torch_wheel:
        asked.setdefault("torch", []).append(f"torch=={wheel.version}")
    for name in _overrides(requirements):
        asked.pop(name, None)
    return [
        _contradiction(target, lock, wheel, want, has)
        for wheel in lock.wheels
        if wheel.wants and _is_asked(wheel, asked.get(wheel.name, ()))
        for want in wheel.wants
        if (has := _other(target, parse_requirement(want), asked))
    ]


def _is_asked(wheel: LockedWheel, texts: Sequence[str]) -> bool:
    is_bounded = any(parse_requirement(text).specifier for text in texts)
    return is_bounded and all(admits(text, wheel.version) for text in texts)


def _other(target: Target, want: Requirement, asked: Mapping[str, Sequence[str]]) -> str:
    """What the target has in place of ``want``; empty if that fits."""
    if want.name == PYTHON:
        fits = want.specifier.contains(target.python.version, prereleases=True)
        return "" if fits else f"Python {target.python.version}"
    found = (
        text
        for text in asked.get(normal_name(want.name), ())
        if not overlap(parse_requirement(text).specifier, want.specifier)
    )
    return next(found, "")


def _contradiction(target: Target, lock: Lock, wheel: LockedWheel, want: str, has: str) -> Problem:
    lines = lock.text.splitlines()
    pin = f"{wheel.name}=={wheel.version}"
    line = next((i for i, each in enumerate(lines, 1) if each.split(" ")[0] == pin), 1)
    said = f"the metadata of {wheel.name} {wheel.version} wants {want}"
    return Problem(
        what=f"{said}, and the target has {has}; "
        f"images/{target.id}/requirements.lock:{line} has it from the package index.",
        where=target.span,
        fix=f"Change one of the two, then run 'python build.py lock --target {target.id}'.",
    )


def _overrides(requirements: Requirements) -> dict[str, list[str]]:
    """Package to what replaces every requirement of it; to nothing if it is to be left out."""
    found: dict[str, list[str]] = {}
    for text in requirements.overrides:
        requirement = parse_requirement(text)
        bounds = found.setdefault(normal_name(requirement.name), [])
        bounds += [text] if applies(requirement, requirements.target) else []
    return found


def _check_build_lock(requirements: Requirements, lock: Lock) -> None:
    problems = _unclear(lock)
    if not problems and lock.inputs != requirements.build_digest:
        what = "the build requirements of the target have changed since it was locked."
        problems.append((what, ""))
    if problems:
        raise _out_of_date(requirements.target, lock, "build-requirements.lock", problems)


def _unclear(lock: Lock) -> list[_Misfit]:
    names = [wheel.name for wheel in lock.wheels if not wheel.has_one_file]
    what = f"it does not name the one file of {some_of(names, _SHOWN)}."
    return [(what, names[0])] if names else []


def _out_of_date(target: Target, lock: Lock, name: str, problems: Sequence[_Misfit]) -> MatrixError:
    """Every problem at its line: that of its package, or else that of the inputs."""
    lines: dict[str, int] = {}
    for number, line in enumerate(lock.text.splitlines(), 1):
        package = _PACKAGE.match(line)
        if package or line.startswith(INPUTS):
            lines.setdefault(normal_name(package["name"]) if package else "", number)
    file, fix = f"images/{target.id}/{name}", f"Run 'python build.py lock --target {target.id}'."
    return MatrixError(
        [
            Problem(what=what, fix=fix, where=Span(file=file, line=lines.get(at, 1), column=1))
            for what, at in problems
        ]
    )


def read_lock(project: Project, target: Target) -> Lock:
    """The lock of ``target``, with that of its build requirements if it builds wheels.

    It has the record of what apt resolved, if there is one.

    Raises:
        MatrixError: one is missing, or has an invalid line.
        FileError: one cannot be read.
    """
    lock = _read(project, target, project.lock(target), f"{target.id} is not locked.")
    path = project.packages_lock(target)
    with suppress(FileNotFoundError):
        lock = replace(lock, debs=parse_debs(read_text(path), str(path.relative_to(project.root))))
    if not target.built_wheels:
        return lock
    path = project.build_requirements_lock(target)
    missing = f"the build requirements of {target.id} are not locked."
    return replace(lock, build=_read(project, target, path, missing))


def _read(project: Project, target: Target, path: Path, what: str) -> Lock:
    """The lock at ``path``; ``what`` is said if there is none."""
    try:
        return parse_lock(read_text(path), str(path.relative_to(project.root)))
    except FileNotFoundError as error:
        fix = f"Run 'python build.py lock --target {target.id}'."
        raise MatrixError(Problem(what=what, fix=fix)) from error
