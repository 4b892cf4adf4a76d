# SPDX-License-Identifier: Apache-2.0
"""CANN from a server of files: build.py downloads it, and installs the files of its packages."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cannery.common.references import image_tag
from cannery.matrix.project import Project
from cannery.matrix.text import with_sha256
from tests.fetch.fetches import digest
from tests.fetch.server import Fault, Files, serving

from .conftest import Built, rename_images
from .small_copy import copy_checkout
from .vendor import PATHS, run, tree

COMPONENTS = ("toolkit", "kernels", "nnal")
NAMES = "cannery-downloaded"


@pytest.fixture
def server() -> Iterator[Files]:
    with serving() as files:
        yield files


@pytest.fixture
def checkout(tmp_path: Path, main: Built, server: Files) -> Path:
    """A checkout that knows the sha256 of the files of CANN, and that ``server`` has them."""
    root = tmp_path / "checkout"
    copy_checkout(root, main)
    rename_images(root, NAMES)
    before = files = Project(root=root).files()
    for component in COMPONENTS:
        name = main.target.artifacts[component].name
        server.content[name] = (main.simulated.artifacts / name).read_bytes()
        files = with_sha256(files, name, digest(server.content[name]))
    Project(root=root).replace_named(files, before)
    own = root / "cannery.toml"
    text = own.read_text(encoding="utf-8") if own.exists() else ""
    own.write_text(f'servers = ["{server.url}"]\n{text}', encoding="utf-8")
    build_py(root, "render", "--target", main.target.id)
    return root


def build_py(root: Path, *words: str) -> str:
    return run(sys.executable, str(root / "build.py"), *words)


def test_cann_from_downloads_has_the_same_files_as_from_the_folder(
    main: Built, server: Files, checkout: Path, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    expected = tree(main.image, main.target.platform, *PATHS)
    toolkit = main.target.artifacts["toolkit"].name
    server.faults[toolkit] = [Fault(kind="half", at=len(server.content[toolkit]) // 2)]
    words = ("--source", "download", "--artifacts", str(tmp_path / "empty"), "--no-test")
    cache = ("--cache", str(tmp_path / "cache"))
    build_py(checkout, "build", "--target", main.target.id, "--simulate", *words, *cache)
    image = f"{NAMES}:{image_tag(main.target.id, simulate=True)}"
    try:
        names = [request.path for request in server.requests]
        assert {*names} == {main.target.artifacts[each].name for each in COMPONENTS}
        assert names.count(toolkit) == 2
        assert tree(image, main.target.platform, *PATHS) == expected
        assert len(expected) > 50
    finally:
        run("docker", "image", "rm", "--force", image)
