# SPDX-License-Identifier: Apache-2.0
"""Provides the files that targets need: from the folder of --artifacts, or fetched."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event

from cannery.common import console
from cannery.common.bases import DEFAULT_ORDER, Address, CannSource, File
from cannery.common.errors import ArtifactError, CanneryError, Problem, UsageError, enumerated
from cannery.common.files import Hashes
from cannery.common.model import Target
from cannery.common.package_index import package_index
from cannery.common.process import workers
from cannery.fetch.apt import AptRepository, is_in_apt
from cannery.fetch.artifacts import advice, check_artifacts
from cannery.fetch.fetcher import Fetched, Fetcher, Terms, same_bytes
from cannery.fetch.http import Client
from cannery.fetch.needs import CANN, Lacks, Need, needed_files, real_needs
from cannery.fetch.store import Store, store_folder
from cannery.fetch.transfer import progress_bars
from cannery.matrix.project import Project
from cannery.matrix.settings import Apt
from cannery.matrix.text import has_place, with_sha256
from cannery.options import BuildOptions, TransferOptions

UNFETCHED = "not fetched yet"
"""In place of a sha256 that is known only after the download."""

_VARIABLE = re.compile(r"\$\{(\w+)\}")


@dataclass(frozen=True, kw_only=True)
class Downloads:
    """What a build has. ``folder`` has every file that is there.

    ``failures`` maps the targets whose files are incomplete to the reasons, and ``downloads`` the
    files that would be fetched to their sha256. Those in ``remote`` are only on a server.
    """

    folder: Path
    failures: Mapping[str, CanneryError] = field(default_factory=dict)
    downloads: Mapping[str, str] = field(default_factory=dict)
    remote: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class Sources:
    """The sources of a run: their order, the servers of cannery.toml, and the store.

    ``apt`` is the vendor's repository, if it is one of the sources.
    """

    order: Sequence[CannSource]
    servers: Sequence[Address]
    store: Store
    hashes: Hashes
    apt: Apt | None = None

    @classmethod
    def from_project(cls, project: Project, names: Sequence[str], cache: Path | None) -> Sources:
        """Those that ``names`` lists in order, or else the usual ones."""
        hashes = Hashes(project.state / "hashes.json")
        settings = project.settings()
        order = [CannSource(name) for name in names] or DEFAULT_ORDER
        return cls(
            order=order,
            apt=settings.apt_source() if CannSource.APT in order else None,
            servers=settings.servers,
            store=Store(store_folder(cache), hashes.sha256),
            hashes=hashes,
        )

    def terms(self, transfer: TransferOptions) -> Terms:
        """What the user has agreed to."""
        return Terms(
            accepted_by=transfer.accept_eula,
            first_use=transfer.trust_first_use,
            apt=self.apt is not None,
        )

    def serves(self, file: File) -> bool:
        """Whether a server may have ``file``."""
        if self.apt and is_in_apt(file):
            return True
        return CannSource.DOWNLOAD in self.order and bool(file.is_downloadable or self.servers)

    def downloads(self, file: File, component: str, folder: Path) -> bool:
        """Whether ``file`` is to be downloaded, and not taken from ``folder``."""
        if not self.serves(file):
            return False
        if not (folder / file.name).is_file():
            return True
        # Only CANN's own files are asked for by their source.
        network = {CannSource.DOWNLOAD, CannSource.APT}
        first = next(each for each in self.order if each in {*network, CannSource.FOLDER})
        return component in CANN and first in network


def with_variables(server: Address, environ: Mapping[str, str] = os.environ) -> Address:
    """``server`` with the values of variables in its headers, where it has ``${NAME}``.

    Raises:
        UsageError: a variable is not set.
    """
    names = [name for _, value in server.headers for name in _VARIABLE.findall(value)]
    if missing := [name for name in dict.fromkeys(names) if not environ.get(name)]:
        what = f"a header for {server.url} needs the variable {enumerated(missing)}."
        raise UsageError(Problem(what=what, fix="Set it in the environment."))
    headers = tuple(
        (header, _VARIABLE.sub(lambda match: environ[match[1]], value))
        for header, value in server.headers
    )
    return replace(server, headers=headers)


def download_missing(
    project: Project, targets: Iterable[Target], options: BuildOptions, transfer: TransferOptions
) -> Downloads:
    """Fetch what ``targets`` need and do not have."""
    targets = [*targets]
    sources = Sources.from_project(project, options.sources, transfer.cache)
    wanted = _wanted(targets, options, sources)
    folder, failures = options.artifacts, {}
    if not wanted:
        return Downloads(folder=folder)
    fetched, failed = fetch_files(project, sources, [*wanted.values()], transfer, options.ca)
    sources.hashes.keep()
    needed = {target.id: _needed(target, options) for target in targets}
    if fetched:
        names = {file.name for files in needed.values() for file in files.values()}
        paths = {name: folder / name for name in names if (folder / name).is_file()}
        paths |= {file.file.name: file.path for file in fetched}
        name = hashlib.sha256(str(project.root).encode()).hexdigest()[:12]
        folder = sources.store.expose(paths, name)
    # What a server has not sent does not count even if it is there, if only a server may have it.
    refused = failed if CannSource.FOLDER not in sources.order else {}
    for target in targets:
        missing = {
            component: file
            for component, file in needed[target.id].items()
            if not (folder / file.name).is_file() or (component in CANN and file.name in refused)
        }
        errors = [failed[file.name] for file in missing.values() if file.name in failed]
        problems = [problem for error in errors for problem in error.problems]
        others = {key: file for key, file in missing.items() if file.name not in failed}
        try:
            check_artifacts(target, options.artifacts, others, simulated=options.simulate)
        except ArtifactError as error:
            problems += error.problems
        if any(isinstance(problem, Lacks) for problem in problems):
            problems.append(advice(target, options.artifacts, simulated=options.simulate))
        if problems:
            failures[target.id] = ArtifactError([*dict.fromkeys(problems)])
    return Downloads(folder=folder, failures=failures)


def plan_downloads(
    project: Project, targets: Iterable[Target], options: BuildOptions, transfer: TransferOptions
) -> Downloads:
    """What ``download_missing`` would fetch, without a network; nothing is written."""
    sources = Sources.from_project(project, options.sources, transfer.cache)
    terms = sources.terms(transfer)
    wanted = _wanted(targets, options, sources)
    remote = frozenset(name for name, file in wanted.items() if not sources.store.holds(file))
    downloads = {
        name: sources.store.known(file) or UNFETCHED
        for name, file in wanted.items()
        if name not in remote or not terms.against(file)
    }
    return Downloads(folder=options.artifacts, downloads=downloads, remote=remote)


def _needed(target: Target, options: BuildOptions) -> dict[str, File]:
    return needed_files(target, simulate=options.simulate, with_cann=options.with_cann)


def _wanted(targets: Iterable[Target], options: BuildOptions, sources: Sources) -> dict[str, File]:
    """Name to file of what is to be downloaded."""
    return {
        file.name: file
        for target in targets
        for component, file in _needed(target, options).items()
        if sources.downloads(file, component, options.artifacts)
    }


def missing_needs(
    project: Project, targets: Iterable[Target], options: BuildOptions, transfer: TransferOptions
) -> list[Need]:
    """What real builds of ``targets`` need; nothing if CANN is of an image, or simulated."""
    if options.simulate:
        return []
    sources = Sources.from_project(project, options.sources, transfer.cache)
    if CannSource.IMAGE in sources.order:
        return []
    downloads = bool({CannSource.DOWNLOAD, CannSource.APT} & {*sources.order})
    needs = real_needs(
        targets,
        options.artifacts,
        stored=lambda file: downloads and sources.store.holds(file),
        served=sources.serves,
        has_hash=sources.terms(transfer).has_hash,
    )
    return [*needs.values()]


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
    client, terms = Client(package_index(ca, "").ca), sources.terms(transfer)
    with progress_bars() as bars:
        fetcher = Fetcher(
            store=sources.store,
            client=client,
            terms=terms,
            apt=(
                AptRepository(source=sources.apt, client=client, stop=stop) if sources.apt else None
            ),
            servers=[with_variables(server) for server in sources.servers],
            bars=bars,
            stop=stop,
        )

        def one(file: File) -> None:
            try:
                needs_place = transfer.trust_first_use and not terms.has_hash(file)
                if needs_place and not has_place(project.files(), file.name):
                    what = f"{file.name} cannot be trusted on first use: matrix.yaml has a pattern "
                    what += "of its name, and no place for its sha256."
                    fix = f"Get it from: {file.origin}. Then put it into the folder of --artifacts."
                    raise ArtifactError(Problem(what=what, fix=fix))
                fetched.append(fetcher.fetch(file))
            except CanneryError as error:
                failed[file.name] = error

        with workers(transfer.fetch_jobs) as give:
            try:
                waiting = [give(one, file) for file in files]
                while not all(future.done() for future in waiting):
                    stop.wait(0.1)
            except BaseException:
                stop.set()
                fetcher.client.abort()
                raise
    _refuse_twins(fetched, failed, sources.store, project)
    if first := [file for file in fetched if file.first_use]:
        with project.editing():
            before = after = project.files()
            for file in first:
                record = sources.store.record(file.sha256)
                note = f"{record.url}, {record.fetched[:10]}" if record else ""
                after = with_sha256(after, file.file.name, file.sha256, note)
                what = f"TRUSTED ON FIRST USE: {file.file.name}, sha256 {file.sha256}. Nobody "
                what += "publishes this hash: compare it before you commit it"
                console.say(what, "warning")
            changed = [name for name in after if after[name] != before[name]]
            project.write({project.root / name: after[name] for name in changed})
        what = f"wrote the hashes into {' and '.join(changed)}; now run: python build.py render"
        console.say(what, "warning")
    return fetched, failed


def _refuse_twins(
    fetched: list[Fetched], failed: dict[str, CanneryError], store: Store, project: Project
) -> None:
    """Move from ``fetched`` to ``failed`` files of first use that have one hash with others."""
    first = [each for each in fetched if each.first_use]
    if not first:
        return
    names: dict[str, set[str]] = {}
    for release in project.matrix().cann.values():
        for file in (file for each in release.packages.values() for file in each.files):
            for sha256 in file.hashes:
                names.setdefault(sha256, set()).add(file.name)
    for each in first:
        names.setdefault(each.sha256, set()).add(each.file.name)
    for each in first:
        if others := sorted(names[each.sha256] - {each.file.name}):
            fetched.remove(each)
            failed[each.file.name] = same_bytes(each.file, " and ".join(others))
            store.remove(each.sha256)
