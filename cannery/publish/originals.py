# SPDX-License-Identifier: Apache-2.0
"""Finds an image that is to be built again: in a registry, on this machine, or in a record.

The files of its layers are read here, also those of saved images.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, fields
from itertools import zip_longest
from pathlib import Path
from typing import IO, Any, cast

import zstandard

from cannery.common import console
from cannery.common.archives import Pieces
from cannery.common.errors import EngineError, Problem, UsageError, counted
from cannery.common.references import parse_reference
from cannery.engine import client as engine
from cannery.engine.images import local_images
from cannery.image import simulated, vendor_image
from cannery.image.content_key import LABEL
from cannery.image.record import REVISION
from cannery.matrix.project import Project
from cannery.publish.image_contents import TARGET, local_names, not_found, record_file
from cannery.registry.client import Repository
from cannery.registry.errors import RegistryError
from cannery.registry.image_archive import decompressed
from cannery.registry.oci import ATTESTED, Descriptor, Document, manifest_contents
from cannery.registry.records import Record

_CHUNK = 1 << 20

_KINDS = {
    tarfile.DIRTYPE: "directory",
    tarfile.SYMTYPE: "symbolic link",
    tarfile.LNKTYPE: "hard link",
    tarfile.CHRTYPE: "device",
    tarfile.BLKTYPE: "device",
    tarfile.FIFOTYPE: "pipe",
}


@dataclass(frozen=True, kw_only=True)
class LayerFile:
    """A file of a layer. ``date`` is in seconds since 1970; ``content`` is the sha256 of a file."""

    type: str
    mode: int
    owner: tuple[int, int]
    date: float
    link: str
    content: str


Entries = Mapping[str, LayerFile]
"""Path to entry."""

ONLY_ORIGINAL = "only in the original"
ONLY_REBUILT = "only in the new build"


@dataclass(frozen=True, kw_only=True)
class FileChange:
    """A file that differs. ``how`` has the attributes that do, or the only side with the file."""

    path: str
    how: tuple[str, ...]


class _Hashed(io.RawIOBase):
    """A stream that hashes what is read of it."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self.digest = hashlib.sha256()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(len(buffer))
        self.digest.update(data)
        buffer[: len(data)] = data
        return len(data)


def read_layer(stream: IO[bytes]) -> tuple[str, Entries]:
    """The digest of an uncompressed layer, as in ``sha256:0123...``, and its files.

    Raises:
        tarfile.TarError: it is not a layer.
    """
    hashed = _Hashed(stream)
    buffered = io.BufferedReader(hashed, _CHUNK)
    with tarfile.open(fileobj=buffered, mode="r|") as archive:
        found = {member.name: _entry(archive, member) for member in archive}
    while buffered.read(_CHUNK):
        pass
    return f"sha256:{hashed.digest.hexdigest()}", found


def _entry(archive: tarfile.TarFile, member: tarfile.TarInfo) -> LayerFile:
    digest = hashlib.sha256()
    if member.isreg() and (content := archive.extractfile(member)):
        while chunk := content.read(_CHUNK):
            digest.update(chunk)
    return LayerFile(
        type=_KINDS.get(member.type, "file"),
        mode=member.mode,
        owner=(member.uid, member.gid),
        date=member.mtime,
        link=member.linkname,
        content=digest.hexdigest() if member.isreg() else "",
    )


def file_changes(before: Entries, after: Entries) -> tuple[FileChange, ...]:
    """The files that differ, by path."""
    found = []
    for path in sorted(before.keys() | after.keys()):
        old, new = before.get(path), after.get(path)
        if old and new:
            names = [each.name for each in fields(LayerFile)]
            how = tuple(name for name in names if getattr(old, name) != getattr(new, name))
        else:
            how = (ONLY_ORIGINAL if old else ONLY_REBUILT,)
        if how:
            found.append(FileChange(path=path, how=how))
    return tuple(found)


_HEAD = 4
_NO_LAYER = (tarfile.TarError, zstandard.ZstdError, gzip.BadGzipFile, zlib.error, EOFError)


def saved_layers(
    image: str, pieces: Iterator[bytes], wanted: Collection[str], others: Collection[str]
) -> Mapping[str, Entries]:
    """The files of the ``wanted`` layers, by digest, in the engine's archive of ``image``.

    ``pieces`` is the archive. The digests are those of uncompressed layers. Layers that the archive
    names after ``others`` are not read.

    Raises:
        EngineError: the archive is incomplete.
    """
    found: dict[str, Entries] = {}
    raw = cast("IO[bytes]", io.BufferedReader(Pieces(pieces), _CHUNK))
    try:
        with tarfile.open(fileobj=raw, mode="r|") as archive:
            for member in archive:
                # As in an OCI layout of engines that keep layers uncompressed.
                name = "sha256:" + member.name.rpartition("/")[2]
                if member.isfile() and name not in others:
                    content: Any = archive.extractfile(member)
                    found |= _if_layer(content)
    except tarfile.TarError as error:
        what = f"the engine's archive of {image} cannot be read: {error}."
        raise EngineError(what) from error
    if missing := sorted({*wanted} - found.keys()):
        what = f"the engine's archive of {image} lacks these layers: {', '.join(missing)}."
        raise EngineError(what)
    return {digest: found[digest] for digest in wanted}


