# SPDX-License-Identifier: Apache-2.0
"""One request to a server of files, and what its answer means."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from socket import gaierror
from urllib.parse import urlsplit

import requests
from urllib3.exceptions import HTTPError

from cannery.common.bases import Address
from cannery.common.documents import read_text
from cannery.common.errors import EngineError, MatrixError, Problem
from cannery.common.http import (
    AGAIN,
    UNKNOWN_ISSUER,
    RefusedError,
    Session,
    causes,
    certificate_error,
    read_bounded,
    retry_after,
    root_cause,
)
from cannery.common.tls import tls_context

_RANGE = re.compile(r"bytes ([0-9]{1,18})-([0-9]{1,18})/([0-9]{1,18})")
_UNMET = re.compile(r"bytes \*/([0-9]{1,18})")
_REFUSALS = {
    401: "it asks for a login",
    403: "it denies access",
    404: "it does not have the file",
    410: "it does not have the file any more",
}


@dataclass(eq=False)
class TransferError(Exception):
    """A transfer failed. ``final`` says that this address will not succeed by being asked again.

    ``again_from_start`` says that what has arrived so far cannot be continued, and ``after`` is
    how many seconds the server asks to wait. ``is_altered`` says that another file was sent.
    """

    why: str
    final: bool = False
    again_from_start: bool = False
    after: float = 0
    is_altered: bool = False

    def __str__(self) -> str:
        return self.why


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The answer to a request for the bytes of a file from ``offset`` on.

    ``total`` is the size of the whole file, 0 if the server does not say. ``validator`` identifies
    its version, for If-Range; empty if the server gives none that is strong enough.
    """

    offset: int
    total: int
    validator: str
    url: str
    response: requests.Response

    def chunks(self, size: int) -> Iterator[bytes]:
        """The bytes as they were sent, up to ``size`` at a time, as soon as they are there."""
        with _explained(self.url):
            # Not decoded, because the published hashes are of what is stored on the server.
            raw = self.response.raw
            if raw.chunked:
                yield from raw.stream(size, decode_content=False)
            else:
                while chunk := raw.read1(size, decode_content=False):
                    yield chunk


class Client:
    """Asks servers for files. It uses the proxies of the environment; ``ca`` is trusted, too.

    ``timeouts`` are seconds to connect, and without a byte.
    """

    def __init__(self, ca: Path | None, timeouts: tuple[float, float] = (10.0, 30.0)) -> None:
        self._context = tls_context([ca] if ca else [])
        self._timeouts = timeouts
        self._open: set[requests.Response] = set()

    def abort(self) -> None:
        """End all transfers at once, also of other threads, which may be waiting for a byte."""
        for response in [*self._open]:
            with suppress(OSError, ValueError, RuntimeError):
                response.raw.shutdown()

    @contextmanager
    def get(self, address: Address, offset: int = 0, validator: str = "") -> Iterator[Answer]:
        """The answer to a request for the bytes from ``offset`` on."""
        headers = {**dict(address.headers), "Accept-Encoding": "identity"}
        if offset:
            headers["Range"] = f"bytes={offset}-"
            headers |= {"If-Range": validator} if validator else {}
        with Session(self._context) as session:
            with _explained(address.url):
                response = session.get(
                    address.url, headers=headers, stream=True, timeout=self._timeouts
                )
            self._open.add(response)
            try:
                with response:
                    yield _judged(response, offset)
            finally:
                self._open.discard(response)


@contextmanager
def _explained(url: str) -> Iterator[None]:
    """Raise TransferError for what goes wrong on the way to ``url``."""
    host = urlsplit(url).netloc.rpartition("@")[2]
    try:
        yield
    except RefusedError as error:
        raise TransferError(str(error), final=True) from error
    except requests.TooManyRedirects as error:
        raise TransferError("it redirects in circles", final=True) from error
    except (requests.exceptions.InvalidSchema, requests.exceptions.InvalidURL) as error:
        raise TransferError("it redirects to an invalid address", final=True) from error
    except (requests.RequestException, HTTPError, OSError, ValueError) as error:
        if untrusted := certificate_error(error):
            why = f"its certificate is not trusted ({untrusted.verify_message})"
            if untrusted.verify_code in UNKNOWN_ISSUER:
                why += "; name the certificate of its issuer with --ca FILE"
            raise TransferError(why, final=True) from error
        if isinstance(error, requests.exceptions.ProxyError):
            raise TransferError(f"the proxy does not answer ({root_cause(error)})") from error
        if any(isinstance(each, gaierror) for each in causes(error)):
            raise TransferError(f"{host} is not known to the name servers", final=True) from error
        raise TransferError(f"{host} breaks off ({root_cause(error)})") from error


def _judged(response: requests.Response, offset: int) -> Answer:
    status, total = response.status_code, 0
    if status in AGAIN:
        raise TransferError(f"it answers {status}", after=retry_after(response))
    if status == requests.codes.requested_range_not_satisfiable:
        whole = _UNMET.fullmatch(response.headers.get("Content-Range", ""))
        if not (whole and offset and int(whole[1]) == offset):
            raise TransferError("it does not have the rest of the file", again_from_start=True)
        total = offset
    elif status not in (200, 206):
        why = _REFUSALS.get(status, "it does not send the file")
        raise TransferError(f"{why} ({status})", final=True)
    elif "html" in response.headers.get("Content-Type", "").lower():
        raise TransferError("it sends a web page, perhaps to log in, and not the file", final=True)
    elif status == requests.codes.ok:
        offset, length = 0, response.headers.get("Content-Length", "")
        total = int(length) if length.isascii() and length.isdigit() and len(length) < 19 else 0
    else:
        part = _RANGE.fullmatch(response.headers.get("Content-Range", ""))
        if not part or int(part[1]) != offset or int(part[2]) + 1 != int(part[3]):
            why = "it sends another range than was asked for"
            raise TransferError(why, again_from_start=True)
        total = int(part[3])
    tag = response.headers.get("ETag", "")
    validator = "" if tag.startswith("W/") else tag
    return Answer(
        offset=offset, total=total, validator=validator, url=response.url, response=response
    )


def read_page(place: str, ca: Path | None) -> str:
    """The text at ``place``, a path or an address; certificates in ``ca`` are trusted, too."""
    if not place.startswith(("https://", "http://")):
        return read_text(Path(place), place)
    fix = "Save the page as a file, and name that instead."
    try:
        with Client(ca).get(Address(url=place)) as answer, _explained(place):
            read_bounded(answer.response)
    except TransferError as error:
        raise EngineError(Problem(what=f"{place} cannot be read: {error}.", fix=fix)) from error
    try:
        return answer.response.content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise MatrixError(Problem(what=f"{place} is no text in UTF-8.", fix=fix)) from error
