# SPDX-License-Identifier: Apache-2.0
"""HTTP for registries and servers of files: trust, redirects, limits and retries.

At most 5 redirects are followed, never to less safety; no secret goes to another origin, and an
answer has limits in size and time.
"""

from __future__ import annotations

import email.utils
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.cookiejar import DefaultCookiePolicy
from ipaddress import ip_address
from threading import TIMEOUT_MAX, Timer, local
from typing import Any
from urllib.parse import urljoin, urlsplit

import requests
import urllib3
from requests.adapters import HTTPAdapter
from requests.utils import super_len
from urllib3.connection import HTTPConnection, HTTPSConnection

from cannery import __version__
from cannery.common.outside import MOST

_PORTS = {"http": 80, "https": 443}


def origin(url: str) -> tuple[str, str, int]:
    """The scheme, the host and the port of ``url``; ValueError if it is not a URL of the web."""
    parts = urlsplit(url)
    if parts.scheme not in _PORTS or not parts.hostname:
        raise ValueError(f"{public(url)!r} is not an address of the web")
    return parts.scheme, parts.hostname, parts.port or _PORTS[parts.scheme]


def public(url: str) -> str:
    """``url`` without a login and without its query, both of which may be secret."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "an invalid address"
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()


def is_loopback(host: str) -> bool:
    """Whether ``host``, perhaps with a port, is this machine."""
    with suppress(ValueError):
        name = urlsplit(f"//{host}").hostname or ""
        return name == "localhost" or ip_address(name).is_loopback
    return False


def is_safe(url: str) -> bool:
    """Whether ``url`` has TLS or is on this machine."""
    with suppress(ValueError):
        parts = urlsplit(url)
        return parts.scheme == "https" or is_loopback(parts.netloc.rpartition("@")[2])
    return False


_REDIRECTS = 5

LONGEST = 300.0
"""Seconds for the whole of a request and its answer, from the connection on, but for a file."""

SLOWEST = 1 << 14
"""The bytes a second, on average, that a file needs at least after that time."""

LONGEST_WAIT = 300.0
"""The longest Retry-After, in seconds, that is kept."""

AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Status codes after which a request is repeated."""

UNKNOWN_ISSUER = (18, 19, 20, 21)
"""OpenSSL's codes (X509_V_ERR) for certificates whose issuer is not among the trusted ones."""

_CHUNK = 1 << 16

OPEN_HEADERS = frozenset(
    {"accept", "accept-encoding", "connection", "content-length", "content-type", "host"}
    | {"if-range", "range", "referer", "transfer-encoding", "user-agent", "proxy-authorization"}
)
"""The headers, in lower case, that another origin gets: they are no secrets, or for a proxy."""


class RefusedError(requests.RequestException):
    """An answer that is refused; a retry does not help."""


class UnsafeRedirectError(RefusedError):
    """A redirect to an unsafe address."""


@dataclass(frozen=True, kw_only=True)
class RetryPolicy:
    """When a failed request is repeated; pauses are in seconds, and doubled each time."""

    tries: int = 5
    """Requests in a row without progress."""
    all_tries: int = 60
    pause: float = 0.5
    longest: float = 60.0
    """The longest pause, unless the server asks for more."""


class RetryState:
    """Counts the failed requests for one file or document."""

    def __init__(self, policy: RetryPolicy) -> None:
        self.policy = policy
        self.count = 0
        self._in_a_row = 0

    def pause(self, *, asked: float = 0, progress: bool = False) -> float | None:
        """The seconds until the next request after a failed one; None to give up.

        ``asked`` is the server's Retry-After, and ``progress`` is set if some content arrived.
        """
        self.count += 1
        self._in_a_row = 0 if progress else self._in_a_row + 1
        policy = self.policy
        given_up = self._in_a_row >= policy.tries or self.count >= policy.all_tries
        if given_up or asked > LONGEST_WAIT:
            return None
        doubled: float = policy.pause * 2 ** max(0, self._in_a_row - 1)
        return max(asked, min(doubled, policy.longest))


def retry_after(response: requests.Response) -> float:
    """The seconds of Retry-After, given as such or as a date; 0 if there are none."""
    text = response.headers.get("Retry-After", "").strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return 0.0


class _Deadline:
    """Ends what it guards after ``seconds``, whichever way the other side keeps it waiting."""

    def __init__(self, seconds: float) -> None:
        self.is_late = False
        self._end: Callable[[], object] = bool
        self._timer = Timer(min(seconds, TIMEOUT_MAX), self._expire)
        self._timer.daemon = True
        self._timer.start()

    def guard(self, end: Callable[[], object]) -> None:
        """From now on, ``end`` ends what is waited for."""
        self._end = end
        if self.is_late:
            self._expire()

    def cancel(self) -> None:
        self._timer.cancel()

    def _expire(self) -> None:
        self.is_late = True
        with suppress(OSError, ValueError, RuntimeError):
            self._end()


class _OfThread(local):
    deadline: _Deadline | None = None
    """That of the request that this thread waits for."""


_of_thread = _OfThread()


class _Connection(HTTPConnection):
    """A connection that the deadline of the request can end before there is an answer."""

    def connect(self) -> None:
        self._guard(self._end)
        super().connect()

    def request(self, *arguments: Any, **more: Any) -> None:
        self._guard(self._end)
        super().request(*arguments, **more)

    def getresponse(self) -> urllib3.HTTPResponse:  # type: ignore[override]
        response = super().getresponse()
        self._guard(response.shutdown)
        return response

    def _guard(self, end: Callable[[], object]) -> None:
        if _of_thread.deadline:
            _of_thread.deadline.guard(end)

    def _end(self) -> None:
        if self.sock:
            self.sock.shutdown(socket.SHUT_RDWR)


