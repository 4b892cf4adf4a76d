# SPDX-License-Identifier: Apache-2.0
"""A proxy and a package index, each with a password, for builds of an engine without a route.

The engines of the tests keep their hands off the firewall, so their containers reach nothing but
this machine, at the address of their bridge.
"""

from __future__ import annotations

import base64
import json
import selectors
import socket
import socketserver
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar
from urllib.parse import urlsplit

import requests

_SECONDS = 300


class _Handler(socketserver.StreamRequestHandler):
    timeout = _SECONDS
    login: str
    seen: list[str]

    def handle(self) -> None:
        with suppress(OSError):
            request = self.rfile.readline().decode("latin-1").split()
            headers = [*iter(self.rfile.readline, b"\r\n")]
            if len(request) != 3 or b"" in headers:
                return
            if f"Proxy-Authorization: Basic {self.login}\r\n".encode().lower() not in [
                each.lower() for each in headers
            ]:
                self.seen.append(f"407 {request[1]}")
                said = "407 Proxy Authentication Required"
                self.wfile.write(f"HTTP/1.1 {said}\r\nContent-Length: 0\r\n\r\n".encode())
                return
            self.forward(request, headers)

    def forward(self, request: list[str], headers: list[bytes]) -> None:
        method, target, _ = request
        self.seen.append(f"{method} {target}")
        tunnel = method == "CONNECT"
        url = urlsplit(f"//{target}" if tunnel else target)
        place = (url.hostname or "", url.port or 80)
        with socket.create_connection(place, timeout=_SECONDS) as there:
            if tunnel:
                self.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
            else:
                path = target.partition("://")[2].partition("/")[2]
                # One request for each connection, so that nobody has to find the end of an answer.
                own = (b"proxy-", b"connection:")
                kept = [each for each in headers if not each.lower().startswith(own)]
                head = f"{method} /{path} HTTP/1.1\r\nConnection: close\r\n".encode()
                there.sendall(head + b"".join(kept) + b"\r\n")
            self.relay(there)

    def relay(self, there: socket.socket) -> None:
        """Pass on what either side says, until the far side ends."""
        with selectors.DefaultSelector() as ready:
            ready.register(self.connection, selectors.EVENT_READ, there)
            ready.register(there, selectors.EVENT_READ, self.connection)
            while True:
                for key, _ in ready.select(_SECONDS):
                    source = key.fileobj
                    assert isinstance(source, socket.socket)
                    if not (piece := source.recv(1 << 16)):
                        return
                    key.data.sendall(piece)


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = 128
    allow_reuse_address = True


@contextmanager
def proxy(
    address: str,
    user: str,
    password: str,
    settings: Path | None = None,
    seen: list[str] | None = None,
) -> Iterator[str]:
    """The URL of a proxy at ``address``, which wants ``user`` and ``password``.

    docker's settings in the folder ``settings`` make builds use it. ``seen`` gets a line for each
    request: its method, or 407 for one that was refused, and its target.
    """
    encoded = base64.b64encode(f"{user}:{password}".encode()).decode()
    fields = {"login": encoded, "seen": [] if seen is None else seen}
    handler = type("Handler", (_Handler,), fields)
    with _Server((address, 0), handler) as server:
        url = f"http://{user}:{password}@{address}:{server.server_address[1]}"
        if settings:
            settings.mkdir(exist_ok=True)
            own = {"httpProxy": url, "httpsProxy": url, "noProxy": "localhost"}
            text = json.dumps({"proxies": {"default": own}})
            (settings / "config.json").write_text(text, encoding="utf-8")
        thread = threading.Thread(target=server.serve_forever, args=(0.1,))
        thread.start()
        try:
            yield url
        finally:
            server.shutdown()
            thread.join()


DEFAULT_INDEX = "from pip._internal.models.index import PyPI; print(PyPI.simple_url)"


class _Index(BaseHTTPRequestHandler):
    login: ClassVar[str]
    default: ClassVar[str]

    def do_GET(self) -> None:
        if self.headers.get("Authorization") != f"Basic {self.login}":
            self.answer(401, {"WWW-Authenticate": 'Basic realm="index"'}, b"")
            return
        package = self.path.removeprefix("/simple/").strip("/")
        wanted = {"Accept": self.headers.get("Accept", "*/*")}
        said = requests.get(f"{self.default}/{package}/", headers=wanted, timeout=60)
        kind = {"Content-Type": said.headers.get("Content-Type", "text/html")}
        self.answer(said.status_code, kind, said.content)

    def answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's
        """Silent."""


class _IndexServer(ThreadingHTTPServer):
    request_queue_size = 128


@contextmanager
def guarded_index(address: str, user: str, password: str, pem: Path) -> Iterator[str]:
    """The URL, with its login, of an index at ``address`` whose key and certificate are ``pem``."""
    said = subprocess.run(
        [sys.executable, "-c", DEFAULT_INDEX], capture_output=True, text=True, check=True
    )
    login = base64.b64encode(f"{user}:{password}".encode()).decode()
    fields = {"login": login, "default": said.stdout.strip().rstrip("/")}
    server = _IndexServer((address, 0), type("Handler", (_Index,), fields))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1})
    thread.start()
    try:
        yield f"https://{user}:{password}@{address}:{server.server_address[1]}/simple"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
