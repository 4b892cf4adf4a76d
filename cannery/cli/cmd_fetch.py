# SPDX-License-Identifier: Apache-2.0
"""``build.py fetch``: download CANN's files into the store, list it, or prune it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cannery.cli import results
from cannery.cli.command import Command
from cannery.cli.common import selected
from cannery.common import console, errors
from cannery.common.bases import CannSource, File
from cannery.common.files import put_files
from cannery.common.option import flag, number, option
from cannery.fetch.fetching import Sources, fetch_files
from cannery.fetch.needs import Lacks, Need, screen, supply_of
from cannery.fetch.store import Store, Stored, store_folder
from cannery.matrix.matrix import Matrix
from cannery.matrix.project import Project
from cannery.options import (
    ARTIFACTS,
    CA,
    FORMAT,
    SOURCE,
    TARGET,
    ProxyOptions,
    TargetOptions,
    TransferOptions,
)

_NETWORK = (str(CannSource.DOWNLOAD), str(CannSource.APT))


@dataclass(frozen=True, kw_only=True)
class FetchOptions(TransferOptions, ProxyOptions, TargetOptions):
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
    sources: tuple[str, ...] = SOURCE.field(
        help="where packages are from: download, or apt for Huawei's signed repository",
        choices=_NETWORK,
        default_text="download",
        setting="",
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
    format: str = FORMAT.field()


COMMAND = Command(
    description="Downloads the files that targets or CANN releases need, verifies their sha256 "
    "and stores them for all checkouts of this user, as a build does with what it needs. "
    "Continues interrupted downloads. Can list or prune what is stored instead. See "
    "docs/build.md.",
    reads="matrix.yaml, cannery.toml, artifacts/, and the servers of files",
    writes="the folder of fetched files, and with --trust-first-use matrix.yaml",
    example="fetch --cann 8.1.RC1 --accept-eula 'Example Ltd'",
    options=FetchOptions,
    one_of=("targets", "where", "cann", "all", "stored", "prune"),
)


def run(options: FetchOptions, project: Project) -> None:
    """Fetch the files of the selected targets and releases, and print where each is.

    An error has the files that could not be fetched; the others are stored.
    """
    if options.stored or options.prune is not None:
        store = Store(store_folder(options.cache))
        stored = store.files() if options.prune is None else store.prune(options.prune)
        if options.format == "json":
            results.show({"folder": str(store.root), "files": [*map(_document, stored)]})
        else:
            print("".join(f"{_described(file)}\n" for file in stored), end="")
        size = sum(file.size for file in stored)
        total = f"{errors.counted(len(stored), 'file')}, {size / 1e6:,.1f} MB, in {store.root}"
        if options.prune is None and options.format == "text":
            print(total)
        elif options.prune is not None:
            console.say(f"removed {total}", "ok")
        return
    files = _files(options, project)
    names = options.sources or (CannSource.DOWNLOAD,)
    sources = Sources.from_project(project, names, options.cache)
    local = {n: options.artifacts / n for n in files if (options.artifacts / n).is_file()}
    wanted = [file for name, file in files.items() if name not in local]
    known = [f for f in wanted if sources.serves(f)]
    fetched, failed = fetch_files(project, sources, known, options, options.ca)
    sources.hashes.keep()
    paths = {**local, **{file.file.name: file.path for file in fetched}}
    if options.format == "text":
        print("".join(f"{name}  {paths[name]}\n" for name in sorted(paths)), end="")
    if options.into:
        put_files(paths, options.into)
    unknown = [file for file in wanted if file not in known]
    has_hash = sources.terms(options).has_hash
    needs = {n: Need(file=f, supply=supply_of(f, has_hash(f))) for n, f in files.items()}
    _raise_for(options, needs, failed, unknown)
    console.say(f"{errors.counted(len(paths), 'file')} complete", "ok")
    if options.format == "json":
        places = [{"name": name, "path": str(paths[name])} for name in sorted(paths)]
        results.show({"files": places})


def _raise_for(
    options: FetchOptions,
    needs: Mapping[str, Need],
    failed: Mapping[str, errors.CanneryError],
    unknown: Sequence[File],
) -> None:
    problems = [problem for error in failed.values() for problem in error.problems]
    place = "put the file into the folder of --artifacts. It is from"
    problems += [
        errors.Problem(
            what=f"no server is known for {file.name}.",
            fix=f"Add a server to 'servers' in cannery.toml, or {place}: {file.origin}.",
        )
        for file in unknown
    ]
    # Those that may not be downloaded yet.
    lacks = [n for n, e in sorted(failed.items()) if any(isinstance(p, Lacks) for p in e.problems)]
    words = [*options.targets, *(w for version in options.cann for w in ("--cann", version))]
    words += ["--all"] if options.all else []
    words += [word for name in options.sources for word in ("--source", name)]
    command = shlex.join(["python", "build.py", "fetch", *words])
    if text := screen([needs[name] for name in lacks], options.artifacts, command):
        console.error(text)
        problems = [problem for problem in problems if not isinstance(problem, Lacks)]
        problems.append(
            errors.Problem(what="some files were not downloaded.", fix="Use that command.")
        )
    if problems:
        causes = [*failed.values(), *([errors.ArtifactError("")] if unknown else [])]
        raise errors.kind_of(causes)(list(dict.fromkeys(problems)))


def _files(options: FetchOptions, project: Project) -> dict[str, File]:
    matrix = project.matrix()
    problems = [
        errors.Problem(
            what=f"matrix.yaml has no CANN release {name!r}.",
            fix=errors.did_you_mean(name, matrix.cann),
        )
        for name in options.cann
        if name not in matrix.cann
    ]
    if problems:
        raise errors.UsageError(problems)
    files = [file for version in options.cann for file in _of_release(matrix, version)]
    if not options.cann or options.targets or options.where:
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
        files = packages[machine]
        yield from (files.toolkit, *([files.nnal] if files.nnal else []))
        yield from (f for chip, f in files.kernels.items() if chip in used.get(machine, {chip}))


def _document(stored: Stored) -> dict[str, Any]:
    record = asdict(stored.record) if stored.record else {}
    facts = {"sha256": stored.sha256, "path": str(stored.path), "size": stored.size}
    return {**record, **facts, "days": round(stored.days)}


def _described(stored: Stored) -> str:
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
