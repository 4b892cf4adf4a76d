# SPDX-License-Identifier: Apache-2.0
"""Finds or pulls base images, or has a stand-in bootstrapped if no registry can be reached."""

from __future__ import annotations

import json
import os
import platform
import tarfile
import tempfile
from pathlib import Path

from cannery.common import console
from cannery.common.archives import extract
from cannery.common.bases import Base
from cannery.common.errors import EngineError, Problem, file_error
from cannery.common.process import run
from cannery.engine.bootstrap import bootstrap, checked
from cannery.engine.images import Images, LocalImage, local_images


def building_architecture() -> str:
    """The architecture of this machine, as the engine names it."""
    machine = platform.machine()
    return {"x86_64": "amd64", "aarch64": "arm64"}.get(machine, machine)


def ensure_base(base: Base, architecture: str) -> str:
    """A reference to a local image of ``base``, which is pulled or bootstrapped if it is missing.

    Raises:
        EngineError: the image can neither be pulled nor bootstrapped.
    """
    images = local_images(names(base, architecture))
    for name in names(base, architecture):
        if _is_for(architecture, images.get(name)):
            return name
    for name in () if base.snapshot else (*base.mirrors, base.image):
        console.say(f"base {base.name}: pulling {name} for {architecture}")
        argv = ["docker", "pull", "--platform", f"linux/{architecture}", name]
        code, said = run(argv, capture=True)
        if code == 0:
            return name
        why = (said.strip().splitlines() or ["docker gives no reason"])[-1]
        console.say(f"base {base.name}: it cannot be pulled from there: {why}")
    if not base.distribution.bootstrapped:
        what = f"base {base.name} ({base.image}) is missing and could not be pulled; a stand-in "
        fix = "Load the image with 'docker load', or name a mirror of its registry in cannery.toml."
        raise EngineError(Problem(what=f"{what}can be bootstrapped for Debian only.", fix=fix))
    what = f"of {base.snapshot}" if base.snapshot else "in its place"
    console.say(f"base {base.name}: bootstrapping Debian {base.suite} {what}")
    bootstrap(base, architecture, building_architecture())
    return base.bootstrap_tag(architecture)


def names(base: Base, architecture: str) -> tuple[str, ...]:
    """The local names of ``base``, by its mirrors too, and of its stand-in."""
    if base.snapshot:
        return (base.bootstrap_tag(architecture),)
    return base.image, *base.mirrors, base.bootstrap_tag(architecture)


def mirrored(base: Base, name: str) -> dict[str, str]:
    """The build contexts by which ``name``, a result of ``ensure_base``, is used for ``base``.

    A build that gets the image from a mirror names the same base as any other one.
    """
    return {base.image: f"docker-image://{name}"} if name in base.mirrors else {}


def identity(base: Base, architecture: str, images: Images) -> str:
    """An identifier of the image that is used for ``base``: its pinned name, or else an id.

    ``images`` are the local images among ``names``. If there are none, it is the name.
    """
    if base.snapshot:
        return base.image
    used = reference(base, architecture, images)
    always_the_same = base.is_pinned and used != base.bootstrap_tag(architecture)
    return base.image if always_the_same or used not in images else images[used].id


def reference(base: Base, architecture: str, images: Images) -> str:
    """The result of ``ensure_base``, without pulling or bootstrapping anything."""
    here = (each for each in names(base, architecture) if _is_for(architecture, images.get(each)))
    return next(here, base.image)


def _is_for(architecture: str, image: LocalImage | None) -> bool:
    return image is not None and image.architecture == architecture


def as_layout(image: str, folder: Path) -> str:
    """``image`` as a build context, for a builder that cannot use the engine's images.

    The image is unpacked below ``folder``, once.

    Raises:
        EngineError: the engine cannot save the image.
        FileError: the files cannot be written.
    """
    found = local_images([image])
    if image not in found:
        raise EngineError(f"somebody has removed {image} during this run.")
    place = folder / found[image].id.removeprefix("sha256:")[:12]
    try:
        if not (place / "index.json").is_file():
            place.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix=".making-", dir=place.parent) as temporary:
                archive, tree = Path(temporary) / "image.tar", Path(temporary) / "tree"
                argv = ["docker", "save", "--output", str(archive), image]
                checked(argv, f"the engine could not save {image}")
                with tarfile.open(archive) as opened:
                    extract(opened, tree)
                os.replace(tree, place)
        [manifest] = json.loads((place / "index.json").read_text(encoding="utf-8"))["manifests"]
    except OSError as error:
        raise file_error("write", place, error) from error
    return f"oci-layout://{place}@{manifest['digest']}"
