# SPDX-License-Identifier: Apache-2.0
"""A real registry on loopback, with TLS and passwords, and what can go wrong on the way to it."""

from __future__ import annotations

import http.client
import os
import re
import socket
import ssl
import struct
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock, Thread

import bcrypt
import trustme

USER, PASSWORD = "publisher", "correct horse"

_CONFIG = """\
version: 0.1
log: {{level: info}}
storage:
  filesystem: {{rootdirectory: {root}}}
  delete: {{enabled: {delete}}}
http:
  addr: "127.0.0.1:{port}"
  {tls}
{auth}
"""


@cache
def passwords(password: str) -> str:
    """An htpasswd file with one user."""
    # The fewest rounds, because the registry checks it at every request.
    return f"{USER}:{bcrypt.hashpw(password.encode(), bcrypt.gensalt(4)).decode()}\n"


@dataclass(frozen=True, kw_only=True)
class Authority:
    """A company's own certificates: ``file`` is what people must trust."""

    ca: trustme.CA
    file: Path
    address: str = "127.0.0.1"

    def issue(self, folder: Path) -> Path:
        """A key with its certificate."""
        path = folder / "server.pem"
        self.ca.issue_cert(self.address, "localhost").private_key_and_cert_chain_pem.write_to_path(
            str(path)
        )
        return path


def make_authority(folder: Path) -> Authority:
    ca = trustme.CA()
    ca.cert_pem.write_to_path(str(folder / "ca.pem"))
    return Authority(ca=ca, file=folder / "ca.pem")


def free_port() -> int:
    with socket.socket() as result:
        result.bind(("127.0.0.1", 0))
        return int(result.getsockname()[1])


@dataclass(kw_only=True)
class Server:
    """A docker-registry that can be stopped and started again with all that it has."""

    folder: Path
    port: int
    tls: bool
    process: subprocess.Popen[bytes] | None = None

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        with (self.folder / "registry.log").open("ab") as log:
            argv = ["docker-registry", "serve", str(self.folder / "registry.yml")]
            self.process = subprocess.Popen(argv, stdout=log, stderr=log)
        for _ in range(200):
            assert self.process.poll() is None, (self.folder / "registry.log").read_text()
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
            time.sleep(0.05)
        raise AssertionError("the registry does not answer")

    def stop(self) -> None:
        """End it as a machine that loses its power does."""
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None


@contextmanager
def registry(
    folder: Path,
    *,
    authority: Authority | None = None,
    login: bool = False,
    password: str = PASSWORD,
    delete: bool = True,
    root: Path | None = None,
) -> Iterator[Server]:
    """A registry that keeps what it has in ``root``, or below ``folder``."""
    folder.mkdir(exist_ok=True)
    port = free_port()
    tls = auth = ""
    if authority:
        pem = authority.issue(folder)
        tls = f"tls: {{certificate: {pem}, key: {pem}}}"
    if login:
        (folder / "htpasswd").write_text(passwords(password), encoding="utf-8")
        auth = f"auth: {{htpasswd: {{realm: tests, path: {folder / 'htpasswd'}}}}}"
    text = _CONFIG.format(
        root=root or folder / "data", port=port, tls=tls, auth=auth, delete=str(delete).lower()
    )
    (folder / "registry.yml").write_text(text, encoding="utf-8")
    server = Server(folder=folder, port=port, tls=bool(authority))
    server.start()
    try:
        yield server
    finally:
        server.stop()


@dataclass
class Fault:
    """What becomes of requests whose ``METHOD PATH`` has ``pattern`` in it.

    They are answered with ``status``, or for 0 cut off once ``after`` bytes of their body have gone
    through. ``times`` is how often; ``meanwhile`` is done before the request is looked at.
    With ``flips``, one bit of each body is changed on its way, in both directions.
    """

    pattern: str
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    after: int = -1
    times: int = 1_000_000
    meanwhile: Callable[[], None] | None = None
    flips: bool = False

    def changed(self, chunk: bytes) -> bytes:
        """``chunk`` as it is sent on."""
        if not self.flips or not chunk:
            return chunk
        middle = len(chunk) // 2
        return chunk[:middle] + bytes([chunk[middle] ^ 1]) + chunk[middle + 1 :]


