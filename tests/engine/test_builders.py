# SPDX-License-Identifier: Apache-2.0
"""Two buildkitd as remote builders, which only a client with a certificate may use.

No package of the distribution has buildkitd: the tests run where it is installed.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from cannery.common.errors import EngineError
from cannery.engine.base import as_layout, building_architecture
from cannery.engine.builder import find_builder
from cannery.image.bake_file import Caches, ImageBuild
from cannery.matrix.project import Project

from .bases import base_image
from .builders import Authority, BuildKit, builder, buildkitd, buildx
from .engines import registry
from .two_engines import Baked, Heard, Site

pytestmark = pytest.mark.skipif(not shutil.which("buildkitd"), reason="buildkitd is not installed")

AMD64, ARM64 = "linux/amd64", "linux/arm64"


@pytest.fixture(scope="module")
def site(project: Project, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("builders")
    build_base = next(iter(project.matrix().targets.values())).build_base
    image = base_image(build_base, building_architecture())
    (folder / "artifacts").mkdir()
    (folder / "artifacts" / "toolkit.run").write_text("the vendor's\n", encoding="utf-8")
    with registry(folder) as place:
        yield Site(folder=folder, registry=place, base=image)


@pytest.fixture(scope="module")
def authority(site: Site) -> Authority:
    made = Authority(folder=site.folder / "authority")
    for name in ("server", "client"):
        made.issue(name)
    return made


@pytest.fixture(scope="module")
def tls(authority: Authority) -> dict[str, Path]:
    own = {"cert": authority.cert("client"), "key": authority.key("client")}
    return {"cacert": authority.cert("ca"), **own}


@pytest.fixture(scope="module")
def nodes(site: Site, authority: Authority) -> Iterator[tuple[BuildKit, BuildKit]]:
    with ExitStack() as running:
        first, second = (
            running.enter_context(buildkitd(site.folder / f"buildkit{number}", authority))
            for number in (1, 2)
        )
        yield first, second


@pytest.fixture
def name(site: Site) -> str:
    return f"cannery-test-{site.registry.rpartition(':')[2]}"


def _builds(site: Site, torch: str = "torch") -> list[ImageBuild]:
    layout = as_layout(site.base, site.folder / "bases")
    builds = site.builds(torch=torch)
    return [replace(each, contexts={**each.contexts, site.base: layout}) for each in builds]


def _cook(site: Site, name: str, builds: list[ImageBuild], caches: Caches) -> tuple[Baked, Heard]:
    baked, heard = site.cook(builds, caches, find_builder(name))
    for image in baked.images.values():
        subprocess.run(["docker", "image", "rm", image], check=True, capture_output=True)
    return baked, heard


def test_the_second_builder_rebuilds_nothing(
    site: Site, nodes: tuple[BuildKit, BuildKit], tls: dict[str, Path], name: str
) -> None:
    """What one builder writes into the cache, the other one reads, and the images are equal."""
    cache = f"{site.registry}/cache"
    images = []
    for node, done in zip(nodes, (True, False), strict=True):
        with builder(name, (node, AMD64), tls=tls):
            caches = Caches(sources=(cache,), destinations=(cache,))
            baked, heard = _cook(site, name, _builds(site), caches)
        assert not baked.failures
        assert bool(heard.done) is done
        images.append(baked.images)
    assert images[0].keys() == images[1].keys() == {"one", "two"}


def test_a_pool_gives_each_platform_to_its_node(
    site: Site, nodes: tuple[BuildKit, BuildKit], tls: dict[str, Path], name: str
) -> None:
    one, two = _builds(site, "torch of the pool")
    before = [node.stored() for node in nodes]
    with builder(name, (nodes[0], AMD64), (nodes[1], ARM64), tls=tls):
        baked, _ = _cook(site, name, [one, replace(two, platform=ARM64)], Caches())
        assert AMD64 in (said := buildx("inspect", name)) and ARM64 in said
    assert not baked.failures
    assert {*baked.images} == {"one", "two"}
    assert all(node.stored() > count for node, count in zip(nodes, before, strict=True))


@pytest.mark.parametrize("certificate", ["none", "of another authority"])
def test_a_builder_refuses_a_client_without_its_certificate(
    site: Site,
    nodes: tuple[BuildKit, BuildKit],
    tls: dict[str, Path],
    name: str,
    certificate: str,
    tmp_path: Path,
) -> None:
    own = {"cacert": tls["cacert"]}
    if certificate != "none":
        other = Authority(folder=tmp_path / "other")
        other.issue("client")
        own |= {"cert": other.cert("client"), "key": other.key("client")}
    with (
        builder(name, (nodes[0], AMD64), tls=own),
        pytest.raises(EngineError, match=f"does not answer at {nodes[0].address}") as caught,
    ):
        find_builder(name)
    assert "certificate" in caught.value.problems[0].fix
