# SPDX-License-Identifier: Apache-2.0
"""Servers of tests, on this machine."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread


class Handler(BaseHTTPRequestHandler):
    """Answers requests as ``answer`` does, and logs nothing."""

    def answer(self) -> None:
        """Call ``reply`` once."""
        raise NotImplementedError

    def do_GET(self) -> None:
        self.answer()

    def reply(self, status: int, body: bytes, **headers: str) -> None:
        """Send ``body``; the underscores in the names of ``headers`` are sent as hyphens."""
        self.send_response(status)
        for name, value in {**headers, "Content_Length": str(len(body))}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words: object) -> None:
        pass


@contextmanager
def answering(
    handler: type[Handler], context: ssl.SSLContext | None = None, host: str = "127.0.0.1"
) -> Iterator[str]:
    """The address of a server, with TLS if there is a ``context``; ``handler`` answers."""
    server = HTTPServer((host, 0), handler)
    if context:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = Thread(target=server.serve_forever, args=(0.005,))
    thread.start()
    try:
        yield f"{'https' if context else 'http'}://{host}:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
