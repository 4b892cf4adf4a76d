# SPDX-License-Identifier: Apache-2.0
"""Builds from a bundle: everything comes out of one file, and nothing from a network.

An archive of 'docker save' says itself how its images are called. 'docker load' believes that, so
it gets a copy of the archive that has one name, which nobody uses; the image is compared, and named
then.
"""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any
from uuid import uuid4

from cannery.building.bundle.archive import Contents, invalid, unpack
from cannery.building.bundle.gateway import Gateway, Recorded, serving
from cannery.building.bundle.pack import (
    ARTIFACTS,
    DEBIAN,
    IMAGES,
    SIMULATOR,
    WHEELS,
    copy_tree,
    with_addresses,
)
from cannery.building.planning import make_plan
from cannery.building.ready import bases
from cannery.building.running import build_all
from cannery.building.selection import Selection
from cannery.common import console
from cannery.common.errors import (
    ArtifactError,
    CanneryError,
    EngineError,
    OutOfSyncError,
    Problem,
    UsageError,
    file_error,
    some_of,
)
from cannery.common.files import temporary_folder
from cannery.common.outside import parse_json
from cannery.common.process import run
from cannery.engine import client
from cannery.engine.client import bridge_address
from cannery.engine.images import local_images
from cannery.engine.simulator import simulated
from cannery.matrix.project import Project
from cannery.options import BuildOptions
from cannery.registry.oci import digest_of
from cannery.verify.results import state_keys

_LARGEST = 8 << 20
"""The maximum size of a document in an archive, in bytes."""

_MANIFEST, _INDEX, _NAMES = "manifest.json", "index.json", "repositories"

_REPOSITORY = "cannery-bundle"


def load(file: Path, image: str, name: str) -> None:
    """Load the image with the id ``image`` from ``file``, and then name it ``name``.

    Raises:
        ArtifactError: the file has another image, or is no archive of one.
        EngineError: the engine cannot load it.
        FileError: the file cannot be read.
    """
    own = f"{_REPOSITORY}:{uuid4().hex}"
    try:
        with temporary_folder(file.parent.parent) as folder:
            copy = folder / "image.tar"
            ids = _rename(file, copy, own)
            if image not in ids:
                raise invalid(file, f"it has image {ids[0]} and not {image}")
            _load(copy, name)
    except OSError as error:
        raise file_error("read", file, error) from error
    try:
        loaded = local_images([own])
        if own not in loaded or loaded[own].id not in ids:
            raise invalid(file, f"the engine has loaded another image than {image}")
        client.tag_image(loaded[own].id, name)
    finally:
        client.remove_name(own)


def _load(archive: Path, name: str) -> None:
    code, said = run(["docker", "load", "--quiet", "--input", str(archive)], capture=True)
    if code:
        raise EngineError(f"the engine could not load {name}: {said.strip()}")


def _rename(file: Path, copy: Path, name: str) -> tuple[str, ...]:
    """Write ``copy``, which is ``file`` with ``name`` as the only name of its only image.

    Returns the ids of the image: that of its config, and in containerd's store that of its manifest
    or index.
    """
    try:
        with tarfile.open(file, "r:") as archive, tarfile.open(copy, "w") as out:
            opened = _Archive(file, archive)
            documents = opened.renamed(name)
            for member in opened.members.values():
                if member.name in documents:
                    content = json.dumps(documents[member.name]).encode()
                    member.size = len(content)
                    out.addfile(member, io.BytesIO(content))
                elif member.name != _NAMES:
                    out.addfile(member, archive.extractfile(member) if member.isreg() else None)
            return tuple(opened.ids())
    except (tarfile.TarError, LookupError, TypeError, ValueError, AttributeError) as error:
        raise invalid(file, "it is no archive of one image") from error
    except RecursionError as error:
        raise invalid(file, "one of its documents is nested too deeply") from error


