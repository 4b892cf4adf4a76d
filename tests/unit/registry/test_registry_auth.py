# SPDX-License-Identifier: Apache-2.0
"""Credentials come from what 'docker login' has kept, and go nowhere but to whom they are for."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
import requests

from cannery.common.errors import EngineError
from cannery.common.http import UnsafeRedirectError, is_loopback
from cannery.registry.http import Login, RegistryAuth, login_of

HOST = "registry.example.com"
REALM = "https://auth.example.com/token"

HELPER = """\
#!/bin/sh
read -r host
test "$1" = get && test "$host" = registry.example.com || exit 1
echo '{"ServerURL": "registry.example.com", "Username": "USER", "Secret": "from the helper"}'
"""


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    return tmp_path / "config.json"


def kept(config: Path, **content: Any) -> None:
    config.write_text(json.dumps(content), encoding="utf-8")


def encoded(name: str, password: str) -> str:
    return base64.b64encode(f"{name}:{password}".encode()).decode()


@pytest.mark.parametrize(
    ("host", "stored", "expected"),
    [
        ("other.example.com", {"auth": encoded("me", "secret")}, Login()),
        (HOST, {"auth": encoded("me", "se:cret")}, Login(username="me", password="se:cret")),
        (
            f"https://{HOST}/v2/",
            {"auth": encoded("me", "old form")},
            Login(username="me", password="old form"),
        ),
        (HOST, {"identitytoken": "lasting"}, Login(token="lasting")),
    ],
)
def test_a_login_in_the_file(
    config: Path, host: str, stored: dict[str, str], expected: Login
) -> None:
    assert login_of(HOST) == Login()
    kept(config, auths={host: stored})
    assert login_of(HOST) == expected


@pytest.mark.parametrize("key", ["credsStore", "credHelpers"])
@pytest.mark.parametrize("user", ["me", "<token>"])
def test_a_login_in_a_helper(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str, user: str
) -> None:
    helper = tmp_path / "docker-credential-safe"
    helper.write_text(HELPER.replace("USER", user), encoding="utf-8")
    helper.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    kept(config, **{key: "safe" if key == "credsStore" else {HOST: "safe"}})
    expected = Login(username="me", password="from the helper")
    assert login_of(HOST) == (expected if user == "me" else Login(token="from the helper"))


def test_a_missing_login_helper_is_an_error(config: Path) -> None:
    kept(config, credHelpers={HOST: "nowhere"})
    with pytest.raises(EngineError, match=f"Log in again: docker login {HOST}"):
        login_of(HOST)


def asked(challenge: str) -> requests.Response:
    response = requests.Response()
    response.status_code = 401
    response.url = f"https://{HOST}/v2/"
    response.headers["WWW-Authenticate"] = challenge
    return response


class Tokens:
    """A place that gives tokens, and notes who asked for what."""

    def __init__(self, status: int = 200) -> None:
        self.status = status
        self.calls: list[tuple[str, str, dict[str, Any]]] = []

    def __call__(self, method: str, url: str, **more: Any) -> requests.Response:
        self.calls.append((method, url, more))
        response = requests.Response()
        response.status_code = self.status
        response._content = json.dumps({"token": f"t{len(self.calls)}"}).encode()
        return response


def test_a_name_and_a_password_are_shown_once(config: Path) -> None:
    kept(config, auths={HOST: {"auth": encoded("me", "secret")}})
    auth = RegistryAuth(HOST, Tokens())
    assert auth.header == ""
    assert auth.answer(asked('Basic realm="x"'))
    assert auth.header == "Basic " + encoded("me", "secret")
    assert not auth.answer(asked('Basic realm="x"'))


@pytest.mark.parametrize("challenge", ['Basic realm="x"', "", f'Bearer realm="{REALM}"'])
def test_without_a_login_or_a_token_there_is_no_header(config: Path, challenge: str) -> None:
    auth = RegistryAuth(HOST, Tokens(401))
    assert not auth.answer(asked(challenge))
    assert auth.header == ""


def test_a_token_is_requested_for_every_scope(config: Path) -> None:
    kept(config, auths={HOST: {"auth": encoded("me", "secret")}})
    tokens = Tokens()
    auth = RegistryAuth(HOST, tokens)
    challenge = f'Bearer realm="{REALM}",service="s",scope="repository:ascend:%s"'
    assert auth.answer(asked(challenge % "pull"))
    assert auth.answer(asked(challenge % "pull,push"))
    assert auth.header == "Bearer t2"
    method, url, more = tokens.calls[1]
    assert (method, url) == ("GET", REALM)
    assert more["params"] == [
        ("service", "s"),
        ("scope", "repository:ascend:pull"),
        ("scope", "repository:ascend:pull,push"),
    ]
    assert more["headers"] == {"Authorization": "Basic " + encoded("me", "secret")}


def test_an_anonymous_token(config: Path) -> None:
    tokens = Tokens()
    assert RegistryAuth(HOST, tokens).answer(asked(f'Bearer realm="{REALM}"'))
    assert tokens.calls[0][2]["headers"] == {}


def test_an_identity_token_is_exchanged(config: Path) -> None:
    kept(config, auths={HOST: {"identitytoken": "lasting"}})
    tokens = Tokens()
    assert RegistryAuth(HOST, tokens).answer(asked(f'Bearer realm="{REALM}"'))
    method, _, more = tokens.calls[0]
    assert method == "POST"
    assert ("refresh_token", "lasting") in more["data"]


def test_a_password_is_never_sent_unencrypted(config: Path) -> None:
    kept(config, auths={HOST: {"auth": encoded("me", "secret")}})
    tokens = Tokens()
    with pytest.raises(EngineError, match="unencrypted"):
        RegistryAuth(HOST, tokens).answer(asked('Bearer realm="http://auth.example.com/"'))
    assert tokens.calls == []
    local = asked('Bearer realm="http://127.0.0.1/"')
    local.url = "http://127.0.0.1:5000/v2/"
    assert RegistryAuth(HOST, tokens).answer(local)


@pytest.mark.parametrize("place", ["127.0.0.1:8443", "localhost", "169.254.169.254", "[::1]"])
def test_a_registry_elsewhere_gets_no_token_from_this_machine(config: Path, place: str) -> None:
    kept(config, auths={HOST: {"auth": encoded("me", "secret")}})
    tokens = Tokens()
    with pytest.raises(UnsafeRedirectError, match="an address of this machine or its link"):
        RegistryAuth(HOST, tokens).answer(asked(f'Bearer realm="https://{place}/token"'))
    assert tokens.calls == []


@pytest.mark.parametrize(
    ("host", "is_own"),
    [
        ("127.0.0.1:5000", True),
        ("127.8.8.8", True),
        ("localhost:5000", True),
        ("[::1]:5000", True),
        ("registry.example.com", False),
        ("10.0.0.1:5000", False),
        ("localhost.example.com", False),
    ],
)
def test_only_this_machine_is_spoken_to_without_tls(host: str, is_own: bool) -> None:
    assert is_loopback(host) is is_own
