# SPDX-License-Identifier: Apache-2.0
"""Chooses the one file of each package that an installer takes for a platform."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any
from urllib.parse import unquote, urlsplit

from packaging.tags import Tag
from packaging.utils import InvalidWheelFilename, parse_wheel_filename

from cannery.common.errors import MatrixError, Problem
from cannery.common.outside import parse_toml
from cannery.common.specifiers import normal_name
from cannery.common.wheels import WheelPlatform
from cannery.lock.lock_file import Lock, LockedFile


def listed_files(pylock: str) -> dict[str, tuple[LockedFile, ...]]:
    """Package to its files in a pylock.toml; ``sha256`` is empty if the index does not name it."""
    return {
        normal_name(package["name"]): tuple(_file(each) for each in _entries(package))
        for package in parse_toml(pylock).get("packages", [])
    }


def _entries(package: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    sdist = package.get("sdist")
    return [*package.get("wheels", []), *([sdist] if sdist else [])]


def _file(entry: Mapping[str, Any]) -> LockedFile:
    path = entry.get("path") or unquote(urlsplit(entry.get("url", "")).path)
    name = entry.get("name") or path.rpartition("/")[2]
    return LockedFile(name=name, sha256=entry.get("hashes", {}).get("sha256", ""))


def chosen_files(
    lock: Lock, listed: Mapping[str, Sequence[LockedFile]], platform: WheelPlatform
) -> dict[str, LockedFile]:
    """Package to the one of its ``listed`` files that an installer takes on ``platform``.

    Raises:
        MatrixError: with every package of which no file fits, or whose file has no sha256.
    """
    ranks = {tag: rank for rank, tag in enumerate(platform.tags)}
    found, problems = {}, []
    for wheel in lock.wheels:
        files = listed.get(wheel.name, ())
        file = best_file(files, ranks)
        if file is None:
            problems.append(no_file(platform, wheel.name, wheel.version, files))
        elif not file.sha256:
            what = f"the package index has no sha256 of {file.name}."
            problems.append(Problem(what=what, fix="Name an index that has it with --index-url."))
        else:
            found[wheel.name] = file
    if problems:
        raise MatrixError(problems)
    return found


def check_unchanged(path: str, before: Lock, files: Iterable[LockedFile]) -> None:
    """Check that no file has another sha256 than in ``before``, the lock in ``path``.

    Raises:
        MatrixError: with every file that has been replaced.
    """
    old = {file.name: file.sha256 for wheel in before.wheels for file in wheel.files}
    problems = [
        Problem(
            what=f"the package index has another {file.name} than {path}: its sha256 is "
            f"{file.sha256}, not {old[file.name]}.",
            fix="Find out why. To use it, delete the package from the lock and lock again.",
        )
        for file in files
        if old.get(file.name, file.sha256) != file.sha256
    ]
    if problems:
        raise MatrixError(problems)


def best_file(files: Iterable[LockedFile], ranks: Mapping[Tag, int]) -> LockedFile | None:
    """The file that an installer takes: the wheel with the best tag, or without one the sdist.

    ``ranks`` maps the supported tags to numbers, the best tag to the lowest. Of wheels with equal
    tags it is the one with the highest build number.
    """
    wheels, sdists = [], []
    for file in files:
        if not file.name.endswith(".whl"):
            sdists.append(file)
            continue
        try:
            _, _, build, tags = parse_wheel_filename(file.name)
        except InvalidWheelFilename:
            continue
        if fitting := [ranks[tag] for tag in tags if tag in ranks]:
            wheels.append((-min(fitting), build, file))
    if wheels:
        return max(wheels, key=lambda wheel: wheel[:2])[2]
    return sdists[0] if sdists else None


def no_file(
    platform: WheelPlatform, name: str, version: str, files: Iterable[LockedFile]
) -> Problem:
    """The problem that none of ``files``, all that there are of a package, fits ``platform``."""
    tag = platform.tags[0]
    wanted = f"{name.replace('-', '_')}-{version}-{tag}.whl"
    what = f"{name} {version} has no file for {tag} or a platform with an older glibc."
    names = [file.name for file in files]
    if not names:
        return Problem(what=what)
    nearest = max(names, key=lambda each: SequenceMatcher(None, wanted, each).ratio())
    return Problem(what=what, fix=f"The nearest file is {nearest}.")
