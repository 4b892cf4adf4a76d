# SPDX-License-Identifier: Apache-2.0
"""A registry's password goes to that registry, and to the realm of its own first answer only.

127.0.0.1 and localhost are two hosts here, as registry.example.com and storage.example.com are.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import ssl
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
import trustme

from cannery.common.errors import CanneryError, EngineError
from cannery.registry.client import Repository
from cannery.registry.http import RETRIES, RegistryError
from cannery.registry.oci import MANIFEST, Descriptor, Document
from tests.unit.http_servers import Handler, answering

PASSWORD = "only for the registry"
BASIC = "Basic " + base64.b64encode(f"me:{PASSWORD}".encode()).decode()
BLOB = b"a blob"
DIGEST = "sha256:" + hashlib.sha256(BLOB).hexdigest()
DESCRIPTOR = Descriptor(media_type="application/octet-stream", digest=DIGEST, size=len(BLOB))
BRIEF = replace(RETRIES, tries=2, pause=0.001)

Reply = tuple[int, bytes, dict[str, str]]


@dataclass(kw_only=True)
class Place:
    """A server: how it replies to a request, and all that it was sent."""

    url: str = ""
    reply: Callable[[str, str, str], Reply] = lambda *_: (404, b"", {})
    seen: list[str] = field(default_factory=list)

    def has_seen_the_password(self) -> bool:
        encoded = BASIC.removeprefix("Basic ")
        return any(encoded in each or PASSWORD in each for each in self.seen)


@contextmanager
def serving(name: str, context: ssl.SSLContext | None = None) -> Iterator[Place]:
    place = Place()

    class Answers(Handler):
        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            place.seen.append(f"{self.command} {self.path}\n{self.headers}\n{body!r}")
            login = self.headers.get("Authorization", "")
            status, content, headers = place.reply(self.command, self.path, login)
            self.reply(status, b"" if self.command == "HEAD" else content, **headers)

        do_HEAD = do_PUT = do_POST = do_DELETE = answer  # noqa: N815

    with answering(Answers, context) as url:
        place.url = url.replace("127.0.0.1", name)
        yield place


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """A registry without TLS on this machine, and a login for it."""
    with serving("127.0.0.1") as place:
        log_in(tmp_path, monkeypatch, place)
        yield place


@pytest.fixture(params=["Basic", "Bearer"])
def other(request: pytest.FixtureRequest) -> Iterator[Place]:
    """Another host, which asks everybody for a password, or names a realm of its own for it."""
    with serving("localhost") as place:
        challenge = f'{request.param} realm="{place.url}/token"'
        place.reply = lambda *_: (401, b"", {"WWW_Authenticate": challenge})
        yield place


def log_in(folder: Path, monkeypatch: pytest.MonkeyPatch, place: Place) -> None:
    monkeypatch.setenv("DOCKER_CONFIG", str(folder))
    login = {"auth": base64.b64encode(f"me:{PASSWORD}".encode()).decode()}
    auths = {place.url.rpartition("/")[2]: login}
    (folder / "config.json").write_text(json.dumps({"auths": auths}), encoding="utf-8")


def repository(place: Place, ca: Path | None = None) -> Repository:
    return Repository(place.url.rpartition("/")[2], "ascend", ca=ca, retries=BRIEF)


def read(result: Repository) -> bytes:
    return result.read_blob(DESCRIPTOR, b"".join)


def put(result: Repository) -> None:
    result.put_blob(DESCRIPTOR, lambda: io.BytesIO(BLOB), mount="cannery")


def put_manifest(result: Repository) -> None:
    result.put_manifest("one", Document(media_type=MANIFEST, content=b"{}"))


ASKS = {
    "blob": read,
    "upload": put,
    "manifest": lambda result: result.manifest("one"),
    "head": lambda result: result.resolve("one"),
    "put manifest": put_manifest,
    "delete": lambda result: result.delete("one"),
}


@pytest.mark.parametrize("status", [302, 307])
@pytest.mark.parametrize("ask", ASKS.values(), ids=ASKS)
def test_a_redirect_target_gets_no_answer_to_its_challenge(
    registry: Place, other: Place, ask: Callable[[Repository], object], status: int
) -> None:
    registry.reply = lambda _m, path, _l: (status, b"", {"Location": other.url + path})
    with suppress(CanneryError):
        ask(repository(registry))
    assert other.seen
    assert not other.has_seen_the_password()


def test_an_upload_location_on_another_host_gets_no_login(registry: Place, other: Place) -> None:
    registry.reply = lambda *_: (202, b"", {"Location": f"{other.url}/up"})
    with pytest.raises(RegistryError, match=r"localhost.*refuses"):
        put(repository(registry))
    assert other.seen
    assert not other.has_seen_the_password()


def test_the_token_of_the_registry_is_not_sent_to_its_storage(
    registry: Place, other: Place
) -> None:
    def reply(_method: str, path: str, login: str) -> Reply:
        if login != BASIC:
            return 401, b"", {"WWW_Authenticate": 'Basic realm="here"'}
        return 307, b"", {"Location": other.url + path}

    registry.reply = reply
    other.reply = lambda *_: (200, BLOB, {})
    assert read(repository(registry)) == BLOB
    assert registry.has_seen_the_password()
    assert not other.has_seen_the_password()
    assert "authorization" not in "".join(other.seen).lower()


def test_the_realm_of_the_first_answer_gets_the_password_and_no_later_one(
    registry: Place, other: Place
) -> None:
    with serving("localhost") as tokens:
        tokens.reply = lambda *_: (200, b'{"token": "short"}', {})
        realms = [tokens.url, other.url]

        def reply(_method: str, _path: str, _login: str) -> Reply:
            realm = realms.pop(0) if realms else ""
            return 401, b"", {"WWW_Authenticate": f'Bearer realm="{realm}/token"'}

        registry.reply = reply
        with pytest.raises(EngineError):
            read(repository_ := repository(registry))
        realms[:] = [other.url]
        with pytest.raises(EngineError, match="another place for logins"):
            read(repository_)
        assert tokens.has_seen_the_password()
    assert not other.has_seen_the_password()


def test_redirects_of_a_realm_are_not_followed(registry: Place, other: Place) -> None:
    with serving("localhost") as tokens:
        tokens.reply = lambda *_: (307, b"", {"Location": f"{other.url}/token"})
        challenge = {"WWW_Authenticate": f'Bearer realm="{tokens.url}/token"'}
        registry.reply = lambda *_: (401, b"", challenge)
        with pytest.raises(EngineError):
            read(repository(registry))
        assert tokens.seen
    assert other.seen == []


@pytest.mark.parametrize(
    "realm",
    ["", "=", "http://[::1", "https://", "https://[", "https://h:99999/", "ftp://x/", "file:///"],
)
def test_a_junk_realm_is_an_error_at_once(registry: Place, realm: str) -> None:
    registry.reply = lambda *_: (401, b"", {"WWW_Authenticate": f'Bearer realm="{realm}",scope'})
    with pytest.raises(EngineError, match="login"):
        read(repository(registry))
    assert len(registry.seen) <= 2


def test_a_plain_realm_elsewhere_gets_no_password_of_a_plain_registry(registry: Place) -> None:
    challenge = {"WWW_Authenticate": 'Bearer realm="http://auth.example.com/token"'}
    registry.reply = lambda *_: (401, b"", challenge)
    with pytest.raises(EngineError, match="unencrypted"):
        read(repository(registry))


@pytest.fixture
def secure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """A registry with TLS, whose certificates ``ca.pem`` in the folder vouches for."""
    ca = trustme.CA()
    ca.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ca.issue_cert("127.0.0.1", "localhost").configure_cert(context)
    with ExitStack() as stack:
        place = stack.enter_context(serving("127.0.0.1", context))
        log_in(tmp_path, monkeypatch, place)
        yield place


def test_with_tls_nothing_is_sent_on_without(secure: Place, other: Place, tmp_path: Path) -> None:
    secure.reply = lambda _m, path, _l: (307, b"", {"Location": other.url + path})
    with pytest.raises(RegistryError, match="redirects to an address without TLS"):
        read(repository(secure, tmp_path / "ca.pem"))
    secure.reply = lambda *_: (202, b"", {"Location": f"{other.url}/up"})
    with pytest.raises(RegistryError, match="redirects to an address without TLS"):
        put(repository(secure, tmp_path / "ca.pem"))
    assert other.seen == []
    assert len(secure.seen) <= 4, "it is not worth asking again"


def test_at_most_five_redirects_are_followed(registry: Place) -> None:
    registry.reply = lambda _m, path, _l: (302, b"", {"Location": path + "x"})
    with pytest.raises(RegistryError, match="redirects"):
        read(repository(registry))
    assert len(registry.seen) == 6


@pytest.mark.parametrize("place", ["http://[::1", "file:///etc/passwd", "https://h:1e9/"])
def test_a_redirect_to_no_address_is_an_error(registry: Place, place: str) -> None:
    registry.reply = lambda *_: (302, b"", {"Location": place})
    with pytest.raises(RegistryError, match="redirects to an"):
        read(repository(registry))
    registry.reply = lambda *_: (202, b"", {"Location": place})
    with pytest.raises(RegistryError, match="redirects to an"):
        put(repository(registry))
