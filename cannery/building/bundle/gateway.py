# SPDX-License-Identifier: Apache-2.0
"""The network of a build from a bundle: a package index and recorded downloads, as one HTTP proxy.

The build's steps reach it as their proxy. It answers for the host ``localhost`` as a package index
of the bundle's wheels, and for other hosts from the recorded answers, which are those of Debian's
mirrors. While a bundle is made it asks the real hosts and records what they say.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import html
import ipaddress
import json
import os
import secrets
import socket
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import requests
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import HTTPError

from cannery.building.bundle.archive import invalid, is_sha256, is_text, read_object
from cannery.building.bundle.wheels import listed
from cannery.common.errors import file_error
from cannery.common.file_hashes import sha256_of
from cannery.common.http import (
    AGAIN,
    Patience,
    Session,
    Tries,
    Trusting,
    retry_after,
    trusting,
)
from cannery.common.outside import printable
from cannery.common.package_index import BUNDLE_INDEX
from cannery.common.specifiers import normal_name

_OWN = urlsplit(BUNDLE_INDEX).hostname
_FILES = "/files/"
_ANSWERS = "answers.json"
_KEPT = ("Content-Type", "Last-Modified", "ETag")
_TIMEOUT = (10.0, 300.0)
_PATIENCE = Patience(tries=4)
_CHUNK = 1 << 20
_POLL = 0.05
"""Seconds until the end of a block is noticed."""


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What a host said: ``sha256`` names the file with the body."""

    status: int
    headers: Mapping[str, str]
    sha256: str


def _is_reply(answer: object) -> bool:
    """Whether ``answer`` has what ``Reply`` has, and headers that are one line each."""
    return (
        isinstance(answer, dict)
        and answer.keys() == Reply.__dataclass_fields__.keys()
        and type(answer["status"]) is int
        and 200 <= answer["status"] < 600
        and is_sha256(answer["sha256"])
        and isinstance(answer["headers"], dict)
        and answer["headers"].keys() <= {*_KEPT}
        and all(is_text(value, r"[ -~]{0,500}") for value in answer["headers"].values())
    )


@dataclass
class Recorded:
    """Answers of hosts, by address, in ``folder``."""

    folder: Path
    answers: dict[str, Reply] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path) -> Recorded:
        """Those that ``write`` left in ``folder``.

        Raises:
            ArtifactError: the list is not valid, or a body is not the file of its hash.
            FileError: a file cannot be read.
        """
        path = folder / _ANSWERS
        try:
            found = read_object(path)
            for url, answer in found.items():
                if not _is_reply(answer):
                    raise invalid(path, f"the answer of {printable(url[:200])} is none")
            recorded = cls(folder, {url: Reply(**answer) for url, answer in found.items()})
            for name in {answer.sha256 for answer in recorded.answers.values()}:
                body = folder / name
                if body.is_symlink() or not body.is_file() or sha256_of(body) != name:
                    raise invalid(path, f"{name} is not the file with this sha256")
        except OSError as error:
            raise file_error("read", path, error) from error
        return recorded

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


class _OutsideError(OSError):
    """An address that a build has no business with."""


