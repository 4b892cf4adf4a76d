# SPDX-License-Identifier: Apache-2.0
"""Locks a target's wheels: versions that uv resolves, and the one file of each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from pathlib import Path
from urllib.parse import unquote, urlsplit

from packaging.tags import Tag
from packaging.utils import InvalidWheelFilename, parse_wheel_filename

from cannery.common import console
from cannery.common.bases import Base
from cannery.common.errors import CanneryError, EngineError, MatrixError, Problem, Span
from cannery.common.files import read_text
from cannery.common.model import Target
from cannery.common.outside import parse_toml
from cannery.common.package_index import PackageIndex
from cannery.common.specifiers import normal_name
from cannery.common.wheels import MACHINES, WheelPlatform
from cannery.compat.locked_rules import replaceable
from cannery.lock.lock_file import INPUTS, LEFT_OUT, Lock, LockedFile, parse_lock, with_files
from cannery.lock.lock_rules import lock_problems
from cannery.lock.requirements import Requirements
from cannery.lock.uv import Job, UnsolvedError, compiled, stated_metadata
from cannery.lock.wheel_requirements import Metadata
from cannery.matrix.files import FACTS
from cannery.matrix.project import Project

HEADER = "# Locked by 'python build.py lock'. Do not edit: change matrix.yaml and lock again.\n"

_HEADS = (HEADER.strip(), INPUTS, LEFT_OUT)

_BUILD_CONSTRAINT = "setuptools<81"
"""Old sdists import pkg_resources, which setuptools 82 has removed."""

_BUILD = (_BUILD_CONSTRAINT, "uv", "wheel", "packaging", "py-cpuinfo", "pip")
"""uv, the build requirements of DeepSpeed's sdist, and pip, which downloads sdists by hash."""

_BUILD_FILES = {"build.txt": _BUILD_CONSTRAINT + "\n"}

_BUILD_PYTHON = "3.11"
"""The Python version of the ``build`` stage."""

_OUTPUT = ("--annotation-style", "split", "--build-constraint", "build.txt")
_UNIVERSAL = ("--universal", "--only-binary", ":all:")
_FILE = re.compile(r"[\w.+!-]+", re.ASCII)
_SHA256 = re.compile(r"([0-9a-f]{64})?")
_EXCLUDED = "\n# The following packages were excluded from the output:"

_NO_FILE = re.compile(r"\b(?P<name>[\w.-]+)==(?P<version>\S+) has no (?:usable )?wheels\b")
"""The message of uv for a version whose files do not fit the target."""


@dataclass(frozen=True, kw_only=True)
class Locking:
    """The files that changed, and for a target's id the reason why it has no new lock."""

    changed: tuple[Path, ...]
    failures: Mapping[str, CanneryError]


@dataclass(frozen=True, kw_only=True)
class _Lock:
    """Groups of requirements and their platforms; options of uv, with the files that they name.

    ``sdists`` are the packages without wheels, ``indexes`` the options for further indexes.
    """

    name: str
    path: Path
    groups: Mapping[str, tuple[str, ...]]
    platforms: Sequence[WheelPlatform]
    options: tuple[str, ...]
    files: Mapping[str, str] = field(default_factory=dict)
    indexes: tuple[str, ...] = ()
    sdists: tuple[str, ...] = ()


def write_locks(
    project: Project, targets: Sequence[Target], upgrade: Sequence[str], source: PackageIndex
) -> Locking:
    """Lock the build stage and every target; each target is tried, also after a failure."""
    paths = [project.build_lock] if project.is_checkout else []
    for target in targets:
        paths += [project.lock(target), project.build_requirements_lock(target)]
    before = {path: _text(path) for path in paths}
    texts: dict[Path, str] = {}
    if project.is_checkout:
        console.say("resolving the packages of the build stage")
        # All targets share this lock, so it is for the oldest glibc.
        bases = [target.build_base for target in project.matrix().targets.values()]
        oldest = min(bases, key=lambda base: [int(number) for number in base.glibc.split(".")])
        texts[project.build_lock] = lock_build_stage(project, oldest, source)
    failures: dict[str, CanneryError] = {}
    metadata = Metadata(source)
    for number, target in enumerate(targets, 1):
        console.say(f"resolving the packages of {target.id} ({number} of {len(targets)})")
        try:
            texts |= locks_of(project, target, upgrade, metadata, before[project.lock(target)])
        except CanneryError as error:
            failures[target.id] = error
    changed = {path: text for path, text in texts.items() if before[path] != text}
    project.replace(changed, {path: before[path] for path in changed})
    return Locking(changed=tuple(changed), failures=failures)