class _Archive:
    """An archive of 'docker save' with one image. ``members`` are by their name."""

    def __init__(self, file: Path, archive: tarfile.TarFile) -> None:
        self._file, self._archive = file, archive
        self.members = {each.name: each for each in archive}
        if len(self.members) != len(archive.getmembers()):
            raise self._invalid("a file is twice in it")
        for name, each in self.members.items():
            # Before docker 25, a layer that is there twice is a link.
            is_layer = each.issym() and name.endswith("/layer.tar")
            if not (each.isreg() or each.isdir() or is_layer) or str(PurePosixPath(name)) != name:
                raise self._invalid("it has files that 'docker save' does not write")
        [self._manifest] = self._document(_MANIFEST)
        self._root: dict[str, Any] | None = None
        if _INDEX in self.members:
            [self._root] = self._document(_INDEX)["manifests"]

    def renamed(self, name: str) -> dict[str, Any]:
        """The documents that name the image, with ``name`` in place of what they have."""
        kept = {key: self._manifest[key] for key in ("Config", "Layers")}
        found: dict[str, Any] = {_MANIFEST: [{**kept, "RepoTags": [name]}]}
        if self._root:
            names = {"io.containerd.image.name": f"docker.io/library/{name}"}
            names["org.opencontainers.image.ref.name"] = name.rpartition(":")[2]
            index = {key: self._root[key] for key in ("mediaType", "digest", "size")}
            index["annotations"] = names
            found[_INDEX] = {"schemaVersion": 2, "manifests": [index]}
        return found

    def ids(self) -> Iterator[str]:
        config = digest_of(self._read(self._manifest["Config"]))
        yield config
        if self._root:
            root = self._root["digest"]
            if config not in self._configs(root):
                raise self._invalid("its two manifests have different images")
            yield root

    def _configs(self, digest: str, depth: int = 2) -> Iterator[str]:
        """The digests of the configs below the manifest or index with ``digest``."""
        name = f"blobs/sha256/{digest.removeprefix('sha256:')}"
        if name not in self.members or not depth:
            return  # The image of another platform, which was not saved.
        content = self._read(name)
        if digest_of(content) != digest:
            raise self._invalid(f"{name} does not have this sha256")
        loaded = parse_json(content)
        if "config" in loaded:
            yield loaded["config"]["digest"]
        for each in loaded.get("manifests", ()):
            yield from self._configs(each["digest"], depth - 1)

    def _document(self, name: str) -> Any:
        return parse_json(self._read(name))

    def _read(self, name: str) -> bytes:
        member = self.members[name]
        content = self._archive.extractfile(member) if member.isreg() else None
        if content is None or member.size > _LARGEST:
            raise self._invalid(f"{name} is larger than {_LARGEST >> 20} MiB or no file")
        return content.read()

    def _invalid(self, why: str) -> ArtifactError:
        return invalid(self._file, why)


def build_from_bundle(
    project: Project, selection: Selection, options: BuildOptions, bundle: Path
) -> None:
    """Build and check the targets of ``selection`` that ``bundle`` has.

    Raises:
        UsageError: the bundle does not have a target that was named, or has the vendor's files
            where simulated ones were asked for.
        OutOfSyncError: the bundle was made from other files than those of this checkout.
        CanneryError: as ``unpack`` and ``build_all``; what the build asked of the network is in it.
    """
    console.say(f"checking {bundle}")
    folder, contents = unpack(bundle, project.state / "bundles")
    selection = _within(selection, contents, bundle)
    if options.simulate and not contents.simulate:
        what = f"{bundle} has Huawei's packages and no simulated ones."
        raise UsageError(Problem(what=what, fix="Leave out --simulate."))
    _require_same(project, selection, contents, bundle)
    _load_bases(folder, contents, selection)
    _restore_simulator(project, folder, selection)
    gateway = Gateway(bridge_address(), folder / WHEELS, Recorded.read(folder / DEBIAN))
    with serving(gateway):
        options = replace(
            options,
            artifacts=folder / ARTIFACTS,
            simulate=contents.simulate,
            gateway=gateway.address,
        )
        try:
            planned = make_plan(project, selection, options)
            build_all(project, selection, options, planned)
        except CanneryError as error:
            if gateway.asked:
                raise with_addresses({"": error}, gateway.asked) from error
            raise


def _within(selection: Selection, contents: Contents, bundle: Path) -> Selection:
    """The targets of ``selection`` that the bundle has."""
    if absent := [name for name in sorted(selection.named) if name not in contents.targets]:
        what = f"{bundle} does not have {some_of(absent, 5)}."
        raise UsageError(Problem(what=what, fix=f"It has {some_of([*contents.targets], 20)}."))
    targets = tuple(each for each in selection.targets if each.id in contents.targets)
    if not targets:
        what = f"{bundle} has no target that is selected."
        raise UsageError(Problem(what=what, fix=f"It has {some_of([*contents.targets], 20)}."))
    return replace(selection, targets=targets, named=frozenset(each.id for each in targets))


def _require_same(project: Project, selection: Selection, contents: Contents, bundle: Path) -> None:
    """Raise OutOfSyncError if the checkout builds other images than the bundle is for."""
    key_of = state_keys(project)
    other = [
        each.id
        for each in selection.targets
        if key_of(each, contents.simulate) != contents.targets[each.id]
    ]
    if other:
        commit = f" Its checkout was at commit {contents.commit}." if contents.commit else ""
        what = f"{bundle} was made from other files than this checkout has for {some_of(other, 5)}."
        raise OutOfSyncError(
            Problem(what=what + commit, fix="Use that checkout, or make the bundle with this one.")
        )


def _load_bases(folder: Path, contents: Contents, selection: Selection) -> None:
    """Give the engine the base images of the targets that it does not have, under no other names.

    Raises:
        ArtifactError: the bundle has another image than it says.
        EngineError: the engine cannot load one.
    """
    used = {base.bootstrap_tag(a) for t in selection.targets for base, a in bases(t).values()}
    images = {name: image for name, image in contents.images.items() if name in used}
    local = local_images(images)
    for name, image in images.items():
        if name not in local or local[name].id != image:
            console.say(f"loading {name}")
            load(folder / IMAGES / f"{image.removeprefix('sha256:')}.tar", image, name)


def _restore_simulator(project: Project, folder: Path, selection: Selection) -> None:
    """Put the simulated packages of the targets where a build looks for them."""
    for target in selection.targets:
        place = simulated(project, target).artifacts.parent
        tree = folder / SIMULATOR / place.name
        if tree.is_dir() and not place.is_dir():
            copy_tree(tree, place)