def is_local(address: str) -> bool:
    """Whether ``address`` is one of this machine's own, or of what serves only this machine."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address.rstrip(".").lower().endswith("localhost")
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped:
        found = found.ipv4_mapped
    kinds = (found.is_loopback, found.is_link_local, found.is_unspecified, found.is_multicast)
    return any(kinds)


def _refuse_local(address: str) -> None:
    if is_local(address):
        raise _OutsideError(f"{address} is of this machine only")


class _Plain(HTTPConnection):
    def _new_conn(self) -> socket.socket:
        return _outside(super()._new_conn())


class _Secure(HTTPSConnection):
    def _new_conn(self) -> socket.socket:
        return _outside(super()._new_conn())


def _outside(connection: socket.socket) -> socket.socket:
    """``connection``, before anything is sent, if it does not lead to this machine itself."""
    try:
        _refuse_local(connection.getpeername()[0])
    except OSError:
        connection.close()
        raise
    return connection


class _PlainPool(HTTPConnectionPool):
    ConnectionCls = _Plain


class _SecurePool(HTTPSConnectionPool):
    ConnectionCls = _Secure


class _Outside(Trusting):
    """Asks other machines only: whatever an address, its name or a redirect leads to.

    A build's step reaches no service of this machine by it. A proxy of the user's is asked, too,
    wherever it is, but not for this machine.
    """

    def init_poolmanager(self, *arguments: Any, **more: Any) -> None:
        super().init_poolmanager(*arguments, **more)
        self.poolmanager.pool_classes_by_scheme = {"http": _PlainPool, "https": _SecurePool}

    def send(self, request: requests.PreparedRequest, *words: Any, **more: Any) -> Any:
        _refuse_local(urlsplit(request.url or "").hostname or "localhost")
        return super().send(request, *words, **more)


class Hosts:
    """The real hosts, which are asked while a bundle is made; ``ca`` is trusted, too."""

    def __init__(self, ca: Path | None = None, *, patience: Patience = _PATIENCE) -> None:
        self._context = trusting([ca] if ca else [])
        self._patience = patience

    def ask(self, url: str, recorded: Recorded, login: str = "") -> Reply | None:
        """What the host of ``url`` says, recorded; None if it does not answer several times.

        ``login`` is the header Authorization of apt, which is not recorded.
        """
        tries: Tries = Tries(self._patience)
        pause: float | None = 0.0
        with Session(self._context) as session:
            for scheme in ("http://", "https://"):
                session.mount(scheme, _Outside(self._context))
            session.headers["Accept-Encoding"] = "identity"
            # Without this, requests would send the logins of this machine's netrc.
            session.auth = lambda request: request
            if login:
                session.headers["Authorization"] = login
            while pause is not None:
                asked = 0.0
                with (
                    suppress(requests.RequestException, HTTPError, OSError, ValueError),
                    session.get(url, stream=True, timeout=_TIMEOUT) as said,
                ):
                    if said.status_code not in AGAIN:
                        return recorded.keep(url, said)
                    asked = retry_after(said)
                pause = tries.pause(asked=asked)
                time.sleep(pause or 0)
        return None


class Gateway(ThreadingHTTPServer):
    """The server. ``asked`` are the addresses that could not be answered, in order.

    It answers those only who know its password, which is in ``address``.

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
        self._login = f"build:{secrets.token_hex(16)}"

    @property
    def address(self) -> str:
        """Of the proxy, with the name and the password."""
        return f"http://{self._login}@{self.server_address[0]!s}:{self.server_address[1]}"

    def knows(self, header: str) -> bool:
        """Whether ``header`` (Proxy-Authorization) has the password."""
        expected = f"Basic {base64.b64encode(self._login.encode()).decode()}"
        return hmac.compare_digest(header.encode(), expected.encode())

    def answer(self, url: str, login: str = "") -> Reply | None:
        """The recorded answer for ``url``; None if there is none."""
        known = self.recorded.answers.get(url)
        return known or (self.hosts.ask(url, self.recorded, login) if self.hosts else None)


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
        if not self._may():
            return
        try:
            found = urlsplit(self.path)
        except ValueError:
            self._unknown(self.path)
            return
        if found.hostname in (None, _OWN):
            self._of_the_index(unquote(found.path))
        elif answer := self.server.answer(self.path, self.headers.get("Authorization", "")):
            body = self.server.recorded.body(answer)
            self._send(answer.status, body, answer.headers)
        else:
            self._unknown(self.path)

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_CONNECT(self) -> None:
        if self._may():
            self._unknown(f"https://{self.path}")

    def _may(self) -> bool:
        """Whether a step of the build is asking; anybody else is told to log in."""
        if self.server.knows(self.headers.get("Proxy-Authorization", "")):
            return True
        self._send(407, b"", {"Proxy-Authenticate": 'Basic realm="cannery"'})
        return False

    def _of_the_index(self, path: str) -> None:
        if path.startswith(_FILES):
            name = path.removeprefix(_FILES)
            if any(name in files for files in self.server.packages.values()):
                file = self.server.wheels / name
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
