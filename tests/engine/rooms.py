# SPDX-License-Identifier: Apache-2.0
"""Machines of a test: engines with a checkout, in a network without a route or behind a proxy."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cannery.building.bases import bases
from cannery.common.model import Target
from cannery.common.references import image_name
from cannery.image.plan import plan_image
from cannery.lock.lock_file import parse_lock
from cannery.matrix.project import Project

from .bases import allow_stand_ins, base_image
from .conftest import MAIN, ROOT, Said, run_build_py
from .engines import Engine, engine, without_route
from .proxy import proxy

Image = dict[str, Any]
Layers = dict[str, str]
"""Stage to digest."""

_LEFT_OUT = shutil.ignore_patterns(".cannery", ".git", ".venv", "node_modules", "__pycache__")


@dataclass(frozen=True, kw_only=True)
class Room:
    """A checkout and its engine; ``inside`` are the words that run a command in its network."""

    checkout: Path
    engine: Engine
    inside: tuple[str, ...] = ()

    def build_py(self, *arguments: str, **more: str) -> Said:
        """What build.py ended with; ``more`` is added to its environment."""
        env = {"DOCKER_HOST": self.engine.host, **more}
        return run_build_py(self.checkout, *arguments, inside=self.inside, **env)

    def inspected(self, name: str) -> Image:
        """What the engine says of an image."""
        found: Image = json.loads(self.engine.docker("image", "inspect", name))[0]
        return found

    def layers(self, target: Target, name: str = "") -> Layers:
        """The layers of an image of ``target``, by default of the simulated one."""
        text = (self.checkout / "images" / target.id / "Dockerfile").read_text(encoding="utf-8")
        stages = re.findall(r"^COPY --link --from=(\S+) /layer/ /$", text, re.MULTILINE)
        image = self.inspected(name or image_name(target.id, simulate=True))
        return dict(zip(["base", *stages], image["RootFS"]["Layers"], strict=True))

    def from_bundle(self, bundle: Path, *targets: Target) -> Said:
        """Build and check everything in ``bundle``, which are ``targets``."""
        assert self.engine.docker("images", "--all", "--quiet") == ""
        said = self.build_py("--from-bundle", str(bundle))
        assert said.code == 0, said.text[-4000:]
        for target in targets:
            name = image_name(target.id, simulate=True)
            assert f"{name} is ready" in said.text
            self.engine.docker("image", "inspect", name)
        assert " 0 failed" in said.text
        return said


@contextmanager
def room(folder: Path, number: int, checkout: Path) -> Iterator[Room]:
    """A room below ``folder`` with a copy of ``checkout``; ``number`` tells it from others."""
    shutil.copytree(checkout, folder / "checkout", ignore=_LEFT_OUT)
    with (
        without_route(number) as inside,
        engine(folder, number, containerd=True, inside=inside) as started,
    ):
        yield Room(checkout=folder / "checkout", engine=started, inside=inside)


def identities(project: Project, target: Target) -> dict[str, str]:
    """Layer to its identity as a plan has it."""
    lock = parse_lock(project.lock(target).read_text(encoding="utf-8"))
    return {layer.name: layer.identity for layer in plan_image(target, lock).layers}


def equal_layers(project: Project, one: Target, other: Target) -> set[str]:
    """The layers that the images of two targets have in common, by what they are made from."""
    own, others = identities(project, one), identities(project, other)
    return {"base", *(name for name in own if own[name] == others.get(name))}


def equal(one: Layers, other: Layers) -> set[str]:
    """The layers that are the same bytes in two images."""
    return {name.removeprefix("layer-") for name in one if one[name] == other.get(name)}


@dataclass(frozen=True, kw_only=True)
class Machine:
    """A clone of this checkout and an engine; ``settings`` is the folder of docker's settings."""

    clone: Path
    engine: Engine
    address: str
    settings: Path

    def build_py(self, *words: str, **env: str) -> Said:
        """What build.py ended with: what it printed, and then what it said."""
        env = {"DOCKER_HOST": self.engine.host, "DOCKER_CONFIG": str(self.settings), **env}
        return run_build_py(self.clone, *words, **env)


def load_bases(engine: Engine, archive: Path) -> None:
    """Bring the bases of the main target, which elsewhere are pulled by their digests."""
    target = Project(root=ROOT).matrix().targets[MAIN]
    names = {base_image(*each) for each in bases(target).values()}
    subprocess.run(["docker", "save", "--output", str(archive), *sorted(names)], check=True)
    engine.docker("load", "--input", str(archive))
    archive.unlink()


@contextmanager
def machine(folder: Path, number: int, password: str = "pass") -> Iterator[Machine]:
    """A machine below ``folder``; ``number`` tells its engine from others."""
    clone, settings, address = folder / "clone", folder / "settings", f"10.213.{number}.1"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    allow_stand_ins(clone)
    # They stand in for the vendor's files, and compiling them takes longer than the build.
    if (made := ROOT / ".cannery" / "simulator").is_dir():
        shutil.copytree(made, clone / ".cannery" / "simulator", symlinks=True)
    with (
        engine(folder, number, containerd=True) as started,
        proxy(address, "builder", password, settings),
    ):
        load_bases(started, folder / "bases.tar")
        yield Machine(clone=clone, engine=started, address=address, settings=settings)
