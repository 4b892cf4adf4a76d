# SPDX-License-Identifier: Apache-2.0
"""``reproduce`` of the main target: two machines whose engines have only bases, and a registry.

Both engines have containerd's image store: the other store writes the files of a layer that several
images share in one of two orders.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from cannery.image.names import image_name
from tests.publish.small import Place
from tests.publish.tampered import add_to_last_layer

from .conftest import MAIN
from .engines import registry
from .machines import Machine, machine

PLANTED = "usr/local/bin/planted"


def reproduced(machine: Machine, place: Place, tag: str) -> tuple[int, dict[str, Any]]:
    """The exit code of ``reproduce``, and its JSON."""
    said = machine.build_py("reproduce", f"{place.name}:{tag}", "--format", "json")
    assert said.text.startswith("{"), said.text[-4000:]
    found, _ = json.JSONDecoder().raw_decode(said.text)
    return said.code, found


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Machine, Machine]]:
    folders = [tmp_path_factory.mktemp("machine") for _ in range(2)]
    with machine(folders[0], 10) as first, machine(folders[1], 11) as second:
        yield first, second


@pytest.fixture(scope="module")
def published(
    machines: tuple[Machine, Machine], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Place]:
    """A registry with the image that the first machine has built."""
    first, _ = machines
    with registry(tmp_path_factory.mktemp("registry")) as host:
        said = first.build_py("--target", MAIN, "--simulate", "--no-test")
        assert said.code == 0, said.text[-4000:]
        place = Place(host=host, repository="ascend")
        first.engine.docker("tag", image_name(MAIN, simulate=True), f"{place.name}:original")
        first.engine.docker("push", "--quiet", f"{place.name}:original")
        yield place


def test_another_machine_builds_equal_layers_from_nothing(
    machines: tuple[Machine, Machine], published: Place
) -> None:
    _, second = machines
    before = second.engine.docker("images", "--format", "{{.Repository}}").splitlines()
    assert {*before} == {"cannery/bootstrap"}
    assert second.engine.docker("buildx", "du").split()[-1] == "0B"
    code, found = reproduced(second, published, "original")
    assert [layer["name"] for layer in found["layers"] if not layer["equal"]] == []
    assert (code, found["equal"]) == (0, True)
    names = [layer["name"] for layer in found["layers"]]
    assert {"base", "wheels-torch", "toolkit", "kernels"} <= {*names}
    assert second.engine.docker("images", "--format", "{{.Repository}}").splitlines() == before


def test_a_layer_that_was_tampered_with_is_named(
    machines: tuple[Machine, Machine], published: Place
) -> None:
    _, second = machines
    add_to_last_layer(published, "original", "tampered", PLANTED)
    code, found = reproduced(second, published, "tampered")
    differing = [layer for layer in found["layers"] if not layer["equal"]]
    assert (code, found["equal"]) == (8, False)
    assert [layer["name"] for layer in differing] == [found["layers"][-1]["name"]]
    assert differing[0]["files"] == [{"path": PLANTED, "differs": ["only in the original"]}]