class _TlsConnection(_Connection, HTTPSConnection):
    pass


class _Pool(urllib3.HTTPConnectionPool):
    ConnectionCls = _Connection


class _TlsPool(urllib3.HTTPSConnectionPool):
    ConnectionCls = _TlsConnection


_POOLS = {"http": _Pool, "https": _TlsPool}


class Adapter(HTTPAdapter):
    """Connects to servers, and to proxies, that ``context`` trusts, and keeps deadlines."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self._context = context
        super().__init__()

    def init_poolmanager(self, *arguments: Any, **more: Any) -> None:
        super().init_poolmanager(*arguments, **more, ssl_context=self._context)
        self.poolmanager.pool_classes_by_scheme = _POOLS

    def proxy_manager_for(self, proxy: Any, **more: Any) -> Any:
        manager = super().proxy_manager_for(proxy, **more, ssl_context=self._context)
        if isinstance(manager, urllib3.ProxyManager):
            manager.pool_classes_by_scheme = _POOLS
        return manager


class Session(requests.Session):
    """A session with safe redirects, bounded answers and no cookies, which trusts ``context``."""

    def __init__(self, context: ssl.SSLContext) -> None:
        super().__init__()
        self.max_redirects = _REDIRECTS
        self.hooks["response"].append(_read_if_small)
        self.cookies.set_policy(DefaultCookiePolicy(allowed_domains=()))
        self.headers["User-Agent"] = f"cannery/{__version__}"
        self.mount("https://", Adapter(context))
        self.mount("http://", Adapter(context))

    def send(self, request: requests.PreparedRequest, **more: Any) -> requests.Response:
        """Send ``request`` and follow redirects, all by one deadline; see ``LONGEST``."""
        if _of_thread.deadline:
            return super().send(request, **more)
        try:
            size: int = super_len(request.body)  # type: ignore[no-untyped-call]
            with in_time(LONGEST + size / SLOWEST) as deadline:
                _of_thread.deadline = deadline
                return super().send(request, **more)
        finally:
            _of_thread.deadline = None

    def get_redirect_target(self, resp: requests.Response) -> str | None:
        target = super().get_redirect_target(resp)
        if target is not None:
            try:
                require_as_safe(resp.url, target)
            except UnsafeRedirectError:
                resp.close()
                raise
        return target

    def rebuild_auth(self, prepared_request: Any, response: Any) -> None:
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
    if _is_inner(now) and not _is_inner(before):
        what = "it redirects to an address of this machine or its link"
        raise UnsafeRedirectError(f"{what}, {public(now)}")


def _is_inner(url: str) -> bool:
    """Whether ``url`` names this machine, or an address that is valid on its link only."""
    host = urlsplit(url).hostname or ""
    try:
        address = ip_address(host)
    except ValueError:
        try:
            # Connections accept other forms, too, as 127.1.
            address = ip_address(socket.inet_aton(host))
        except OSError:
            return host.rpartition(".")[2] == "localhost"
    address = getattr(address, "ipv4_mapped", None) or address
    return address.is_loopback or address.is_link_local or address.is_unspecified


def read_bounded(response: requests.Response, most: int = MOST) -> None:
    """Read the content of ``response``; RefusedError if it is too large or takes too long."""
    content = bytearray()
    try:
        with in_time(LONGEST, response):
            for chunk in response.iter_content(_CHUNK):
                content += chunk
                if len(content) > most:
                    break
    except BaseException:
        response.close()
        raise
    if len(content) > most:
        response.close()
        raise RefusedError(f"it sends more than {most:,} bytes")
    response._content = bytes(content)  # noqa: SLF001


@contextmanager
def in_time(seconds: float, response: requests.Response | None = None) -> Iterator[_Deadline]:
    """End ``response`` after ``seconds``, also one that drips; RefusedError if that was needed."""
    deadline = _Deadline(seconds)
    if response is not None:
        deadline.guard(response.raw.shutdown)
    try:
        yield deadline
    finally:
        deadline.cancel()
        if deadline.is_late:
            raise RefusedError(f"its answer takes longer than {seconds:.0f} s")


def _read_if_small(
    response: requests.Response, *_: object, stream: bool = False, **_more: object
) -> None:
    if not stream or response.is_redirect:
        read_bounded(response)


def causes(error: BaseException) -> Iterator[BaseException]:
    """``error`` and all that led to it, which urllib3 partly keeps in the arguments."""
    waiting, seen = [error], set[int]()
    while waiting:
        cause = waiting.pop()
        if id(cause) not in seen:
            seen.add(id(cause))
            yield cause
            inner = (cause.__context__, cause.__cause__, *cause.args)
            waiting += [other for other in inner if isinstance(other, BaseException)]


def certificate_error(error: BaseException) -> ssl.SSLCertVerificationError | None:
    """The error of an untrusted certificate among the causes of ``error``."""
    untrusted = (c for c in causes(error) if isinstance(c, ssl.SSLCertVerificationError))
    return next(untrusted, None)


def root_cause(error: BaseException) -> str:
    """The innermost error as text."""
    while (inner := error.__cause__ or error.__context__) is not None:
        error = inner
    return str(error) or type(error).__name__
