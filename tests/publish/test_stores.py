# SPDX-License-Identifier: Apache-2.0
"""What is published of an image is the same from every store in which engines keep images."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from cannery.engine import client as local
from cannery.registry.image_archive import Blobs, Packed
from tests.engine.engines import Engine, engine
from tests.unit.archives import layer

pytestmark = pytest.mark.engine

NAME = "cannery-test:stores"


@contextmanager
def using(host: str) -> Iterator[None]:
    """Let the engine at ``host`` be the one that everything talks to."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DOCKER_HOST", host)
        local.connect.cache_clear()
        try:
            yield
        finally:
            local.connect.cache_clear()


@pytest.fixture(scope="module")
def engines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Engine]]:
    """One with containerd's store and one without, both with the same image."""
    folder = tmp_path_factory.mktemp("stores")
    (folder / "tree.tar").write_bytes(layer("tree", 2_000_000))
    with ExitStack() as stack:
        result = []
        for number, containerd in ((7, True), (8, False)):
            own = folder / f"engine{number}"
            own.mkdir()
            result.append(stack.enter_context(engine(own, number, containerd=containerd)))
        first, second = result
        first.docker("import", "--platform", "linux/arm64", str(folder / "tree.tar"), NAME)
        first.docker("save", "--output", str(folder / "image.tar"), NAME)
        second.docker("load", "--input", str(folder / "image.tar"))
        yield result


def packed(engine: Engine, folder: Path) -> Packed:
    with using(engine.host):
        details = local.image_details(NAME)
        image = str(details["Id"])
        layers = details["RootFS"]["Layers"]
        return Blobs(folder=folder).pack(image, layers, lambda: local.saved(image))


def test_two_stores_give_the_same_blobs(engines: list[Engine], tmp_path: Path) -> None:
    one, two = (packed(each, tmp_path / str(n)) for n, each in enumerate(engines))
    assert one.config == two.config
    assert [each.blob for each in one.layers] == [each.blob for each in two.layers]
    assert one.layers