@dataclass
class Between:
    """Stands between a client, with which it speaks TLS, and a registry."""

    host: str
    faults: list[Fault] = field(default_factory=list)
    seen: list[str] = field(default_factory=list)
    lock: Lock = field(default_factory=Lock)

    def fault(self, request: str) -> Fault | None:
        with self.lock:
            self.seen.append(request)
            for each in self.faults:
                if each.times > 0 and re.search(each.pattern, request):
                    each.times -= 1
                    return each
        return None

    def count(self, pattern: str) -> int:
        """How many requests there were with ``pattern`` in their method and path."""
        return sum(bool(re.search(pattern, each)) for each in self.seen)


@contextmanager
def between(server: Server, authority: Authority, folder: Path) -> Iterator[Between]:
    """A place at which faults can be put into what goes to ``server``."""
    folder.mkdir(exist_ok=True)
    state = Between(host="")
    listener = _Listener((authority.address, 0), _Handler)
    listener.behind, listener.state = server, state
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority.issue(folder))
    listener.context = context
    state.host = f"{authority.address}:{listener.server_address[1]}"
    thread = Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        listener.shutdown()
        listener.server_close()
        thread.join()


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    context: ssl.SSLContext
    behind: Server
    state: Between

    def finish_request(self, request: object, client_address: object) -> None:
        assert isinstance(request, socket.socket)
        request.settimeout(60)
        # Here and not in the thread that accepts, which nobody should be able to hold up.
        with suppress(OSError), self.context.wrap_socket(request, server_side=True) as spoken:
            self.RequestHandlerClass(spoken, client_address, self)  # type: ignore[arg-type]

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away is what some of the tests are about."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Listener

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Silent."""

    def handle_any(self) -> None:
        fault = self.server.state.fault(f"{self.command} {self.path}")
        if fault and fault.meanwhile:
            fault.meanwhile()
        if fault and fault.status:
            self.refuse(fault)
        elif fault and not (fault.meanwhile or fault.flips):
            self.forward(fault, fault.after)
        else:
            self.forward(fault or Fault(""), None)

    def refuse(self, fault: Fault) -> None:
        left = int(self.headers.get("Content-Length") or 0)
        while left > 0 and (chunk := self.rfile.read(min(left, 1 << 16))):
            left -= len(chunk)
        self.send_response(fault.status)
        for name, value in {**fault.headers, "Content-Length": "0"}.items():
            self.send_header(name, value)
        self.end_headers()

    def forward(self, fault: Fault, cut: int | None) -> None:
        if cut == -1:
            self.reset()
            return
        behind = http.client.HTTPConnection("127.0.0.1", self.server.behind.port, timeout=60)
        with closing(behind), suppress(OSError, http.client.HTTPException):
            if self.send_on(behind, fault, cut):
                with behind.getresponse() as answer:
                    self.hand_back(answer, fault)
                return
        self.reset()

    def send_on(self, behind: http.client.HTTPConnection, fault: Fault, cut: int | None) -> bool:
        """Send the request on; whether all of it was sent."""
        behind.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items():
            behind.putheader(name, value)
        behind.endheaders()
        length, sent = int(self.headers.get("Content-Length") or 0), 0
        while sent < length:
            chunk = self.rfile.read(min(length - sent, 1 << 14))
            if not chunk or (cut is not None and sent + len(chunk) > cut):
                return False
            behind.send(fault.changed(chunk))
            sent += len(chunk)
        return True

    def hand_back(self, answer: http.client.HTTPResponse, fault: Fault) -> None:
        self.send_response_only(answer.status, answer.reason)
        for name, value in answer.getheaders():
            if name.lower() != "transfer-encoding":
                self.send_header(name, value)
        if answer.chunked:
            # What has been put together already ends where the line does.
            self.send_header("Connection", "close")
        self.end_headers()
        while chunk := answer.read(1 << 16):
            self.wfile.write(fault.changed(chunk))

    def reset(self) -> None:
        """Cut the line, so that the client gets no answer but an error."""
        self.close_connection = True
        with suppress(OSError):
            linger = struct.pack("ii", 1, 0)
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            os.close(self.connection.detach())

    do_GET = do_HEAD = do_PUT = do_POST = do_PATCH = do_DELETE = handle_any  # noqa: N815
