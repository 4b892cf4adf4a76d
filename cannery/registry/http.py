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
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import urljoin, urlsplit

import docker.auth
import docker.errors
import requests
from requests.utils import parse_dict_header

from cannery.common import console
from cannery.common import http as web
from cannery.common.errors import EngineError, Problem
from cannery.common.outside import one_line, parse_json
from cannery.common.tls import tls_context

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


def _require_trust(host: str, error: requests.RequestException) -> None:
    """Raise RegistryError if ``error`` is that TLS does not prove who ``host`` is."""
    if untrusted := web.certificate_error(error):
        what = f"the certificate of {host} is not trusted: {untrusted.verify_message}."
        fix = "The registry needs a valid certificate for this name."
        if untrusted.verify_code in web.UNKNOWN_ISSUER:
            fix = "Add --ca FILE with the certificate of its issuer."
        raise RegistryError(Problem(what=what, fix=fix)) from error
    if _is_plain(error):
        what = f"{host} has no TLS, which is allowed on this machine only."
        fix = "Put a proxy with TLS in front of it."
        raise RegistryError(Problem(what=what, fix=fix)) from error


def _is_plain(error: Exception) -> bool:
    """True if the other side has answered without TLS."""
    causes = web.causes(error)
    return any(isinstance(cause, ssl.SSLError) and cause.reason in _NO_TLS for cause in causes)


def explanation(response: requests.Response) -> str:
    """The status and the error messages of a response, as a sentence."""
    try:
        errors = parse_json(response.content)["errors"]
    except (ValueError, TypeError, KeyError):
        errors = []
    messages = [
        " ".join(str(error[key]) for key in ("code", "message", "detail") if error.get(key))
        for error in (errors if isinstance(errors, list) else [])
        if isinstance(error, dict)
    ]
    message = "; ".join(messages) or response.text.strip()[:300] or response.reason
    return one_line(f"{response.status_code} {message[:_LONGEST]}".rstrip(".")) + "."


def storage_is_full(response: requests.Response) -> bool:
    """True if the registry has no space left."""
    # The specification has no code for it. docker-registry sends the errno, others a sentence.
    return response.status_code == requests.codes.insufficient_storage or bool(
        re.search(rf'"Err":\s*{errno.ENOSPC}\b|no space left', response.text, re.IGNORECASE)
    )


_TOKEN = re.compile(r"[!-~]{1,65536}")
"""Matches what a header can carry; longer than any token of a registry."""

