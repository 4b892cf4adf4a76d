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
    architecture = {"amd64": "x86_64"}.get(machine, machine)

    class Handler(BaseHTTPRequestHandler):
        answers: ClassVar[dict[str, Any]] = {
            "/version": {"ApiVersion": "1.44", "Version": "27", "MinAPIVersion": "1.24"},
            "/info": {"Architecture": architecture, "Runtimes": {key: {} for key in runtimes}},
            "/_ping": "OK",
            **{
                f"/images/{name}/json": {"Id": "sha256:1", "Architecture": each}
                for name, each in images.items()
            },
            **{
                f"/distribution/{name}/json": {
                    "Descriptor": {"digest": "sha256:1"},
                    "Platforms": [{"os": "linux", "architecture": each}],
                }
                for name, each in (registry or {}).items()
            },
        }

        def do_GET(self) -> None:
            path = re.sub(r"^/v[0-9.]+", "", self.path)
            found = self.answers.get(path)
            missing = "No such image" if path.startswith("/images/") else "manifest unknown"
            body = json.dumps({"message": missing} if found is None else found).encode()
            self.send_response(404 if found is None else 200)
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
