# SPDX-License-Identifier: Apache-2.0
"""A server of files that does, request by request, the wrong thing that it is told to do."""

from __future__ import annotations

import re
import socket
import socketserver
import ssl
import struct
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256

_RANGE = re.compile(r"bytes=(\d+)-$")
_SLOW = 0.02
"""Seconds between two bytes of a slow answer."""


@dataclass(frozen=True, kw_only=True)
class Fault:
    """What goes wrong with one request, after ``at`` bytes of the body where that matters."""

    kind: str
    at: int = 0


@dataclass(kw_only=True)
class Request:
    """What was asked for, and how many bytes of the body were sent."""

    path: str
    headers: dict[str, str]
    sent: int = 0


@dataclass
class Files:
    """The files of a server by path, and the faults of the next requests for each."""

    content: dict[str, bytes] = field(default_factory=dict)
    faults: dict[str, list[Fault]] = field(default_factory=lambda: defaultdict(list))
    requests: list[Request] = field(default_factory=list)
    reached: Callable[[], None] = lambda: None
    """Is called for the fault ``kill``, when ``at`` bytes were sent."""

    url: str = ""
    port: int = 0

    def address(self, path: str) -> str:
        return f"{self.url}/{path}"


HEADS = {
    "403": "403 Forbidden",
    "404": "404 Not Found",
    "429": "429 Too Many Requests\r\nRetry-After: 0",
    "429 later": "429 Too Many Requests\r\nRetry-After: 86400",
    "429 date": "429 Too Many Requests\r\nRetry-After: Wed, 21 Oct 2015 07:28:00 GMT",
    "503": "503 Service Unavailable",
    "503 odd": "503 Service Unavailable\r\nRetry-After: soon",
    "500": "500 Internal Server Error",
    "416": "416 Range Not Satisfiable",
    "redirect loop": "302 Found\r\nLocation: {path}",
    "redirect to file": "302 Found\r\nLocation: file:///etc/passwd",
    "redirect nowhere": "302 Found\r\nLocation: http://[::bad/",
    "no content": "204 No Content",
}
"""Faults that are an answer without a body."""

_PAGE = b"<!DOCTYPE html><html><body>Please log in</body></html>"