def _text(path: Path) -> str | None:
    with suppress(FileNotFoundError):
        return read_text(path)
    return None


def locks_of(
    project: Project,
    target: Target,
    upgrade: Sequence[str],
    metadata: Metadata,
    before: str | None,
) -> dict[Path, str]:
    """The texts of the locks of ``target``; ``before`` is the text of requirements.lock.

    Locked versions stay, except those in ``upgrade``. Packages whose modules another package of the
    target has are left out.

    Raises:
        MatrixError: the requirements cannot be satisfied; the message has uv's explanation. Or the
            lock that is there has an invalid line, or the index has other files than it names. Or
            compat.yaml refuses a package that is required, or does not know it.
        EngineError: uv failed for another reason, such as an index that cannot be reached.
    """
    compat = project.compat()
    text = lock_target(project, target, upgrade, metadata.source)
    if without := replaceable(target, compat, parse_lock(text).versions):
        text = lock_target(project, target, upgrade, metadata.source, without)
    if problems := lock_problems(target, parse_lock(text), compat, target.span):
        raise MatrixError(problems)
    texts = {project.lock(target): metadata.added(target, text, before)}
    if target.built_wheels:
        path = project.build_requirements_lock(target)
        texts[path] = lock_build_requirements(project, target, upgrade, metadata.source)
    return texts


def lock_target(
    project: Project,
    target: Target,
    upgrade: Iterable[str],
    source: PackageIndex,
    without: Sequence[str] = (),
) -> str:
    """The text of the lock of ``target``, ``without`` some packages that others require."""
    requirements = Requirements(target)
    override = (*requirements.overrides, *(f"{name}; python_version < '3'" for name in without))
    stated = {wheel.package: wheel.version for wheel in target.built_wheels.values()}
    files = {"overrides.txt": "\n".join(override)} if override else {}
    options = ("--override", "overrides.txt") if override else ()
    if wheel := target.torch_wheel:
        # Whoever requires torch must go with the file, and gets none from an index.
        stated["torch"] = wheel.file_version
        files["torch.txt"] = f"torch=={wheel.file_version}\n"
        options = (*options, "--constraint", "torch.txt", "--no-emit-package", "torch")
        # It counts as there, whatever versions the index has; nothing reads it.
        files[f"torch-{wheel.file_version}-py3-none-any.whl"] = ""
        options = (*options, "--find-links", ".")
    lock = _Lock(
        name=target.id,
        path=project.lock(target),
        groups=requirements.groups,
        platforms=[requirements.platform],
        options=(
            *_platform_options(requirements.platform, requirements.sdists),
            *_upgrades(upgrade),
            *options,
        ),
        files=stated_metadata(stated) | files,
        indexes=requirements.index_options,
        sdists=requirements.sdists,
    )
    text = _locked(project, lock, source, target)
    left_out = f"{LEFT_OUT}{' '.join(without)}\n" if without else ""
    return f"{HEADER}{INPUTS}{requirements.digest}\n{left_out}{text}"


def lock_build_requirements(
    project: Project, target: Target, upgrade: Iterable[str], source: PackageIndex
) -> str:
    """The text of the lock of what builds wheels of ``target`` from sdists."""
    requirements = Requirements(target)
    lock = _Lock(
        name=f"the builder of {target.id}",
        path=project.build_requirements_lock(target),
        groups=requirements.build_groups,
        platforms=[requirements.platform],
        options=(*_platform_options(requirements.platform, ()), *_upgrades(upgrade)),
    )
    text = _locked(project, lock, source, target)
    return f"{HEADER}{INPUTS}{requirements.build_digest}\n{text}"