def _if_layer(content: IO[bytes]) -> dict[str, Entries]:
    """The files of a layer with its digest; empty for other files of the archive."""
    head = content.read(_HEAD)
    if head.startswith((b"{", b"[")) or len(head) < _HEAD:
        return {}
    try:
        digest, entries = read_layer(decompressed(content, head))
    except _NO_LAYER:
        return {}
    return {digest: entries}


def blob_layer(chunks: Iterable[bytes]) -> tuple[str, Entries]:
    """The digest of the uncompressed layer in the blob ``chunks``, and its files.

    Raises:
        ValueError: it is not a layer.
    """
    content = cast("IO[bytes]", io.BufferedReader(Pieces(chunks), _CHUNK))
    try:
        found = read_layer(decompressed(content, content.read(_HEAD)))
    except _NO_LAYER as error:
        raise ValueError(f"it is not a layer: {error}") from error
    # Read to the end, which is when a registry's client compares the digest of the blob.
    while content.read(_CHUNK):
        pass
    return found


Files = Callable[[Collection[str]], Mapping[str, Entries]]
"""Returns the files of the layers with these digests; raises EngineError if it cannot."""


@dataclass(frozen=True, kw_only=True)
class Layers:
    """The digests of the uncompressed layers, the base's first; ``notes`` are about the image."""

    digests: Sequence[str]
    files: Files
    notes: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class Original:
    """An image that is to be built again.

    ``commit``, ``key`` and ``vendor_image`` are empty if they are not known. ``layers`` reads the
    layers, which takes minutes for an image in a registry; it raises EngineError if it cannot.
    """

    name: str
    target: str
    platform: str
    simulated: bool
    commit: str
    key: str
    vendor_image: str
    layers: Callable[[], Layers]


def find_original(project: Project, name: str, ca: Path | None) -> Original:
    """The image that ``name`` means: a record's path, or an image in a registry or of the engine.

    ``ca`` is a file of certificates to trust.

    Raises:
        UsageError: there is no such image, or it is not an image of a target.
        EngineError: the engine or the registry does not answer.
        FileError: it is not a valid record.
    """
    if name.endswith(".json"):
        return _of_record(name, record_file(project, name), ca)
    if "/" in name:
        return _of_registry(name, ca)
    return _of_engine(project, name)


def _of_record(name: str, record: Record, ca: Path | None) -> Original:
    if len(record.platforms) != 1:
        what = f"{name} has {counted(len(record.platforms), 'platform')}, and one is needed."
        raise UsageError(Problem(what=what, fix="Name one of its images by digest."))
    [(platform, image)] = record.platforms.items()

    def files(wanted: Collection[str]) -> Mapping[str, Entries]:
        repository = Repository(record.registry, record.repository, ca=ca)
        found = dict(read_image(repository, image.digest).read_layers())
        return {digest: found[digest] for digest in wanted if digest in found}

    return Original(
        name=name,
        target=record.target,
        platform=platform,
        simulated=record.simulated,
        commit=record.commit,
        key=record.key,
        vendor_image="",
        layers=lambda: Layers(digests=[each.diff_id for each in image.layers], files=files),
    )


def _of_registry(name: str, ca: Path | None) -> Original:
    place = parse_reference(name)
    if not place.version:
        what = f"{name} has neither a tag nor a digest."
        raise UsageError(Problem(what=what, fix="Add the tag or the digest of one image."))
    image = read_image(Repository(place.registry, place.repository, ca=ca), place.version)

    def layers() -> Layers:
        read = image.read_layers()
        digests, found = [digest for digest, _ in read], dict(read)
        return Layers(
            digests=digests,
            files=lambda wanted: {digest: found[digest] for digest in wanted},
            notes=_against_config(image.config, digests),
        )

    return Original(
        **_facts(name, image.config.get("config")),
        platform=f"{image.config.get('os')}/{image.config.get('architecture')}",
        layers=layers,
    )


