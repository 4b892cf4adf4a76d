# SPDX-License-Identifier: Apache-2.0
"""Bundles: base images, files and BuildKit's cache in one file, to build without a network.

The file is a tar archive, whose last member says what the others are for. A bundle comes from
another machine: members and links that lead out of its folder are refused, and the manifest is
checked like any input. A build from one takes every step that needs a network out of its cache.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from cannery import __version__
from cannery.building import git
from cannery.building.bases import bases, keep_bases
from cannery.building.plan import Action
from cannery.building.planning import Selection, make_plan
from cannery.building.running import build_all
from cannery.common import console, errors
from cannery.common.archives import Archive, leads_out, opened
from cannery.common.files import (
    exclusive,
    link_or_copy,
    link_target,
    sha256_of,
    temporary_beside,
    temporary_folder,
)
from cannery.common.model import Target
from cannery.common.outside import MOST_CONFIG, parse_json
from cannery.common.package_index import PackageIndex
from cannery.common.process import run
from cannery.common.references import TARGET_FIELD, image_tag
from cannery.engine.base import BaseCache, Bases
from cannery.engine.builder import find_builder, require_containerd
from cannery.engine.client import talking
from cannery.engine.simulator import simulated
from cannery.fetch.needs import needed_files
from cannery.lock.index_versions import pip_environment
from cannery.matrix.project import Project
from cannery.options import BuildOptions
from cannery.verify.results import state_keys

MANIFEST = "manifest.json"
"""The last member, so that an incomplete archive has none."""

ARTIFACTS = "artifacts"
CACHE = "cache"
SIMULATOR = "simulator"

_SCHEMA = 3
_TARGET = re.compile(r"[\w.-]{1,200}", re.ASCII)
_KEY = re.compile(r"(sha256:)?[0-9a-f]{64}")
_LINE = re.compile(r"[ -~]{0,200}")


@dataclass(frozen=True, kw_only=True)
class Contents:
    """What a bundle is for.

    Attributes:
        simulate: it has simulated packages in place of the vendor's.
        targets: id to content key by the committed files; see ``KeyInputs.committed``.
        commit: of the checkout that made it; empty if that was no git checkout.
        engine: the version of the engine that made it.
    """

    simulate: bool
    targets: Mapping[str, str]
    commit: str
    engine: str


def invalid(path: Path, why: str) -> errors.ArtifactError:
    """The error for a bundle or a file in it."""
    fix = "Copy the bundle again, or make it again with 'build.py bundle'."
    return errors.ArtifactError(
        errors.Problem(what=f"{path} is not a valid bundle: {why}.", fix=fix)
    )


def require_place(out: Path) -> None:
    """Check that ``out`` can be written, before hours go into it."""
    try:
        os.scandir(out.absolute().parent).close()
        link_target(out)
    except OSError as error:
        raise errors.file_error("write", out, error) from error


def pack(folder: Path, contents: Contents, out: Path) -> str:
    """Write the bundle ``out`` from all files in ``folder``, and return its sha256.

    ``out`` appears under its name once it is complete.
    """
    temporary = None
    try:
        manifest = json.dumps({"schema": _SCHEMA, **asdict(contents)}, indent=1)
        (folder / MANIFEST).write_text(manifest, encoding="utf-8")
        out = link_target(out)
        temporary = temporary_beside(out)
        with temporary.open("xb") as stream:
            with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as archive:
                paths = sorted(path for path in folder.rglob("*") if path != folder / MANIFEST)
                for path in [*paths, folder / MANIFEST]:
                    name = str(path.relative_to(folder))
                    archive.add(path, name, recursive=False, filter=_without_owner)
            stream.flush()
            os.fsync(stream.fileno())
        digest = sha256_of(temporary)
        os.replace(temporary, out)
    except OSError as error:
        raise errors.file_error("write", out, error) from error
    finally:
        with suppress(OSError):
            if temporary:
                temporary.unlink()
    return digest


def _without_owner(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.mtime = member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


@contextmanager
def opened_bundle(bundle: Path, sha256: str = "") -> Iterator[tuple[Archive, Contents]]:
    """The bundle and what it is for; nothing of it is unpacked yet.

    Raises:
        ArtifactError: it is damaged, or has another hash than ``sha256``, which may be empty.
    """
    try:
        with opened(bundle, sha256.lower()) as archive:
            console.say(f"{bundle}: sha256 {archive.sha256}")
            yield archive, _contents(bundle, archive)
    except tarfile.TarError as error:
        raise invalid(bundle, str(error)) from error


def unpack(archive: Archive, parent: Path) -> Path:
    """The folder below ``parent`` with all of ``archive``, which may be there already."""
    place = parent / archive.sha256
    try:
        if not place.is_dir():
            with temporary_folder(parent) as temporary:
                archive.extract(temporary / "tree")
                os.replace(temporary / "tree", place)
    except OSError as error:
        raise errors.file_error("write", place, error) from error
    return place


def _contents(bundle: Path, archive: Archive) -> Contents:
    try:
        manifest = parse_json(archive.read(MANIFEST, MOST_CONFIG + 1), most=MOST_CONFIG)
    except ValueError as error:
        raise invalid(bundle, f"{MANIFEST}: {error}") from error
    if not isinstance(manifest, dict):
        raise invalid(bundle, f"{MANIFEST} is not an object")
    if manifest.get("schema") != _SCHEMA:
        what = f"{bundle} is of another version of cannery ({str(manifest.get('schema'))[:20]!r})."
        raise errors.ArtifactError(
            errors.Problem(what=what, fix="Make it again with this checkout.")
        )
    simulate, targets = manifest.get("simulate"), manifest.get("targets")
    commit, engine = manifest.get("commit"), manifest.get("engine")
    if not isinstance(simulate, bool):
        raise invalid(bundle, "'simulate' is not true or false")
    if not isinstance(targets, dict) or not all(
        _TARGET.fullmatch(name) and isinstance(key, str) and _KEY.fullmatch(key)
        for name, key in targets.items()
    ):
        raise invalid(bundle, "'targets' does not map targets to content keys")
    if not all(isinstance(text, str) and _LINE.fullmatch(text) for text in (commit, engine)):
        raise invalid(bundle, "'commit' or 'engine' is not a line of text")
    return Contents(simulate=simulate, targets=targets, commit=str(commit), engine=str(engine))


def make_bundle(project: Project, selection: Selection, options: BuildOptions, out: Path) -> str:
    """Build and check the targets of ``selection``, and write the bundle ``out``.

    Returns the sha256 of the bundle.
    """
    require_place(out)
    builder = find_builder(options.builder)
    require_containerd(builder, "write a bundle")
    targets, source = selection.targets, options.index
    errors.raise_all(make_plan(project, selection, options).failures, single=len(targets) == 1)
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
        if project.is_checkout:
            _download_packages(project.root / "requirements.txt", folder / "checkout", source)
        else:
            console.say(f"install cannery {__version__} there: it is not in the bundle", "warning")
        options = replace(
            options,
            artifacts=folder / ARTIFACTS,
            bundle=folder,
            cache_to=(
                f"type=local,dest={folder / CACHE / TARGET_FIELD},mode=min,compression=zstd",
            ),
        )
        plan = make_plan(project, selection, options)
        errors.raise_all(plan.failures, single=len(targets) == 1)
        # Also what is up to date, because only a build writes a cache.
        steps = tuple(replace(step, action=Action.BUILD) for step in plan.steps)
        build_all(project, selection, options, replace(plan, steps=steps))
        if options.simulate:
            for target in targets:
                tree = simulated(project, target).artifacts.parent
                copy_tree(tree, folder / SIMULATOR / tree.name)
        first: dict[str, Path] = {}
        for blob in sorted((folder / CACHE).glob("*/blobs/sha256/*")):
            # The caches of several targets have it; it is stored once.
            if (same := first.setdefault(blob.name, blob)) != blob:
                blob.unlink()
                os.link(same, blob)
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
            raise errors.file_error("write", folder, error) from error
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
    console.say("downloading the packages of build.py")
    argv = [sys.executable, "-P", "-m", "pip", "download", "--quiet", "--no-deps", "--no-input"]
    argv += ["--disable-pip-version-check", "--require-hashes", "--dest", str(folder)]
    code, output = run([*argv, "--requirement", str(lock)], env=pip_environment(source))
    if code:
        what = (
            f"pip could not download the packages of build.py:\n{source.redacted(output.strip())}\n"
        )
        raise errors.EngineError(errors.Problem(what=what, fix="Check the network, and try again."))


def copy_tree(source: Path, destination: Path) -> None:
    """Copy a folder by hard links where that is possible."""

    def link(file: str, place: str) -> None:
        link_or_copy(Path(file), Path(place))

    try:
        shutil.copytree(source, destination, symlinks=True, copy_function=link)
    except OSError as error:
        raise errors.file_error("write", destination, error) from error


def build_from_bundle(
    project: Project, selection: Selection, options: BuildOptions, bundle: Path
) -> None:
    """Build and check the targets of ``selection`` that ``bundle`` has."""
    with opened_bundle(bundle, options.bundle_sha256) as (archive, contents):
        targets = _fitting_targets(project, selection, options, bundle, contents)
        folder = unpack(archive, project.state / "bundles")
    selection = replace(selection, targets=targets, named=None)
    require_containerd(find_builder(""), "build from a bundle")
    restore_simulator(project, folder, targets, bundle)
    tags = [image_tag(name, simulate=contents.simulate) for name in contents.targets]
    options = replace(
        options,
        artifacts=folder / ARTIFACTS,
        simulate=contents.simulate,
        bundle=folder,
        cache_from=tuple(f"type=local,src={folder / CACHE / tag}" for tag in tags),
    )
    plan = make_plan(project, selection, options)
    try:
        build_all(project, selection, options, plan)
    except errors.BuildError as error:
        what = (
            "a step that the bundle's cache does not have cannot download anything here. "
            f"The cache is of engine {contents.engine}."
        )
        fix = "Use an engine of that version, or make the bundle with one as this machine's."
        raise errors.BuildError([*error.problems, errors.Problem(what=what, fix=fix)]) from error


def _fitting_targets(
    project: Project, selection: Selection, options: BuildOptions, bundle: Path, contents: Contents
) -> tuple[Target, ...]:
    """The targets of ``selection`` in ``bundle``, which must be made from the files of today."""
    absent = [name for name in sorted(selection.named or ()) if name not in contents.targets]
    targets = tuple(target for target in selection.targets if target.id in contents.targets)
    if absent or not targets:
        what = f"{bundle} has no target that is selected."
        if absent:
            what = f"{bundle} does not have {errors.some_of(absent, 5)}."
        raise errors.UsageError(
            errors.Problem(what=what, fix=f"It has {errors.some_of([*contents.targets], 20)}.")
        )
    if options.simulate and not contents.simulate:
        what = f"{bundle} has Huawei's packages and no simulated ones."
        raise errors.UsageError(errors.Problem(what=what, fix="Leave out --simulate."))
    key_of = state_keys(project)
    if other := [t.id for t in targets if key_of(t, contents.simulate) != contents.targets[t.id]]:
        commit = f" Its checkout was at commit {contents.commit}." if contents.commit else ""
        ids = errors.some_of(other, 5)
        what = f"{bundle} was made from other files than this checkout has for {ids}."
        raise errors.OutOfSyncError(
            errors.Problem(
                what=what + commit, fix="Use that checkout, or make the bundle with this one."
            )
        )
    return targets


def restore_simulator(
    project: Project, folder: Path, targets: Iterable[Target], bundle: Path
) -> None:
    """Put the simulated packages of ``targets`` where a build looks for them."""
    for target in targets:
        place = simulated(project, target).artifacts.parent
        tree = folder / SIMULATOR / place.name
        if not tree.is_dir() or place.is_dir():
            continue
        for path in tree.rglob("*"):
            # Unpacked, such a link was inside of the bundle; copied, it leads elsewhere.
            if path.is_symlink() and leads_out(str(path.relative_to(tree)), str(path.readlink())):
                raise invalid(bundle, f"{path.relative_to(folder)} leads out of its folder")
        try:
            with temporary_folder(place.parent) as temporary:
                copy_tree(tree, temporary / "tree")
                os.replace(temporary / "tree", place)
        except OSError as error:
            raise errors.file_error("write", place, error) from error
