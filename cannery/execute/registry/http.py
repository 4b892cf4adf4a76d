# SPDX-License-Identifier: Apache-2.0
"""Requests to one registry: whom to trust, who one is, and when to try again."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import urljoin, urlsplit

import requests
from requests.adapters import HTTPAdapter
from urllib3.exceptions import InvalidHeader, MaxRetryError, ProtocolError
from urllib3.util.retry import Retry

from cannery import __version__, console
from cannery.errors import EngineError, Problem
from cannery.execute.registry.auth import Guard

_CERTIFICATES = Path("/etc/docker/certs.d")
"""Where the engine looks for certificates, in a folder for each registry."""

_HUB = {"docker.io": "registry-1.docker.io"}
"""Registries that answer under another name than people write."""

_TIMEOUT = (10.0, 300.0)
"""Seconds to connect, and to wait for the next bytes: a registry hashes what it was sent."""

_AGAIN = (408, 429, 502, 503, 504)
"""What a registry answers that may answer otherwise a little later."""

PATIENCE = Retry(
    total=8,
    allowed_methods=None,
    status_forcelist=_AGAIN,
    backoff_factor=0.25,
    backoff_max=30,
    retry_after_max=120,
)
"""How often and after how long a request is sent again; what the registry asks for comes first."""


class RegistryError(EngineError):
    """A registry cannot be used, or does not do what it was asked; ``status`` is what it said."""

    def __init__(self, problem: Problem, *, status: int = 0) -> None:
        super().__init__(problem)
        self.status = status


class _Trusting(HTTPAdapter):
    def __init__(self, context: ssl.SSLContext) -> None:
        self._context = context
        super().__init__()

    def init_poolmanager(self, *arguments: Any, **more: Any) -> None:
        super().init_poolmanager(*arguments, **more, ssl_context=self._context)

    def proxy_manager_for(self, proxy: Any, **more: Any) -> Any:
        return super().proxy_manager_for(proxy, **more, ssl_context=self._context)


def _context(host: str, ca: Path | None) -> ssl.SSLContext:
    """Trusts what this machine does, what its engine does for ``host``, and ``ca``."""
    context = ssl.create_default_context()
    files = [*([ca] if ca else []), *sorted((_CERTIFICATES / host).glob("*.crt"))]
    for file in files:
        try:
            context.load_verify_locations(file)
        except (OSError, ssl.SSLError) as error:
            what = f"{file} holds no certificates that can be read: {error}."
            raise EngineError(Problem(what=what, fix="It must be PEM text.")) from error
    return context


def is_loopback(host: str) -> bool:
    """Whether ``host``, perhaps with a port, is this machine, to which nobody else can listen."""
    name = urlsplit(f"//{host}").hostname or ""
    with suppress(ValueError):
        return ip_address(name).is_loopback
    return name == "localhost"


def _as_is(request: requests.PreparedRequest) -> requests.PreparedRequest:
    """Keeps ``requests`` from looking for a login of its own in ~/.netrc."""
    return request


class Http:
    """Requests to ``host``, which may be plain HTTP on this machine only."""

    def __init__(self, host: str, *, ca: Path | None = None, patience: Retry = PATIENCE) -> None:
        self.host = host
        self._patience = patience
        self._base = ""
        self._guard = Guard(host, plain=lambda: self._base.startswith("http:"))
        self._session = requests.Session()
        # No proxy is between this machine and itself.
        self._session.trust_env = not is_loopback(host)
        self._session.headers["User-Agent"] = f"cannery/{__version__}"
        self._session.mount("https://", _Trusting(_context(host, ca)))

    @property
    def login(self) -> tuple[str, str]:
        """The user's name and password, for an engine that is to pull; empty for nobody."""
        return self._guard.login.username, self._guard.login.password

    def request(
        self, method: str, path: str, *, body: bytes | None = None, **more: Any
    ) -> requests.Response:
        """Send a request, again where that may help, and return what came of the last.

        Raises:
            RegistryError: nothing came, or that one must log in, or that it is too busy.
        """
        return self.patiently(lambda: self.once(method, path, data=body, **more))

    def patiently(self, attempt: Callable[[], requests.Response]) -> requests.Response:
        """What comes of ``attempt``, which is made again where that may help."""
        left = self._patience
        while True:
            try:
                response = attempt()
                if response.status_code not in _AGAIN:
                    return self._admitted(response)
                left = left.increment(response=response.raw)
                self._say_wait(response)
                response.close()
                _wait(left, response)
            except MaxRetryError as error:
                raise self._gave_up(response) from error
            except requests.RequestException as error:
                self._check_trust(error)
                left = self._again(left, error)

    def _again(self, left: Retry, error: requests.RequestException) -> Retry:
        try:
            left = left.increment("GET", error=ProtocolError(str(error)))
        except MaxRetryError:
            tries = len(self._patience.history) + int(self._patience.total or 0) + 1
            what = (
                f"{self.host} cannot be reached, or breaks off: {_reason(error)} ({tries} times)."
            )
            fix = "See that it runs and that a proxy lets you through, then try again."
            raise RegistryError(Problem(what=what, fix=fix)) from error
        left.sleep()
        return left

    def once(
        self,
        method: str,
        path: str,
        *,
        content: Callable[[], BinaryIO] | None = None,
        **more: Any,
    ) -> requests.Response:
        """Send a request once, and once more if the registry first asks who is there.

        ``content`` opens what is to be sent, where that is too large to have at hand.
        """
        url = self._url(path)
        answered = False
        while True:
            headers = {**more.get("headers", {})}
            if self._guard.header and urlsplit(url).netloc == urlsplit(self._base).netloc:
                headers["Authorization"] = self._guard.header
            sent = {**more, "headers": headers}
            if content:
                with content() as stream:
                    response = self._send(method, url, **sent, data=stream)
            else:
                response = self._send(method, url, **sent)
            if response.status_code != requests.codes.unauthorized or answered:
                return response
            answered = True
            if not self._guard.answer(response, self._send):
                return response

    def _send(self, method: str, url: str, **more: Any) -> requests.Response:
        return self._session.request(method, url, timeout=_TIMEOUT, auth=_as_is, **more)

    def _url(self, path: str) -> str:
        if not self._base:
            self._base = self._found()
        url = urljoin(self._base, path)
        base = urlsplit(self._base)
        if urlsplit(url).netloc == base.netloc:
            # Behind a proxy that speaks TLS for it, a registry may say http of itself.
            return urlsplit(url)._replace(scheme=base.scheme).geturl()
        return url

    def _found(self) -> str:
        """Where the registry answers: with TLS, but for one on this machine that has none."""
        base = f"https://{_HUB.get(self.host, self.host)}/v2/"
        if is_loopback(self.host):
            try:
                self._send("GET", base).close()
            except requests.exceptions.SSLError as error:
                if _speaks_no_tls(error):
                    return base.replace("https:", "http:", 1)
                raise
        return base

    def _say_wait(self, response: requests.Response) -> None:
        after = response.headers.get("Retry-After", "")
        told = f" and asks to wait ({after})" if after else ""
        console.say(f"{self.host} answers {response.status_code}{told}; trying again")

    def _admitted(self, response: requests.Response) -> requests.Response:
        """``response``, unless it says that one must log in."""
        if response.status_code not in (401, 403):
            return response
        said = explanation(response)
        fix = f"Log in with a name that may: docker login {self.host}"
        if response.status_code == requests.codes.forbidden:
            what = f"{self.host} does not allow this: {said}"
        elif self._guard.login.username or self._guard.login.token:
            what = f"{self.host} does not take the login that docker has for it: {said}"
        else:
            what = f"{self.host} wants to know who you are, and docker has no login for it: {said}"
        raise RegistryError(Problem(what=what, fix=fix), status=response.status_code)

    def _gave_up(self, response: requests.Response) -> RegistryError:
        tries = int(self._patience.total or 0) + 1
        if response.status_code == requests.codes.too_many_requests:
            what = f"{self.host} has asked {tries} times to wait: its rate limit is reached."
            fix = "Try again later, or log in with a name that may do more."
        else:
            what = f"{self.host} has answered {response.status_code} {tries} times."
            fix = "See what its log says, then try again."
        return RegistryError(Problem(what=what, fix=fix), status=response.status_code)

    def _check_trust(self, error: requests.RequestException) -> None:
        """Raise RegistryError where the other side is not who it should be."""
        if "CERTIFICATE" in str(error):
            what = f"{self.host} cannot be trusted: {_reason(error)}."
            fix = "Name the file with its issuer's certificate with --ca FILE."
            raise RegistryError(Problem(what=what, fix=fix)) from error
        if _speaks_no_tls(error):
            what = f"{self.host} speaks no TLS, which only a registry on this machine may do."
            raise RegistryError(
                Problem(what=what, fix="Put a proxy with TLS before it.")
            ) from error


def _wait(left: Retry, response: requests.Response) -> None:
    try:
        left.sleep(response.raw)
    except InvalidHeader:  # what it says of when is neither seconds nor a date
        left.sleep()


def _speaks_no_tls(error: Exception) -> bool:
    return "WRONG_VERSION_NUMBER" in str(error) or "record layer failure" in str(error).lower()


def _reason(error: BaseException) -> str:
    """The innermost thing that went wrong, without the objects that stood around it."""
    while (inner := error.__cause__ or error.__context__) is not None:
        error = inner
    return str(error) or type(error).__name__


def explanation(response: requests.Response) -> str:
    """What the registry says of a request that it did not do, as a sentence."""
    try:
        errors = response.json()["errors"]
        said = "; ".join(" ".join(_words(each)) for each in errors)
    except (ValueError, TypeError, KeyError, AttributeError):
        said = response.text.strip()[:300]
    return f"{response.status_code} {said or response.reason}".rstrip(".") + "."


def _words(error: dict[str, Any]) -> list[str]:
    detail = error.get("detail")
    return [str(each) for each in (error["code"], error.get("message"), detail) if each]
