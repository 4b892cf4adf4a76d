# SPDX-License-Identifier: Apache-2.0
"""Bases come from a registry: by digest and platform, on engines with either image store.

The target is for another architecture than this machine, and has one reference for its base and
its build base, as most targets of matrix.yaml.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cannery.publish.policy import load
from cannery.publish.push import Push
from cannery.publish.push_checks import PushOptions
from cannery.publish.transaction import ImagePush, PushedImage
from cannery.registry.client import Repository
from cannery.registry.transfer import OciContent
from tests.faults.base import publish_index

from .engines import engine, free_port, registry, rootless_engine
from .small_builds import HERE, OTHER, World
from .two_engines import using


@contextmanager
def _world(folder: Path, number: int, *, containerd: bool) -> Iterator[World]:
    with (
        registry(folder) as host,
        engine(folder, number, containerd=containerd) as started,
    ):
        (folder / "checkouts").mkdir()
        yield World(engine=started, host=host, folder=folder / "checkouts")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """An engine with the usual image store, which keeps one image of a reference."""
    with _world(tmp_path_factory.mktemp("overlay2"), 21, containerd=False) as made:
        yield made


@pytest.fixture(scope="module")
def containerd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with _world(tmp_path_factory.mktemp("containerd"), 22, containerd=True) as made:
        yield made


@pytest.fixture(scope="module")
def rootless(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """An engine without root's rights, with the registry in its own network."""
    if subprocess.run(["unshare", "--user", "true"], capture_output=True, check=False).returncode:
        pytest.skip("this machine has no namespaces of users (unshare --user)")
    folder = tmp_path_factory.mktemp("rootless")
    (folder / "checkouts").mkdir()
    with registry(folder) as host, rootless_engine(24) as (started, inside):
        # One more process for what the other one has stored, at the same address there.
        argv = [*inside, "docker-registry", "serve", str(folder / "registry.yml")]
        with subprocess.Popen(
            argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as serving:
            try:
                yield World(engine=started, host=host, folder=folder / "checkouts")
            finally:
                serving.terminate()


@pytest.mark.parametrize("compression", ["gzip", "zstd"])
@pytest.mark.parametrize("kind", ["world", "containerd", "rootless"])
def test_base_and_build_base_are_one_reference(
    kind: str, compression: str, request: pytest.FixtureRequest
) -> None:
    """The base that is pulled is used, for both platforms.

    Layers that the builder got as zstd, those of a cache in a registry among them, are in the image
    as they are.
    """
    world: World = request.getfixturevalue(kind)
    base = world.publish(f"one-{compression}", compression=compression)
    checkout = world.checkout(base)
    said = checkout.build()
    assert said.code == 0, said.text
    assert checkout.text("/base") == f"one-{compression} of another"
    assert checkout.text("/opt/built-on") == f"one-{compression} of here"
    used = json.loads(checkout.labels()["io.cannery.bases"])
    assert used == {"BASE_IMAGE": ["registry", base], "BUILD_IMAGE": ["registry", base]}
    stored = world.engine.docker("images", "--format", "{{.Repository}}").splitlines()
    assert {*stored} <= {"cannery", "<none>"}
    again = checkout.build()
    assert again.code == 0 and "up to date" in again.text, again.text


def test_a_tag_unknown_to_the_registry_is_refused(world: World) -> None:
    said = world.checkout(f"{world.host}/none/debian:bookworm").build()
    assert said.code == 6, said.text
    assert f"{world.host}/none/debian:bookworm does not exist." in said.text
    assert "A stand-in is used only where no registry can be reached" in said.text


def test_an_image_for_another_platform_is_refused(world: World) -> None:
    digest = publish_index(Repository(world.host, "one/debian"), "bookworm", {HERE: "one"})
    said = world.checkout(f"{world.host}/one/debian:bookworm@{digest}").build()
    assert said.code == 6, said.text
    assert f"for linux/{OTHER}" in said.text
    assert "Name an image that is for this platform, too." in said.text


@pytest.mark.parametrize("pinned", [True, False])
def test_where_no_registry_can_be_reached_only_a_setting_allows_a_stand_in(
    world: World, pinned: bool
) -> None:
    digest = f"@sha256:{'6' * 64}" if pinned else ""
    nobody = f"127.0.0.1:{free_port()}"
    base = f"{nobody}/debian:bookworm{digest}"
    checkout = world.checkout(base)
    said = checkout.build()
    assert said.code == 6, said.text
    assert f"no registry of it can be reached ({nobody}: " in said.text
    assert f"a program that makes a stand-in for {nobody}/debian below [stand-ins]" in said.text
    checkout.allow_stand_ins(base)
    said = checkout.build()
    assert said.code == 6, said.text
    line = f"make-base makes a stand-in for {OTHER}, because no registry can be reached ({nobody}: "
    assert f"base debian-12: {line}" in said.text
    assert f"has not made cannery/bootstrap:bookworm-{OTHER} (9):\nno mirror" in said.text


def test_a_moved_base_without_a_digest(world: World) -> None:
    """A build asks for it, and the plan after it knows what the build has used."""
    build_base = world.publish("moves-not")
    world.publish("moves")
    checkout = world.checkout(f"{world.host}/moves/debian:bookworm", build_base)
    assert checkout.build().code == 0
    first = checkout.key()
    assert checkout.labels()["io.cannery.key"] == first
    world.publish("moves", other="of another, newer")
    assert checkout.key() == first
    assert checkout.build().code == 0
    assert checkout.key() != first
    assert checkout.labels()["io.cannery.key"] == checkout.key()
    assert checkout.text("/base") == "moves of another, newer"


def test_a_pulled_base_is_reused_without_a_registry(world: World, tmp_path: Path) -> None:
    (tmp_path / "registry").mkdir()
    with registry(tmp_path / "registry") as host:
        other = World(engine=world.engine, host=host, folder=world.folder)
        pinned, loose = other.publish("kept"), other.publish("kept-loose")
        checkout = other.checkout(loose.partition("@")[0], pinned)
        assert checkout.build().code == 0
        key = checkout.key()
    said = checkout.build("--force")
    assert said.code == 0, said.text
    assert checkout.key() == key


def test_a_pushed_index_is_pulled_for_each_platform(world: World) -> None:
    """Also where the engine has it for one of them, whose name the other one cannot have."""
    base = world.publish("pushed")
    name, _, digest = base.partition("@")
    repository = Repository(world.host, name.partition("/")[2].partition(":")[0])
    root = repository.manifest(digest)
    assert root
    world.engine.docker("pull", "--platform", f"linux/{HERE}", f"{repository}@{digest}")
    image_push = ImagePush(
        name="both",
        platforms=(f"linux/{HERE}", f"linux/{OTHER}"),
        moving=("both",),
        content=lambda: OciContent(name="both", blobs={}, documents=(root,)),
    )
    project = world.checkout(base).project
    push = Push(
        project=project,
        publishing=load(project.publish_file, project.matrix()),
        repository=repository,
        options=PushOptions(artifacts=Path("artifacts")),
    )
    with using(world.engine):
        push.test(PushedImage(image_push=image_push, documents=(root,)))
    kept = world.engine.docker("images", "--digests", "--format", "{{.Repository}}@{{.Digest}}")
    assert [each for each in kept.splitlines() if each.startswith(str(repository))] == [
        f"{repository}@{digest}"
    ]
    world.engine.docker("image", "rm", f"{repository}@{digest}")
