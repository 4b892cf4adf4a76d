# SPDX-License-Identifier: Apache-2.0
"""Many machines: caches in a registry, engines that keep images in two ways, a remote builder.

The builds are small, and made of what the real ones are made of: stages of their own, vendor files
from a context, bound files, a cache folder, and linked layers.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from cannery.building.planning import published_key, published_repository
from cannery.engine import client as local
from cannery.engine.base import as_layout, building_architecture
from cannery.engine.builder import find_builder, require_containerd
from cannery.engine.images import local_images
from cannery.image.bake_file import Caches
from cannery.image.content_key import LABEL
from cannery.matrix.project import Project

from .bases import base_image
from .engines import buildkit_socket, engine, registry
from .two_engines import Baked, Gate, World, docker, layers, using

pytestmark = pytest.mark.ci(
    "a busy BuildKit gave the digest of an image with the end of its step, and it was checked last"
)


@pytest.fixture(scope="module")
def world(project: Project, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("engines")
    build_base = next(iter(project.matrix().targets.values())).build_base
    image = base_image(build_base, building_architecture())
    archive = folder / "base.tar"
    subprocess.run(["docker", "save", "--output", str(archive), image], check=True)
    (folder / "artifacts").mkdir()
    (folder / "artifacts" / "toolkit.run").write_text("the vendor's\n", encoding="utf-8")
    with ExitStack() as application:
        place = application.enter_context(registry(folder))
        engines = []
        for number in (1, 2):
            own = folder / f"engine{number}"
            own.mkdir()
            engines.append(application.enter_context(engine(own, number, containerd=True)))
            engines[-1].docker("load", "--input", str(archive))
        first, second = engines
        yield World(folder=folder, registry=place, first=first, second=second, base=image)


@pytest.fixture(scope="module")
def built(world: World) -> Baked:
    """Both images, from the first engine, which has put all layers into the registry."""
    with using(world.first):
        require_containerd(find_builder(""), "write a cache")
        caches = Caches(destinations=(f"{world.registry}/cache",))
        baked, heard = world.cook(world.builds(), caches)
    assert not baked.failures
    assert "one toolkit 1/1" in heard.done
    assert "two image 2/3" in heard.done or "two image 3/3" in heard.done
    return baked


def test_an_engine_with_containerd_s_store_has_the_image(world: World, built: Baked) -> None:
    assert {*built.images} == {"one", "two"}
    with using(world.first):
        image = built.images["one"]
        assert local_images([image, "cannery-test:none"])[image].labels[LABEL] == "sha256:one"
        local.tag_image(image, "cannery-test:one")
        assert local.image_id("cannery-test:one") == image
        assert local_images(["cannery-test:one"])["cannery-test:one"].id == image


def test_the_cache_holds_layers_as_zstd(world: World, built: Baked) -> None:
    inspect = ("buildx", "imagetools", "inspect", "--raw", f"{world.registry}/cache:one-sim")
    manifest = json.loads(world.first.docker(*inspect))
    blobs = manifest.get("layers") or manifest["manifests"]
    kinds = {each["mediaType"] for each in blobs if "layer" in each["mediaType"]}
    assert kinds == {"application/vnd.oci.image.layer.v1.tar+zstd"}


def test_a_second_engine_rebuilds_nothing(world: World, built: Baked) -> None:
    with using(world.second):
        caches = Caches(sources=(f"{world.registry}/cache",))
        baked, heard = world.cook(world.builds(), caches)
    assert not baked.failures
    assert heard.done == []
    assert {name.split()[0] for name in heard.cached} == {"one", "two"}
    for name in ("one", "two"):
        there = layers(world.second, baked.images[name])
        assert there == layers(world.first, built.images[name])


@pytest.mark.parametrize("store", ["containerd", "overlay2"])
def test_an_image_is_told_of_while_another_is_built(world: World, store: str) -> None:
    if store == "containerd":
        gate = Gate(site=world, docker=world.first.docker)
        with using(world.first):
            baked, heard = world.cook(gate.builds(), Caches(), when_built=gate.open)
    elif local.uses_containerd():
        pytest.skip("the engine that runs here keeps images in containerd's store")
    else:
        gate = Gate(site=world, docker=docker)
        baked, heard = world.cook(gate.builds(), Caches(), when_built=gate.open)
        docker("image", "rm", *heard.images.values())
    assert not baked.failures, heard.order
    assert heard.order.index("one is there") < heard.order.index("two wheels-torch 1/1")


def test_a_registry_has_the_content_key_of_its_images(world: World, built: Baked) -> None:
    name = f"{world.registry}/cannery:one-sim"
    world.first.docker("tag", built.images["one"], name)
    world.first.docker("push", name)
    repository = published_repository(f"{world.registry}/cannery", None)
    assert published_key(repository, "one-sim", "linux/amd64") == "sha256:one"
    assert published_key(repository, "none", "linux/amd64") is None


def test_an_engine_without_containerd_s_store_can_read_a_cache(world: World, built: Baked) -> None:
    if local.uses_containerd():
        pytest.skip("the engine that runs here keeps images in containerd's store")
    caches = Caches(sources=(f"{world.registry}/cache",))
    baked, _ = world.cook(world.builds(torch="for the engine that runs here"), caches)
    assert not baked.failures
    docker("image", "rm", *baked.images.values())


def test_a_remote_builder(world: World, built: Baked, tmp_path: Path) -> None:
    """Its images are loaded into the engine that runs here, where they are checked."""
    name = f"cannery-test-{world.registry.rpartition(':')[2]}"
    with buildkit_socket(world.second, tmp_path) as address:
        docker("buildx", "create", "--name", name, "--driver", "remote", address)
        try:
            builder = find_builder(name)
            assert not builder.local
            layout = as_layout(world.base, tmp_path / "bases")
            gate = Gate(site=world, docker=world.second.docker)
            elsewhere = [
                replace(each, contexts={**each.contexts, world.base: layout})
                for each in gate.builds()
            ]
            caches = Caches(
                sources=(f"{world.registry}/remote",), destinations=(f"{world.registry}/remote",)
            )
            baked, heard = world.cook(elsewhere, caches, builder, gate.open)
            assert not baked.failures
            assert heard.order.index("one is there") < heard.order.index("two wheels-torch 1/1")
            for name_, image in baked.images.items():
                assert local_images([image])[image].labels[LABEL] == f"sha256:{name_}"
                docker("image", "rm", image)
        finally:
            docker("buildx", "rm", name)
