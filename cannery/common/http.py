# SPDX-License-Identifier: Apache-2.0
"""A session that believes no server: where redirects may lead, how much it reads, and how long.

Of redirects at most 5 are followed, never to less safety, and no secret goes to another origin.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Timer
from typing import Any
from urllib.parse import urljoin

import requests

from cannery.common.outside import MOST
from cannery.common.urls import is_safe, origin, public

_REDIRECTS = 5

LONGEST = 300.0
"""Seconds for the whole of an answer that is no file."""

_CHUNK = 1 << 16

OPEN_HEADERS = frozenset(
    {"accept", "accept-encoding", "connection", "content-length", "content-type", "host"}
    | {"if-range", "range", "referer", "transfer-encoding", "user-agent", "proxy-authorization"}
)
"""The headers, in lower case, that another origin gets: they are no secrets, or for a proxy."""


class RefusedError(requests.RequestException):
    """What a server answers is not taken; asking again does not help."""


class UnsafeRedirectError(RefusedError):
    """A server redirects to where nothing is sent."""


class Session(requests.Session):
    """Follows redirects by the rule, and reads what is not streamed by ``read_bounded``."""

    def __init__(self) -> None:
        super().__init__()
        self.max_redirects = _REDIRECTS
        self.hooks["response"].append(_read_if_small)

    def get_redirect_target(self, resp: requests.Response) -> str | None:
        """The next address, if there is one and it is valid."""
        target = super().get_redirect_target(resp)
        if target is not None:
            try:
                require_as_safe(resp.url, target)
            except UnsafeRedirectError:
                resp.close()
                raise
        return target

    def rebuild_auth(self, prepared_request: Any, response: Any) -> None:
        """Take out what only the origin before may get."""
        before, now = response.request.url, prepared_request.url
        if origin(before) != origin(now):
            for name in [*prepared_request.headers]:
                if name.lower() not in OPEN_HEADERS:
                    del prepared_request.headers[name]


def require_as_safe(before: str, now: str) -> None:
    """Raise UnsafeRedirectError if the server at ``before`` may not send a client on to ``now``."""
    try:
        now = urljoin(before, now)
        schemes = origin(before)[0], origin(now)[0]
    except ValueError as error:
        raise UnsafeRedirectError("it redirects to an invalid address") from error
    if schemes == ("https", "http") or (is_safe(before) and not is_safe(now)):
        raise UnsafeRedirectError(f"it redirects to an address without TLS, {public(now)}")


def read_bounded(response: requests.Response, most: int = MOST) -> None:
    """Read the content of ``response``; RefusedError if it is too large or takes too long."""
    content = bytearray()
    with in_time(response, LONGEST):
        for chunk in response.iter_content(_CHUNK):
            content += chunk
            if len(content) > most:
                response.close()
                raise RefusedError(f"it sends more than {most:,} bytes")
    response._content = bytes(content)  # noqa: SLF001


@contextmanager
def in_time(response: requests.Response, seconds: float) -> Iterator[None]:
    """End ``response`` after ``seconds``, also one that drips; RefusedError if that was needed."""
    late = Event()

    def end() -> None:
        late.set()
        with suppress(OSError, ValueError, RuntimeError):
            response.raw.shutdown()

    timer = Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    except (requests.RequestException, OSError) as error:
        if not late.is_set():
            raise
        raise RefusedError(f"its answer takes longer than {seconds:.0f} s") from error
    finally:
        timer.cancel()
    if late.is_set():
        raise RefusedError(f"its answer takes longer than {seconds:.0f} s")


def _read_if_small(
    response: requests.Response, *_: object, stream: bool = False, **_more: object
) -> None:
    if not stream or response.is_redirect:
        read_bounded(response)
