# SPDX-License-Identifier: Apache-2.0
"""A target's lock: every wheel of its image with its version, file and hash."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
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
"""The beginning of the line with the hash of a lock's inputs; see ``Requirements.digest``."""

LEFT_OUT = "# Left out: "
"""The beginning of the line with packages whose modules another package of the lock has."""

_FILE = "    # file: "
"""The beginning of the line with the name of a package's file."""

_WANTS = "    # wants: "
"""The beginning of the line with what a package's wheel wants of others that the target names."""

PYTHON = "python"
"""Stands in such a line for the interpreter. No index has a package of this name."""

_PACKAGE = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^\s;]+)(?: ;[^\\]*)?(?: \\)?$")
_BLOCK = re.compile(r"\n(?=[A-Za-z0-9._-])")
"""Where the lines of a package begin. It names the line's end, which is quick to search for."""

_HEAD = 1000
"""How many characters the lines before the first package have at most."""

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

    ``files`` may be installed; they are empty if the lock does not name every one. The lock of a
    target has one file of each package; that of the build stage has one for each machine.
    ``parents`` are the packages that require this one, and ``groups`` the requirement groups that
    name it. ``wants`` is what its metadata asks of Python and of the packages that the target
    names, as in ``python>=3.10`` and ``torch==2.9.0``.
    """

    name: str
    version: str
    files: tuple[LockedFile, ...]
    parents: frozenset[str]
    groups: frozenset[str]
    wants: tuple[str, ...] = ()

    def file_for(self, machine: str) -> LockedFile | None:
        """The one file that is installed on ``machine`` (``aarch64``); None if that is unknown."""
        ends = ("-any.whl", f"{machine}.whl")
        fitting = [f for f in self.files if not f.name.endswith(".whl") or f.name.endswith(ends)]
        return fitting[0] if len(fitting) == 1 else None

    @property
    def hashes(self) -> tuple[str, ...]:
        """The sha256 of each file that may be installed, without its algorithm."""
        return tuple(file.sha256 for file in self.files)

    @property
    def requirement(self) -> str:
        """The package in a requirements file, with its hashes."""
        lines = (f"{_HASH}{sha256}" for sha256 in self.hashes)
        return " \\\n".join([f"{self.name}=={self.version}", *lines])


@dataclass(frozen=True, kw_only=True)
class Lock:
    """A parsed lock. ``text`` is the file, ``inputs`` the hash of its inputs.

    ``left_out`` are packages that others require and whose modules another package has. ``build``
    is the lock of what builds the wheels that the target has only as sdists, if any, and ``debs``
    the record of what apt resolved, if there is one.
    """

    text: str
    wheels: tuple[LockedWheel, ...]
    inputs: str = ""
    left_out: tuple[str, ...] = ()
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

    def line_of(self, wheel: LockedWheel) -> int:
        """The line of ``wheel`` in the file, counted from 1."""
        before, pin, _ = self.text.partition(f"\n{wheel.name}=={wheel.version} ")
        return before.count("\n") + 2 if pin else 1

    def version(self, name: str) -> str:
        """The version of the package ``name``; empty if the lock does not have it."""
        return self.versions.get(name, "")


def parse_lock(text: str, name: str = "requirements.lock") -> Lock:
    """Read a lock: the output of ``uv pip compile`` for ``GROUP.in`` files, with names of files.

    ``name`` is the file name in messages.

    Raises:
        MatrixError: with every invalid line.
    """
    wheels, inputs, problems = [], "", []
    head = text[:_HEAD].split("\n")
    number = 1
    for block in _BLOCK.split(text):
        wheel, block_inputs, invalid = _parsed(block)
        wheels += [wheel] if wheel else []
        inputs = block_inputs or inputs
        for offset, line in invalid:
            what = f"invalid line in a lock: {line.strip()!r}."
            where = Span(file=name, line=number + offset, column=1)
            fix = "Restore the file, or delete it and run 'python build.py lock'."
            problems.append(Problem(what=what, where=where, fix=fix))
        number += block.count("\n") + 1
    if problems:
        raise MatrixError(problems)
    left_out = next((line for line in head if line.startswith(LEFT_OUT)), "")
    names = tuple(left_out.removeprefix(LEFT_OUT).split())
    return Lock(text=text, wheels=tuple(wheels), inputs=inputs, left_out=names)


@cache
def _parsed(block: str) -> tuple[LockedWheel | None, str, tuple[tuple[int, str], ...]]:
    """The package, the inputs and the invalid lines of a block, of which locks share many."""
    inputs, invalid = "", []
    hashes, names, wants, parents = [], [], [], set()
    lines = block.split("\n")
    package = _PACKAGE.match(lines[0])
    for number, line in enumerate(lines[1:] if package else lines, bool(package)):
        if line.startswith(_HASH) and package:
            hashes.append(line[len(_HASH) : len(_HASH) + _DIGITS])
        elif line.startswith(_FILE):
            names.append(line.removeprefix(_FILE))
        elif line.startswith(_WANTS):
            wants += line.removeprefix(_WANTS).split()
            try:
                [parse_requirement(text) for text in line.removeprefix(_WANTS).split()]
            except InvalidRequirement:
                invalid.append((number, line))
        elif via := _VIA.match(line):
            parents.add(via["parent"])
        elif line.startswith(INPUTS):
            inputs = line.removeprefix(INPUTS)
        elif line.strip() and not line.lstrip().startswith("#"):
            invalid.append((number, line))
    pairs = zip(names, hashes, strict=True) if len(names) == len(hashes) else ()
    wheel = package and LockedWheel(
        name=normal_name(package["name"]),
        version=package["version"],
        files=tuple(LockedFile(name=name, sha256=sha256) for name, sha256 in pairs),
        parents=frozenset(normal_name(p) for p in parents if not p.startswith("-r ")),
        groups=frozenset(
            p.removeprefix("-r ").removesuffix(".in") for p in parents if p.startswith("-r ")
        ),
        wants=tuple(wants),
    )
    return wheel, inputs, tuple(invalid)


def with_files(text: str, files: Mapping[str, Sequence[LockedFile]]) -> str:
    """A lock's ``text`` with the names and hashes of ``files`` in place of those it has."""
    lines = []
    for line in text.splitlines():
        if line.startswith((_HASH, _FILE, _WANTS)):
            continue
        package = _PACKAGE.match(line)
        new = files.get(normal_name(package["name"]), ()) if package else ()
        with_hashes = [line.removesuffix(" \\"), *(f"{_HASH}{file.sha256}" for file in new)]
        lines.append(" \\\n".join(with_hashes))
        lines += [f"{_FILE}{file.name}" for file in new]
    return "".join(f"{line}\n" for line in lines)


