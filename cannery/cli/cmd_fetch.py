# SPDX-License-Identifier: Apache-2.0
"""``build.py fetch``: download the vendor's files into the store."""

from __future__ import annotations

from collections.abc import Iterable

from cannery.cli.common import existing, read, selected
from cannery.common import console
from cannery.common.errors import (
    ArtifactError,
    Problem,
    UsageError,
    counted,
    did_you_mean,
    kind_of,
)
from cannery.common.files import put_files
from cannery.common.sources import CannSource, File
from cannery.fetch.fetching import Sources, fetch_files
from cannery.matrix.matrix import Matrix
from cannery.matrix.project import Project
from cannery.options.fetch import FetchOptions, TransferOptions
from cannery.options.given import Given


def run(given: Given, project: Project) -> int:
    """Fetch the files of the selected targets and releases, and print where each is.

    Raises:
        ArtifactError: a file could not be fetched; the others are stored.
        CanneryError: as ``fetch_files``; see docs/exit-codes.md.
    """
    options = read(FetchOptions, given, project)
    transfer = read(TransferOptions, given, project)
    existing(options.ca)
    files = _files(options, given, project)
    sources = Sources.of(project, [CannSource.DOWNLOAD], transfer.cache)
    local = {n: options.artifacts / n for n in files if (options.artifacts / n).is_file()}
    wanted = [file for name, file in files.items() if name not in local]
    known = [f for f in wanted if f.is_downloadable or sources.settings.servers]
    fetched, failed = fetch_files(project, sources, known, transfer, options.ca)
    sources.hashes.keep()
    paths = {**local, **{each.file.name: each.path for each in fetched}}
    for name in sorted(paths):
        print(f"{name}  {paths[name]}")
    if options.into:
        put_files(paths, options.into)
    problems = [problem for error in failed.values() for problem in error.problems]
    problems += [_unknown(file) for file in wanted if file not in known]
    if problems:
        unknown = [ArtifactError("")] if len(known) < len(wanted) else []
        raise kind_of([*failed.values(), *unknown])(list(dict.fromkeys(problems)))
    console.say(f"{counted(len(paths), 'file')} complete", "ok")
    return 0


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
