# SPDX-License-Identifier: Apache-2.0
"""A registry that wants TLS and a password, and a small image to bring there."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from cannery.registry.client import Repository
from cannery.registry.http import RETRIES

from .goods import Push, image_push
from .servers import PASSWORD, USER, Authority, Between, Server, between, make_authority, registry

HURRIED = replace(RETRIES, tries=3, pause=0.01)
"""Gives up soon, because a test knows that nothing will come."""

Login = Callable[..., None]


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return make_authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def login(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Login:
    """Writes what 'docker login' would, in a place of the test's own."""
    folder = tmp_path / "docker"
    folder.mkdir()
    monkeypatch.setenv("DOCKER_CONFIG", str(folder))

    def write(host: str, user: str = USER, password: str = PASSWORD) -> None:
        auth = base64.b64encode(f"{user}:{password}".encode()).decode()
        text = json.dumps({"auths": {host: {"auth": auth}}})
        (folder / "config.json").write_text(text, encoding="utf-8")

    return write


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with registry(tmp_path / "registry", login=True) as result:
        yield result


@pytest.fixture
def line(server: Server, authority: Authority, login: Login, tmp_path: Path) -> Iterator[Between]:
    """The line to the registry, on which faults can be put; docker has a login for it."""
    with between(server, authority, tmp_path / "between") as result:
        login(result.host)
        yield result


@pytest.fixture
def repository(line: Between, authority: Authority) -> Repository:
    return Repository(line.host, "ascend", ca=authority.file, retries=HURRIED)


@pytest.fixture
def push(repository: Repository, tmp_path: Path) -> Push:
    """A push into a repository that has an older image."""
    result = Push(repository, tmp_path / "releases")
    result(image_push(tmp_path, version="1"))
    result.log.clear()
    return result


@pytest.fixture
def before(push: Push) -> dict[str, str]:
    tags = push.tags()
    assert [*tags] == ["full", "full-1", "latest"]
    return tags
