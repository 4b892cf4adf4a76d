# SPDX-License-Identifier: Apache-2.0
"""Asks the package index for the files of locked versions, and writes them into the lock."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from cannery.common.errors import CanneryError, EngineError, Problem
from cannery.common.package_index import PackageIndex
from cannery.common.specifiers import normal_name
from cannery.common.wheels import WheelPlatform
from cannery.lock.lock_file import LockedFile, parse_lock, with_files
from cannery.lock.locked_files import check_unchanged, chosen_files, listed_files, no_file
from cannery.lock.uv import Job, compiled

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
    """The text of the lock with the file of each package for each platform.

    Raises:
        MatrixError: a package has no file that fits, no sha256, or another one than before.
        EngineError: as ``compiled``.
    """
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
