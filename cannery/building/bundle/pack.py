# SPDX-License-Identifier: Apache-2.0
"""Makes a bundle: builds its targets from the bundle's files, and exports BuildKit's cache."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from cannery.building import git
from cannery.building.bundle.archive import Contents, pack, require_place
from cannery.building.bundle.inputs import keep_bases
from cannery.building.plan import Action
from cannery.building.planning import Selection, index_of, make_plan
from cannery.building.ready import bases
from cannery.building.running import build_all
from cannery.common import console
from cannery.common.errors import EngineError, Problem, file_error, raise_all
from cannery.common.files import exclusive, link_or_copy
from cannery.common.model import Target
from cannery.common.package_index import PackageIndex
from cannery.common.process import run
from cannery.common.references import TARGET_FIELD
from cannery.engine.base import BaseCache, Bases
from cannery.engine.builder import find_builder, require_containerd
from cannery.engine.client import talking
from cannery.engine.simulator import simulated
from cannery.fetch.needs import needed_files
from cannery.lock.index_versions import pip_environment
from cannery.matrix.project import Project
from cannery.options import BuildOptions
from cannery.verify.results import state_keys

ARTIFACTS = "artifacts"
CACHE = "cache"
CHECKOUT = "checkout"
SIMULATOR = "simulator"


def make_bundle(project: Project, selection: Selection, options: BuildOptions, out: Path) -> str:
    """Build and check the targets of ``selection``, and write the bundle ``out``.

    Returns the sha256 of the bundle.
    """
    require_place(out)
    builder = find_builder(options.builder)
    require_containerd(builder, "write a bundle")
    targets, source = selection.targets, index_of(options)
    raise_all(make_plan(project, selection, options).failures, single=len(targets) == 1)
    key_of = state_keys(project)
    with talking() as engine:
        version = str(engine.version()["Version"])
    contents = Contents(
        simulate=options.simulate,
        targets={target.id: key_of(target, options.simulate) for target in targets},
        commit=git.commit(project.root),
        engine=version,
    )
    with _empty_folder(project.state / "bundles") as folder:
        _keep_artifacts(targets, options, folder / ARTIFACTS)
        finder = Bases(builder=builder, notes=BaseCache(state=project.state), ca=source.ca)
        keep_bases(folder, [base for target in targets for base in bases(target).values()], finder)
        _download_packages(project.root / "requirements.txt", folder / CHECKOUT, source)
        options = replace(
            options,
            artifacts=folder / ARTIFACTS,
            bundle=folder,
            cache_to=(
                f"type=local,dest={folder / CACHE / TARGET_FIELD},mode=min,compression=zstd",
            ),
        )
        _build(project, selection, options)
        if options.simulate:
            for target in targets:
                tree = simulated(project, target).artifacts.parent
                copy_tree(tree, folder / SIMULATOR / tree.name)
        _link_equal_blobs(folder / CACHE)
        console.say(f"writing {out}")
        return pack(folder, contents, out)


@contextmanager
def _empty_folder(parent: Path) -> Iterator[Path]:
    """A folder for one run at a time. Its path has no colon, which ends a path for buildx."""
    folder = parent / "making"
    with exclusive(parent / "making.lock"):
        try:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            yield folder
        except OSError as error:
            raise file_error("write", folder, error) from error
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _keep_artifacts(targets: tuple[Target, ...], options: BuildOptions, folder: Path) -> None:
    """The vendor's files, with the mode that they have once they are unpacked."""
    folder.mkdir()
    for target in targets:
        for file in needed_files(target, simulate=options.simulate).values():
            source, place = options.artifacts / file.name, folder / file.name
            if source.stat().st_mode & 0o777 == 0o644:
                link_or_copy(source, place)
            else:
                shutil.copyfile(source, place)
                place.chmod(0o644)


def _download_packages(lock: Path, folder: Path, source: PackageIndex) -> None:
    """The packages of build.py itself."""
    console.say("downloading the packages of build.py")
    argv = [sys.executable, "-P", "-m", "pip", "download", "--quiet", "--no-deps", "--no-input"]
    argv += ["--disable-pip-version-check", "--require-hashes", "--dest", str(folder)]
    code, said = run([*argv, "--requirement", str(lock)], capture=True, env=pip_environment(source))
    if code:
        what = (
            f"pip could not download the packages of build.py:\n{source.redacted(said.strip())}\n"
        )
        raise EngineError(Problem(what=what, fix="Check the network, and try again."))


def _build(project: Project, selection: Selection, options: BuildOptions) -> None:
    """Build every target, also those that are up to date, because only a build writes a cache."""
    planned = make_plan(project, selection, options)
    raise_all(planned.failures, single=len(selection.targets) == 1)
    steps = tuple(replace(step, action=Action.BUILD) for step in planned.plan.steps)
    planned = replace(planned, plan=replace(planned.plan, steps=steps))
    build_all(project, selection, options, planned)


def _link_equal_blobs(caches: Path) -> None:
    """Store a blob once that the caches of several targets have."""
    first: dict[str, Path] = {}
    for blob in sorted(caches.glob("*/blobs/sha256/*")):
        if (same := first.setdefault(blob.name, blob)) != blob:
            blob.unlink()
            os.link(same, blob)


def copy_tree(source: Path, destination: Path) -> None:
    """Copy a folder by hard links where that is possible."""

    def link(file: str, place: str) -> None:
        link_or_copy(Path(file), Path(place))

    try:
        shutil.copytree(source, destination, symlinks=True, copy_function=link)
    except OSError as error:
        raise file_error("write", destination, error) from error