def lock_build_stage(project: Project, base: Base, source: PackageIndex) -> str:
    """The text of the lock of the ``build`` stage on ``base``, for all building machines."""
    abi = "cp" + _BUILD_PYTHON.replace(".", "")
    lock = _Lock(
        name="the build stage",
        path=project.build_lock,
        groups={"build": _BUILD},
        platforms=[
            WheelPlatform(python=_BUILD_PYTHON, abi=abi, machine=machine, glibc=base.glibc)
            for machine in MACHINES
        ],
        options=("--python-version", _BUILD_PYTHON, *_UNIVERSAL),
    )
    return HEADER + _locked(project, lock, source, None)


def _platform_options(platform: WheelPlatform, sdists: Iterable[str]) -> tuple[str, ...]:
    return (
        *("--python-version", platform.python),
        *("--python-platform", platform.uv_name),
        *("--only-binary", ":all:"),
        *(word for name in sdists for word in ("--no-binary", name)),
    )


def _upgrades(packages: Iterable[str]) -> tuple[str, ...]:
    return tuple(word for package in packages for word in ("--upgrade-package", package))


def _locked(project: Project, lock: _Lock, source: PackageIndex, target: Target | None) -> str:
    """The packages of ``lock`` with their files; an error names the place in matrix.yaml."""
    name = str(lock.path.relative_to(project.root))
    text = read_text(lock.path) if lock.path.exists() else ""
    # uv would name a temporary file for a wrong line.
    before = parse_lock(text, name)
    job = Job(
        name=lock.name,
        inputs={f"{group}.in": "\n".join(texts) + "\n" for group, texts in lock.groups.items()},
        before=with_files(text, {}),
        more={**_BUILD_FILES, **lock.files},
        options=(*_OUTPUT, *lock.options, *lock.indexes),
        output="lock.txt",
    )
    try:
        output = compiled(job, source)
    except UnsolvedError as error:
        if target is None:
            raise
        raise _unsolved(project, target, error, source) from error
    # Without the lines that uv keeps of the file that was there before, or adds at the end.
    lines = output.partition(_EXCLUDED)[0].splitlines(keepends=True)
    text = "".join(line for line in lines if not line.startswith(_HEADS))
    resolved = parse_lock(text)
    pins = [f"{wheel.name}=={wheel.version}" for wheel in resolved.wheels]
    files: dict[str, list[LockedFile]] = {wheel.name: [] for wheel in resolved.wheels}
    for platform in lock.platforms:
        options = (*_platform_options(platform, lock.sdists), *lock.indexes)
        listed = _listed(name, pins, options, source, lock.files)
        for package, file in chosen_files(resolved, listed, platform).items():
            if file not in files[package]:
                files[package].append(file)
    check_unchanged(name, before, [file for chosen in files.values() for file in chosen])
    return with_files(text, files)


def _listed(
    name: str,
    pins: Sequence[str],
    options: Sequence[str],
    source: PackageIndex,
    files: Mapping[str, str],
) -> dict[str, tuple[LockedFile, ...]]:
    """Package to the files that the index has of the version in ``pins``."""
    job = Job(
        name=name,
        inputs={"pins.in": "\n".join(pins) + "\n"},
        options=("--format", "pylock.toml", "--no-deps", *options),
        more=files,
        output="pylock.toml",
    )
    try:
        return listed_files(compiled(job, source))
    except (ValueError, KeyError) as error:
        what = f"uv's list of the files of {name} cannot be read: {error}."
        fix = "'bash setup.sh' installs a suitable uv."
        raise EngineError(Problem(what=what, fix=fix)) from error


