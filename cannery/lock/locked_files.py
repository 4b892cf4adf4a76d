# SPDX-License-Identifier: Apache-2.0
"""Chooses the one file of each package that an installer takes for a platform, with its hash."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Any
from urllib.parse import unquote, urlsplit

from packaging.tags import Tag
from packaging.utils import InvalidWheelFilename, parse_wheel_filename

from cannery.common.errors import CanneryError, EngineError, MatrixError, Problem
from cannery.common.outside import parse_toml
from cannery.common.package_index import PackageIndex
from cannery.common.specifiers import normal_name
from cannery.common.wheels import WheelPlatform
from cannery.lock.lock_file import Lock, LockedFile, parse_lock, with_files
from cannery.lock.uv import Job, compiled


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
    """Package to the one of its ``listed`` files that an installer takes on ``platform``."""
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
    """Check that no file has another sha256 than in ``before``, the lock in ``path``."""
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


_PYLOCK = ("--format", "pylock.toml", "--no-deps")


@dataclass(frozen=True, kw_only=True)
class Pinned:
    """The text of a lock without files; ``before`` is the earlier text, ``name`` the lock's path.

    ``platforms`` are those that the lock is for, ``sdists`` the packages without wheels,
    ``settings`` the files that uv reads besides, and ``indexes`` its options for further indexes.
    """

    name: str
    text: str
    before: str
    platforms: Sequence[WheelPlatform]
    sdists: Sequence[str] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    indexes: Sequence[str] = ()


def platform_options(platform: WheelPlatform, sdists: Iterable[str]) -> tuple[str, ...]:
    """The options of uv for wheels on ``platform``, and for the packages without wheels."""
    return (
        *("--python-version", platform.python),
        *("--python-platform", platform.uv_name),
        *("--only-binary", ":all:"),
        *(word for name in sdists for word in ("--no-binary", name)),
    )


def exact(pinned: Pinned, source: PackageIndex) -> str:
    """The text of the lock with the file of each package for each platform."""
    lock = parse_lock(pinned.text)
    pins = [f"{wheel.name}=={wheel.version}" for wheel in lock.wheels]
    files: dict[str, list[LockedFile]] = {wheel.name: [] for wheel in lock.wheels}
    for platform in pinned.platforms:
        options = (*platform_options(platform, pinned.sdists), *pinned.indexes)
        listed = _listed(pinned.name, pins, options, source, pinned.settings)
        for package, file in chosen_files(lock, listed, platform).items():
            if file not in files[package]:
                files[package].append(file)
    found = [file for own in files.values() for file in own]
    check_unchanged(pinned.name, parse_lock(pinned.before), found)
    return with_files(pinned.text, files)


def nearest(
    name: str, version: str, platform: WheelPlatform, source: PackageIndex
) -> list[Problem]:
    """That no file of a version fits ``platform``, and the nearest; none if the index has none."""
    options = ("--python-version", platform.python, "--universal", "--only-binary", ":all:")
    files: tuple[LockedFile, ...] = ()
    # The index may have nothing at all for this Python.
    with suppress(CanneryError):
        files = _listed(name, [f"{name}=={version}"], options, source).get(normal_name(name), ())
    return [no_file(platform, name, version, files)] if files else []


def _listed(
    name: str,
    pins: Sequence[str],
    options: Sequence[str],
    source: PackageIndex,
    settings: Mapping[str, str] | None = None,
) -> dict[str, tuple[LockedFile, ...]]:
    """Package to the files that the index has of the version in ``pins``."""
    job = Job(
        name=name,
        inputs={"pins.in": "\n".join(pins) + "\n"},
        options=(*_PYLOCK, *options),
        more=settings or {},
        output="pylock.toml",
    )
    try:
        return listed_files(compiled(job, source))
    except (ValueError, KeyError) as error:
        what = f"uv's list of the files of {name} cannot be read: {error}."
        raise EngineError(
            Problem(what=what, fix="'bash setup.sh' installs a suitable uv.")
        ) from error
