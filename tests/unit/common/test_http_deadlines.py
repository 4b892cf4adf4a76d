# SPDX-License-Identifier: Apache-2.0
"""A server that drips holds nobody: one deadline for the line of the status, headers and body."""

from __future__ import annotations

import gc
import socket
import ssl
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread

import pytest
import trustme

from cannery.common import http
from cannery.common.http import RefusedError, Session, in_time
from cannery.common.tls import tls_context

DRIPS: dict[str, tuple[bytes, bytes]] = {
    "the line of the status": (b"", b"HTTP/1.1 200 OK"),
    "a header": (b"HTTP/1.1 200 OK\r\n", b"X-Long: " + b"x" * 10_000),
    "headers without end": (b"HTTP/1.1 200 OK\r\n", b"A: b\r\n" * 10_000),
    "answers before the answer": (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 1000),
    "the body": (b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n", b"x" * 9999),
    "the body of a redirect": (
        b"HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 9999\r\n\r\n",
        b"x" * 9999,
    ),
    "pieces": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n" * 2000),
}


@contextmanager
def dripping(
    at_once: bytes, then: bytes, context: ssl.SSLContext | None = None, *, reads: bool = True
) -> Iterator[int]:
    """The port of a server that sends ``at_once`` to everybody, and ``then`` byte by byte."""
    over = Event()
    listener = socket.create_server(("127.0.0.1", 0))
    threads: list[Thread] = []

    def serve(client: socket.socket) -> None:
        with (
            suppress(OSError),
            client,
            context.wrap_socket(client, server_side=True) if context else client as peer,
        ):
            if reads:
                peer.recv(1 << 16)
            peer.sendall(at_once)
            for number in range(len(then)):
                if over.wait(0.02):
                    return
                peer.sendall(then[number : number + 1])
            over.wait(60)

    def accept() -> None:
        with suppress(OSError):
            while not over.is_set():
                client, _ = listener.accept()
                threads.append(Thread(target=serve, args=(client,)))
                threads[-1].start()

    accepting = Thread(target=accept)
    accepting.start()
    try:
        yield listener.getsockname()[1]
    finally:
        over.set()
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        for thread in (accepting, *threads):
            thread.join()


def refused_in_time(ask: Callable[[], object]) -> None:
    begun = time.monotonic()
    with pytest.raises(RefusedError, match="takes longer than"):
        ask()
    assert time.monotonic() - begun < 15


@pytest.fixture(autouse=True)
def brief(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(http, "LONGEST", 0.4)
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    yield
    with warnings.catch_warnings():
        # http.client leaves the file of an answer that has broken off to the garbage collector.
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@pytest.mark.parametrize(("at_once", "then"), DRIPS.values(), ids=DRIPS)
@pytest.mark.parametrize("tls", [False, True], ids=["http", "https"])
def test_an_answer_that_drips_is_ended(
    at_once: bytes, then: bytes, tls: bool, tmp_path: Path
) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    with (
        dripping(at_once, then, context if tls else None) as port,
        Session(tls_context([tmp_path / "ca.pem"])) as session,
    ):
        url = f"{'https' if tls else 'http'}://127.0.0.1:{port}/"
        refused_in_time(lambda: session.get(url, timeout=10))
        if "body" not in then.decode() and not at_once.endswith(b"\r\n\r\n"):
            refused_in_time(lambda: session.get(url, timeout=10, stream=True))


def test_a_proxy_that_drips_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    with dripping(b"", b"HTTP/1.1 200 OK") as port, Session(tls_context([])) as session:
        monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{port}")
        refused_in_time(lambda: session.get("https://example.com/", timeout=10))


def test_an_upload_that_is_not_taken_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "SLOWEST", 1 << 40)
    with dripping(b"", b"x" * 500, reads=False) as port, Session(tls_context([])) as session:
        body = b"x" * (64 << 20)
        refused_in_time(lambda: session.put(f"http://127.0.0.1:{port}/", data=body, timeout=10))


def test_an_upload_has_time_by_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "SLOWEST", 1000)
    slow = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
    with dripping(b"", slow) as port, Session(tls_context([])) as session:
        done = session.put(f"http://127.0.0.1:{port}/", data=b"x" * 5000, timeout=10)
    assert done.status_code == 200


def test_one_slow_answer_does_not_end_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    quick = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"
    with Session(tls_context([])) as session:
        with dripping(*DRIPS["a header"]) as port:
            refused_in_time(lambda: session.get(f"http://127.0.0.1:{port}/", timeout=10))
        with dripping(quick, b"") as port:
            assert session.get(f"http://127.0.0.1:{port}/", timeout=10).content == b"ok"
            time.sleep(0.5)
            assert session.get(f"http://127.0.0.1:{port}/", timeout=10).content == b"ok"


def test_any_number_of_seconds_can_be_asked_for() -> None:
    """A timer's thread ends with an OverflowError for a wait of more than 292 years."""
    with in_time(float(10**30)):
        pass
