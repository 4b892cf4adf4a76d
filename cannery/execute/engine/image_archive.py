# SPDX-License-Identifier: Apache-2.0
"""Takes an image out of the engine and makes of it what a registry is given.

An engine hands out layers as its store happens to have them: plain, or compressed by whoever made
them. Each is compressed here in one way, so that equal layers are equal blobs wherever they were
built. What was made is kept, and a layer that has not changed is compressed once.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import itertools
import json
import os
import tarfile
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO, Protocol, cast

import zstandard

from cannery.errors import EngineError, Problem, UsageError, did_you_mean, file_error
from cannery.execute.streams import Pieces
from cannery.files import write_files
from cannery.publish.oci import CONFIG, LAYERS, Descriptor, digest_of

_CHUNK = 1 << 20
_LARGEST_TEXT = 8 << 20
"""Bytes of the largest config or manifest; a layer may be smaller."""

_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
"""How compressed files begin."""

_ZSTD_LEVEL, _GZIP_LEVEL = 6, 6
"""Measured on torch's layer: zstd 3 makes it 8 % larger; 9 only 4 % smaller, in twice the time."""


@dataclass(frozen=True, kw_only=True)
class PackedLayer:
    """A layer as a registry gets it, in ``path``; ``diff_id`` is the digest of what is in it."""

    blob: Descriptor
    diff_id: str
    path: Path


@dataclass(frozen=True, kw_only=True)
class Packed:
    """An image as a registry gets it. ``config`` is as the engine has it, to the byte."""

    config: bytes
    layers: tuple[PackedLayer, ...]

    @property
    def config_descriptor(self) -> Descriptor:
        return Descriptor(media_type=CONFIG, digest=digest_of(self.config), size=len(self.config))


class _Compressor(Protocol):
    def compress(self, data: bytes, /) -> bytes: ...
    def flush(self) -> bytes: ...


def _zstd() -> _Compressor:
    # With threads, however many, the bytes are the same; without any they are others. The size is
    # left out because it is known beforehand of a plain layer only.
    compressor = zstandard.ZstdCompressor(
        level=_ZSTD_LEVEL,
        threads=os.cpu_count() or 1,
        write_checksum=True,
        write_content_size=False,
    )
    return cast("_Compressor", compressor.compressobj())


def _gzip() -> _Compressor:
    # 31: with a header, which has neither a time nor a name.
    return cast("_Compressor", zlib.compressobj(_GZIP_LEVEL, zlib.DEFLATED, 31))


_COMPRESSORS: Mapping[str, tuple[str, Callable[[], _Compressor]]] = {
    "zstd": (f"zstd-{_ZSTD_LEVEL}", _zstd),
    "gzip": (f"gzip-{_GZIP_LEVEL}", _gzip),
}