class _Handler(socketserver.BaseRequestHandler):
    server: _Server

    def handle(self) -> None:
        with suppress(OSError, ssl.SSLError):
            self._answer()

    def _answer(self) -> None:
        head = b""
        while b"\r\n\r\n" not in head:
            if not (more := self.request.recv(65536)):
                return
            head += more
        lines = head.split(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")
        path = lines[0].split(" ")[1].lstrip("/")
        headers = {k.lower(): v.strip() for k, _, v in (each.partition(":") for each in lines[1:])}
        files = self.server.files
        self.asked = Request(path=path, headers=headers)
        files.requests.append(self.asked)
        fault = files.faults[path].pop(0) if files.faults[path] else Fault(kind="")
        self._send(path, headers, fault)

    def _send(self, path: str, headers: dict[str, str], fault: Fault) -> None:
        content = self.server.files.content.get(path)
        if fault.kind in HEADS:
            self._head(HEADS[fault.kind].format(path=f"/{path}"), "Content-Length: 0")
        elif fault.kind.startswith("to "):
            self._head(f"302 Found\r\nLocation: {fault.kind[3:]}", "Content-Length: 0")
        elif fault.kind == "not HTTP":
            self.request.sendall(b"\x00\x01SSH-2.0-OpenSSH\r\n")
        elif fault.kind == "nothing":
            return
        elif fault.kind == "login page":
            self._whole(_PAGE, "Content-Type: text/html; charset=utf-8")
        elif fault.kind == "login page as file":
            self._whole(_PAGE, "Content-Type: application/octet-stream")
        elif fault.kind == "empty file":
            self._whole(b"", "Content-Type: application/octet-stream")
        elif content is None:
            self._head(HEADS["404"], "Content-Length: 0")
        else:
            self._file(content, headers, fault)

    def _head(self, status: str, *lines: str) -> None:
        text = "\r\n".join([f"HTTP/1.1 {status}", *lines, "Connection: close", "", ""])
        self.request.sendall(text.encode("latin-1"))

    def _whole(self, content: bytes, *lines: str) -> None:
        self._head("200 OK", f"Content-Length: {len(content)}", *lines)
        self._body(content)

    def _body(self, content: bytes) -> None:
        self.request.sendall(content)
        self.asked.sent += len(content)

    def _file(self, content: bytes, headers: dict[str, str], fault: Fault) -> None:
        if fault.kind == "other bytes":
            content = sha256(content).digest() * (len(content) // 32 + 1)
            content = content[: len(self.server.files.content[self.asked.path])]
        elif fault.kind == "one bit":
            at = fault.at % len(content)
            content = content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]
        elif fault.kind == "more":
            content += b"more"
        elif fault.kind == "less":
            content = content[: fault.at % len(content)]
        tag = f'"{sha256(content).hexdigest()[:16]}"'
        begin = 0
        asked = _RANGE.match(headers.get("range", ""))
        if asked and headers.get("if-range", tag) == tag and fault.kind != "range ignored":
            begin = int(asked[1])
        if begin and begin >= len(content):
            self._head(HEADS["416"], "Content-Length: 0", f"Content-Range: bytes */{len(content)}")
            return
        self._part(content, begin, tag, fault)

    def _part(self, content: bytes, begin: int, tag: str, fault: Fault) -> None:
        body, total, first = content[begin:], len(content), begin
        lines = [f"ETag: {tag}", "Content-Type: application/octet-stream"]
        if fault.kind == "wrong range":
            first, begin = max(begin - 1, 1), begin or 1
        if fault.kind == "wrong total":
            total += 7
        if begin and fault.kind != "range without range":
            lines.append(f"Content-Range: bytes {first}-{first + len(body) - 1}/{total}")
        if fault.kind == "weak tag":
            lines[0] = f"ETag: W/{tag}"
        if fault.kind == "gzip said":
            lines.append("Content-Encoding: gzip")
        if fault.kind == "chunked":
            lines.append("Transfer-Encoding: chunked")
        elif fault.kind not in ("half without length", "more without length"):
            lines.append(f"Content-Length: {len(body) + (7 if fault.kind == 'long length' else 0)}")
        self._head("206 Partial Content" if begin else "200 OK", *lines)
        self._broken(body, fault)

    def _broken(self, body: bytes, fault: Fault) -> None:
        at = fault.at % max(len(body), 1)
        if fault.kind in ("half", "half without length"):
            self._body(body[:at])
        elif fault.kind == "reset":
            self._body(body[:at])
            linger = struct.pack("ii", 1, 0)
            self.request.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        elif fault.kind == "stall":
            self._body(body[:at])
            self.server.closing.wait(2)
        elif fault.kind == "slow":
            for byte in body:
                self._body(bytes([byte]))
                if self.server.closing.wait(_SLOW):
                    break
        elif fault.kind == "kill":
            self._body(body[: fault.at])
            self.server.files.reached()
        elif fault.kind == "more without length":
            self._body(body + b"more")
        elif fault.kind == "chunked":
            size = f"{len(body):x}\r\n".encode()
            self._body((size + body)[: at + len(size)])
        else:
            self._body(body)


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, files: Files, context: ssl.SSLContext | None) -> None:
        self.files = files
        self.closing = threading.Event()
        self._context = context
        super().__init__(("127.0.0.1", 0), _Handler)

    def finish_request(self, request: object, client_address: object) -> None:
        if self._context:
            assert isinstance(request, socket.socket)
            try:
                request = self._context.wrap_socket(request, server_side=True)
            except OSError:  # the client does not trust it
                return
        super().finish_request(request, client_address)  # type: ignore[arg-type]
        if self._context:
            assert isinstance(request, socket.socket)
            request.close()


@contextmanager
def serving(context: ssl.SSLContext | None = None) -> Iterator[Files]:
    """A server on this machine, with TLS if there is a ``context``."""
    files = Files()
    with _Server(files, context) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        files.port = server.server_address[1]
        files.url = f"{'https' if context else 'http'}://localhost:{files.port}"
        try:
            yield files
        finally:
            server.closing.set()
            server.shutdown()
            thread.join()
