# SPDX-License-Identifier: Apache-2.0
"""Logs in to a registry that asks for it, with the credentials that ``docker login`` has stored.

Source of the protocol: distribution's "Token Authentication Specification".
"""

from __future__ import annotations

import base64
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import docker.auth
import docker.errors
import requests
from requests.utils import parse_dict_header

from cannery.common.errors import EngineError, Problem
from cannery.common.outside import parse_json
from cannery.common.urls import is_safe, origin, public

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
    """The login that ``docker login`` has stored for ``host``, in its file or a credential helper.

    Raises:
        EngineError: the file cannot be read, or the helper fails.
    """
    try:
        with warnings.catch_warnings():
            # docker only warns of a missing helper; the error that follows says more.
            warnings.simplefilter("ignore")
            found = docker.auth.load_config().resolve_authconfig(host) or {}
    except (docker.errors.DockerException, OSError, ValueError) as error:
        what = f"the login that docker has stored for {host} cannot be read: {error}."
        fix = f"Log in again: docker login {host}"
        raise EngineError(Problem(what=what, fix=fix)) from error
    known = {name.lower(): value for name, value in found.items()}
    return Login(
        username=known.get("username") or "",
        password=known.get("password") or "",
        token=known.get("identitytoken") or "",
    )


class Guard:
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
        """Whether ``header`` has changed, so that the request is worth sending again.

        ``response`` has to be of the registry itself: it says who gets the password.

        Raises:
            EngineError: the password would go where it does not belong.
        """
        match = _CHALLENGE.search(response.headers.get("WWW-Authenticate", ""))
        if not match:
            return False
        before = self.header
        if match[1].lower() == "basic":
            if self.login.username:
                self.header = _basic(self.login)
            return self.header != before
        token = self._token(_fields(match[2]), send)
        self.header = f"Bearer {token}" if token else ""
        return bool(token)

    def _token(self, challenge: dict[str, str], send: Send) -> str:
        realm = self._admitted(challenge.get("realm", ""))
        # With earlier scopes too, or reading and writing would replace each other's token.
        self._scopes |= dict.fromkeys(challenge.get("scope", "").split())
        asked = [("service", challenge["service"])] if challenge.get("service") else []
        asked += [("scope", scope) for scope in self._scopes]
        if self.login.token:
            form = [*asked, ("grant_type", "refresh_token"), ("client_id", "cannery")]
            form.append(("refresh_token", self.login.token))
            response = send("POST", realm, data=form, allow_redirects=False)
        else:
            headers = {"Authorization": _basic(self.login)} if self.login.username else {}
            response = send("GET", realm, params=asked, headers=headers, allow_redirects=False)
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


def _fields(challenge: str) -> dict[str, str]:
    found: dict[str, str | None] = parse_dict_header(challenge)  # type: ignore[no-untyped-call]
    return {name: value for name, value in found.items() if value}
