# SPDX-License-Identifier: Apache-2.0
"""Reads the files of layers: of an image that the engine saves, and of compressed blobs."""

from __future__ import annotations

import gzip
import io
import tarfile
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import IO, Any, cast

import zstandard

from cannery.common.errors import EngineError
from cannery.common.streams import Pieces
from cannery.publish.layer_files import Entries, read_layer
from cannery.registry.image_archive import decompressed

_CHUNK = 1 << 20
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
