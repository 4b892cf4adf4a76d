# SPDX-License-Identifier: Apache-2.0
"""A server with TLS that stands in for the service's git and API, and for one with a scanner."""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
import os
import re
import ssl
import subprocess
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import trustme

from tests.workflow_jobs.graphql import PullRequests

ADDRESS = "127.0.0.43"
"""The loopback address of the server, so that port 443 of others stays free."""

_SCANNERS_HOST = "scanners.example.com"
HOSTS = ("github.com", "api.github.com", _SCANNERS_HOST)
TOKEN = "ghs_stand-in"


def _scanner() -> bytes:
    """The archive of a release with the program that imitates grype; always the same bytes."""
    stream = io.BytesIO()
    content = (Path(__file__).parent / "programs" / "grype").read_bytes()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        member = tarfile.TarInfo("grype")
        member.size, member.mode = len(content), 0o755
        archive.addfile(member, io.BytesIO(content))
    return gzip.compress(stream.getvalue(), mtime=0)


_SCANNER = _scanner()
SCANNER = {
    "CANNERY_SCANNER": f"https://{_SCANNERS_HOST}/grype.tar.gz",
    "CANNERY_SCANNER_SHA256": hashlib.sha256(_SCANNER).hexdigest(),
}
"""The variables of the repository that name it."""


@dataclass
class Service:
    """Repositories below ``root``, and the pull requests of one of them.

    ``green`` is the last commit with a green pipeline, which GitLab's API is asked for.
    """

    root: Path
    pull_requests: PullRequests = field(default_factory=PullRequests)
    green: str = ""

    def start_over(self) -> None:
        """Forget the pull requests."""
        self.pull_requests = PullRequests()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Listener

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Silent."""

    def do_any(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.headers.get("Transfer-Encoding") == "chunked":
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        host = self.headers["Host"].split(":")[0]
        if host == _SCANNERS_HOST:
            self.send(200, _SCANNER)
        elif host.startswith("api."):
            self.api(body)
        else:
            self.git(body)

    def api(self, body: bytes) -> None:
        if self.headers.get("JOB-TOKEN") == TOKEN and self.path.startswith("/projects/"):
            rows = [{"sha": self.server.service.green, "status": "success", "ref": "main"}]
            self.send(200, json.dumps(rows).encode())
            return
        if self.headers.get("Authorization") != f"token {TOKEN}":
            self.send(401, b'{"message": "Bad credentials"}')
            return
        try:
            self.send(200, json.dumps(self.answer(json.loads(body))).encode())
        except KeyError as error:
            self.send(501, json.dumps({"message": f"no answer is known: {error}"}).encode())

    def answer(self, asked: Mapping[str, Any]) -> Mapping[str, Any]:
        requests = self.server.service.pull_requests
        if (self.command, self.path) == ("POST", "/graphql"):
            return {"data": requests.answer(asked["query"], asked["variables"])}
        if match := re.fullmatch(r"PATCH /repos/[\w/]+/pulls/(\d+)", f"{self.command} {self.path}"):
            return requests.edit(int(match[1]), asked)
        raise KeyError(f"{self.command} {self.path}")

    def git(self, body: bytes) -> None:
        path, _, query = self.path.partition("?")
        writes = "git-receive-pack" in self.path
        given = base64.b64encode(f"x-access-token:{TOKEN}".encode()).decode()
        if writes and self.headers.get("Authorization") != f"Basic {given}":
            self.send(401, b"", {"WWW-Authenticate": 'Basic realm="GitHub"'})
            return
        if ".git/" not in path:
            path = "/" + "/".join(path.split("/")[1:3]) + ".git/" + "/".join(path.split("/")[3:])
        env = {
            **os.environ,
            "GIT_PROJECT_ROOT": str(self.server.service.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "REQUEST_METHOD": self.command,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "REMOTE_USER": "writer" if writes else "",
            "REMOTE_ADDR": ADDRESS,
        }
        done = subprocess.run(
            ["git", "http-backend"], input=body, env=env, capture_output=True, check=False
        )
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if line)
        status = int(headers.pop("Status", "200").split()[0])
        self.send(status, content, headers)

    def send(self, status: int, content: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        more = {"Content-Type": "application/json", **(headers or {})}
        for name, value in {**more, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = do_any  # noqa: N815


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    service: Service


@contextmanager
def serve(service: Service, ca: trustme.CA, folder: Path) -> Iterator[None]:
    """Answer for ``HOSTS`` on port 443 of ``ADDRESS``."""
    pem = folder / "service.pem"
    ca.issue_cert(*HOSTS).private_key_and_cert_chain_pem.write_to_path(str(pem))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    listener = _Listener((ADDRESS, 443), _Handler)
    listener.service = service
    listener.socket = context.wrap_socket(listener.socket, server_side=True)
    thread = Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)
    thread.start()
    try:
        yield
    finally:
        listener.shutdown()
        listener.server_close()
        thread.join()
