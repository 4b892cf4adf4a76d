# SPDX-License-Identifier: Apache-2.0
"""``python -m tests.engine.second_target``: builds a target as machines with a registry do.

All bases are pulled by digest from a local registry: by an engine with the containerd image store,
which has nothing and builds twice, with equal layers, and by the engine that runs here, which
checks the image and names it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path

from cannery.common.bases import Base
from cannery.common.package_index import package_index
from cannery.common.references import image_name
from cannery.engine import client as local
from cannery.engine.simulator import simulate
from cannery.matrix.project import Project
from cannery.registry.client import Repository
from cannery.registry.image_archive import Blobs, Packed
from cannery.registry.oci import CONFIG, Document, image_index, image_manifest
from cannery.registry.transfer import OciContent, in_memory, upload

from .bases import base_image
from .conftest import ROOT, SECOND, run_build_py
from .engines import engine, registry
from .proxy import proxy
from .small_copy import copy_checkout
from .two_engines import layers

NUMBER = 23
"""Tells the engine from others."""

BRIEF = ("os", "python")
"""The components whose checks run in the image of the engine with the containerd store."""


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
    details = local.image_details(image)
    diff_ids = details["RootFS"]["Layers"]
    return Blobs(folder=kept).pack(details["Id"], diff_ids, partial(local.saved, details["Id"]))


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
    said = run_build_py(root, "render", *words)
    assert said.code == 0, said.text


def _say(what: str, begun: float) -> None:
    print(f"[{time.monotonic() - begun:6.1f} s] {what}", file=sys.stderr, flush=True)


def _build_py(root: Path, *words: str, **env: str) -> None:
    argv = [sys.executable, str(root / "build.py"), *words, "--target", SECOND, "--simulate"]
    subprocess.run(argv, env={**os.environ, **env}, check=True)


def _elsewhere(root: Path, folder: Path) -> None:
    """Build twice and check with an engine that has nothing, and the containerd image store."""
    settings = folder / "settings"
    with (
        engine(folder, NUMBER, containerd=True) as started,
        # The engine keeps its hands off the firewall, so its steps reach this machine only.
        proxy(f"10.213.{NUMBER}.1", "builder", "pass", settings),
    ):
        own = {"DOCKER_HOST": started.host, "DOCKER_CONFIG": str(settings)}
        built = []
        for words in ((), ("--force",)):
            _build_py(root, "build", "--no-test", *words, **own)
            built.append(layers(started, image_name(SECOND, simulate=True)))
        if built[0] != built[1]:
            sys.exit(f"two builds without a cache have other layers:\n{built[0]}\n{built[1]}")
        checked = [word for name in BRIEF for word in ("--component", name)]
        _build_py(root, "test", *checked, **own)


def main() -> None:
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="cannery-second-") as temporary:
        folder = Path(temporary)
        root = folder / "checkout"
        copy_checkout(root)
        (ROOT / ".cannery" / "simulator").mkdir(parents=True, exist_ok=True)
        (root / ".cannery").mkdir()
        (root / ".cannery" / "simulator").symlink_to(ROOT / ".cannery" / "simulator")
        # Made here, where the device is compiled already.
        here = Project(root=ROOT)
        target = here.matrix().targets[SECOND]
        simulate(here, target, package_index(None, ""), here.artifacts)
        _say("the packages are simulated", begun)
        with registry(folder) as host:
            use_registry(root, host, [SECOND], ROOT / ".cannery" / "blobs")
            _say(f"the bases are in the registry at {host}", begun)
            _elsewhere(root, folder)
            _say("built twice and checked by an engine with the containerd image store", begun)
            _build_py(root, "build")
            _say("built and checked by the engine that runs here", begun)


if __name__ == "__main__":
    main()