@dataclass(frozen=True, kw_only=True)
class Blobs:
    """Compressed layers that are kept below ``folder``, all of which may be deleted any time."""

    folder: Path
    compression: str = "zstd"

    def __post_init__(self) -> None:
        if self.compression not in _COMPRESSORS:
            hint = did_you_mean(self.compression, _COMPRESSORS)
            raise UsageError(f"there is no compression {self.compression!r}. {hint}")

    def pack(
        self, image: str, diff_ids: Iterable[str], save: Callable[[], Iterator[bytes]]
    ) -> Packed:
        """The image with the id ``image``, whose layers unpack to ``diff_ids``.

        ``save`` gives its archive, and is asked only where something of it is not here yet.

        Raises:
            EngineError: the archive is not that of the image.
            FileError: a blob cannot be written.
        """
        wanted = tuple(diff_ids)
        config_path = self.folder / "configs" / image.removeprefix("sha256:")
        try:
            config = _config_in(config_path, wanted)
            if not config or not all(self._known(each) for each in wanted):
                config = self._take(image, wanted, save)
                write_files({config_path: config.decode()})
        except OSError as error:
            raise file_error("write", Path(error.filename or self.folder), error) from error
        layers = [self._known(each) for each in wanted]
        missing = [each for each, layer in zip(wanted, layers, strict=True) if not layer]
        if missing:
            what = f"the engine's archive of {image} has no layer {', '.join(missing)}."
            raise EngineError(Problem(what=what, fix="Build the image again, with --force."))
        return Packed(config=config, layers=tuple(layer for layer in layers if layer))

    def _take(
        self, image: str, wanted: tuple[str, ...], save: Callable[[], Iterator[bytes]]
    ) -> bytes:
        """Compress every layer of the archive that is not kept yet, and return the config."""
        configs: list[bytes] = []
        # A generator, which must end its request even where not all of it is read.
        with closing(cast("Any", save())) as pieces:
            raw = cast("IO[bytes]", io.BufferedReader(Pieces(pieces), _CHUNK))
            try:
                with tarfile.open(fileobj=raw, mode="r|") as archive:
                    for member in archive:
                        if member.isfile():
                            content = archive.extractfile(member)
                            assert content
                            configs += self._look(member, content, wanted)
            except tarfile.TarError as error:
                raise EngineError(f"the engine's archive of {image} is none: {error}.") from error
        # An index for several platforms may have configs of equal layers; one is this image's.
        own = [each for each in configs if digest_of(each) == image] or configs
        if not own:
            raise EngineError(f"the engine's archive of {image} has no config of it.")
        return own[0]

    def _look(
        self, member: tarfile.TarInfo, content: IO[bytes], wanted: tuple[str, ...]
    ) -> list[bytes]:
        """Keep ``content`` if it is a layer; return it if it is the config.

        By what it is and not by its name, which differs between stores and versions of the engine.
        """
        name = "sha256:" + member.name.rpartition("/")[2]
        if name in wanted and self._known(name):
            return []
        head = content.read(4)
        if head.startswith(b"{") and member.size <= _LARGEST_TEXT:
            text = head + content.read()
            return [text] if _diff_ids(text) == wanted else []
        pieces = itertools.chain([head], iter(lambda: content.read(_CHUNK), b""))
        source = io.BufferedReader(Pieces(pieces), _CHUNK)
        plain = cast("IO[bytes]", source)
        if head.startswith(_GZIP):
            plain = cast("IO[bytes]", gzip.GzipFile(fileobj=source))
        elif head == _ZSTD:
            reader = zstandard.ZstdDecompressor().stream_reader(source, read_across_frames=True)
            plain = cast("IO[bytes]", reader)
        self._compress(plain, wanted)
        return []

    def _compress(self, plain: IO[bytes], wanted: tuple[str, ...]) -> None:
        kept, made = hashlib.sha256(), hashlib.sha256()
        compressor = _COMPRESSORS[self.compression][1]()
        blobs = self.folder / "sha256"
        blobs.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(prefix=".making-", dir=blobs, delete=False) as file:
            path = Path(file.name)
            try:
                while chunk := plain.read(_CHUNK):
                    kept.update(chunk)
                    _write(file, made, compressor.compress(chunk))
                _write(file, made, compressor.flush())
                size = file.tell()
                diff_id, digest = f"sha256:{kept.hexdigest()}", made.hexdigest()
                if diff_id in wanted:
                    file.flush()
                    os.fsync(file.fileno())
                    os.replace(path, blobs / digest)
                    note = json.dumps({"digest": f"sha256:{digest}", "size": size}) + "\n"
                    write_files({self._note(diff_id): note})
            finally:
                path.unlink(missing_ok=True)

    def _note(self, diff_id: str) -> Path:
        """What says which blob the layer became."""
        name = _COMPRESSORS[self.compression][0]
        return self.folder / name / f"{diff_id.removeprefix('sha256:')}.json"

    def _known(self, diff_id: str) -> PackedLayer | None:
        """The layer, if it is kept whole."""
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


def _write(file: IO[bytes], digest: Any, data: bytes) -> None:
    digest.update(data)
    file.write(data)


def _diff_ids(text: bytes) -> tuple[str, ...]:
    """The layers of the config ``text``; none where it is something else."""
    try:
        return tuple(json.loads(text)["rootfs"]["diff_ids"])
    except (ValueError, KeyError, TypeError):
        return ()


def _config_in(path: Path, wanted: tuple[str, ...]) -> bytes:
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return b""
    return text if _diff_ids(text) == wanted else b""


def opener(path: Path) -> Callable[[], BinaryIO]:
    """What opens ``path``, as often as it must be read."""
    return lambda: path.open("rb")


def unpacked(blob: Descriptor, chunks: Iterator[bytes]) -> str:
    """The digest of what a layer unpacks to.

    Raises:
        ValueError: it is not compressed as its media type says.
    """
    digest = hashlib.sha256()
    kind = {media_type: name for name, media_type in LAYERS.items()}.get(blob.media_type)
    if kind == "zstd":
        decompressor: Any = zstandard.ZstdDecompressor().decompressobj()
    elif kind == "gzip":
        decompressor = zlib.decompressobj(31)
    else:
        raise ValueError(f"{blob.digest} is of type {blob.media_type}")
    try:
        for chunk in chunks:
            digest.update(decompressor.decompress(chunk))
    except (zstandard.ZstdError, zlib.error) as error:
        raise ValueError(f"{blob.digest} cannot be unpacked: {error}") from error
    return "sha256:" + digest.hexdigest()