_CHALLENGE = re.compile(r"(Basic|Bearer)\s+(.*)", re.IGNORECASE | re.DOTALL)


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

    ``send`` sends a request for a token; it takes a method, a URL and arguments of ``requests``.
    """

    def __init__(self, host: str, send: Callable[..., requests.Response]) -> None:
        self._host = host
        self._send = send
        self._scopes: dict[str, None] = {}
        self._realm: tuple[str, str, int] | None = None
        self.header = ""
        """The value of the ``Authorization`` header; empty as long as there is none."""

    @cached_property
    def login(self) -> Login:
        return login_of(self._host)

    def answer(self, response: requests.Response) -> bool:
        """True if ``header`` has changed, so that the request is worth sending again.

        ``response`` must be the registry's own: it names the receiver of the password.
        """
        match = _CHALLENGE.search(response.headers.get("WWW-Authenticate", ""))
        if not match:
            return False
        before, login = self.header, self.login
        basic = ""
        if login.username:
            text = f"{login.username}:{login.password}".encode()
            basic = "Basic " + base64.b64encode(text).decode()
        if match[1].lower() == "basic":
            self.header = basic or before
            return self.header != before
        fields: dict[str, str | None] = parse_dict_header(match[2])  # type: ignore[no-untyped-call]
        realm = fields.get("realm") or ""
        is_plain = (response.url or "").startswith("http:")
        self._check_realm(realm, may_be_plain=is_plain)
        web.require_as_safe(response.url, realm)
        # With earlier scopes too, or reading and writing would replace each other's token.
        self._scopes |= dict.fromkeys((fields.get("scope") or "").split())
        query = [("service", service)] if (service := fields.get("service")) else []
        query += [("scope", scope) for scope in self._scopes]
        if login.token:
            form = [*query, ("grant_type", "refresh_token"), ("client_id", "cannery")]
            form.append(("refresh_token", login.token))
            reply = self._send("POST", realm, data=form, allow_redirects=False)
        else:
            headers = {"Authorization": basic} if basic else {}
            reply = self._send("GET", realm, params=query, headers=headers, allow_redirects=False)
        token = None
        with suppress(ValueError, AttributeError):
            loaded = parse_json(reply.content) if reply.status_code == requests.codes.ok else {}
            token = loaded.get("access_token") or loaded.get("token")
        valid = isinstance(token, str) and _TOKEN.fullmatch(token)
        self.header = f"Bearer {token}" if valid else ""
        return bool(valid)

    def _check_realm(self, realm: str, *, may_be_plain: bool) -> None:
        """Raise EngineError if ``realm`` may not get the password."""
        try:
            place = web.origin(realm)
        except ValueError as error:
            what = f"{self._host} asks for a login at an address that is not valid: {error}."
            fix = "Look into the registry's settings of its tokens."
            raise EngineError(Problem(what=what, fix=fix)) from error
        if place[0] != "https" and not (may_be_plain and web.is_safe(realm)):
            what = f"{self._host} asks to send the password unencrypted to {web.public(realm)}."
            fix = "The registry has to use https for logins."
            raise EngineError(Problem(what=what, fix=fix))
        self._realm = self._realm or place
        if place != self._realm:
            what = f"{self._host} names another place for logins than before: {web.public(realm)}."
            fix = "The password was not sent there. Look into the registry's settings."
            raise EngineError(Problem(what=what, fix=fix))


_CERTIFICATES = Path("/etc/docker/certs.d")
"""The engine's folder of certificates, with a folder for each registry."""

_HUB = {"docker.io": "registry-1.docker.io"}
"""Registry as people write it to the host that serves it."""

_TIMEOUT = (10.0, 120.0)
"""Seconds to connect, and between bytes: well below ``web.LONGEST``, so that it is tried again."""

_HASHING = (10.0, 300.0)
"""The same for an upload, which a registry hashes before it answers."""

_SETTINGS = "Look into the settings of the registry and of what is in front of it."

_AGAIN = web.AGAIN - {requests.codes.server_error}
"""Of these, a registry whose disk is full answers 500, every time."""

RETRIES = web.RetryPolicy(tries=9, pause=0.25, longest=30.0)
"""About a minute, unless the registry asks to wait."""

_FIRST_TRIES = 6
"""Tries, about 8 seconds, before the first answer: the name may be wrong."""


