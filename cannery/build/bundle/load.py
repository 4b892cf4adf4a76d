# SPDX-License-Identifier: Apache-2.0
"""Gives an image of a bundle to the engine: under a name of ours, compared, and then named.

An archive of 'docker save' says itself how its images are called. 'docker load' believes that, so
it gets a copy of the archive that has one name, which nobody uses.
"""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any
from uuid import uuid4

from cannery.build.bundle.untrusted import invalid
from cannery.common.errors import ArtifactError, EngineError, file_error
from cannery.common.outside import parse_json
from cannery.common.owner import temporary_folder
from cannery.common.process import run
from cannery.engine import client
from cannery.engine.images import local_images
from cannery.registry.oci import digest_of

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
