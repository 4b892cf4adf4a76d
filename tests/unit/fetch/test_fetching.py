# SPDX-License-Identifier: Apache-2.0
"""Which files of a build come from the folder, and which are fetched."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from cannery.common.errors import ArtifactError
from cannery.common.model import Target
from cannery.common.package_index import PackageIndex
from cannery.engine.simulator import simulate, simulated
from cannery.fetch.fetching import UNFETCHED, Downloads, download_missing, plan_downloads
from cannery.fetch.needs import CANN, needed_files
from cannery.options import BuildOptions, TransferOptions
from tests.fetch.fetches import digest
from tests.fetch.server import Files, serving
from tests.unit.matrices import Checkout

FOLDER = b"#!/bin/sh\n# from the folder\n"
SERVER = b"#!/bin/sh\n# from the server; SIMULATED by cannery\n"


@dataclass
class Desk:
    """A checkout with a server for its files, and a target that needs some."""

    checkout: Checkout
    server: Files
    artifacts: Path
    cache: Path

    @property
    def target(self) -> Target:
        return self.checkout.project.matrix().targets["full"]

    def put(self, *components: str) -> None:
        for component in components:
            (self.artifacts / self.target.artifacts[component].name).write_bytes(FOLDER)

    def serve(self, *components: str, hashes: bool = True) -> None:
        """Let the server have files of ``components``, and matrix.yaml their hashes."""
        path = self.checkout.project.root / "matrix.yaml"
        text = path.read_text(encoding="utf-8")
        for component in components:
            name = self.target.artifacts[component].name
            self.server.content[name] = SERVER
            if hashes and f"file: {name}\n      origin" in text:
                old, new = f"file: {name}\n", f"file: {name}\n      sha256: {digest(SERVER)}\n"
                text = text.replace(old, new)
            elif hashes:
                old = f"        file: {name}\n"
                text = text.replace(old, f"{old}        sha256: {digest(SERVER)}\n")
        path.write_text(text, encoding="utf-8")

    def options(self, *sources: str, simulate: bool = False) -> BuildOptions:
        return BuildOptions(artifacts=self.artifacts, sources=sources, simulate=simulate)

    def download_missing(self, *sources: str, simulate: bool = False) -> Downloads:
        options = self.options(*sources, simulate=simulate)
        transfer = TransferOptions(cache=self.cache)
        return download_missing(self.checkout.project, [self.target], options, transfer)

    def origins(self, provided: Downloads) -> dict[str, bytes]:
        files = {n: provided.folder / file.name for n, file in self.target.artifacts.items()}
        return {name: path.read_bytes() for name, path in files.items() if path.is_file()}


@pytest.fixture
def desk(checkout: Checkout, tmp_path: Path) -> Iterator[Desk]:
    artifacts = tmp_path / "artifacts"
    artifacts.mkdir()
    with serving() as server:
        text = f'servers = ["{server.url}"]\n'
        (checkout.project.root / "cannery.toml").write_text(text, encoding="utf-8")
        yield Desk(checkout, server, artifacts, tmp_path / "cache")


def test_local_files_are_not_fetched(desk: Desk) -> None:
    desk.put(*desk.target.artifacts)
    assert desk.download_missing() == Downloads(folder=desk.artifacts)
    assert not desk.server.requests


def test_the_rest_is_fetched_and_all_are_in_one_folder(desk: Desk) -> None:
    rest = [name for name in desk.target.artifacts if name not in CANN]
    desk.put(*rest)
    desk.serve(*CANN)
    provided = desk.download_missing()
    assert not provided.failures
    expected = {n: SERVER if n in CANN else FOLDER for n in desk.target.artifacts}
    assert desk.origins(provided) == expected
    assert {path.name for path in desk.artifacts.iterdir()} == {
        desk.target.artifacts[name].name for name in rest
    }


def test_the_order_decides_between_folder_and_server(desk: Desk) -> None:
    desk.put(*desk.target.artifacts)
    desk.serve(*CANN)
    assert desk.origins(desk.download_missing("folder", "download"))["toolkit"] == FOLDER
    found = desk.origins(desk.download_missing("download", "folder"))
    assert {found[name] for name in CANN} == {SERVER}
    assert {content for name, content in found.items() if name not in CANN} == {FOLDER}


def test_the_folder_replaces_a_failing_server(desk: Desk) -> None:
    desk.put(*desk.target.artifacts)
    desk.serve("toolkit", "nnal")
    desk.server.content.clear()
    assert not desk.download_missing("download", "folder").failures
    error = desk.download_missing("download").failures["full"]
    assert isinstance(error, ArtifactError)
    assert "toolkit_8.0.RC2_linux-aarch64.run cannot be fetched" in str(error)


def test_missing_files_are_reported_with_the_local_folder(desk: Desk) -> None:
    desk.serve("toolkit")
    error = desk.download_missing().failures["full"]
    assert "apex" in str(error)
    assert "nobody publishes a sha256 of kernels-910b" in str(error)
    assert "toolkit" not in str(error)
    (desk.checkout.project.root / "cannery.toml").unlink()
    # Without a server, the folder's own check tells it.
    assert not desk.download_missing().failures


def test_only_the_device_is_simulated_with_a_source(desk: Desk) -> None:
    desk.serve(*CANN)
    assert desk.download_missing(simulate=True).folder == desk.artifacts
    provided = desk.download_missing("download", simulate=True)
    assert not provided.failures
    assert set(desk.origins(provided)) == {*CANN}
    target = desk.target
    needed = needed_files(target, simulate=True, with_cann=True)
    made = simulated(desk.checkout.project, target)
    made.artifacts.mkdir(parents=True)
    for name in target.artifacts:
        (made.artifacts / target.artifacts[name].name).write_bytes(b"stand-in")
    index = PackageIndex(ca=None, index_url="")
    own = simulate(desk.checkout.project, target, index, provided.folder, needed)
    assert own.host == made.host
    for name, file in target.artifacts.items():
        assert (made.artifacts / file.name).read_bytes() == b"stand-in"
        expected = SERVER if name in CANN else b"stand-in"
        assert (own.artifacts / file.name).read_bytes() == expected


def test_a_plan_lists_downloads(desk: Desk) -> None:
    rest = [name for name in desk.target.artifacts if name not in CANN]
    desk.put(*rest)
    desk.serve("toolkit")
    transfer = TransferOptions(cache=desk.cache)
    project, options = desk.checkout.project, desk.options()
    found = plan_downloads(project, [desk.target], options, transfer)
    assert found.folder == desk.artifacts
    assert found.downloads == {desk.target.artifacts["toolkit"].name: digest(SERVER)}
    assert found.remote >= found.downloads.keys()
    tls_context = TransferOptions(cache=desk.cache, trust_first_use=True)
    downloads = plan_downloads(project, [desk.target], options, tls_context).downloads
    assert downloads[desk.target.artifacts["kernels"].name] == UNFETCHED
    assert not desk.server.requests
    assert not desk.cache.exists()
