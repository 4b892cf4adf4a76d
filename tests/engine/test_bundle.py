# SPDX-License-Identifier: Apache-2.0
"""A build from a bundle, by an empty engine in a network namespace that has no route.

Its layers are those of a build with a network, which another empty engine made from nothing. Both
engines have containerd's image store: the other store writes the files of a layer that several
images share in one of two orders.

The targets are real ones with small images; test_real_targets.py has them with their own.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from cannery.common.package_index import PackageIndex
from cannery.common.references import image_name
from cannery.matrix.project import Project

from .conftest import MAIN, SECOND, Built, Said
from .engines import engine
from .proxy import proxy
from .rooms import Room, equal, equal_layers, load_bases, room
from .small_copy import small_copy


@pytest.fixture(scope="module")
def elsewhere(
    main: Built, second: Built, packages: PackageIndex, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Room]:
    """The checkout in which the bundle is made, and an engine with nothing but the bases.

    The engine keeps its hands off the firewall, so the steps of a build need the proxy.
    """
    folder = tmp_path_factory.mktemp("elsewhere")
    checkout = folder / "checkout"
    with (
        small_copy(checkout, (main, second), packages) as index,
        engine(folder, 3, containerd=True) as started,
        proxy("10.213.3.1", "builder", "pass", folder / "settings"),
        pytest.MonkeyPatch.context() as patch,
    ):
        load_bases(started, folder / "bases.tar")
        patch.setenv("UV_DEFAULT_INDEX", index)
        patch.setenv("DOCKER_CONFIG", str(folder / "settings"))
        yield Room(checkout=checkout, engine=started)


@pytest.fixture(scope="module")
def bundle(elsewhere: Room, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("bundle") / "x.bundle"
    targets = ["--target", MAIN, "--target", SECOND]
    said = elsewhere.build_py("bundle", *targets, "--simulate", "--out", str(file))
    assert said.code == 0, said.text[-4000:]
    return file


@pytest.fixture(scope="module")
def offline(elsewhere: Room, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Room]:
    with room(tmp_path_factory.mktemp("room"), 7, elsewhere.checkout) as made:
        # As if it was cloned with another umask.
        subprocess.run(["chmod", "-R", "g+w", str(made.checkout)], check=True)
        yield made


@pytest.fixture(scope="module")
def from_bundle(bundle: Path, offline: Room, main: Built, second: Built) -> Said:
    """Both targets, built and checked."""
    return offline.from_bundle(bundle, main.target, second.target)


@pytest.fixture(scope="module")
def first(bundle: Path, elsewhere: Room) -> str:
    """The main target's image, as making the bundle has left it."""
    said = elsewhere.build_py("--target", MAIN, "--simulate", "--no-test")
    assert said.code == 0, said.text[-4000:]
    return image_name(MAIN, simulate=True)


def test_the_room_has_no_network(offline: Room) -> None:
    routes = subprocess.run(
        [*offline.inside, "ip", "route", "show", "default"], capture_output=True, check=True
    )
    assert routes.stdout == b""


def test_both_targets_are_built_and_checked(from_bundle: Said) -> None:
    assert from_bundle.text.count(" 0 failed") == 2


def test_an_image_from_a_bundle_has_the_layers_of_its_maker(
    from_bundle: Said, offline: Room, elsewhere: Room, main: Built, first: str
) -> None:
    assert offline.layers(main.target) == elsewhere.layers(main.target, first)


def test_equal_components_of_two_targets_are_one_layer(
    from_bundle: Said, offline: Room, elsewhere: Room, main: Built, second: Built, first: str
) -> None:
    """In an image from the bundle and in one of the machine that has made it."""
    project = Project(root=elsewhere.checkout)
    same = equal_layers(project, main.target, second.target)
    assert equal(elsewhere.layers(main.target, first), offline.layers(second.target)) == same
    assert {"os", "wheels-cann"} <= same
    assert same.isdisjoint({"layer-toolkit", "wheels-torch"})
