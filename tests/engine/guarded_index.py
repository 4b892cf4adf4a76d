# SPDX-License-Identifier: Apache-2.0
"""A package index with a password, in front of the one that pip asks by default."""

from __future__ import annotations

import base64
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import requests

_DEFAULT = "from pip._internal.models.index import PyPI; print(PyPI.simple_url)"


class _Handler(BaseHTTPRequestHandler):
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


class _Server(ThreadingHTTPServer):
    request_queue_size = 128


@contextmanager
def guarded_index(address: str, user: str, password: str, pem: Path) -> Iterator[str]:
    """The URL, with its login, of an index at ``address`` whose key and certificate are ``pem``."""
    said = subprocess.run(
        [sys.executable, "-c", _DEFAULT], capture_output=True, text=True, check=True
    )
    login = base64.b64encode(f"{user}:{password}".encode()).decode()
    fields = {"login": login, "default": said.stdout.strip().rstrip("/")}
    server = _Server((address, 0), type("Handler", (_Handler,), fields))
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