def with_wants(text: str, wants: Mapping[str, Sequence[str]]) -> str:
    """A lock's ``text``, which has none yet, with what each package of ``wants`` wants."""
    lines = []
    name = ""
    for line in text.splitlines():
        lines.append(line)
        if package := _PACKAGE.match(line):
            name = normal_name(package["name"])
        elif line.startswith(_FILE) and wants.get(name):
            lines.append(_WANTS + " ".join(wants[name]))
    return "".join(f"{line}\n" for line in lines)


def check_lock(requirements: Requirements, lock: Lock) -> None:
    """Raise MatrixError unless ``lock`` has all ``requirements``, with one file for each.

    That of the build requirements is checked as well, if there is one.
    """
    target = requirements.target
    problems: list[_Misfit] = []
    replaced = _overrides(requirements)
    for group, texts in requirements.groups.items():
        for text in texts:
            requirement = parse_requirement(text)
            name = normal_name(requirement.name)
            bounds = replaced.get(name, [text])
            if not bounds or not applies(requirement, target):
                continue
            wheel = lock.by_name.get(name)
            if wheel is None or group not in wheel.groups:
                problems.append((f"{requirement} is not locked.", ""))
            elif not all(admits(bound, wheel.version) for bound in bounds):
                problems.append((f"{requirement} is locked as {wheel.version}.", name))
    problems += _other_application(target, lock)
    what = "the requirements of the target have changed since it was locked."
    is_stale = lock.inputs != requirements.digest
    _require(target, lock, "requirements.lock", problems, what if is_stale else "")
    if lock.build:
        what = "the build requirements of the target have changed since it was locked."
        is_stale = lock.build.inputs != requirements.build_digest
        _require(target, lock.build, "build-requirements.lock", [], what if is_stale else "")


