# SPDX-License-Identifier: Apache-2.0
"""A base image of 4 MB, made of this machine's own shell and a few programs."""

from __future__ import annotations

import gzip
import io
import json
import re
import shutil
import subprocess
import tarfile
from collections.abc import Mapping
from pathlib import Path

import zstandard

from cannery.engine.base import building_architecture
from cannery.registry.client import Repository
from cannery.registry.oci import (
    CONFIG,
    LAYERS,
    Document,
    digest_of,
    image_index,
    image_manifest,
)
from cannery.registry.transfer import OciContent, in_memory, upload

_PROGRAMS = ("dash", "cat", "cp", "head", "mkdir", "sleep", "tail", "touch")
_LIBRARY = re.compile(r"(/\S+) \(0x")
_TEXTS = {
    "usr/lib/os-release": "ID=debian\nVERSION_ID=12\nVERSION_CODENAME=bookworm\n",
    "var/lib/dpkg/status": (
        "Package: dash\nStatus: install ok installed\nVersion: 0.5.12-2\nArchitecture: all\n"
    ),
}
_LINKS = {"bin": "usr/bin", "lib": "usr/lib", "lib64": "usr/lib64", "usr/bin/sh": "dash"}


def archive(note: str) -> bytes:
    """The root file system as a tar archive; ``note`` is the text of its file /base."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as made:
        for name, target in _LINKS.items():
            link = tarfile.TarInfo(name)
            link.type, link.linkname = tarfile.SYMTYPE, target
            made.addfile(link)
        for path in sorted(_files()):
            real = path.parent.resolve() / path.name
            made.add(real.resolve(), str(real).lstrip("/"))
        for name, text in {**_TEXTS, "base": note}.items():
            member = tarfile.TarInfo(name)
            member.size = len(text.encode())
            made.addfile(member, io.BytesIO(text.encode()))
        for name in ("tmp", "dev", "proc", "sys", "etc"):
            folder = tarfile.TarInfo(name)
            folder.type, folder.mode = tarfile.DIRTYPE, 0o755
            made.addfile(folder)
    return stream.getvalue()


def _files() -> set[Path]:
    """The programs, and the libraries that they load."""
    programs = [Path(shutil.which(name) or name) for name in _PROGRAMS]
    found = {*programs}
    for program in programs:
        said = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
        found |= {Path(each) for each in _LIBRARY.findall(said)}
    return found


def publish(repository: Repository, tag: str) -> str:
    """Publish a base with ``tag`` as its text; its digest."""
    image = _image(tag, building_architecture())
    upload(repository, image)
    repository.put_manifest(tag, image.root)
    return image.root.digest


def publish_index(
    repository: Repository, tag: str, notes: Mapping[str, str], *, compression: str = "gzip"
) -> str:
    """Publish a base for the architectures in ``notes``, each with its text; the index's digest.

    The programs are those of this machine in all of them.
    """
    images = {each: _image(note, each, compression) for each, note in notes.items()}
    entries = [image.root.descriptor(f"linux/{each}") for each, image in images.items()]
    index = image_index(entries, {})
    for image in images.values():
        upload(repository, image)
    repository.put_manifest(tag, index)
    return index.digest


def _image(note: str, architecture: str, compression: str = "gzip") -> OciContent:
    content = archive(note)
    compressed = gzip.compress(content, 1, mtime=0)
    if compression == "zstd":
        compressed = zstandard.compress(content)
    layer = Document(media_type=LAYERS[compression], content=compressed)
    rootfs = {"type": "layers", "diff_ids": [digest_of(content)]}
    config = {"architecture": architecture, "os": "linux", "rootfs": rootfs, "config": {}}
    settings = Document(media_type=CONFIG, content=json.dumps(config).encode())
    manifest = image_manifest(settings.descriptor(), [layer.descriptor()], {})
    return OciContent(name=note, blobs=in_memory(settings, layer), documents=(manifest,))
