# SPDX-License-Identifier: Apache-2.0
"""The engine through its SDK: why it is not reached, or cannot pull an image; sizes of layers."""

from __future__ import annotations

import gc
import os
import socket
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import docker.errors
import pytest
import requests

from cannery.common.errors import EngineError
from cannery.engine import client
from cannery.engine import client as engine
from cannery.engine.client import unreachable

SOCKET = "/var/run/docker.sock"
DENIED = f"no permission to use the container engine's socket {SOCKET}. Add this user to the group"
REFUSED = (
    "Error while fetching server API version: HTTPConnectionPool(host='127.0.0.1', port=9): Max "
    'retries exceeded with url: /version (Caused by NewConnectionError("HTTPConnection(host='
    "'127.0.0.1', port=9): Failed to establish a new connection: [Errno 111] Connection refused\"))"
)
NOWHERE = "unix:///nonexistent/d.sock"
NOT_RUNNING = "the container engine is not running: "

SAID = {
    "docker without permission": (
        "",
        (
            "permission denied while trying to connect to the Docker daemon socket at "
            f'unix://{SOCKET}: Get "http://%2Fvar%2Frun%2Fdocker.sock/v1.50/images/a/json": dial '
            f"unix {SOCKET}: connect: permission denied"
        ),
        DENIED,
    ),
    "the SDK without permission": (
        "",
        (
            "Error while fetching server API version: ('Connection aborted.', PermissionError(13, "
            "'Permission denied'))"
        ),
        DENIED,
    ),
    "docker without a socket": (
        NOWHERE,
        f"Cannot connect to the Docker daemon at {NOWHERE}. Is the docker daemon running?",
        f"{NOT_RUNNING}there is no socket /nonexistent/d.sock. Start it, for example with",
    ),
    "the SDK at a closed port": (
        "tcp://127.0.0.1:9",
        REFUSED,
        f"{NOT_RUNNING}nothing answers at tcp://127.0.0.1:9. Start it",
    ),
    "docker, which takes a path for a host": (
        SOCKET,
        (
            f"Cannot connect to the Docker daemon at tcp://localhost:2375{SOCKET}. Is the docker "
            "daemon running?"
        ),
        f"invalid DOCKER_HOST '{SOCKET}'. Write it",
    ),
    "an unknown host, after a warning": (
        "tcp://nohost.invalid:2375",
        "WARNING: Error loading config file: permission denied\n\nno such host\nno such host\n",
        f"{NOT_RUNNING}nothing answers at tcp://nohost.invalid:2375. Start it",
    ),
    "an engine that is busy": (
        "",
        "UnixHTTPConnectionPool(host='localhost', port=None): Read timed out. (read timeout=60)",
        f"the container engine at unix://{SOCKET} has stopped answering. It may be busy",
    ),
    "an answer that is no sign of a stopped engine": (
        "",
        "Error response from daemon: no space left on device",
        (
            "the container engine reports: Error response from daemon: no space left on device. "
            "See what 'docker info' says."
        ),
    ),
}


@pytest.mark.parametrize(("host", "said", "message"), SAID.values(), ids=SAID)
def test_an_error_names_a_reason_and_a_fix(host: str, said: str, message: str) -> None:
    error = unreachable(f"{said}\n{said}", {"DOCKER_HOST": host})
    assert isinstance(error, EngineError)
    assert str(error).startswith(message)
    assert len(str(error)) < 300
    assert "\n" not in str(error)


@contextmanager
def without_privileges() -> Iterator[None]:
    """Every file with mode 0 is closed to this process, even if it was started by root."""
    if os.geteuid():
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The path at which the SDK looks for an engine."""
    path = tmp_path / "docker.sock"
    monkeypatch.setenv("DOCKER_HOST", f"unix://{path}")
    client.connect.cache_clear()
    yield path
    client.connect.cache_clear()
    # The SDK leaves the socket of an engine that does not answer to the collector.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


def test_the_sdk_at_a_socket_without_a_server(place: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(place))
    with pytest.raises(EngineError, match=f"not running: nothing answers at {place}"):
        client.connect()


def test_the_sdk_error_without_permission_for_the_socket(place: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(place))
        server.listen()
        place.chmod(0)
        with without_privileges(), pytest.raises(EngineError) as caught:
            client.connect()
    said = f"no permission to use the container engine's socket {place}. Add"
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize("host", ["tcp://127.0.0.1:99999", "http://[::1", "nonsense://x"])
def test_the_sdk_with_an_address_of_a_wrong_form(
    place: Path, monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    assert not place.exists()
    monkeypatch.setenv("DOCKER_HOST", host)
    with pytest.raises(EngineError) as caught:
        client.connect()
    assert str(caught.value).startswith(f"invalid DOCKER_HOST {host!r}. ")


def test_an_ssh_host_without_paramiko_is_an_error(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not place.exists()
    monkeypatch.setattr("docker.api.client.SSHHTTPAdapter", None, raising=False)
    monkeypatch.delattr("docker.api.client.SSHHTTPAdapter")
    monkeypatch.setenv("DOCKER_HOST", "ssh://me@far")
    with pytest.raises(EngineError) as caught:
        client.connect()
    said = "DOCKER_HOST 'ssh://me@far' needs Python's package paramiko, which is not installed. "
    assert str(caught.value).startswith(said)


REFERENCE = "registry.example.com:5000/ascend:full"


class Images:
    """Answers as the engine's images would."""

    def __init__(self, status: int = 200, said: str = "") -> None:
        self.status, self.said = status, said

    def get_registry_data(self, reference: str) -> Any:
        assert reference == REFERENCE
        if self.status == 200:
            platforms = [{"os": "linux", "architecture": "arm64"}]
            return SimpleNamespace(attrs={"Platforms": platforms})
        response = requests.Response()
        response.status_code = self.status
        kind = docker.errors.NotFound if self.status == 404 else docker.errors.APIError
        raise kind("failed", response=response, explanation=self.said)


