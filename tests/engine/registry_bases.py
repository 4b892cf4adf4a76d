# SPDX-License-Identifier: Apache-2.0
"""Bases in a registry of one's own, each an index for both architectures, as a hub has them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path

from cannery.common.bases import Base
from cannery.common.process import run
from cannery.engine import client as engine
from cannery.matrix.project import Project
from cannery.registry.client import Repository
from cannery.registry.image_archive import Blobs, Packed
from cannery.registry.oci import CONFIG, Document, image_index, image_manifest
from cannery.registry.transfer import OciContent, in_memory, upload

from .bases import base_image

ARCHITECTURES = ("amd64", "arm64")


def publish_images(repository: Repository, tag: str, images: Mapping[str, str], kept: Path) -> str:
    """Publish local images, by architecture, as one index; its digest.

    ``kept`` is the folder of compressed layers.
    """
    entries = []
    for architecture, image in images.items():
        packed = _packed(image, kept)
        manifest = image_manifest(
            packed.config_descriptor, [each.blob for each in packed.layers], {}
        )
        config = in_memory(Document(media_type=CONFIG, content=packed.config))
        blobs = {**config, **{layer.blob: layer.open for layer in packed.layers}}
        upload(repository, OciContent(name=image, blobs=blobs, documents=(manifest,)))
        entries.append(manifest.descriptor(f"linux/{architecture}"))
    index = image_index(entries, {})
    repository.put_manifest(tag, index)
    return index.digest


def _packed(image: str, kept: Path) -> Packed:
    details = engine.image_details(image)
    diff_ids = details["RootFS"]["Layers"]
    return Blobs(folder=kept).pack(details["Id"], diff_ids, partial(engine.saved, details["Id"]))


def publish_base(host: str, base: Base, kept: Path) -> str:
    """Publish the stand-ins of ``base`` for both architectures; the reference, with a digest."""
    name, _, tag = base.image.partition("@")[0].partition(":")
    images = {each: base_image(base, each) for each in ARCHITECTURES}
    digest = publish_images(Repository(host, name), tag, images, kept)
    return f"{host}/{name}:{tag}@{digest}"


def use_registry(root: Path, host: str, targets: Iterable[str], kept: Path) -> None:
    """Let the checkout ``root`` have the bases of ``targets`` in the registry at ``host``."""
    project = Project(root=root)
    path = root / "cannery" / "data" / "bases.yaml"
    text = path.read_text(encoding="utf-8")
    chosen = [project.matrix().targets[name] for name in targets]
    bases = {each.image: each for one in chosen for each in (one.base, one.build_base)}
    for image, base in bases.items():
        assert text.count(image) == 1, image
        text = text.replace(image, publish_base(host, base, kept))
    path.write_text(text, encoding="utf-8")
    words = [word for name in targets for word in ("--target", name)]
    code, said = run([sys.executable, str(root / "build.py"), "render", *words])
    assert code == 0, said
