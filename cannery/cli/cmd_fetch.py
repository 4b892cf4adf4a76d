# SPDX-License-Identifier: Apache-2.0
"""``build.py fetch``: download CANN's files into the store, list it, or prune it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cannery.cli.command import Command, Given
from cannery.cli.common import existing, read, selected, with_folder
from cannery.common import console
from cannery.common.bases import CannSource, File
from cannery.common.errors import (
    ArtifactError,
    CanneryError,
    Problem,
    UsageError,
    counted,
    did_you_mean,
    kind_of,
)
from cannery.common.files import put_files
from cannery.common.option import flag, number, option
from cannery.fetch.fetching import Sources, fetch_files
from cannery.fetch.needs import Lacks, Need, screen, supply_of
from cannery.fetch.store import Store, Stored, store_folder
from cannery.matrix.matrix import Matrix
from cannery.matrix.project import Project
from cannery.options import ARTIFACTS, CA, TARGET, TargetOptions, TransferOptions


@dataclass(frozen=True, kw_only=True)
class FetchOptions(TargetOptions):
    """What is fetched: the files of targets, and those of CANN releases."""

    targets: tuple[str, ...] = TARGET.field(default=())
    cann: tuple[str, ...] = option(
        "the files of this CANN release for the chips and machines of its targets",
        default=(),
        metavar="VERSION",
    )
    all: bool = flag("the files of every target", conflicts=("targets", "cann"))
    artifacts: Path = ARTIFACTS.field(help="a directory of files that need not be fetched")
    into: Path | None = option(
        "also put the files into this directory", default=None, metavar="DIR"
    )
    ca: Path | None = CA.field()
    stored: bool = flag(
        "instead, list the files that were fetched, with their sha256, and who accepted their "
        "licence and when",
        conflicts=("targets", "where", "cann", "all", "into", "prune"),
    )
    prune: int | None = option(
        "instead, remove the files and unfinished downloads that no checkout has used for DAYS; "
        "0 removes all",
        default=None,
        metavar="DAYS",
        parse=number(0, 99_999),
        conflicts=("targets", "where", "cann", "all", "into"),
    )


COMMAND = Command(
    description="Downloads the files that targets or CANN releases need, verifies their sha256 "
    "and stores them for all checkouts of this user, as a build does with what it needs. "
    "Continues interrupted downloads. Can list or prune what is stored instead. See "
    "docs/build.md.",
    reads="matrix.yaml, cannery.toml, artifacts/, and the servers of files",
    writes="the folder of fetched files, and with --trust-first-use matrix.yaml",
    example="fetch --cann 8.1.RC1 --accept-eula 'Example Ltd'",
    options=(FetchOptions, TransferOptions),
    one_of=("targets", "where", "cann", "all", "stored", "prune"),
)


def run(given: Given, project: Project) -> int:
    """Fetch the files of the selected targets and releases, and print where each is.

    Raises:
        ArtifactError: a file could not be fetched; the others are stored.
        CanneryError: as ``fetch_files``; see docs/reference.md.
    """
    options = read(FetchOptions, given, project)
    transfer = read(TransferOptions, given, project)
    if options.stored or options.prune is not None:
        store = Store(store_folder(transfer.cache, project.settings().sources.cache, os.environ))
        _list_or_prune(store, options.prune)
        return 0
    existing(options.ca)
    with_folder(given, options.artifacts)
    files = _files(options, given, project)
    sources = Sources.from_project(project, [CannSource.DOWNLOAD], transfer.cache)
    local = {n: options.artifacts / n for n in files if (options.artifacts / n).is_file()}
    wanted = [file for name, file in files.items() if name not in local]
    known = [f for f in wanted if f.is_downloadable or sources.settings.sources.servers]
    fetched, failed = fetch_files(project, sources, known, transfer, options.ca)
    sources.hashes.keep()
    paths = {**local, **{each.file.name: each.path for each in fetched}}
    for name in sorted(paths):
        print(f"{name}  {paths[name]}")
    if options.into:
        put_files(paths, options.into)
    problems = [problem for error in failed.values() for problem in error.problems]
    problems += [_unknown(file) for file in wanted if file not in known]
    if told := screen(_refused(failed, files), options.artifacts, _command_line(options)):
        console.error(told)
        problems = [each for each in problems if not isinstance(each, Lacks)]
        problems.append(Problem(what="some files were not downloaded.", fix="Use that command."))
    if problems:
        unknown = [ArtifactError("")] if len(known) < len(wanted) else []
        raise kind_of([*failed.values(), *unknown])(list(dict.fromkeys(problems)))
    console.say(f"{counted(len(paths), 'file')} complete", "ok")
    return 0


def _refused(failed: Mapping[str, CanneryError], files: Mapping[str, File]) -> list[Need]:
    """Those of the files that failed which may not be downloaded yet."""
    found = (
        name for name, error in failed.items() if any(isinstance(p, Lacks) for p in error.problems)
    )
    return [Need(file=files[name], supply=supply_of(files[name])) for name in sorted(found)]


def _command_line(options: FetchOptions) -> str:
    words = [*options.targets, *(w for each in options.cann for w in ("--cann", each))]
    words += ["--all"] if options.all else []
    return shlex.join(["python", "build.py", "fetch", *words])


def _files(options: FetchOptions, given: Given, project: Project) -> dict[str, File]:
    """Name to file of everything that was selected."""
    matrix = project.matrix()
    problems = [
        Problem(
            what=f"matrix.yaml has no CANN release {each!r}.", fix=did_you_mean(each, matrix.cann)
        )
        for each in options.cann
        if each not in matrix.cann
    ]
    if problems:
        raise UsageError(problems)
    files = [file for each in options.cann for file in _of_release(matrix, each)]
    if not options.cann or "targets" in given or "where" in given:
        files += [f for t in selected(options, project) for f in t.artifacts.values()]
    return {file.name: file for file in files}


def _of_release(matrix: Matrix, version: str) -> Iterable[File]:
    """The files for the machines and chips of the targets that use it; all if none does."""
    packages = matrix.cann[version].packages
    used: dict[str, set[str]] = {}
    for target in matrix.targets.values():
        if version in (target.cann.version, target.kernels.version, target.nnal.version):
            used.setdefault(target.machine, set()).add(target.chip)
    for machine in used or packages:
        each = packages[machine]
        yield from (each.toolkit, *([each.nnal] if each.nnal else []))
        yield from (f for chip, f in each.kernels.items() if chip in used.get(machine, {chip}))


def _unknown(file: File) -> Problem:
    fix = "Add a server to 'servers' in cannery.toml, or put the file into the folder of "
    what = f"no server is known for {file.name}."
    return Problem(what=what, fix=f"{fix}--artifacts. It is from: {file.origin}.")


def _list_or_prune(store: Store, days: int | None) -> None:
    """List the files of the store; with ``days`` remove those that were not used for so long."""
    found = store.files() if days is None else store.prune(days)
    for each in found:
        print(_told(each))
    if days is None:
        print(_total(found, str(store.root)))
    else:
        console.say(f"removed {_total(found, str(store.root))}", "ok")


def _told(stored: Stored) -> str:
    """A file, and below it where it is from."""
    record = stored.record
    name = record.name if record else "(its record is missing)"
    lines = [f"{name}  {stored.size / 1e6:,.1f} MB  used {stored.days:.0f} days ago"]
    lines.append(f"  sha256 {stored.sha256}")
    if record:
        lines.append(f"  from {record.url} at {record.fetched}")
        if record.accepted_by:
            lines.append(f"  licence {record.eula} accepted by {record.accepted_by}")
        if record.first_use:
            lines.append("  trusted on first use: nobody publishes its sha256")
    return "\n".join(lines)


def _total(files: Sequence[Stored], folder: str) -> str:
    size = sum(each.size for each in files)
    return f"{counted(len(files), 'file')}, {size / 1e6:,.1f} MB, in {folder}"
