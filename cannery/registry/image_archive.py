# SPDX-License-Identifier: Apache-2.0
"""Saves an image from the engine, and compresses its layers for a registry.

The engine's archive has layers as they are in its store: uncompressed, or compressed in any way.
This module always compresses them in the same way, so that equal layers are equal blobs wherever
they were built. It keeps compressed layers, so that an unchanged layer is compressed once.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import itertools
import json
import os
import tarfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

import zstandard

from cannery.common.archives import read_tar
from cannery.common.errors import EngineError, Problem, file_error
from cannery.common.files import Pieces, temporary_folder, write_files
from cannery.common.outside import MOST_CONFIG, parse_json
from cannery.registry.oci import CONFIG, LARGEST, LAYERS, Descriptor, digest_of

_CHUNK = 1 << 20
"""The maximum size of a config or a manifest in bytes; layers may be smaller."""

_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
"""The first bytes of compressed files."""

_ZSTD_LEVEL, _GZIP_LEVEL = 6, 6
"""Measured with torch's layer: level 3 of zstd is 8 % larger, and level 9 is only 4 % smaller but
takes twice the time."""


@dataclass(frozen=True, kw_only=True)
class PackedLayer:
    """A compressed layer in ``path``; ``diff_id`` is the digest of its uncompressed content."""

    blob: Descriptor
    diff_id: str
    path: Path

    def open(self) -> BinaryIO:
        """Open the blob to read it."""
        return self.path.open("rb")


@dataclass(frozen=True, kw_only=True)
class Packed:
    """An image with compressed layers. ``config`` has exactly the bytes of the engine's config."""

    config: bytes
    layers: tuple[PackedLayer, ...]

    @property
    def config_descriptor(self) -> Descriptor:
        return Descriptor(media_type=CONFIG, digest=digest_of(self.config), size=len(self.config))


def _zstd() -> Any:
    # Any number of threads gives the same bytes, but no threads gives others. The size is left
    # out because it is not always known beforehand.
    threads = os.cpu_count() or 1
    return zstandard.ZstdCompressor(
        level=_ZSTD_LEVEL, threads=threads, write_checksum=True, write_content_size=False
    ).compressobj()


def _gzip() -> Any:
    # 31: with a gzip header, which has neither a time nor a name.
    return zlib.compressobj(_GZIP_LEVEL, zlib.DEFLATED, 31)


_COMPRESSORS: Mapping[str, tuple[str, Callable[[], Any]]] = {
    "zstd": (f"zstd-{_ZSTD_LEVEL}", _zstd),
    "gzip": (f"gzip-{_GZIP_LEVEL}", _gzip),
}


