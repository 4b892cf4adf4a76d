# SPDX-License-Identifier: Apache-2.0
"""Two builds of one commit are the same, layer by layer; so are equal layers of two targets.

On an engine with containerd's image store: the other store writes the files of a layer that several
images share in one of two orders.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from typing import Any

import docker
import pytest

from cannery.execute.engine.base import building_architecture, ensure_base
from cannery.execute.engine.buildx import PackageIndex
from cannery.image.layers import layers_of
from cannery.image.lock import parse_lock
from cannery.image.origin_labels import origin_labels
from cannery.model import Target

from .conftest import ROOT, Built
from .engines import Engine, engine

NAME = "cannery-test:reproducible"
Image = dict[str, Any]
Layers = dict[str, str]
"""Stage to digest."""


def _bases(target: Target) -> dict[str, str]:
    """Build argument to image. Only because no hub can be reached from here."""
    return {
        "BASE_IMAGE": ensure_base(target.base, target.docker_arch),
        "BUILD_IMAGE": ensure_base(target.build_base, building_architecture()),
        "INSTALLER_IMAGE": ensure_base(target.build_base, target.docker_arch),
    }


@pytest.fixture(scope="module")
def elsewhere(main: Built, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """An engine that has the bases of the main target, and nothing else."""
    folder = tmp_path_factory.mktemp("engine")
    archive = folder / "bases.tar"
    images = sorted({*_bases(main.target).values()})
    subprocess.run(["docker", "save", "--output", str(archive), *images], check=True)
    with engine(folder, 3, containerd=True) as started:
        started.docker("load", "--input", str(archive))
        archive.unlink()
        yield started


def _build(elsewhere: Engine, built: Built, packages: PackageIndex) -> Image:
    """Build a target from nothing, by plain buildx: its Dockerfile needs nothing else.

    Only what was downloaded stays between two builds, which also keeps them within little space.
    """
    elsewhere.docker("image", "rm", "--force", NAME)
    elsewhere.docker("builder", "prune", "--all", "--force", "--filter", "type=regular")
    words = ["buildx", "build", "--platform", built.target.platform, "--progress", "plain"]
    words += ["--build-context", f"artifacts={built.simulated.artifacts}", "--provenance=false"]
    words += ["--build-context", f"cannery={ROOT / 'cannery' / 'image' / 'context'}"]
    words += ["--build-arg", "SIMULATED=true"]
    for name, image in _bases(built.target).items():
        words += ["--build-arg", f"{name}={image}"]
    words += ["--secret", f"id=ca,src={packages.ca}"] if packages.ca else []
    # This engine keeps its hands off the firewall, so its own network leads nowhere.
    words += ["--network", "host", "--output", f"type=docker,name={NAME}"]
    elsewhere.docker(*words, str(ROOT / "images" / built.target.id))
    found: Image = json.loads(elsewhere.docker("image", "inspect", NAME))[0]
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
def first(elsewhere: Engine, main: Built, packages: PackageIndex) -> Image:
    return _build(elsewhere, main, packages)


def test_two_builds_from_nothing_give_the_same_layers(
    elsewhere: Engine, main: Built, packages: PackageIndex, first: Image
) -> None:
    again = _build(elsewhere, main, packages)
    assert _layers(again, main.target) == _layers(first, main.target)


def test_the_image_is_the_one_that_build_py_makes(main: Built, first: Image) -> None:
    ours = docker.from_env().images.get(main.image)
    own = {"io.cannery.key", *origin_labels(key="", commit="-", origin="-", created="-")}
    assert own <= ours.labels.keys() | {"org.opencontainers.image.source"}
    labels = {name: value for name, value in ours.labels.items() if name not in own}
    assert labels["io.cannery.simulated"] == "true"
    assert first["Config"]["Labels"] == labels
    assert first["Config"]["Env"] == ours.attrs["Config"]["Env"]


def test_equal_components_of_two_targets_are_one_layer(
    elsewhere: Engine, main: Built, second: Built, packages: PackageIndex, first: Image
) -> None:
    """Made anew beside other neighbours, they are the same bytes."""
    other = _layers(_build(elsewhere, second, packages), second.target)
    mine = _layers(first, main.target)
    equal = {name.removeprefix("layer-") for name in mine if mine[name] == other.get(name)}
    mine, others = _identities(main.target), _identities(second.target)
    same = {name for name in mine if mine[name] == others.get(name)}
    assert equal == {"base", *same}
    assert {"os", "wheels-py-spy"} <= same
