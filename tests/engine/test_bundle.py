# SPDX-License-Identifier: Apache-2.0
"""A build from a bundle, by an empty engine in a network namespace that has no route.

Its layers are those of a build with a network, which another empty engine made from nothing. Both
engines have containerd's image store: the other store writes the files of a layer that several
images share in one of two orders.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docker
import pytest

from cannery.execute.engine.base import building_architecture, ensure_base
from cannery.execute.engine.buildx import PackageIndex
from cannery.image.layers import layers_of
from cannery.image.lock import parse_lock
from cannery.image.names import image_name
from cannery.image.origin_labels import origin_labels
from cannery.matrix.project import Project
from cannery.model import Target

from .conftest import MAIN, ROOT, Built, Said
from .engines import Engine, engine, without_route

APPLICATION = "py39-torch231-cann8t39-llamafactory090"
NAME = "cannery-test:reproducible"
Image = dict[str, Any]
Layers = dict[str, str]
"""Stage to digest."""


@dataclass(frozen=True, kw_only=True)
class Room:
    """A checkout, and an engine of its own, in a namespace without a route."""

    checkout: Path
    engine: Engine
    inside: tuple[str, ...]

    def build_py(self, *arguments: str) -> Said:
        done = subprocess.run(
            [*self.inside, sys.executable, str(self.checkout / "build.py"), *arguments],
            env={**os.environ, "DOCKER_HOST": self.engine.host},
            capture_output=True,
            text=True,
            check=False,
        )
        assert "Traceback" not in done.stderr
        return Said(code=done.returncode, text=done.stdout + done.stderr)


@pytest.fixture(scope="module")
def bundle(
    build_py: Callable[..., Said], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    file = tmp_path_factory.mktemp("bundle") / "x.bundle"
    targets = ["--target", MAIN, "--target", APPLICATION]
    said = build_py("bundle", *targets, "--simulate", "--out", str(file))
    assert said.code == 0, said.text[-4000:]
    yield file
    file.unlink()


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Room]:
    folder = tmp_path_factory.mktemp("room")
    left_out = shutil.ignore_patterns(".cannery", ".git", ".venv", "node_modules", "__pycache__")
    shutil.copytree(ROOT, folder / "checkout", ignore=left_out)
    with (
        without_route(7) as inside,
        engine(folder, 7, containerd=True, inside=inside) as started,
    ):
        yield Room(checkout=folder / "checkout", engine=started, inside=inside)


@pytest.fixture(scope="module")
def from_bundle(bundle: Path, room: Room) -> Said:
    """Both targets, built and checked."""
    assert room.engine.docker("images", "--all", "--quiet") == ""
    said = room.build_py("--from-bundle", str(bundle))
    assert said.code == 0, said.text[-4000:]
    return said


def _inspected(engine: Engine, name: str) -> Image:
    found: Image = json.loads(engine.docker("image", "inspect", name))[0]
    return found


def _layers(image: Image, target: Target) -> Layers:
    text = (ROOT / "images" / target.id / "Dockerfile").read_text(encoding="utf-8")
    stages = re.findall(r"^COPY --link --from=(\S+) /layer/ /$", text, re.MULTILINE)
    return dict(zip(["base", *stages], image["RootFS"]["Layers"], strict=True))


def _identities(target: Target) -> dict[str, str]:
    """Layer to its identity as a plan has it."""
    text = (ROOT / "images" / target.id / "requirements.lock").read_text(encoding="utf-8")
    return {layer.name: layer.identity for layer in layers_of(target, parse_lock(text))}


@pytest.fixture(scope="module")
def first(
    main: Built, packages: PackageIndex, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Image]:
    """The main target by plain buildx, as its Dockerfile says, by an engine with only its bases."""
    folder = tmp_path_factory.mktemp("engine")
    archive = folder / "bases.tar"
    used = _bases(main.target)
    subprocess.run(["docker", "save", "--output", str(archive), *{*used.values()}], check=True)
    words = ["buildx", "build", "--platform", main.target.platform, "--progress", "plain"]
    words += ["--build-context", f"artifacts={main.simulated.artifacts}", "--provenance=false"]
    words += ["--build-context", f"cannery={ROOT / 'cannery' / 'image' / 'context'}"]
    words += ["--build-arg", "SIMULATED=true"]
    words += [f"--build-arg={name}={image}" for name, image in used.items()]
    words += ["--secret", f"id=ca,src={packages.ca}"] if packages.ca else []
    # This engine keeps its hands off the firewall, so its own network leads nowhere.
    words += ["--network", "host", "--output", f"type=docker,name={NAME}"]
    with engine(folder, 3, containerd=True) as elsewhere:
        elsewhere.docker("load", "--input", str(archive))
        archive.unlink()
        elsewhere.docker(*words, str(ROOT / "images" / main.target.id))
        yield _inspected(elsewhere, NAME)


def _bases(target: Target) -> dict[str, str]:
    """Build argument to image. Only because no hub can be reached from here."""
    return {
        "BASE_IMAGE": ensure_base(target.base, target.docker_arch),
        "BUILD_IMAGE": ensure_base(target.build_base, building_architecture()),
        "INSTALLER_IMAGE": ensure_base(target.build_base, target.docker_arch),
    }


def test_the_room_has_no_network(room: Room) -> None:
    routes = subprocess.run(
        [*room.inside, "ip", "route", "show", "default"], capture_output=True, check=True
    )
    assert routes.stdout == b""


def test_both_targets_are_built_and_checked(from_bundle: Said, room: Room) -> None:
    for target in (MAIN, APPLICATION):
        assert f"{image_name(target, simulate=True)} is ready" in from_bundle.text
        room.engine.docker("image", "inspect", image_name(target, simulate=True))
    assert " 0 failed" in from_bundle.text


def test_two_builds_from_nothing_give_the_same_layers(
    from_bundle: Said, room: Room, main: Built, first: Image
) -> None:
    mine = _inspected(room.engine, image_name(MAIN, simulate=True))
    assert _layers(mine, main.target) == _layers(first, main.target)


def test_the_image_is_the_one_that_build_py_makes(main: Built, first: Image) -> None:
    ours = docker.from_env().images.get(main.image)
    own = {"io.cannery.key", *origin_labels(key="", commit="-", origin="-", created="-")}
    assert own <= ours.labels.keys() | {"org.opencontainers.image.source"}
    labels = {name: value for name, value in ours.labels.items() if name not in own}
    assert labels["io.cannery.simulated"] == "true"
    assert first["Config"]["Labels"] == labels
    assert first["Config"]["Env"] == ours.attrs["Config"]["Env"]


def test_equal_components_of_two_targets_are_one_layer(
    from_bundle: Said, room: Room, project: Project, main: Built, first: Image
) -> None:
    """Made anew by another engine beside other neighbours, they are the same bytes."""
    application = project.matrix().targets[APPLICATION]
    image = _inspected(room.engine, image_name(APPLICATION, simulate=True))
    layers, mine = _layers(image, application), _layers(first, main.target)
    equal = {name.removeprefix("layer-") for name in mine if mine[name] == layers.get(name)}
    own, others = _identities(main.target), _identities(application)
    same = {name for name in own if own[name] == others.get(name)}
    assert equal == {"base", *same}
    assert {"os", "wheels-torch"} <= same


def test_a_step_that_asks_for_more_is_named(bundle: Path, from_bundle: Said, room: Room) -> None:
    """Without the recorded answers for one package, the build names the address."""
    [folder] = (room.checkout / ".cannery" / "bundles").iterdir()
    answers = folder / "debian" / "answers.json"
    found = json.loads(answers.read_text(encoding="utf-8"))
    package = next(url for url in sorted(found) if "/python3_" in url)
    answers.write_text(json.dumps({url: each for url, each in found.items() if url != package}))
    room.engine.docker("builder", "prune", "--all", "--force")
    said = room.build_py("--from-bundle", str(bundle), "--target", MAIN, "--force")
    assert said.code == 7, said.text[-4000:]
    assert f"asked the network for what the bundle does not have:\n  {package}\n" in said.text
