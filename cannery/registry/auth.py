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
from urllib.parse import urlsplit

import docker.auth
import docker.errors
import requests
from requests.utils import parse_dict_header

from cannery.common.errors import EngineError, Problem

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
        self.header = ""
        """The value of the ``Authorization`` header; empty as long as there is none."""

    @property
    def login(self) -> Login:
        if self._login is None:
            self._login = login_of(self._host)
        return self._login

    def answer(self, response: requests.Response, send: Send) -> bool:
        """Whether ``header`` has changed, so that the request is worth sending again."""
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
        realm = challenge.get("realm", "")
        if urlsplit(realm).scheme != "https" and not self._plain():
            what = f"{self._host} asks to send the password unencrypted to {realm or 'nowhere'}."
            raise EngineError(Problem(what=what, fix="The registry has to use https for logins."))
        # With earlier scopes too, or reading and writing would replace each other's token.
        self._scopes |= dict.fromkeys(challenge.get("scope", "").split())
        asked = [("service", challenge["service"])] if challenge.get("service") else []
        asked += [("scope", scope) for scope in self._scopes]
        if self.login.token:
            form = [*asked, ("grant_type", "refresh_token"), ("client_id", "cannery")]
            form.append(("refresh_token", self.login.token))
            response = send("POST", realm, data=form)
        else:
            headers = {"Authorization": _basic(self.login)} if self.login.username else {}
            response = send("GET", realm, params=asked, headers=headers)
        if response.status_code != requests.codes.ok:
            return ""
        try:
            loaded = response.json()
            return str(loaded.get("access_token") or loaded.get("token") or "")
        except (ValueError, AttributeError):
            return ""


def _basic(login: Login) -> str:
    text = f"{login.username}:{login.password}".encode()
    return "Basic " + base64.b64encode(text).decode()


def _fields(challenge: str) -> dict[str, str]:
    found: dict[str, str] = parse_dict_header(challenge)  # type: ignore[no-untyped-call]
    return found
