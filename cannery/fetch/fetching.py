# SPDX-License-Identifier: Apache-2.0
"""Provides the files that targets need: from the folder of --artifacts, or fetched."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event

from cannery.common import console
from cannery.common.bases import CannSource, File
from cannery.common.errors import ArtifactError, CanneryError, Problem
from cannery.common.files import Hashes, write_files
from cannery.common.model import Target
from cannery.common.package_index import package_index
from cannery.common.process import workers
from cannery.fetch.artifacts import advice, check_artifacts
from cannery.fetch.fetcher import Fetched, Fetcher, Terms
from cannery.fetch.http import Client
from cannery.fetch.needs import CANN, Lacks, Need, needed_files, real_needs
from cannery.fetch.store import Store, store_folder
from cannery.fetch.transfer import progress_bars
from cannery.matrix.project import Project
from cannery.matrix.settings import Settings
from cannery.matrix.text import has_place, with_sha256
from cannery.options import BuildOptions, TransferOptions

UNFETCHED = "not fetched yet"
"""In place of a sha256 that is known only after the download."""


@dataclass(frozen=True, kw_only=True)
class Downloads:
    """What a build has. ``folder`` has every file that is there.

    ``failures`` maps the targets whose files are incomplete to the reasons, and ``downloads`` the
    files that would be fetched to their sha256.
    """

    folder: Path
    failures: Mapping[str, CanneryError] = field(default_factory=dict)
    downloads: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Sources:
    """The sources of a run: their order, what cannery.toml says of them, and the store."""

    order: Sequence[CannSource]
    settings: Settings
    store: Store
    hashes: Hashes

    @classmethod
    def from_project(cls, project: Project, names: Sequence[str], cache: Path | None) -> Sources:
        """Those that ``names`` lists in order, or else cannery.toml."""
        settings = project.settings()
        hashes = Hashes(project.state / "hashes.json")
        return cls(
            order=[CannSource(name) for name in names] or settings.sources.order,
            settings=settings,
            store=Store(store_folder(cache, settings.sources.cache, os.environ), hashes.sha256),
            hashes=hashes,
        )

    def terms(self, transfer: TransferOptions) -> Terms:
        """What the user has agreed to, on the command line or in cannery.toml."""
        return Terms(
            accepted_by=transfer.accept_eula or self.settings.sources.accept_eula,
            first_use=transfer.trust_first_use,
        )

    def downloads(self, file: File, component: str, folder: Path) -> bool:
        """Whether ``file`` is to be downloaded, and not taken from ``folder``."""
        order = self.order
        if CannSource.DOWNLOAD not in order or not (
            file.is_downloadable or self.settings.sources.servers
        ):
            return False
        if not (folder / file.name).is_file():
            return True
        # Only CANN's own files are asked for by their source.
        folder_first = CannSource.FOLDER in order and order.index(CannSource.FOLDER) < order.index(
            CannSource.DOWNLOAD
        )
        return component in CANN and not folder_first


def download_missing(
    project: Project, targets: Iterable[Target], options: BuildOptions, transfer: TransferOptions
) -> Downloads:
    """Fetch what ``targets`` need and do not have."""
    targets = [*targets]
    sources = Sources.from_project(project, options.sources, transfer.cache)
    wanted = _wanted(targets, options, sources)
    if not wanted:
        return Downloads(folder=options.artifacts)
    fetched, failed = fetch_files(project, sources, [*wanted.values()], transfer, options.ca)
    sources.hashes.keep()
    paths = {each.file.name: each.path for each in fetched}
    folder = options.artifacts
    if paths:
        local = [file.name for file in _needed(targets, options).values()]
        there = {name: options.artifacts / name for name in local if name not in paths}
        every = {**{n: p for n, p in there.items() if p.is_file()}, **paths}
        name = hashlib.sha256(str(project.root).encode()).hexdigest()[:12]
        folder = sources.store.expose(every, name)
    failures = {}
    refused = failed if CannSource.FOLDER not in sources.order else {}
    for target in targets:
        if error := _failure(target, options, folder, failed, refused):
            failures[target.id] = error
    return Downloads(folder=folder, failures=failures)


def plan_downloads(
    project: Project, targets: Iterable[Target], options: BuildOptions, transfer: TransferOptions
) -> Downloads:
    """What ``download_missing`` would fetch, without a network; nothing is written."""
    sources = Sources.from_project(project, options.sources, transfer.cache)
    terms = sources.terms(transfer)
    downloads = {
        name: sources.store.known(file) or UNFETCHED
        for name, file in _wanted([*targets], options, sources).items()
        if sources.store.holds(file) or not terms.against(file)
    }
    return Downloads(folder=options.artifacts, downloads=downloads)


def missing_needs(
    project: Project, targets: Iterable[Target], options: BuildOptions, transfer: TransferOptions
) -> list[Need]:
    """What real builds of ``targets`` need; nothing if CANN is of an image, or simulated."""
    if options.simulate:
        return []
    sources = Sources.from_project(project, options.sources, transfer.cache)
    if CannSource.IMAGE in sources.order:
        return []
    downloads = CannSource.DOWNLOAD in sources.order
    served = bool(sources.settings.sources.servers)
    found = real_needs(
        targets,
        options.artifacts,
        stored=lambda file: downloads and sources.store.holds(file),
        served=lambda file: downloads and (served or file.is_downloadable),
    )
    return [*found.values()]


def _needed(targets: Iterable[Target], options: BuildOptions) -> dict[tuple[str, str], File]:
    """The files that ``targets`` need, by component and name."""
    return {
        (component, file.name): file
        for target in targets
        for component, file in needed_files(
            target, simulate=options.simulate, with_cann=options.with_cann
        ).items()
    }


def _wanted(targets: Iterable[Target], options: BuildOptions, sources: Sources) -> dict[str, File]:
    """Name to file of what is to be downloaded."""
    return {
        name: file
        for (component, name), file in _needed(targets, options).items()
        if sources.downloads(file, component, options.artifacts)
    }


def _failure(
    target: Target,
    options: BuildOptions,
    folder: Path,
    failed: Mapping[str, CanneryError],
    refused: Collection[str],
) -> ArtifactError | None:
    """Why ``target`` does not have all of its files in ``folder``, if it does not.

    Those that are ``refused`` do not count, even if they are there.
    """
    needed = needed_files(target, simulate=options.simulate, with_cann=options.with_cann)
    missing = {
        component: file
        for component, file in needed.items()
        if not (folder / file.name).is_file() or (component in CANN and file.name in refused)
    }
    problems = [
        problem
        for file in missing.values()
        if file.name in failed
        for problem in failed[file.name].problems
    ]
    others = {n: file for n, file in missing.items() if file.name not in failed}
    try:
        check_artifacts(target, options.artifacts, others, simulated=options.simulate)
    except ArtifactError as error:
        problems += error.problems
    if not problems:
        return None
    if any(isinstance(each, Lacks) for each in problems):
        problems.append(advice(target, options.artifacts, simulated=options.simulate))
    return ArtifactError([*dict.fromkeys(problems)])


def fetch_files(
    project: Project,
    sources: Sources,
    files: Sequence[File],
    transfer: TransferOptions,
    ca: Path | None,
) -> tuple[list[Fetched], dict[str, CanneryError]]:
    """Fetch ``files``, several at a time; also the names of those that failed, and why.

    The hashes of files that are trusted on first use are written into matrix.yaml.
    """
    fetched: list[Fetched] = []
    failed: dict[str, CanneryError] = {}
    stop = Event()
    with progress_bars() as bars:
        fetcher = Fetcher(
            store=sources.store,
            client=Client(package_index(ca, "").ca),
            terms=sources.terms(transfer),
            servers=sources.settings.sources.servers,
            bars=bars,
            stop=stop,
        )

        def one(file: File) -> None:
            try:
                if transfer.trust_first_use and not file.has_hash:
                    _require_place(project, file)
                fetched.append(fetcher.fetch(file))
            except CanneryError as error:
                failed[file.name] = error

        with workers(transfer.fetch_jobs) as give:
            try:
                waiting = [give(one, file) for file in files]
                while not all(each.done() for each in waiting):
                    stop.wait(0.1)
            except BaseException:
                stop.set()
                fetcher.client.abort()
                raise
    if first := [each for each in fetched if each.first_use]:
        with project.editing():
            _write_hashes(project, first)
    return fetched, failed


def _require_place(project: Project, file: File) -> None:
    """Raise ArtifactError unless there is a place for the sha256 of ``file``."""
    if not has_place(project.files(), file.name):
        what = f"{file.name} cannot be trusted on first use: matrix.yaml has a pattern of its name,"
        fix = f"Get it from: {file.origin}. Then put it into the folder of --artifacts."
        raise ArtifactError(Problem(what=f"{what} and no place for its sha256.", fix=fix))


def _write_hashes(project: Project, first: Iterable[Fetched]) -> None:
    before = after = project.files()
    for each in first:
        after = with_sha256(after, each.file.name, each.sha256)
        said = f"TRUSTED ON FIRST USE: {each.file.name}, sha256 {each.sha256}"
        console.say(
            f"{said}. Nobody publishes this hash: compare it before you commit it", "warning"
        )
    changed = [name for name in after if after[name] != before[name]]
    write_files({project.root / name: after[name] for name in changed})
    said = f"wrote the hashes into {' and '.join(changed)}; now run: python build.py render"
    console.say(said, "warning")
