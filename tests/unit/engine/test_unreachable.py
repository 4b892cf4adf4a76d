# SPDX-License-Identifier: Apache-2.0
"""What is said of an engine that cannot be reached, by the words of docker and of its SDK."""

from __future__ import annotations

import gc
import os
import socket
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cannery.common.errors import EngineError
from cannery.engine import client
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
    "anything else, after a warning": (
        "tcp://nohost.invalid:2375",
        "WARNING: Error loading config file: permission denied\n\nno such host\nno such host\n",
        "the container engine does not answer: no such host. Start it",
    ),
}


@pytest.mark.parametrize(("host", "said", "message"), SAID.values(), ids=SAID)
def test_the_reason_and_what_to_do(host: str, said: str, message: str) -> None:
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


def test_the_sdk_at_a_socket_that_is_closed_to_this_user(place: Path) -> None:
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


def test_the_sdk_with_ssh_and_without_the_package_that_it_needs(
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
