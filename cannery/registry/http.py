# SPDX-License-Identifier: Apache-2.0
"""HTTP requests to one registry: which certificates to trust, logins, and retries.

A registry that asks for it gets the credentials that ``docker login`` has stored. Source of the
protocol: distribution's "Token Authentication Specification".
"""

from __future__ import annotations

import base64
import errno
import re
import ssl
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import urljoin, urlsplit

import docker.auth
import docker.errors
import requests
from requests.utils import parse_dict_header

from cannery.common import console
from cannery.common.errors import EngineError, Problem
from cannery.common.http import (
    AGAIN,
    LONGEST_WAIT,
    UNKNOWN_ISSUER,
    RefusedError,
    RetryPolicy,
    RetryState,
    Session,
    UnsafeRedirectError,
    causes,
    certificate_error,
    is_loopback,
    is_safe,
    origin,
    public,
    read_bounded,
    require_as_safe,
    retry_after,
    root_cause,
    tls_context,
)
from cannery.common.outside import one_line, parse_json

_LONGEST = 2000
"""The most characters of an explanation."""

_NO_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE")
"""OpenSSL's reasons for an answer that is not TLS; the second since 3.2."""


class RegistryError(EngineError):
    """A registry cannot be reached or refuses.

    ``status`` is the HTTP status of its answer; 0 if there was none.
    """

    def __init__(self, problem: Problem, *, status: int = 0) -> None:
        super().__init__(problem)
        self.status = status


class UnreachableError(RegistryError):
    """Nobody answers where the registry should be, or the connection breaks every time."""


def require_trust(host: str, error: requests.RequestException) -> None:
    """Raise RegistryError if ``error`` is that TLS does not prove who ``host`` is."""
    if untrusted := certificate_error(error):
        what = f"the certificate of {host} is not trusted: {untrusted.verify_message}."
        fix = "The registry needs a valid certificate for this name."
        if untrusted.verify_code in UNKNOWN_ISSUER:
            fix = "Add --ca FILE with the certificate of its issuer."
        raise RegistryError(Problem(what=what, fix=fix)) from error
    if is_plain(error):
        what = f"{host} has no TLS, which is allowed on this machine only."
        fix = "Put a proxy with TLS in front of it."
        raise RegistryError(Problem(what=what, fix=fix)) from error


def is_plain(error: Exception) -> bool:
    """True if the other side has answered without TLS."""
    return any(isinstance(each, ssl.SSLError) and each.reason in _NO_TLS for each in causes(error))


def explanation(response: requests.Response) -> str:
    """The status and the error messages of a response, as a sentence."""
    errors = [
        " ".join(str(error[key]) for key in ("code", "message", "detail") if error.get(key))
        for error in _errors(response)
    ]
    message = "; ".join(errors) or response.text.strip()[:300] or response.reason
    return one_line(f"{response.status_code} {message[:_LONGEST]}".rstrip(".")) + "."


def storage_is_full(response: requests.Response) -> bool:
    """True if the registry has no space left."""
    if response.status_code == requests.codes.insufficient_storage:
        return True
    # The specification has no code for it. docker-registry sends the errno, others a sentence.
    return _has_enospc(_errors(response)) or "no space left" in response.text.lower()


def _has_enospc(value: object) -> bool:
    if isinstance(value, dict):
        return value.get("Err") == errno.ENOSPC or any(map(_has_enospc, value.values()))
    return isinstance(value, list) and any(map(_has_enospc, value))


def _errors(response: requests.Response) -> list[dict[str, Any]]:
    """The errors in the body, in the form of the OCI distribution specification."""
    try:
        errors = parse_json(response.content)["errors"]
    except (ValueError, TypeError, KeyError):
        return []
    if not isinstance(errors, list):
        return []
    return [error for error in errors if isinstance(error, dict)]


_TOKEN = re.compile(r"[!-~]{1,65536}")
"""Matches what a header can carry; longer than any token of a registry."""

