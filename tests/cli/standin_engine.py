# SPDX-License-Identifier: Apache-2.0
"""A socket on which something answers as an engine would, as far as 'run' asks."""

from __future__ import annotations

import json
import re
import socketserver
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, ClassVar


def _answers(
    images: Mapping[str, str], machine: str, runtimes: tuple[str, ...], registry: Mapping[str, str]
) -> dict[str, Any]:
    found: dict[str, Any] = {
        "/version": {"ApiVersion": "1.44", "Version": "27", "MinAPIVersion": "1.24"},
        "/info": {"Architecture": machine, "Runtimes": {key: {} for key in runtimes}},
        "/_ping": "OK",
    }
    for name, each in images.items():
        found[f"/images/{name}/json"] = {"Id": "sha256:1", "Architecture": each}
    for name, each in registry.items():
        platform = {"os": "linux", "architecture": each}
        answer = {"Descriptor": {"digest": "sha256:1"}, "Platforms": [platform]}
        found[f"/distribution/{name}/json"] = answer
    return found


@contextmanager
def standin_engine(
    folder: Path,
    *,
    images: Mapping[str, str],
    machine: str = "aarch64",
    runtimes: tuple[str, ...] = ("runc",),
    registry: Mapping[str, str] | None = None,
) -> Iterator[str]:
    """The DOCKER_HOST of an engine that has ``images``: name to architecture.

    ``registry`` has what can be pulled, in the same way.
    """
    found = _answers(images, machine, runtimes, registry or {})

    class Handler(BaseHTTPRequestHandler):
        answers: ClassVar[dict[str, Any]] = found

        def do_GET(self) -> None:
            path = re.sub(r"^/v[0-9.]+", "", self.path)
            answer = self.answers.get(path)
            missing = "No such image" if path.startswith("/images/") else "manifest unknown"
            body = json.dumps({"message": missing} if answer is None else answer).encode()
            self.send_response(404 if answer is None else 200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's
            pass

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
