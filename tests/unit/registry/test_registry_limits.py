# SPDX-License-Identifier: Apache-2.0
"""What a registry sends has limits in size, depth, number and time; odd documents are errors."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from threading import Event

import pytest
from requests.exceptions import ConnectionError as NoConnection
from requests.exceptions import ConnectTimeout

from cannery.common import http
from cannery.common.errors import CanneryError
from cannery.registry import http as registry_http
from cannery.registry.client import Repository, locate
from cannery.registry.http import RETRIES, RegistryError, UnreachableError
from cannery.registry.oci import CONFIG, MANIFEST, Descriptor, Document, manifest_contents
from tests.unit.http_servers import Handler, answering

DEEP = b'{"tags": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
ODD = {
    "deep": DEEP,
    "a list": b"[]",
    "a text": b'"tags"',
    "null": b"null",
    "infinite": b'{"tags": 1e400, "errors": [1e400], "manifests": [1e400], "token": 1e400}',
    "NaN": b'{"tags": [NaN], "layers": [NaN], "config": NaN}',
    "a number": b'{"tags": 1, "errors": 1, "layers": 1, "token": 1}',
    "digits": b'{"tags": [' + b"9" * 10_000 + b"]}",
    "objects": b'{"tags": {"a": 1}, "layers": {"a": 1}, "manifests": {"a": 1}}',
    "no UTF-8": b'{"tags": ["\xff"]}',
}
WORDS = ("layers", "manifests", "token")
BRIEF = replace(RETRIES, tries=2, pause=0.001)


class Answers(Handler):
    """Sends ``sends`` to everybody; a test replaces it."""

    def answer(self) -> None:
        type(self).sends(self)

    do_HEAD = do_PUT = do_POST = do_DELETE = answer  # noqa: N815

    @staticmethod
    def sends(handler: Handler) -> None:
        handler.reply(404, b"")


@pytest.fixture
def repository() -> Iterator[Repository]:
    with answering(Answers) as url:
        yield Repository(url.rpartition("/")[2], "ascend", retries=BRIEF)


def sending(
    monkeypatch: pytest.MonkeyPatch, content: bytes, status: int = 200, **headers: str
) -> None:
    answer = staticmethod(lambda handler: handler.reply(status, content, **headers))
    monkeypatch.setattr(Answers, "sends", answer)


@pytest.mark.parametrize("content", ODD.values(), ids=ODD)
@pytest.mark.parametrize("status", [200, 400, 401])
def test_odd_documents_are_errors(
    repository: Repository, monkeypatch: pytest.MonkeyPatch, content: bytes, status: int
) -> None:
    realm = f"http://{repository.host}/token"
    sending(monkeypatch, content, status, WWW_Authenticate=f'Bearer realm="{realm}"')
    digest = "sha256:" + hashlib.sha256(content).hexdigest()
    blob = Descriptor(media_type=CONFIG, digest=digest, size=len(content))
    with suppress(RegistryError):
        assert repository.read_config(blob).keys() <= {"tags", "errors", *WORDS}
    with pytest.raises(CanneryError):
        locate([repository.at("one")], ["linux/arm64"])


@pytest.mark.parametrize(
    "entry",
    [
        {"size": float("1e300")},
        {"size": -1},
        {"size": "1"},
        {"size": True},
        {"digest": "sha256:../../x"},
        {"digest": 1},
        {"mediaType": ["x"]},
        {"annotations": ["x"]},
        {"annotations": {"a": {}}},
        {"platform": "linux"},
        {"platform": {"os": 1, "architecture": []}},
    ],
    ids=str,
)
def test_odd_descriptors_are_no_manifest(entry: dict[str, object]) -> None:
    good = {"mediaType": CONFIG, "digest": "sha256:" + "0" * 64, "size": 1}
    for key in ("manifests", "layers"):
        content = json.dumps({key: [{**good, **entry}]}).encode()
        with pytest.raises(ValueError, match="is not a manifest"):
            manifest_contents(Document(media_type=MANIFEST, content=content))


@pytest.mark.parametrize("ask", ["manifest", "error", "config"])
def test_large_answers_are_not_read(
    repository: Repository, monkeypatch: pytest.MonkeyPatch, ask: str
) -> None:
    sent = 0

    def endless(handler: Handler) -> None:
        nonlocal sent
        handler.send_response(404 if ask == "error" else 200)
        handler.end_headers()
        try:
            while sent < 64 << 20:
                sent += handler.wfile.write(b" " * (1 << 16))
        except OSError:
            return

    monkeypatch.setattr(Answers, "sends", staticmethod(endless))
    blob = Descriptor(media_type=CONFIG, digest="sha256:" + "0" * 64, size=1000)
    asks: dict[str, Callable[[], object]] = {
        "manifest": lambda: repository.manifest("one"),
        "error": lambda: repository.read_blob(blob, b"".join),
        "config": lambda: repository.read_config(blob),
    }
    with pytest.raises(RegistryError, match="more than"):
        asks[ask]()
    assert sent < 48 << 20


def test_a_large_config_is_not_requested(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Answers, "sends", staticmethod(lambda _: pytest.fail("it was asked for")))
    blob = Descriptor(media_type=CONFIG, digest="sha256:" + "0" * 64, size=(8 << 20) + 1)
    with pytest.raises(RegistryError, match=r"8,388,609 bytes, and 8,388,608 are the limit"):
        repository.read_config(blob)


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"other", "does not match its digest"), (b"longer than it", "has more than 5 bytes")],
)
def test_other_bytes_than_those_of_the_digest_are_refused(
    repository: Repository, monkeypatch: pytest.MonkeyPatch, content: bytes, message: str
) -> None:
    digest = "sha256:" + hashlib.sha256(b"right").hexdigest()
    blob = Descriptor(media_type=CONFIG, digest=digest, size=5)
    sending(monkeypatch, content)
    with pytest.raises(RegistryError, match=message):
        repository.read_blob(blob, b"".join)
    with pytest.raises(RegistryError, match="does not match its digest"):
        repository.manifest(digest)
    sending(monkeypatch, b"right")
    assert repository.read_blob(blob, b"".join) == b"right"


def test_a_slow_answer_is_broken_off(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    size, sent, over = 1000, 0, Event()

    def drip(handler: Handler) -> None:
        nonlocal sent
        handler.send_response(200)
        handler.send_header("Content-Length", str(size))
        handler.end_headers()
        with suppress(OSError):
            while sent < size and not over.wait(0.05):
                sent += handler.wfile.write(b" ")

    monkeypatch.setattr(http, "LONGEST", 0.3)
    monkeypatch.setattr(Answers, "sends", staticmethod(drip))
    with pytest.raises(RegistryError, match="takes longer than"):
        repository.manifest("one")
    over.set()
    assert sent < size


def test_a_silent_answer_is_asked_for_again(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Silence ends long before the deadline, after which there is no other try."""
    assert registry_http._TIMEOUT[1] < http.LONGEST / 2
    asked: list[str] = []

    def silent_once(handler: Handler) -> None:
        asked.append(handler.path)
        if asked.count(handler.path) == 1 and "manifests" in handler.path:
            time.sleep(1.5)
        handler.reply(200, b"{}")

    monkeypatch.setattr("cannery.registry.http._TIMEOUT", (1.0, 1.0))
    monkeypatch.setattr(Answers, "sends", staticmethod(silent_once))
    patient = Repository(repository.host, "ascend", retries=replace(BRIEF, tries=5))
    assert patient.manifest("one")
    assert asked.count("/v2/ascend/manifests/one") >= 2