def _other_application(target: Target, lock: Lock) -> Iterator[_Misfit]:
    """The application, if the wheel of its name has another version than it is declared with."""
    application = target.application
    if application is None or application.component in target.vendor_wheels:
        return
    name = normal_name(application.component)
    with suppress(InvalidRequirement):  # a version that no wheel has
        declared, version = f"{name}=={application.version}", lock.version(name)
        if version and not admits(declared, version):
            yield f"{name} {application.version} is locked as {version}.", name


def _overrides(requirements: Requirements) -> dict[str, list[str]]:
    """Package to what replaces every requirement of it; to nothing if it is to be left out."""
    replaced: dict[str, list[str]] = {}
    for text in requirements.overrides:
        requirement = parse_requirement(text)
        bounds = replaced.setdefault(normal_name(requirement.name), [])
        bounds += [text] if applies(requirement, requirements.target) else []
    return replaced


def _require(target: Target, lock: Lock, name: str, misfits: Sequence[_Misfit], stale: str) -> None:
    """Raise MatrixError with each problem at the line of its package, or else of the inputs."""
    problems = [*misfits]
    if unclear := [wheel.name for wheel in lock.wheels if len(wheel.files) != 1]:
        what = f"the lock lists no single file for {some_of(unclear, _SHOWN)}."
        problems.append((what, unclear[0]))
    if stale and not problems:
        problems.append((stale, ""))
    if not problems:
        return
    lines: dict[str, int] = {}
    for number, line in enumerate(lock.text.splitlines(), 1):
        package = _PACKAGE.match(line)
        if package or line.startswith(INPUTS):
            lines.setdefault(normal_name(package["name"]) if package else "", number)
    file, fix = f"images/{target.id}/{name}", f"Run 'python build.py lock --target {target.id}'."
    raise MatrixError(
        [
            Problem(what=what, fix=fix, where=Span(file=file, line=lines.get(at, 1), column=1))
            for what, at in problems
        ]
    )


def contradictions(target: Target, lock: Lock) -> list[Problem]:
    """Where the target has another version of something than one of its locked wheels wants.

    A wheel that is locked in another version than the target names by now says nothing, nor one
    that the target takes in any version, because the next lock finds one that fits.
    """
    asked: dict[str, list[Requirement]] = {}
    requirements = Requirements(target)
    for text in (text for texts in requirements.groups.values() for text in texts):
        requirement = parse_requirement(text)
        if applies(requirement, target):
            asked.setdefault(normal_name(requirement.name), []).append(requirement)
    if target.torch_wheel:
        torch = parse_requirement(f"torch=={target.torch_wheel.file_version}")
        asked.setdefault("torch", []).append(torch)
    for name in _overrides(requirements):
        asked.pop(name, None)
    problems = []
    for wheel in lock.wheels:
        bounds = asked.get(wheel.name, ())
        is_locked = all(admits(str(bound), wheel.version) for bound in bounds)
        if not is_locked or not any(bound.specifier for bound in bounds):
            continue
        for want in map(parse_requirement, wheel.wants):
            if present := _misfit(target, want, asked):
                line = lock.line_of(wheel)
                problems.append(
                    Problem(
                        what=f"the metadata of {wheel.name} {wheel.version} wants {want}, and the "
                        f"target has {present}; images/{target.id}/requirements.lock:{line} has it "
                        "from the package index.",
                        where=target.span,
                        fix="Change one of the two, then run 'python build.py lock --target "
                        f"{target.id}'.",
                    )
                )
    return problems


def _misfit(target: Target, want: Requirement, asked: Mapping[str, list[Requirement]]) -> str:
    """The requirement or the Python of ``target`` that excludes ``want``; empty for none."""
    if want.name == PYTHON:
        fits = want.specifier.contains(target.python.version, prereleases=True)
        return "" if fits else f"Python {target.python.version}"
    others = asked.get(normal_name(want.name), ())
    misfits = (r for r in others if not overlap(r.specifier, want.specifier))
    return str(next(misfits, ""))


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


def _read(project: Project, target: Target, path: Path, missing: str) -> Lock:
    try:
        return parse_lock(read_text(path), str(path.relative_to(project.root)))
    except FileNotFoundError as error:
        fix = f"Run 'python build.py lock --target {target.id}'."
        raise MatrixError(Problem(what=missing, fix=fix)) from error
