# SPDX-License-Identifier: Apache-2.0
"""A target's lock: every wheel of its image with its version and hashes, as uv wrote it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from packaging.requirements import Requirement

from cannery.errors import MatrixError, Problem, Span
from cannery.image.requirements import (
    build_inputs_digest,
    inputs_digest,
    overrides,
    requirement_groups,
)
from cannery.model import Target
from cannery.syntax.specifiers import normal_name, parse_requirements

INPUTS = "# Inputs: "
"""The beginning of the line with the hash of a lock's inputs; see ``inputs_digest``."""

_PACKAGE = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^\s;]+)(?: ;[^\\]*)?(?: \\)?$")
_HASH = "    --hash=sha256:"
_DIGITS = 64
_VIA = re.compile(r"^    # (?:via |  )(?P<parent>(?:-r )?\S+)$")


@dataclass(frozen=True, kw_only=True)
class LockedWheel:
    """One package of a lock.

    ``hash_lines`` are uv's, one for each file that may be installed. ``parents`` are the packages
    that require this one, and ``groups`` the requirement groups that name it.
    """

    name: str
    version: str
    hash_lines: tuple[str, ...]
    parents: frozenset[str]
    groups: frozenset[str]

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

    ``build`` is the lock of what builds the wheels that the target has only as sdists, if any.
    """

    text: str
    wheels: tuple[LockedWheel, ...]
    inputs: str = ""
    build: Lock | None = None

    @cached_property
    def digest(self) -> str:
        """The sha256 of the file, as ``sha256:`` and 64 digits."""
        return "sha256:" + hashlib.sha256(self.text.encode()).hexdigest()

    def version(self, name: str) -> str:
        """The version of the package ``name``; empty if the lock does not have it."""
        return next((wheel.version for wheel in self.wheels if wheel.name == name), "")


def parse_lock(text: str, name: str = "requirements.lock") -> Lock:
    """Read the output of ``uv pip compile --generate-hashes``, with a ``GROUP.in`` file per group.

    ``name`` is the file name in messages.

    Raises:
        MatrixError: with every invalid line.
    """
    wheels: list[LockedWheel] = []
    problems: list[Problem] = []
    inputs = ""
    package: re.Match[str] | None = None
    hashes: list[str] = []
    parents: set[str] = set()

    def close() -> None:
        if package:
            wheels.append(_wheel(package, hashes, parents))
        hashes.clear()
        parents.clear()

    for number, line in enumerate(text.splitlines(), 1):
        # Nearly all lines are hashes, so they come first, and nothing is computed of them here.
        if line.startswith(_HASH) and package:
            hashes.append(line)
        elif line.startswith("    #"):
            if via := _VIA.match(line):
                parents.add(via["parent"])
        elif found := _PACKAGE.match(line):
            close()
            package = found
        elif line.startswith(INPUTS):
            inputs = line.removeprefix(INPUTS)
        elif line.strip() and not line.lstrip().startswith("#"):
            where = Span(file=name, line=number, column=1)
            what = f"invalid line in a lock: {line.strip()!r}."
            fix = "Restore the file, or delete it and run 'python build.py lock'."
            problems.append(Problem(what=what, where=where, fix=fix))
    close()
    if problems:
        raise MatrixError(problems)
    return Lock(text=text, wheels=tuple(wheels), inputs=inputs)


def _wheel(package: re.Match[str], hashes: list[str], parents: set[str]) -> LockedWheel:
    groups = {p.removeprefix("-r ").removesuffix(".in") for p in parents if p.startswith("-r ")}
    return LockedWheel(
        name=normal_name(package["name"]),
        version=package["version"],
        hash_lines=tuple(hashes),
        parents=frozenset(normal_name(p) for p in parents if not p.startswith("-r ")),
        groups=frozenset(groups),
    )


def check_lock(target: Target, lock: Lock) -> None:
    """Raise MatrixError unless ``lock`` has the requirements of ``target``, with hashes.

    That of the build requirements is checked as well, if there is one.
    """
    locked = {wheel.name: wheel for wheel in lock.wheels}
    problems = []
    for group, texts in requirement_groups(target).items():
        for requirement in parse_requirements(texts):
            wheel = locked.get(normal_name(requirement.name))
            if wheel is None or group not in wheel.groups:
                problems.append(f"{requirement} is not locked.")
            elif not _admits(target, requirement, wheel):
                problems.append(f"{requirement} is locked as {wheel.version}.")
    problems += [f"{wheel.name} has no hash." for wheel in lock.wheels if not wheel.hash_lines]
    if not problems and lock.inputs != inputs_digest(target):
        problems.append("the requirements of the target have changed since it was locked.")
    if problems:
        raise _out_of_date(target, "requirements.lock", problems)
    if lock.build:
        _check_build_lock(target, lock.build)


def _check_build_lock(target: Target, lock: Lock) -> None:
    problems = [f"{wheel.name} has no hash." for wheel in lock.wheels if not wheel.hash_lines]
    if not problems and lock.inputs != build_inputs_digest(target):
        problems.append("the build requirements of the target have changed since it was locked.")
    if problems:
        raise _out_of_date(target, "build-requirements.lock", problems)


def _out_of_date(target: Target, name: str, problems: Iterable[str]) -> MatrixError:
    what = f"images/{target.id}/{name}: {' '.join(problems)}"
    return MatrixError(Problem(what=what, fix=f"Run 'python build.py lock --target {target.id}'."))


def _admits(target: Target, requirement: Requirement, wheel: LockedWheel) -> bool:
    """Whether the locked version satisfies the requirement, or the override that replaces it."""
    over = {normal_name(each.name): each for each in parse_requirements(overrides(target))}
    effective = over.get(wheel.name, requirement)
    return effective.specifier.contains(wheel.version, prereleases=True)