class Http:
    """Requests to ``host``: HTTPS, or plain HTTP if it is this machine."""

    def __init__(
        self, host: str, *, ca: Path | None = None, retries: web.RetryPolicy = RETRIES
    ) -> None:
        self.host = host
        self.auth = RegistryAuth(host, self._send)
        self._retries = retries
        self._base = ""
        self._has_answered = False
        certificates = sorted((_CERTIFICATES / host).glob("*.crt"))
        self._session = web.Session(tls_context([*([ca] if ca else []), *certificates]))
        # No proxy is between this machine and itself.
        self._session.trust_env = not web.is_loopback(host)

    def request(
        self, method: str, path: str, *, body: bytes | None = None, **more: Any
    ) -> requests.Response:
        """Send a request, again where that may help, and return the last response."""
        return self.with_retries(lambda: self.once(method, path, data=body, **more))

    def with_retries(self, attempt: Callable[[], requests.Response]) -> requests.Response:
        """The response of ``attempt``, repeated where that may help; raises as ``request``."""
        tries = web.RetryState(self._retries)
        while True:
            try:
                response = attempt()
            except (web.RefusedError, requests.TooManyRedirects) as error:
                is_circle = isinstance(error, requests.TooManyRedirects)
                what = f"{self.host}: {'it redirects in circles' if is_circle else error}."
                raise RegistryError(Problem(what=what, fix=_SETTINGS)) from error
            except requests.RequestException as error:
                _require_trust(self.host, error)
                pause = tries.pause()
                # There may be no registry of this name.
                may_be_wrong = not self._has_answered and (
                    isinstance(error, requests.ConnectTimeout) or tries.count >= _FIRST_TRIES
                )
                if pause is None or may_be_wrong:
                    cause = f"{web.root_cause(error)} ({tries.count} times)"
                    what = f"{self.host} cannot be reached or breaks off: {cause}."
                    fix = "Check the name, that the registry runs, and the proxy settings; then "
                    raise UnreachableError(Problem(what=what, fix=f"{fix}try again.")) from error
            else:
                self._has_answered = True
                if response.status_code in (401, 403):
                    raise self._denied(response)
                if response.status_code not in _AGAIN:
                    return response
                wait = web.retry_after(response)
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
            if self.auth.header and self._is_same_origin(url):
                headers["Authorization"] = self.auth.header
            sent = {**more, "headers": headers}
            with content() if content else nullcontext(more.get("data")) as body:
                timeout = _HASHING if content else _TIMEOUT
                response = self._send(method, url, **{**sent, "data": body, "timeout": timeout})
            if not response.ok:
                web.read_bounded(response)
            asks = response.status_code == requests.codes.unauthorized
            if answered or not asks or not self._is_same_origin(response.url):
                return response
            answered = True
            if not self.auth.answer(response):
                return response

    def _send(self, method: str, url: str, **more: Any) -> requests.Response:
        # An ``auth`` that does nothing keeps ``requests`` from using a login in ~/.netrc.
        more = {"timeout": _TIMEOUT, "auth": lambda prepared: prepared, **more}
        return self._session.request(method, url, **more)

    def _url(self, path: str) -> str:
        if not self._base:
            base = f"https://{_HUB.get(self.host, self.host)}/v2/"
            if web.is_loopback(self.host):
                try:
                    self._send("GET", base).close()
                except requests.exceptions.SSLError as error:
                    if not _is_plain(error):
                        raise
                    base = base.replace("https:", "http:", 1)
            self._base = base
        try:
            url = urljoin(self._base, path)
            base_parts, parts = urlsplit(self._base), urlsplit(url)
        except ValueError as error:
            raise web.UnsafeRedirectError("it redirects to an invalid address") from error
        if parts.netloc == base_parts.netloc:
            # Behind a proxy that speaks TLS for it, a registry may say http of itself.
            return parts._replace(scheme=base_parts.scheme).geturl()
        web.require_as_safe(self._base, url)
        return url

    def _is_same_origin(self, url: str) -> bool:
        return web.origin(url) == web.origin(self._base)

    def _denied(self, response: requests.Response) -> RegistryError:
        message = explanation(response)
        fix = f"Log in with an account that has access: docker login {self.host}"
        if not self._is_same_origin(response.url):
            place, fix = web.public(response.url), _SETTINGS
            what = f"{self.host} sends requests to {place}, which refuses them: {message}"
        elif response.status_code == requests.codes.forbidden:
            what = f"{self.host} denies access: {message}"
        elif self.auth.login.username or self.auth.login.token:
            what = f"{self.host} rejects the login that docker has stored for it: {message}"
        else:
            what = f"{self.host} requires a login, and docker has stored none for it: {message}"
        return RegistryError(Problem(what=what, fix=fix), status=response.status_code)

    def _gave_up(self, response: requests.Response, tries: int, wait: float) -> RegistryError:
        message = f"{self.host} has answered {response.status_code} {tries} times"
        fix = "Look into the registry's log, then try again."
        if response.status_code == requests.codes.too_many_requests:
            message = f"{self.host} has asked {tries} times to wait: its rate limit is reached"
            fix = "Try again later, or log in with an account that has a higher limit."
        if wait > web.LONGEST_WAIT:
            message += f", and asks to wait for {wait:.0f} s"
        return RegistryError(Problem(what=f"{message}.", fix=fix), status=response.status_code)
