# SPDX-License-Identifier: Apache-2.0
"""Bases without a digest that move in a registry: a key takes the platform of each use."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cannery.building.bases import bases
from cannery.cli import main
from cannery.engine.base import BaseCache, building_architecture, expected_base, look_up
from cannery.image.content_key import bases_of
from cannery.matrix.project import Project
from cannery.registry.client import Repository
from tests.faults.base import publish_index
from tests.faults.small_checkout import make_small_checkout
from tests.publish.servers import Server, registry

HERE = building_architecture()
OTHER = {"amd64": "arm64", "arm64": "amd64"}[HERE]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with registry(tmp_path / "registry") as running:
        yield running


def publish(server: Server, *, here: str = "old", other: str = "old") -> str:
    """Publish a base for both architectures; the digest of the index."""
    repository = Repository(server.host, "debian")
    return publish_index(repository, "bookworm", {HERE: f"{here} here", OTHER: f"{other} other"})


@pytest.fixture
def project(server: Server, tmp_path: Path) -> Project:
    """A target for another architecture, whose base and build base are one reference."""
    reference = f"{server.host}/debian:bookworm"
    return make_small_checkout(tmp_path / "checkout", reference, architecture=OTHER)


def identities(project: Project) -> dict[str, str]:
    """Build argument to what the content key has of its base, after the registry was asked."""
    [target] = project.matrix().targets.values()
    notes = BaseCache(state=project.state)
    for each in bases(target).values():
        look_up(*each, notes, None)
    return {name: expected_base(*each, {}, notes).identity for name, each in bases(target).items()}


def test_only_the_platform_of_a_use_matters(server: Server, project: Project) -> None:
    publish(server)
    first = identities(project)
    assert first.keys() == bases_of(next(iter(project.matrix().targets.values()))).keys()
    publish(server, other="new")
    second = identities(project)
    assert second["BASE_IMAGE"] != first["BASE_IMAGE"]
    assert second["BUILD_IMAGE"] == first["BUILD_IMAGE"]
    publish(server, here="new", other="new")
    third = identities(project)
    assert third["BASE_IMAGE"] == second["BASE_IMAGE"]
    assert third["BUILD_IMAGE"] != second["BUILD_IMAGE"]


def test_the_base_of_the_last_build_is_known_without_its_registry(
    server: Server, project: Project
) -> None:
    digest = publish(server)
    first = identities(project)
    server.stop()
    assert identities(project) == first
    [target] = project.matrix().targets.values()
    used = expected_base(target.base, OTHER, {}, BaseCache(state=project.state))
    assert used.reference == f"{server.host}/debian:bookworm@{digest}"


def test_update_bases_finds_a_build_base(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command that a push of a release names, where only the build base has no digest."""
    digest = publish(server)
    reference = f"{server.host}/debian:bookworm"
    project = make_small_checkout(
        tmp_path / "one", f"{reference}@{digest}", architecture=OTHER, build_base=reference
    )
    assert main(["update", "--bases", "--write"], project.root) == 0
    assert capsys.readouterr().out == f"building: {reference}@{digest}\n"
    [target] = project.matrix().targets.values()
    assert target.build_base.image == f"{reference}@{digest}"
    assert main(["update", "--bases"], project.root) == 0
    assert "every base that a target uses has a digest" in capsys.readouterr().err
