# SPDX-License-Identifier: Apache-2.0
"""A socket on which something answers as an engine would, as far as 'run' and 'test' ask.

Every container is of the one image that has files, and is never started.
"""

from __future__ import annotations

import base64
import io
import json
import re
import socketserver
import tarfile
import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlsplit


def _answers(
    images: Mapping[str, str],
    machine: str,
    runtimes: tuple[str, ...],
    registry: Mapping[str, str],
    labels: Mapping[str, str],
) -> dict[str, Any]:
    found: dict[str, Any] = {
        "/version": {"ApiVersion": "1.44", "Version": "27", "MinAPIVersion": "1.24"},
        "/info": {"Architecture": machine, "Runtimes": {key: {} for key in runtimes}},
        "/_ping": "OK",
        "/containers/json": [],
        "/containers/create": {"Id": "c1"},
        "/containers/c1/json": {"Id": "c1", "Config": {"Labels": dict(labels)}},
    }
    for name, each in images.items():
        config = {"Labels": dict(labels)}
        found[f"/images/{name}/json"] = {"Id": "sha256:1", "Architecture": each, "Config": config}
    for name, each in registry.items():
        platform = {"os": "linux", "architecture": each}
        answer = {"Descriptor": {"digest": "sha256:1"}, "Platforms": [platform]}
        found[f"/distribution/{name}/json"] = answer
    return found


def _archive(path: str) -> bytes:
    """A tar archive with an empty file of this name."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        archive.addfile(tarfile.TarInfo(path.rpartition("/")[2]))
    return stream.getvalue()


class _Handler(BaseHTTPRequestHandler):
    answers: ClassVar[dict[str, Any]]
    files: ClassVar[frozenset[str]]

    def do_GET(self) -> None:
        url = urlsplit(re.sub(r"^/v[0-9.]+", "", self.path))
        if url.path == "/containers/c1/archive":
            [path] = parse_qs(url.query)["path"]
            if path in self.files:
                self._send(200, _archive(path), "application/x-tar")
                return
        answer = self.answers.get(url.path)
        missing = "No such image" if url.path.startswith("/images/") else "manifest unknown"
        body = json.dumps({"message": missing} if answer is None else answer).encode()
        self._send(404 if answer is None else 200, body, "application/json")

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.do_GET()

    def do_DELETE(self) -> None:
        self._send(204, b"", "application/json")

    def _send(self, code: int, body: bytes, kind: str) -> None:
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Docker-Container-Path-Stat", base64.b64encode(b"{}").decode())
        self.end_headers()
        with suppress(ConnectionError):  # a client that goes away before its answer is no error
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's
        pass


@contextmanager
def standin_engine(
    folder: Path,
    *,
    images: Mapping[str, str],
    machine: str = "aarch64",
    runtimes: tuple[str, ...] = ("runc",),
    registry: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    files: Collection[str] = (),
    also: Mapping[str, Any] | None = None,
) -> Iterator[str]:
    """The DOCKER_HOST of an engine that has ``images``: name to architecture.

    ``registry`` has what can be pulled, in the same way. All images have ``labels`` and ``files``.
    ``also`` maps further paths of the engine's interface to answers.
    """
    files_there = frozenset(files)

    class Handler(_Handler):
        answers: ClassVar[dict[str, Any]] = {
            **_answers(images, machine, runtimes, registry or {}, labels or {}),
            **(also or {}),
        }
        files: ClassVar[frozenset[str]] = files_there

    class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
        daemon_threads = True

    path = folder / "engine.sock"
    with Server(str(path), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield f"unix://{path}"
        finally:
            server.shutdown()
            thread.join()