def _against_config(config: Mapping[str, Any], digests: Sequence[str]) -> list[str]:
    """What is wrong with the config of an image with these layers."""
    named = (config.get("rootfs") or {}).get("diff_ids") or []
    pairs = enumerate(zip_longest(named, digests), 1)
    wrong = [str(number) for number, (said, found) in pairs if said != found]
    if not wrong:
        return []
    return [f"The config of the image does not match these of its layers: {', '.join(wrong)}."]


def _of_engine(project: Project, name: str) -> Original:
    local = local_images(local_names(name))
    if not local:
        raise UsageError(not_found(project, name))
    reference = next(iter(local))
    details = engine.image_details(reference)
    digests = details["RootFS"].get("Layers") or []
    return Original(
        **_facts(reference, details.get("Config")),
        platform=f"{details.get('Os')}/{details.get('Architecture')}",
        layers=lambda: Layers(
            digests=digests,
            files=lambda wanted: local_files(local[reference].id, digests, wanted),
        ),
    )


def local_files(
    image: str, digests: Sequence[str], wanted: Collection[str]
) -> Mapping[str, Entries]:
    """The files of the ``wanted`` layers of the local image with the id ``image``.

    ``digests`` are those of all of its layers.

    Raises:
        EngineError: the engine cannot save the image.
    """
    if not wanted:
        return {}
    # Closed explicitly, which ends the engine's answer if it is not read to its end.
    with closing(cast("Any", engine.saved(image))) as pieces:
        return saved_layers(image, pieces, wanted, {*digests} - {*wanted})


def _facts(name: str, config: Any) -> dict[str, Any]:
    """The fields of ``Original`` that the labels in a config have.

    Raises:
        UsageError: it has no label with a target.
    """
    labels = (config or {}).get("Labels") or {}
    if TARGET not in labels:
        raise UsageError(f"{name} is not an image of this project: it has no label {TARGET}.")
    return {
        "name": name,
        "target": labels[TARGET],
        "simulated": labels.get(simulated.LABEL) == "true",
        "commit": labels.get(REVISION, ""),
        "key": labels.get(LABEL, ""),
        "vendor_image": labels.get(vendor_image.LABEL, ""),
    }


@dataclass(frozen=True, kw_only=True)
class RegistryImage:
    """The image of one platform: its parsed config, and its layers as the registry stores them."""

    name: str
    repository: Repository
    config: Mapping[str, Any]
    layers: Sequence[Descriptor]

    def read_layers(self) -> list[tuple[str, Entries]]:
        """The digest of the uncompressed content of each layer, and its files.

        Raises:
            RegistryError: a layer is missing, is damaged, or is not a layer.
        """
        found = []
        for number, blob in enumerate(self.layers, 1):
            place = f"{self.name}, layer {number} of {len(self.layers)}"
            console.say(f"reading {place} ({blob.size / 1e6:,.1f} MB)")
            try:
                found.append(self.repository.read_blob(blob, blob_layer))
            except RegistryError as error:
                [said] = error.problems
                told = Problem(what=f"{place}: {said.what}", fix=said.fix)
                raise RegistryError(told, status=error.status) from error
            except ValueError as error:
                what = f"{place}: {blob.digest}: {error}."
                raise RegistryError(Problem(what=what)) from error
        return found


def read_image(repository: Repository, version: str) -> RegistryImage:
    """The image ``version``, a tag or a digest, which has to be for one platform.

    Raises:
        UsageError: it does not exist, or is for several platforms.
        RegistryError: the registry cannot be reached or denies access; or it is not an image.
    """
    name = repository.at(version)
    document = repository.manifest(version)
    if document is None:
        fix = "Check the reference; 'docker login HOST' stores a login."
        raise UsageError(Problem(what=f"{name} does not exist.", fix=fix))
    try:
        manifest = _manifest(repository, name, document)
        config, *layers = manifest_contents(manifest).blobs
        loaded = repository.read_config(config)
    except (ValueError, LookupError, TypeError) as error:
        fix = "Check the name; if it is right, push the image again."
        raise RegistryError(Problem(what=f"{name} is not an image.", fix=fix)) from error
    return RegistryImage(name=name, repository=repository, config=loaded, layers=layers)


def _manifest(repository: Repository, name: str, document: Document) -> Document:
    """The manifest of the only platform.

    Raises:
        UsageError: there are several platforms.
        ValueError, LookupError: this is not an image.
    """
    entries = [each for each in manifest_contents(document).manifests if each.platform != ATTESTED]
    if not entries:
        return document
    if len(entries) > 1:
        known = ", ".join(f"{repository.at(each.digest)} ({each.platform})" for each in entries)
        what = f"{name} has {counted(len(entries), 'image')}."
        raise UsageError(Problem(what=what, fix=f"Name one of them: {known}."))
    inner = repository.manifest(entries[0].digest)
    if inner is None:
        raise LookupError(entries[0].digest)
    return inner
