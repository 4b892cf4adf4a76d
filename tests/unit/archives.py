# SPDX-License-Identifier: Apache-2.0
"""Archives: those of an engine that saves an image, in each form, and those of attackers."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import random
import tarfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import zstandard


def digest(content: bytes) -> str:
    return "sha256:" + hashlib.sha256(content).hexdigest()


def tar(files: Mapping[str, bytes]) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return made.getvalue()


COMPRESSED: dict[str, Callable[[bytes], bytes]] = {
    "plain": lambda content: content,
    "gzip": gzip.compress,
    "zstd": zstandard.ZstdCompressor(level=1).compress,
}


@dataclass(frozen=True, kw_only=True)
class Saved:
    """An image of the layers with the contents ``layers``."""

    layers: tuple[bytes, ...]
    labels: Mapping[str, str]
    platform: str = "linux/arm64"

    @property
    def diff_ids(self) -> tuple[str, ...]:
        return tuple(digest(layer) for layer in self.layers)

    @property
    def config(self) -> bytes:
        system, architecture = self.platform.split("/")
        rootfs = {"type": "layers", "diff_ids": [*self.diff_ids]}
        content = {
            "architecture": architecture,
            "os": system,
            "created": "2026-11-21T12:00:00Z",
            "config": {"Labels": dict(self.labels)},
            "rootfs": rootfs,
        }
        return json.dumps(content).encode()

    @property
    def image(self) -> str:
        return digest(self.config)

    def layout(self, store: str) -> bytes:
        """As the OCI layout of engines from 25 on, which compress as ``store`` does."""
        blobs = [COMPRESSED[store](layer) for layer in self.layers]
        manifest = json.dumps({"layers": [digest(blob) for blob in blobs]}).encode()
        every = [*blobs, self.config, manifest]
        files = {f"blobs/sha256/{digest(each)[7:]}": each for each in every}
        return tar({**files, "index.json": b"{}", "oci-layout": b"{}"})

    def older(self) -> bytes:
        """As engines before 25 do it."""
        files = {f"{number}/layer.tar": layer for number, layer in enumerate(self.layers)}
        files |= {f"{number}/VERSION": b"1.0" for number in range(len(self.layers))}
        return tar({**files, f"{self.image[7:]}.json": self.config, "manifest.json": b"[{}]"})


def pieces(content: bytes, size: int = 1000) -> Iterator[bytes]:
    for start in range(0, len(content), size):
        yield content[start : start + size]


def layer(name: str, size: int = 5000) -> bytes:
    """A layer of one file, half of which cannot be compressed."""
    noise = random.Random(name).randbytes(size // 2)
    return tar({name: noise + b"cannery " * (size // 16)})


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.linkname = kind, link
    made.size = 3 if kind == tarfile.REGTYPE else 0
    return made


def longer_than_a_path(outside: str) -> list[tarfile.TarInfo]:
    """Links whose real path is longer than PATH_MAX, which realpath gives up on (CVE-2025-4517)."""
    way, members = "", list[tarfile.TarInfo]()
    for step in "abcdefghijklmnop":
        members += [
            member(f"{way}{'d' * 247}", tarfile.DIRTYPE),
            member(f"{way}{step}", tarfile.SYMTYPE, "d" * 247),
        ]
        way += f"{'d' * 247}/"
    deep = "/".join("abcdefghijklmnop") + "/" + "l" * 254
    return [
        *members,
        member(deep, tarfile.SYMTYPE, "../" * 16),
        member("out", tarfile.SYMTYPE, f"{deep}/../{outside}"),
        member("same", tarfile.LNKTYPE, "out/victim"),
        member("same"),
    ]