@pytest.mark.parametrize("after", ["9" * 5000, "-1", "\u0661", "Fri, 99 Nov 99999 99:99:99 GMT"])
def test_an_odd_time_to_wait(
    repository: Repository, monkeypatch: pytest.MonkeyPatch, after: str
) -> None:
    sending(monkeypatch, b"", 503, Retry_After=after.encode().decode("latin-1"))
    monkeypatch.setattr(time, "sleep", lambda _: None)
    with pytest.raises(RegistryError, match="has answered 503"):
        repository.manifest("one")


def test_no_wait_of_a_day(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    sending(monkeypatch, b"", 503, Retry_After="86400")
    monkeypatch.setattr(time, "sleep", lambda _: pytest.fail("it waits"))
    with pytest.raises(RegistryError, match=r"503 1 times, and asks to wait for 86400 s"):
        repository.manifest("one")


def test_messages_of_a_registry_stay_on_one_line(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = json.dumps({"errors": [{"message": "no\n::error::x\x1b[2J\u202e", "detail": "\ud800"}]})
    for content in (body.encode(), b"no\r\n::error::x\x1b[2J"):
        sending(monkeypatch, content, 400)
        with pytest.raises(RegistryError) as raised:
            repository.manifest("one")
        assert str(raised.value).isprintable()
        assert "\\n::error" in str(raised.value)


@pytest.mark.parametrize(("error", "tries"), [(NoConnection, 6), (ConnectTimeout, 1)])
def test_a_host_without_any_answer_is_given_up_early(
    monkeypatch: pytest.MonkeyPatch, error: type[Exception], tries: int
) -> None:
    waited: list[float] = []
    monkeypatch.setattr("cannery.registry.http.time.sleep", waited.append)
    repository = Repository("registry.example.com", "ascend")

    def fails(*_: object, **__: object) -> None:
        raise error("no such host")

    monkeypatch.setattr("requests.Session.request", fails)
    with pytest.raises(UnreachableError, match=rf"registry.example.com .*\({tries} times\)"):
        repository.manifest("one")
    assert sum(waited) < 10


def test_requests_are_repeated_for_a_minute(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []
    monkeypatch.setattr("cannery.registry.http.time.sleep", waited.append)
    sending(monkeypatch, b"{}")
    patient = Repository(repository.host, "ascend")
    assert patient.manifest("one")
    sending(monkeypatch, b"", 503)
    with pytest.raises(RegistryError, match="503 9 times"):
        patient.manifest("one")
    assert 30 < sum(waited) < 70
