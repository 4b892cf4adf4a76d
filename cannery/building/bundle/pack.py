# SPDX-License-Identifier: Apache-2.0
"""Makes a bundle: builds its targets once, and keeps everything that the build asked for."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from cannery.building import git
from cannery.building.bundle.archive import Contents, pack, require_place
from cannery.building.bundle.gateway import Gateway, Hosts, Recorded, serving
from cannery.building.bundle.wheels import Locked, download
from cannery.building.clean_build import BuildAnew, remove_unnamed
from cannery.building.planning import Planned, make_plan
from cannery.building.ready import bases
from cannery.building.selection import Selection, index_of
from cannery.common import console
from cannery.common.errors import CanneryError, EngineError, Problem, file_error, kind_of, raise_all
from cannery.common.files import link_or_copy, read_text, temporary_folder
from cannery.common.model import Target
from cannery.common.process import run
from cannery.engine import client as engine
from cannery.engine.base import Bases, Notes
from cannery.engine.builder import find_builder, forget_cann
from cannery.engine.client import bridge_address
from cannery.engine.images import local_images, put_into_engine
from cannery.engine.simulator import Simulated, simulate
from cannery.fetch.needs import needed_files
from cannery.lock.lock_file import read_lock
from cannery.lock.requirements import wheel_platform
from cannery.matrix.project import Project
from cannery.options import BuildOptions
from cannery.verify.results import state_keys

ARTIFACTS = "artifacts"
CHECKOUT = "checkout"
DEBIAN = "debian"
IMAGES = "images"
SIMULATOR = "simulator"
WHEELS = "wheels"

_BUILD_STAGE = ("--python-version", "3.11")
"""The interpreter of the ``build`` stage, which runs on this kind of machine."""


def make_bundle(project: Project, selection: Selection, options: BuildOptions, out: Path) -> int:
    """Build the targets of ``selection`` from nothing, and write the bundle ``out``.

    Returns its size in bytes.

    Raises:
        ArtifactError: a vendor file is missing, or an index serves other bytes than are locked.
        EngineError: a file, a package or a base cannot be got.
        BuildError: a target cannot be built.
        FileError: the bundle cannot be written.
    """
    require_place(out)
    planned = make_plan(project, selection, options)
    raise_all(planned.failures, single=len(selection.targets) == 1)
    key_of = state_keys(project)
    with temporary_folder(project.state / "bundles") as temporary:
        making = _Making(project, selection, options, planned, temporary)
        making.keep_files()
        making.keep_wheels()
        images = making.keep_bases()
        making.record_build()
        console.say(f"writing {out}")
        contents = Contents(
            simulate=options.simulate,
            targets={each.id: key_of(each, options.simulate) for each in selection.targets},
            images=images,
            commit=git.commit(project.root),
        )
        return pack(making.folder, contents, out)


@dataclass
class _Making:
    """A bundle in the making, whose files are in ``folder``."""

    project: Project
    selection: Selection
    options: BuildOptions
    planned: Planned
    folder: Path

    def __post_init__(self) -> None:
        self._made: dict[str, Simulated] = {}

    @property
    def targets(self) -> tuple[Target, ...]:
        return self.selection.targets

    def keep_files(self) -> None:
        """The vendor's files, and the simulated ones."""
        folder = self.folder / ARTIFACTS
        folder.mkdir()
        for target in self.targets:
            for file in needed_files(target, simulate=self.options.simulate).values():
                link_or_copy(self.options.artifacts / file.name, folder / file.name)
            if self.options.simulate:
                made = simulate(
                    self.project, target, index_of(self.options), self.options.artifacts
                )
                self._made[target.id] = made
                tree = made.artifacts.parent
                copy_tree(tree, self.folder / SIMULATOR / tree.name)

    def keep_wheels(self) -> None:
        """One file for each locked package of the targets, of the build stage and of build.py."""
        source = index_of(self.options)
        console.say("downloading the locked packages")
        locks = [lock for target in self.targets for lock in self._locks(target)]
        stage = read_text(self.project.build_lock)
        locks.append(Locked(name="the build stage", text=stage, options=_BUILD_STAGE))
        download(locks, self.folder / WHEELS, source)
        own = read_text(self.project.root / "requirements.txt")
        download([Locked(name="requirements.txt", text=own)], self.folder / CHECKOUT, source)

    def _locks(self, target: Target) -> Iterator[Locked]:
        lock = read_lock(self.project, target)
        python = ("--python-version", target.python.version)
        options = (*python, "--python-platform", wheel_platform(target).uv_name)
        built = tuple(target.built_wheels.values())
        yield Locked(
            name=f"the lock of {target.id}", text=lock.text, options=options, unbuilt=built
        )
        if lock.build:
            name = f"the lock of the build requirements of {target.id}"
            yield Locked(name=name, text=lock.build.text, options=options)

    def keep_bases(self) -> dict[str, str]:
        """The base images; returns their names with their ids."""
        folder = self.folder / IMAGES
        folder.mkdir()
        used = {
            (base.name, architecture): base
            for target in self.targets
            for base, architecture in bases(target).values()
        }
        found: dict[str, str] = {}
        builder = find_builder(self.options.builder)
        notes = Notes(state=self.project.state)
        finder = Bases(builder=builder, notes=notes, ca=index_of(self.options).ca)
        for (_, architecture), base in used.items():
            reference = finder.find(base, architecture).reference
            name = base.bootstrap_tag(architecture)
            if reference != name:
                put_into_engine(builder, reference, architecture, name)
            try:
                image = local_images([name])[name].id
                console.say(f"saving {name}")
                _save(name, folder / f"{image.removeprefix('sha256:')}.tar")
            finally:
                if reference != name:
                    engine.remove_name(name)
            found[name] = image
        return found

    def record_build(self) -> None:
        """Build all targets without a cache, and record what Debian's mirrors answer."""
        recorded = Recorded(self.folder / DEBIAN)
        recorded.folder.mkdir()
        hosts = Hosts(index_of(self.options).ca)
        gateway = Gateway(bridge_address(), self.folder / WHEELS, recorded, hosts)
        with serving(gateway):
            build = BuildAnew(
                project=self.project,
                matrix=self.selection.matrix,
                planned=self.planned,
                made=self._made,
                # Only its downloads are of use.
                built=lambda _, image: remove_unnamed(image),
                done="built and recorded",
            )
            failures = build.run(replace(self.options, gateway=gateway.address))
        recorded.write()
        if failures and gateway.asked:
            raise with_addresses(failures, gateway.asked)
        raise_all(failures, single=len(self.targets) == 1)
        forget_cann(find_builder(self.options.builder))


def with_addresses(failures: Mapping[str, CanneryError], asked: Iterable[str]) -> CanneryError:
    """One error for ``failures``, with the addresses that could not be answered."""
    every = sorted({*asked})
    listed = "\n".join(f"  {each}" for each in every[:20])
    problem = Problem(
        what=f"the build asked the network for what the bundle does not have:\n{listed}\n",
        fix="Make the bundle again, with the same checkout.",
    )
    return kind_of(failures.values())([*_problems(failures.values()), problem])


def _problems(errors: Iterable[CanneryError]) -> list[Problem]:
    return [problem for error in errors for problem in error.problems]


def copy_tree(source: Path, destination: Path) -> None:
    """Copy a folder by hard links where that is possible.

    Raises:
        FileError: it cannot be read or written.
    """

    def link(file: str, place: str) -> None:
        link_or_copy(Path(file), Path(place))

    try:
        shutil.copytree(source, destination, symlinks=True, copy_function=link)
    except OSError as error:
        raise file_error("write", destination, error) from error


def _save(name: str, file: Path) -> None:
    code, said = run(["docker", "save", "--output", str(file), name], capture=True)
    if code:
        raise EngineError(f"the engine could not save {name}: {said.strip()}")