def asked(monkeypatch: pytest.MonkeyPatch, images: Images, platform: str) -> str:
    monkeypatch.setattr(engine, "connect", lambda: SimpleNamespace(images=images))
    return str(engine.why_not_pulled(REFERENCE, platform) or "")


def test_an_image_for_the_platform(monkeypatch: pytest.MonkeyPatch) -> None:
    assert asked(monkeypatch, Images(), "linux/arm64") == ""
    said = asked(monkeypatch, Images(), "linux/amd64")
    assert said.startswith(f"{REFERENCE} has no image for linux/amd64; it has linux/arm64.")


LOGIN = "docker login registry.example.com:5000"


@pytest.mark.parametrize(
    ("status", "said", "message", "fix"),
    [
        (404, "manifest unknown", f"{REFERENCE} does not exist.", "Check the name."),
        (401, "no login", f"the registry refuses {REFERENCE}: no login.", LOGIN),
        (403, "denied: 404", f"the registry refuses {REFERENCE}: denied: 404.", LOGIN),
        (500, "port 40404", f"{REFERENCE} cannot be pulled: port 40404.", "reach the registry"),
    ],
)
def test_each_refusal_is_told_apart(
    monkeypatch: pytest.MonkeyPatch, status: int, said: str, message: str, fix: str
) -> None:
    found = asked(monkeypatch, Images(status, said), "linux/arm64")
    assert found.startswith(message)
    assert fix in found


@pytest.mark.parametrize(
    ("said", "fix"),
    [
        ("x509: unknown authority", "/etc/docker/certs.d/registry.example.com:5000/ca.crt"),
        ("invalid tar header", "push with --compression gzip"),
        ("manifest unknown", "Check that the engine can reach the registry."),
    ],
)
def test_a_failed_pull_names_a_fix(monkeypatch: pytest.MonkeyPatch, said: str, fix: str) -> None:
    def pull(*_: object, **__: object) -> list[dict[str, str]]:
        return [{"status": "Pulling"}, {"error": said}]

    monkeypatch.setattr(engine, "connect", lambda: SimpleNamespace(api=SimpleNamespace(pull=pull)))
    repository, digest = REFERENCE.removesuffix(":full"), "sha256:" + "0" * 64
    with pytest.raises(EngineError) as caught:
        engine.pull_digest(repository, digest, "linux/arm64", ("me", "a password"))
    assert f"the engine cannot pull {repository}@{digest}: {said}." in str(caught.value)
    assert fix in str(caught.value)
    assert "a password" not in str(caught.value)


class Image:
    """An image with two layers, the newest entries of its history first, as the engine has it."""

    attrs: ClassVar[dict[str, Any]] = {"RootFS": {"Layers": ["sha256:base", "sha256:os"]}}

    def __init__(self, *sizes: int) -> None:
        self.sizes = sizes

    def history(self) -> list[dict[str, Any]]:
        return [{"Size": size} for size in self.sizes]


@pytest.mark.parametrize(
    ("sizes", "found"),
    [
        ((0, 20, 0, 10), [10, 20]),
        # As for an image whose engine has no history of its base.
        ((20,), [None, None]),
        ((), [None, None]),
    ],
)
def test_layers_have_the_sizes_of_the_history(
    monkeypatch: pytest.MonkeyPatch, sizes: tuple[int, ...], found: list[int | None]
) -> None:
    images = SimpleNamespace(get=lambda _: Image(*sizes))
    monkeypatch.setattr(engine, "connect", lambda: SimpleNamespace(images=images))
    assert engine.image_layers("cannery:x") == [("sha256:base", found[0]), ("sha256:os", found[1])]


@pytest.mark.parametrize(
    ("host", "far"),
    [
        ("", False),
        ("unix:///tmp/far.sock", False),
        ("tcp://localhost:2375", False),
        ("tcp://127.0.0.1:2375", False),
        ("tcp://[::1]:2375", False),
        ("tcp://[", False),
        ("tcp://npu1:2375", True),
        ("ssh://me@far", True),
    ],
)
def test_an_engine_of_another_host(host: str, far: bool) -> None:
    assert client.other_host({"DOCKER_HOST": host}) == (host if far else "")