_CHALLENGE = re.compile(r"(Basic|Bearer)\s+(.*)", re.IGNORECASE | re.DOTALL)

Send = Callable[..., requests.Response]
"""Sends one request; takes a method, a URL and the other arguments of ``requests``."""


@dataclass(frozen=True, kw_only=True)
class Login:
    """A user's name and password, or a token in their place; all empty without a login."""

    username: str = ""
    password: str = ""
    token: str = ""


def login_of(host: str) -> Login:
    """The login that ``docker login`` has stored for ``host``, in a file or a credential helper."""
    try:
        with warnings.catch_warnings():
            # docker only warns of a missing helper; the error that follows says more.
            warnings.simplefilter("ignore")
            config = docker.auth.load_config().resolve_authconfig(host) or {}
    except (docker.errors.DockerException, OSError, ValueError) as error:
        what = f"the login that docker has stored for {host} cannot be read: {error}."
        fix = f"Log in again: docker login {host}"
        raise EngineError(Problem(what=what, fix=fix)) from error
    values = {name.lower(): value for name, value in config.items()}
    return Login(
        username=values.get("username") or "",
        password=values.get("password") or "",
        token=values.get("identitytoken") or "",
    )


class RegistryAuth:
    """The authorization for one registry, which is obtained when the registry asks for it.

    ``plain`` says whether the registry is used over plain HTTP.
    """

    def __init__(self, host: str, *, plain: Callable[[], bool]) -> None:
        self._host = host
        self._plain = plain
        self._login: Login | None = None
        self._scopes: dict[str, None] = {}
        self._realm: tuple[str, str, int] | None = None
        self.header = ""
        """The value of the ``Authorization`` header; empty as long as there is none."""

    @property
    def login(self) -> Login:
        if self._login is None:
            self._login = login_of(self._host)
        return self._login

    def answer(self, response: requests.Response, send: Send) -> bool:
        """True if ``header`` has changed, so that the request is worth sending again.

        ``response`` must be the registry's own: it names the receiver of the password.
        """
        match = _CHALLENGE.search(response.headers.get("WWW-Authenticate", ""))
        if not match:
            return False
        before = self.header
        if match[1].lower() == "basic":
            if self.login.username:
                self.header = _basic(self.login)
            return self.header != before
        fields: dict[str, str | None] = parse_dict_header(match[2])  # type: ignore[no-untyped-call]
        token = self._token({name: value for name, value in fields.items() if value}, send)
        self.header = f"Bearer {token}" if token else ""
        return bool(token)

    def _token(self, challenge: dict[str, str], send: Send) -> str:
        realm = self._admitted(challenge.get("realm", ""))
        # With earlier scopes too, or reading and writing would replace each other's token.
        self._scopes |= dict.fromkeys(challenge.get("scope", "").split())
        query = [("service", challenge["service"])] if challenge.get("service") else []
        query += [("scope", scope) for scope in self._scopes]
        if self.login.token:
            form = [*query, ("grant_type", "refresh_token"), ("client_id", "cannery")]
            form.append(("refresh_token", self.login.token))
            response = send("POST", realm, data=form, allow_redirects=False)
        else:
            headers = {"Authorization": _basic(self.login)} if self.login.username else {}
            response = send("GET", realm, params=query, headers=headers, allow_redirects=False)
        if response.status_code != requests.codes.ok:
            return ""
        try:
            loaded = parse_json(response.content)
            token = loaded.get("access_token") or loaded.get("token")
        except (ValueError, AttributeError):
            return ""
        return token if isinstance(token, str) and _TOKEN.fullmatch(token) else ""

    def _admitted(self, realm: str) -> str:
        """``realm``, if it may get the password: it always is where the first one was."""
        try:
            place = origin(realm)
        except ValueError as error:
            what = f"{self._host} asks for a login at an address that is not valid: {error}."
            fix = "Look into the registry's settings of its tokens."
            raise EngineError(Problem(what=what, fix=fix)) from error
        if place[0] != "https" and not (self._plain() and is_safe(realm)):
            what = f"{self._host} asks to send the password unencrypted to {public(realm)}."
            fix = "The registry has to use https for logins."
            raise EngineError(Problem(what=what, fix=fix))
        self._realm = self._realm or place
        if place != self._realm:
            what = f"{self._host} names another place for logins than before: {public(realm)}."
            fix = "The password was not sent there. Look into the registry's settings."
            raise EngineError(Problem(what=what, fix=fix))
        return realm


