# SPDX-License-Identifier: Apache-2.0
"""The network of a build from a bundle: a package index and recorded downloads, as one HTTP proxy.

The build's steps reach it as their proxy. It answers for the host ``localhost`` as a package index
of the bundle's wheels, and for other hosts from the recorded answers, which are those of Debian's
mirrors. While a bundle is made it asks the real hosts and records what they say.
"""

from __future__ import annotations

import hashlib
import html
import json
import os
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

import requests
from urllib3.exceptions import HTTPError

from cannery.build.bundle.wheels import listed
from cannery.common.package_index import BUNDLE_INDEX
from cannery.common.specifiers import normal_name
from cannery.common.trust import Trusting, trusting
from cannery.fetch.http import AGAIN

_OWN = urlsplit(BUNDLE_INDEX).hostname
_FILES = "/files/"
_ANSWERS = "answers.json"
_KEPT = ("Content-Type", "Last-Modified", "ETag")
_TIMEOUT = (10.0, 300.0)
_TRIES = 4
_CHUNK = 1 << 20
_POLL = 0.05
"""Seconds until the end of a block is noticed."""


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What a host said: ``sha256`` names the file with the body."""

    status: int
    headers: Mapping[str, str]
    sha256: str


@dataclass
class Recorded:
    """Answers of hosts, by address, in ``folder``."""

    folder: Path
    answers: dict[str, Reply] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path) -> Recorded:
        """Those that ``write`` left in ``folder``."""
        found = json.loads((folder / _ANSWERS).read_text(encoding="utf-8"))
        return cls(folder, {url: Reply(**answer) for url, answer in found.items()})

    def write(self) -> None:
        """Write down the list of the answers, whose bodies are on the disk already."""
        text = json.dumps({url: vars(a) for url, a in sorted(self.answers.items())}, indent=1)
        (self.folder / _ANSWERS).write_text(text, encoding="utf-8")

    def body(self, answer: Reply) -> Path:
        return self.folder / answer.sha256

    def keep(self, url: str, said: requests.Response) -> Reply:
        """Record what the host of ``url`` has ``said``, whose body was not read yet.

        Raises:
            HTTPError: the connection broke.
        """
        digest = hashlib.sha256()
        with tempfile.TemporaryDirectory(dir=self.folder, prefix=".") as folder:
            path = Path(folder) / "body"
            with path.open("wb") as out:
                # The body as it was sent: apt compares the hashes of compressed files.
                for chunk in said.raw.stream(_CHUNK, decode_content=False):
                    digest.update(chunk)
                    out.write(chunk)
            headers = {name: said.headers[name] for name in _KEPT if name in said.headers}
            reply = Reply(status=said.status_code, headers=headers, sha256=digest.hexdigest())
            os.replace(path, self.body(reply))
        self.answers[url] = reply
        return reply


class Hosts:
    """The real hosts, which are asked while a bundle is made; ``ca`` is trusted, too."""

    def __init__(self, ca: Path | None = None, *, pause: float = 0.5) -> None:
        self._context = trusting([ca] if ca else [])
        self._pause = pause

    def ask(self, url: str, recorded: Recorded) -> Reply | None:
        """What the host of ``url`` says, recorded; None if it does not answer several times."""
        with requests.Session() as session:
            session.mount("https://", Trusting(self._context))
            session.headers["Accept-Encoding"] = "identity"
            for attempt in range(_TRIES):
                time.sleep(self._pause * attempt)
                with (
                    suppress(requests.RequestException, HTTPError),
                    session.get(url, stream=True, timeout=_TIMEOUT) as said,
                ):
                    if said.status_code not in AGAIN:
                        return recorded.keep(url, said)
        return None


class Gateway(ThreadingHTTPServer):
    """The server. ``asked`` are the addresses that could not be answered, in order.

    If there are ``hosts``, they are asked for what was not recorded.
    """

    daemon_threads = True

    def __init__(
        self, host: str, wheels: Path, recorded: Recorded, hosts: Hosts | None = None
    ) -> None:
        super().__init__((host, 0), _Handler)
        self.wheels = wheels
        self.packages = {normal_name(name): files for name, files in listed(wheels).items()}
        self.recorded = recorded
        self.hosts = hosts
        self.asked: list[str] = []

    @property
    def address(self) -> str:
        """Of the proxy."""
        return f"http://{self.server_address[0]!s}:{self.server_address[1]}"

    def answer(self, url: str) -> Reply | None:
        """The recorded answer for ``url``; None if there is none."""
        known = self.recorded.answers.get(url)
        return known or (self.hosts.ask(url, self.recorded) if self.hosts else None)


@contextmanager
def serving(gateway: Gateway) -> Iterator[Gateway]:
    """Answer requests in a thread until the end of the block."""
    thread = threading.Thread(target=gateway.serve_forever, args=(_POLL,), daemon=True)
    thread.start()
    try:
        yield gateway
    finally:
        gateway.shutdown()
        gateway.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    server: Gateway
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        found = urlsplit(self.path)
        if found.hostname in (None, _OWN):
            self._of_the_index(unquote(found.path))
        elif answer := self.server.answer(self.path):
            body = self.server.recorded.body(answer)
            self._send(answer.status, body, answer.headers)
        else:
            self._unknown(self.path)

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_CONNECT(self) -> None:
        self._unknown(f"https://{self.path}")

    def _of_the_index(self, path: str) -> None:
        if path.startswith(_FILES):
            file = self.server.wheels / path.removeprefix(_FILES)
            if file.parent == self.server.wheels and file.is_file():
                self._send(200, file, {"Content-Type": "application/octet-stream"})
                return
        elif files := self.server.packages.get(normal_name(path.strip("/").rpartition("/")[2])):
            links = "".join(
                f'<a href="{_FILES}{html.escape(name)}#sha256={digest}">{html.escape(name)}</a>\n'
                for name, digest in files.items()
            )
            self._send(200, links.encode(), {"Content-Type": "text/html"})
            return
        self._unknown(f"the package index: {path}")

    def _unknown(self, what: str) -> None:
        self.server.asked.append(what)
        text = f"cannery: not in the bundle: {what}\n".encode()
        self._send(404, text, {"Content-Type": "text/plain"})

    def _send(self, status: int, body: Path | bytes, headers: Mapping[str, str]) -> None:
        length = len(body) if isinstance(body, bytes) else body.stat().st_size
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(length)}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "HEAD":
            return
        if isinstance(body, bytes):
            self.wfile.write(body)
            return
        with body.open("rb") as stream:
            while chunk := stream.read(_CHUNK):
                self.wfile.write(chunk)

    def log_message(self, *words: object) -> None:
        """Nothing: the console belongs to the build."""