@dataclass(frozen=True, kw_only=True)
class Blobs:
    """Compressed layers below ``folder``, which the user may delete at any time."""

    folder: Path
    compression: str = "zstd"

    def pack(
        self, image: str, diff_ids: Iterable[str], save: Callable[[], Iterator[bytes]]
    ) -> Packed:
        """Compress the image with the id ``image``, whose layers have the digests ``diff_ids``.

        ``save`` returns its archive; it is called only if a layer or the config is not kept yet.
        """
        expected = tuple(diff_ids)
        config_path = self.folder / "configs" / image.removeprefix("sha256:")
        try:
            config = config_path.read_bytes() if config_path.is_file() else b""
            if not config or _diff_ids(config) != expected or not all(map(self._known, expected)):
                config = self._compress_layers(image, expected, save)
                write_files({config_path: config.decode()})
        except OSError as error:
            raise file_error("write", Path(error.filename or self.folder), error) from error
        layers = {diff_id: self._known(diff_id) for diff_id in expected}
        missing = [diff_id for diff_id, layer in layers.items() if not layer]
        if missing:
            what = f"the engine's archive of {image} lacks these layers: {', '.join(missing)}."
            raise EngineError(Problem(what=what, fix="Build the image again, with --force."))
        return Packed(config=config, layers=tuple(layer for d in expected if (layer := layers[d])))

    def _compress_layers(
        self, image: str, expected: tuple[str, ...], save: Callable[[], Iterator[bytes]]
    ) -> bytes:
        """Compress all layers of the archive that are not kept yet, and return the config.

        The content of a file decides what it is, because names differ between stores and versions
        of the engine.
        """
        configs: list[bytes] = []
        # Closed explicitly, which ends its request even if not all of it was read.
        with (
            temporary_folder(self.folder / "sha256") as folder,
            closing(cast("Any", save())) as pieces,
        ):
            raw = cast("IO[bytes]", io.BufferedReader(Pieces(pieces), _CHUNK))
            try:
                with read_tar(raw, "r|") as archive:
                    for member in archive:
                        digest = "sha256:" + member.name.rpartition("/")[2]
                        known = digest in expected and self._known(digest)
                        content = None if known else archive.extractfile(member)
                        if not content:
                            continue
                        head = content.read(4)
                        if head.startswith(b"{") and member.size <= MOST_CONFIG:
                            text = head + content.read()
                            configs += [text] if _diff_ids(text) == expected else []
                        else:
                            self._compress(_decompressed(content, head), expected, folder / "blob")
            except tarfile.TarError as error:
                what = f"the engine's archive of {image} cannot be read: {error}."
                raise EngineError(what) from error
        # An index for several platforms may have several configs with equal layers.
        exact = [config for config in configs if digest_of(config) == image] or configs
        if not exact:
            raise EngineError(f"the engine's archive of {image} does not contain its config.")
        return exact[0]

    def _compress(self, plain: IO[bytes], expected: tuple[str, ...], path: Path) -> None:
        plain_hash, blob_hash = hashlib.sha256(), hashlib.sha256()
        compressor = _COMPRESSORS[self.compression][1]()
        with path.open("wb") as file:
            while chunk := plain.read(_CHUNK):
                plain_hash.update(chunk)
                data = compressor.compress(chunk)
                blob_hash.update(data)
                file.write(data)
            data = compressor.flush()
            blob_hash.update(data)
            file.write(data)
            size = file.tell()
            file.flush()
            os.fsync(file.fileno())
        diff_id, digest = f"sha256:{plain_hash.hexdigest()}", blob_hash.hexdigest()
        if diff_id in expected:
            os.replace(path, self.folder / "sha256" / digest)
            note = json.dumps({"digest": f"sha256:{digest}", "size": size}) + "\n"
            write_files({self._note(diff_id): note})

    def _note(self, diff_id: str) -> Path:
        """The path of the file with the digest of the layer's blob."""
        name = _COMPRESSORS[self.compression][0]
        return self.folder / name / f"{diff_id.removeprefix('sha256:')}.json"

    def _known(self, diff_id: str) -> PackedLayer | None:
        """The compressed layer, if it is kept and complete."""
        try:
            loaded = json.loads(self._note(diff_id).read_bytes())
            digest, size = str(loaded["digest"]), int(loaded["size"])
            path = self.folder / "sha256" / digest.removeprefix("sha256:")
            if path.stat().st_size != size:
                return None
        except (OSError, ValueError, KeyError, TypeError):
            return None
        blob = Descriptor(media_type=LAYERS[self.compression], digest=digest, size=size)
        return PackedLayer(blob=blob, diff_id=diff_id, path=path)


def _decompressed(content: IO[bytes], head: bytes) -> IO[bytes]:
    """The uncompressed content of a layer of which ``head``, its first bytes, were read."""
    pieces = itertools.chain([head], iter(lambda: content.read(_CHUNK), b""))
    source = io.BufferedReader(Pieces(pieces), _CHUNK)
    if head.startswith(_GZIP):
        return cast("IO[bytes]", gzip.GzipFile(fileobj=source))
    if head == _ZSTD:
        reader = zstandard.ZstdDecompressor().stream_reader(source, read_across_frames=True)
        return cast("IO[bytes]", reader)
    return cast("IO[bytes]", source)


def _diff_ids(text: bytes) -> tuple[str, ...]:
    """The layers in the config ``text``; empty if it is not a config."""
    try:
        return tuple(parse_json(text, most=MOST_CONFIG)["rootfs"]["diff_ids"])
    except (ValueError, KeyError, TypeError):
        return ()


def unpacked(blob: Descriptor, chunks: Iterator[bytes]) -> str:
    """The digest of a layer's uncompressed content.

    Raises:
        ValueError: the layer is not compressed as its media type says, or has too many bytes.
    """
    starts = {LAYERS["zstd"]: _ZSTD, LAYERS["gzip"]: _GZIP}
    source = cast("IO[bytes]", io.BufferedReader(Pieces(chunks), _CHUNK))
    head = source.read(4)
    if blob.media_type not in starts or not head.startswith(starts[blob.media_type]):
        raise ValueError(f"{blob.digest} cannot be unpacked as {blob.media_type}")
    plain, digest, size = _decompressed(source, head), hashlib.sha256(), 0
    try:
        while size <= LARGEST and (chunk := plain.read(_CHUNK)):
            digest.update(chunk)
            size += len(chunk)
    except (zstandard.ZstdError, zlib.error, gzip.BadGzipFile, EOFError) as error:
        raise ValueError(f"{blob.digest} cannot be unpacked: {error}") from error
    if size > LARGEST:
        raise ValueError(f"{blob.digest} unpacks to more than {LARGEST:,} bytes")
    return "sha256:" + digest.hexdigest()