def listed_files(pylock: str) -> dict[str, tuple[LockedFile, ...]]:
    """Package to its files in a pylock.toml; ``sha256`` is empty if the index does not name it.

    Files whose name or hash no line of a lock can have are left out.
    """
    listed = {}
    for package in parse_toml(pylock).get("packages", []):
        files = []
        for entry in (*package.get("wheels", []), package.get("sdist")):
            if entry:
                path = entry.get("path") or unquote(urlsplit(entry.get("url", "")).path)
                name = entry.get("name") or path.rpartition("/")[2]
                sha256 = entry.get("hashes", {}).get("sha256", "")
                if _FILE.fullmatch(name) and _SHA256.fullmatch(sha256):
                    files.append(LockedFile(name=name, sha256=sha256))
        listed[normal_name(package["name"])] = tuple(files)
    return listed


def chosen_files(
    lock: Lock, listed: Mapping[str, Sequence[LockedFile]], platform: WheelPlatform
) -> dict[str, LockedFile]:
    """Package to the one of its ``listed`` files that an installer takes on ``platform``."""
    ranks = {tag: rank for rank, tag in enumerate(platform.tags)}
    chosen, problems = {}, []
    for wheel in lock.wheels:
        files = listed.get(wheel.name, ())
        file = _best_file(files, ranks)
        if file is None:
            problems.append(_no_file(platform, wheel.name, wheel.version, files))
        elif not file.sha256:
            what = f"the package index has no sha256 of {file.name}."
            problems.append(Problem(what=what, fix="Name an index that has it with --index-url."))
        else:
            chosen[wheel.name] = file
    if problems:
        raise MatrixError(problems)
    return chosen


def _best_file(files: Iterable[LockedFile], ranks: Mapping[Tag, int]) -> LockedFile | None:
    """The wheel with the best tag and the highest build number, or without a wheel the sdist."""
    wheels, sdists = [], []
    for file in files:
        if not file.name.endswith(".whl"):
            sdists.append(file)
            continue
        with suppress(InvalidWheelFilename):
            _, _, build, tags = parse_wheel_filename(file.name)
            if fitting := [ranks[tag] for tag in tags if tag in ranks]:
                wheels.append((-min(fitting), build, file))
    if wheels:
        return max(wheels, key=lambda wheel: wheel[:2])[2]
    return sdists[0] if sdists else None


def _no_file(
    platform: WheelPlatform, name: str, version: str, files: Sequence[LockedFile]
) -> Problem:
    tag = platform.tags[0]
    wanted = f"{name.replace('-', '_')}-{version}-{tag}.whl"
    what = f"{name} {version} has no file for {tag} or a platform with an older glibc."
    if not files:
        return Problem(what=what)
    near = max(files, key=lambda file: SequenceMatcher(None, wanted, file.name).ratio())
    return Problem(what=what, fix=f"The nearest file is {near.name}.")


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


def _unsolved(
    project: Project, target: Target, error: UnsolvedError, source: PackageIndex
) -> MatrixError:
    """``error`` with its place in matrix.yaml, and with the nearest file if no file fits."""
    message, where = str(error), target.span
    built = [
        text
        for wheel in target.built_wheels.values()
        for text in (wheel.requirement, *wheel.requirements)
    ]
    requirements = Requirements(target)
    for text in (*target.requirements, *requirements.overrides, *target.cann.requirements, *built):
        word = re.compile(rf"(?<![\w.-]){re.escape(text)}(?![\w.-])")
        places = [
            Span(file=name, line=number, column=match.start() + 1)
            for name, file in project.files().items()
            if word.search(message) and name != FACTS
            for number, line in enumerate(file.splitlines(), 1)
            if (match := word.search(line))
        ]
        if len(places) == 1:
            where = places[0]
            break
    problems = [Problem(what=error.problems[0].what, where=where)]
    if match := _NO_FILE.search(message):
        platform, name, version = requirements.platform, match["name"], match["version"]
        options = ("--python-version", platform.python, *_UNIVERSAL)
        # The index may have nothing at all for this Python.
        with suppress(CanneryError):
            listed = _listed(name, [f"{name}=={version}"], options, source, {})
            if files := listed.get(normal_name(name)):
                problems.append(_no_file(platform, name, version, files))
    return MatrixError(problems)