def _basic(login: Login) -> str:
    text = f"{login.username}:{login.password}".encode()
    return "Basic " + base64.b64encode(text).decode()


_CERTIFICATES = Path("/etc/docker/certs.d")
"""The engine's folder of certificates, with a folder for each registry."""

_HUB = {"docker.io": "registry-1.docker.io"}
"""Registry as people write it to the host that serves it."""

_TIMEOUT = (10.0, 300.0)
"""Seconds to connect, and between bytes: a registry hashes an upload before it answers."""

_SETTINGS = "Look into the settings of the registry and of what is in front of it."

_AGAIN = AGAIN - {requests.codes.server_error}
"""Of these, a registry whose disk is full answers 500, every time."""

RETRIES = RetryPolicy(tries=9, pause=0.25, longest=30.0)
"""About a minute, unless the registry asks to wait."""

_FIRST_TRIES = 6
"""Tries, about 8 seconds, before the first answer: the name may be wrong."""


def _as_is(request: requests.PreparedRequest) -> requests.PreparedRequest:
    """Keeps ``requests`` from using a login in ~/.netrc."""
    return request


class Http:
    """Requests to ``host``: HTTPS, or plain HTTP if it is this machine."""

    def __init__(
        self, host: str, *, ca: Path | None = None, retries: RetryPolicy = RETRIES
    ) -> None:
        self.host = host
        self._retries = retries
        self._base = ""
        self._has_answered = False
        self._auth = RegistryAuth(host, plain=lambda: self._base.startswith("http:"))
        certificates = sorted((_CERTIFICATES / host).glob("*.crt"))
        self._session = Session(tls_context([*([ca] if ca else []), *certificates]))
        # No proxy is between this machine and itself.
        self._session.trust_env = not is_loopback(host)

    @property
    def login(self) -> tuple[str, str]:
        """The user's name and password for the engine's pull; empty without a login."""
        return self._auth.login.username, self._auth.login.password

    def request(
        self, method: str, path: str, *, body: bytes | None = None, **more: Any
    ) -> requests.Response:
        """Send a request, again where that may help, and return the last response."""
        return self.with_retries(lambda: self.once(method, path, data=body, **more))

    def with_retries(self, attempt: Callable[[], requests.Response]) -> requests.Response:
        """The response of ``attempt``, repeated where that may help; raises as ``request``."""
        tries = RetryState(self._retries)
        while True:
            try:
                response = attempt()
            except (RefusedError, requests.TooManyRedirects) as error:
                is_circle = isinstance(error, requests.TooManyRedirects)
                what = f"{self.host}: {'it redirects in circles' if is_circle else error}."
                raise RegistryError(Problem(what=what, fix=_SETTINGS)) from error
            except requests.RequestException as error:
                require_trust(self.host, error)
                pause = tries.pause()
                # There may be no registry of this name.
                may_be_wrong = not self._has_answered and (
                    isinstance(error, requests.ConnectTimeout) or tries.count >= _FIRST_TRIES
                )
                if pause is None or may_be_wrong:
                    cause = f"{root_cause(error)} ({tries.count} times)"
                    what = f"{self.host} cannot be reached or breaks off: {cause}."
                    fix = (
                        "Check the name, that the registry runs, and the proxy settings; then try "
                        "again."
                    )
                    raise UnreachableError(Problem(what=what, fix=fix)) from error
            else:
                self._has_answered = True
                if response.status_code not in _AGAIN:
                    return self._admitted(response)
                wait = retry_after(response)
                pause = tries.pause(asked=wait)
                if pause is None:
                    raise self._gave_up(response, tries.count, wait)
                delay = f" and asks to wait {wait:.0f} s" if wait else ""
                console.say(f"{self.host} answers {response.status_code}{delay}; trying again")
                response.close()
            time.sleep(pause)

    def once(
        self,
        method: str,
        path: str,
        *,
        content: Callable[[], BinaryIO] | None = None,
        **more: Any,
    ) -> requests.Response:
        """Send a request once, and once more if the registry first asks for a login.

        A challenge of another host, after a redirect or at a place for uploads, gets no answer.

        ``content`` opens the body, if that is too large for memory.
        """
        url = self._url(path)
        answered = False
        while True:
            headers = {**more.get("headers", {})}
            if self._auth.header and self._is_own(url):
                headers["Authorization"] = self._auth.header
            sent = {**more, "headers": headers}
            if content:
                with content() as stream:
                    response = self._send(method, url, **sent, data=stream)
            else:
                response = self._send(method, url, **sent)
            if not response.ok:
                read_bounded(response)
            if response.status_code != requests.codes.unauthorized or answered:
                return response
            if not self._is_own(response.url):
                return response
            answered = True
            if not self._auth.answer(response, self._send):
                return response

    def _send(self, method: str, url: str, **more: Any) -> requests.Response:
        return self._session.request(method, url, timeout=_TIMEOUT, auth=_as_is, **more)

    def _url(self, path: str) -> str:
        if not self._base:
            self._base = self._api()
        try:
            url = urljoin(self._base, path)
            base, parts = urlsplit(self._base), urlsplit(url)
        except ValueError as error:
            raise UnsafeRedirectError("it redirects to an invalid address") from error
        if parts.netloc == base.netloc:
            # Behind a proxy that speaks TLS for it, a registry may say http of itself.
            return parts._replace(scheme=base.scheme).geturl()
        require_as_safe(self._base, url)
        return url

    def _is_own(self, url: str) -> bool:
        return origin(url) == origin(self._base)

    def _api(self) -> str:
        """The URL of the API: HTTPS, unless the registry is on this machine and has no TLS."""
        base = f"https://{_HUB.get(self.host, self.host)}/v2/"
        if is_loopback(self.host):
            try:
                self._send("GET", base).close()
            except requests.exceptions.SSLError as error:
                if is_plain(error):
                    return base.replace("https:", "http:", 1)
                raise
        return base

    def _admitted(self, response: requests.Response) -> requests.Response:
        """``response``, unless the registry asks for a login or denies access."""
        if response.status_code not in (401, 403):
            return response
        message = explanation(response)
        if not self._is_own(response.url):
            what = f"{self.host} sends requests to {public(response.url)}, which refuses them"
            problem = Problem(what=f"{what}: {message}", fix=_SETTINGS)
            raise RegistryError(problem, status=response.status_code)
        fix = f"Log in with an account that has access: docker login {self.host}"
        if response.status_code == requests.codes.forbidden:
            what = f"{self.host} denies access: {message}"
        elif self._auth.login.username or self._auth.login.token:
            what = f"{self.host} rejects the login that docker has stored for it: {message}"
        else:
            what = f"{self.host} requires a login, and docker has stored none for it: {message}"
        raise RegistryError(Problem(what=what, fix=fix), status=response.status_code)

    def _gave_up(self, response: requests.Response, tries: int, wait: float) -> RegistryError:
        message = f"{self.host} has answered {response.status_code} {tries} times"
        fix = "Look into the registry's log, then try again."
        if response.status_code == requests.codes.too_many_requests:
            message = f"{self.host} has asked {tries} times to wait: its rate limit is reached"
            fix = "Try again later, or log in with an account that has a higher limit."
        if wait > LONGEST_WAIT:
            message += f", and asks to wait for {wait:.0f} s"
        return RegistryError(Problem(what=f"{message}.", fix=fix), status=response.status_code)
