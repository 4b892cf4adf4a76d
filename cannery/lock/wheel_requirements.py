# SPDX-License-Identifier: Apache-2.0
"""Asks an index, with pip, for the metadata of wheels: the packages and the Python that they want.

Only wheels that a target names are asked for, and only what they want of others that it names is
kept. pip reads the metadata alone where the index has it apart (PEP 658).
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import InvalidRequirement
from packaging.specifiers import InvalidSpecifier

from cannery.common import console
from cannery.common.model import Target
from cannery.common.outside import parse_json
from cannery.common.package_index import PackageIndex
from cannery.common.process import run
from cannery.common.specifiers import applies, normal_name, parse_requirement
from cannery.common.wheels import platforms
from cannery.lock.index_versions import pip_environment
from cannery.lock.lock_file import PYTHON, LockedWheel, parse_lock, with_wants
from cannery.lock.requirements import Requirements

_REPORT = "report.json"
_LOCAL = re.compile(r"\+[\w.]+")


@dataclass(frozen=True, kw_only=True)
class _Metadata:
    """What a wheel says of itself; ``python`` is empty if it says nothing of Python."""

    requires: tuple[str, ...] = ()
    python: str = ""


class Metadata:
    """The metadata of wheels, each asked for once."""

    def __init__(self, source: PackageIndex) -> None:
        self.source = source
        self._known: dict[str, _Metadata] = {}

    def added(self, target: Target, text: str, before: str | None) -> str:
        """The lock ``text`` of ``target`` with what the wheels that it names want.

        If the index cannot be asked, that is said, and a wheel keeps what ``before``, the earlier
        lock, has of it.
        """
        named = [wheel for wheel in parse_lock(text).wheels if wheel.groups]
        wheels = [each for each in named if each.file_names[0].endswith(".whl")]
        missing = [each for each in wheels if each.file_names[0] not in self._known]
        if missing and (why := self._ask(target, missing)):
            console.say(f"{target.id}: the metadata of its wheels could not be read: {why}")
            return with_wants(text, _kept(named, before or ""))
        names = {each.name for each in named} | ({"torch"} if target.torch_wheel else set())
        wants = {
            each.name: _wanted(self._known[each.file_names[0]], target, names) for each in wheels
        }
        return with_wants(text, wants)

    def _ask(self, target: Target, wheels: Sequence[LockedWheel]) -> str:
        """Read the metadata of ``wheels``; why that failed, if it did."""
        with tempfile.TemporaryDirectory(prefix="cannery-metadata-") as place:
            folder = Path(place)
            pins = "".join(f"{each.name}=={each.version}\n" for each in wheels)
            (folder / "pins.txt").write_text(pins, encoding="utf-8")
            code, said = run(_argv(target), cwd=folder, env=pip_environment(self.source))
            if code:
                return self.source.redacted(said.strip().rpartition("\n")[2])
            try:
                found = _reported((folder / _REPORT).read_text(encoding="utf-8"))
            except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
                return f"pip's report is not as expected: {error!r}"
        for wheel in wheels:
            self._known[wheel.file_names[0]] = found.get(wheel.name, _Metadata())
        return ""


def _kept(wheels: Iterable[LockedWheel], before: str) -> dict[str, Sequence[str]]:
    """What the lock ``before`` has of those ``wheels`` that are in it with the same file."""
    old = {each.file_names: each.wants for each in parse_lock(before).wheels}
    return {each.name: old.get(each.file_names, ()) for each in wheels}


def _argv(target: Target) -> list[str]:
    argv = [sys.executable, "-P", "-m", "pip", "--disable-pip-version-check", "--no-input"]
    argv += ["install", "--dry-run", "--ignore-installed", "--no-deps", "--quiet"]
    # It compares some wheels with the Python that it runs on itself.
    argv += ["--ignore-requires-python"]
    # pip takes wheels of another platform only for a folder, into which a dry run writes nothing.
    argv += ["--target", "nowhere", "--report", _REPORT, "--only-binary", ":all:"]
    argv += ["--python-version", target.python.version]
    argv += [f"--platform={each}" for each in platforms(target.machine, target.base.glibc)]
    if index := Requirements(target).index_options:
        argv += ["--extra-index-url", index[1]]
    return [*argv, "--requirement", "pins.txt"]


def _reported(text: str) -> dict[str, _Metadata]:
    """Package to its metadata in a report of pip."""
    return {
        normal_name(each["metadata"]["name"]): _Metadata(
            requires=tuple(map(str, each["metadata"].get("requires_dist", ()))),
            python=str(each["metadata"].get("requires_python") or ""),
        )
        for each in parse_json(text)["install"]
    }


def _wanted(metadata: _Metadata, target: Target, names: Iterable[str]) -> list[str]:
    """What a wheel wants of Python and of the packages ``names``, in the order of the names."""
    found: Mapping[str, list[str]] = {name: [] for name in (PYTHON, *sorted(names))}
    for text in (*([PYTHON + metadata.python] if metadata.python else []), *metadata.requires):
        try:
            requirement = parse_requirement(text)
        except (InvalidRequirement, InvalidSpecifier):
            # Old wheels have requirements that no installer of today reads.
            continue
        name = normal_name(requirement.name)
        if name in found and requirement.specifier and applies(requirement, target):
            # The local version is that of a build for another index.
            found[name].append(f"{name}{_LOCAL.sub('', str(requirement.specifier))}")
    return [each for own in found.values() for each in dict.fromkeys(own)]
