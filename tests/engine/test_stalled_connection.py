# SPDX-License-Identifier: Apache-2.0
"""The bench's watch sees a real connection stall, in a network namespace as a container has one."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from bench import stalls
from bench.stalls import Watch

SPACE, GATEWAY, CLIENT = "cannery-stall", "10.223.77.1", "10.223.77.2"
DOWNLOADS = "while connection.recv(65536): pass"
COMPUTES = "while time.monotonic() < end: pass"

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="a network namespace needs root")


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


@pytest.fixture(autouse=True)
def _space() -> Iterator[None]:
    ip("netns", "add", SPACE)
    try:
        ip("link", "add", "bench-stall0", "type", "veth", "peer", "bench-stall1", "netns", SPACE)
        ip("address", "add", f"{GATEWAY}/24", "dev", "bench-stall0")
        ip("link", "set", "bench-stall0", "up")
        ip("-n", SPACE, "address", "add", f"{CLIENT}/24", "dev", "bench-stall1")
        ip("-n", SPACE, "link", "set", "bench-stall1", "up")
        ip("-n", SPACE, "route", "add", "default", "via", GATEWAY)
        yield
        # With the namespace it would go a while later, and the next one has the same name.
        ip("link", "delete", "bench-stall0")
    finally:
        ip("netns", "delete", SPACE)


def longest(send: Callable[[socket.socket], object], client: str) -> float:
    """The longest stall while ``client`` has a connection to a server that does ``send``."""

    def serve() -> None:
        connection, _ = server.accept()
        with connection, suppress(OSError):
            send(connection)

    with socket.create_server((GATEWAY, 0)) as server:
        port = server.getsockname()[1]
        program = "import socket, time\nend = time.monotonic() + 6\n"
        program += f"connection = socket.create_connection(({GATEWAY!r}, {port}))\n{client}"
        serving = threading.Thread(target=serve)
        serving.start()
        with Watch(GATEWAY) as watch:
            inside = ["ip", "netns", "exec", SPACE, sys.executable, "-c", program]
            subprocess.run(inside, check=True)
        serving.join()
    return watch.longest


def send_for(connection: socket.socket, seconds: int) -> None:
    for _ in range(5 * seconds):
        connection.sendall(b"x" * 200_000)
        threading.Event().wait(0.2)


def send_nothing_for(seconds: int) -> None:
    threading.Event().wait(seconds)


def send_with_a_pause(connection: socket.socket) -> None:
    send_for(connection, 1)
    send_nothing_for(6)
    send_for(connection, 1)


@pytest.mark.parametrize(
    ("send", "client", "stalled"),
    [
        (lambda to: send_for(to, 6), DOWNLOADS, False),
        (send_with_a_pause, DOWNLOADS, True),
        # A connection that is kept open while something is installed.
        (lambda _: send_nothing_for(7), COMPUTES, False),
    ],
    ids=["downloads", "stalls", "computes"],
)
def test_a_stall_is_seen(
    monkeypatch: pytest.MonkeyPatch,
    send: Callable[[socket.socket], object],
    client: str,
    stalled: bool,
) -> None:
    monkeypatch.setattr(stalls, "SECONDS", 3.0)
    assert bool(longest(send, client)) is stalled
