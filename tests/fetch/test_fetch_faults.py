# SPDX-License-Identifier: Apache-2.0
"""What servers do wrong, one by one: a fetch goes on, or says why not, and stores no wrong byte."""

from __future__ import annotations

import errno
import os
import shutil
import ssl
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import trustme

from cannery.errors import ArtifactError, FileError
from cannery.execute.fetch import transfer
from cannery.execute.fetch.http import Client, Timeouts
from cannery.execute.fetch.terms import Terms
from cannery.execute.process import Stopped
from cannery.sources import Address
from tests.fetch.fetches import QUICK, a_file, digest, fetcher, in_zip, wrong_files, zipped
from tests.fetch.server import Fault, Files, serving

CONTENT = os.urandom(100_000)
HALF = len(CONTENT) // 2


@pytest.fixture(scope="module")
def server() -> Iterator[Files]:
    with serving() as files:
        yield files


@pytest.fixture
def files(server: Files) -> Files:
    server.content = {"a/toolkit.run": CONTENT}
    server.faults.clear()
    server.requests.clear()
    return server


def failing(files: Files, *kinds: str, at: int = HALF, path: str = "a/toolkit.run") -> None:
    files.faults[path] = [Fault(kind=kind, at=at) for kind in kinds]


RESUMED = ["half", "reset", "stall", "slow", "long length"]
REPEATED = ["429", "429 date", "503", "503 odd", "500", "nothing", "not HTTP", "chunked"]
REFUSED = {
    "403": "it denies access (403)",
    "404": "it does not have the file (404)",
    "login page": "it sends a web page",
    "login page as file": "it sends a web page",
    "redirect loop": "it redirects in circles",
    "redirect to file": "it redirects to an invalid address",
    "redirect nowhere": "breaks off",
    "no content": "it does not send the file (204)",
    "429 later": "asks to wait for 86400 s",
    "other bytes": "was published",
    "one bit": "was published",
    "more": "was published",
    "less": "was published",
    "empty file": "its file is empty",
}


@pytest.mark.parametrize("kind", RESUMED)
def test_a_broken_download_goes_on_where_it_broke(kind: str, files: Files, tmp_path: Path) -> None:
    failing(files, kind)
    found = fetcher(tmp_path).fetch(a_file(CONTENT, [files.address("a/toolkit.run")]))
    assert found.path.read_bytes() == CONTENT
    assert found.path == tmp_path / "sha256" / digest(CONTENT)[:2] / digest(CONTENT)
    begun, *_, last = files.requests
    if kind != "long length":  # of which all bytes have arrived
        assert int(last.headers["range"].removeprefix("bytes=").rstrip("-")) == begun.sent or (
            kind in ("slow", "reset")
        )
        assert last.sent < len(CONTENT)


@pytest.mark.parametrize("kind", REPEATED)
def test_a_request_that_may_succeed_later_is_repeated(
    kind: str, files: Files, tmp_path: Path
) -> None:
    failing(files, kind)
    found = fetcher(tmp_path).fetch(a_file(CONTENT, [files.address("a/toolkit.run")]))
    assert found.path.read_bytes() == CONTENT
    assert len(files.requests) >= 2


@pytest.mark.parametrize("kind", REFUSED)
def test_another_mirror_is_asked_and_otherwise_the_reason_is_told(
    kind: str, files: Files, tmp_path: Path
) -> None:
    bad, good = files.address("a/toolkit.run"), files.address("b/toolkit.run")
    failing(files, *[kind] * 20)
    with pytest.raises(ArtifactError) as raised:
        fetcher(tmp_path).fetch(a_file(CONTENT, [bad]))
    assert f"toolkit.run cannot be fetched:\n  {bad}: " in str(raised.value)
    assert REFUSED[kind] in str(raised.value)
    assert not [*tmp_path.glob("sha256/*/*")]
    files.content["b/toolkit.run"] = CONTENT
    assert fetcher(tmp_path).fetch(a_file(CONTENT, [bad, good])).path.read_bytes() == CONTENT


@pytest.mark.parametrize(
    "kind", ["wrong range", "range without range", "wrong total", "416", "range ignored"]
)
def test_a_wrong_answer_to_a_range_begins_again(kind: str, files: Files, tmp_path: Path) -> None:
    failing(files, "half", kind)
    found = fetcher(tmp_path).fetch(a_file(CONTENT, [files.address("a/toolkit.run")]))
    assert found.path.read_bytes() == CONTENT
    assert "range" in files.requests[1].headers


def test_a_file_that_changes_on_the_server_is_not_mixed(files: Files, tmp_path: Path) -> None:
    other = os.urandom(len(CONTENT))
    own = fetcher(tmp_path, terms=Terms(first_use=True))
    failing(files, *["half"] * 3, "404")
    with pytest.raises(ArtifactError):
        own.fetch(a_file(CONTENT, [files.address("a/toolkit.run")], pinned=False))
    files.content["a/toolkit.run"] = other
    found = own.fetch(a_file(CONTENT, [files.address("a/toolkit.run")], pinned=False))
    assert found.path.read_bytes() == other
    assert files.requests[-1].headers["if-range"]


def test_what_one_mirror_began_another_one_finishes(files: Files, tmp_path: Path) -> None:
    files.content["b/toolkit.run"] = CONTENT
    failing(files, "half", "404")
    urls = [files.address("a/toolkit.run"), files.address("b/toolkit.run")]
    assert fetcher(tmp_path).fetch(a_file(CONTENT, urls)).path.read_bytes() == CONTENT
    assert files.requests[-1].path == "b/toolkit.run"
    assert files.requests[-1].sent == HALF


def test_a_mixture_with_another_file_is_fetched_again_from_the_start(
    files: Files, tmp_path: Path
) -> None:
    files.content["b/toolkit.run"] = CONTENT
    files.content["a/toolkit.run"] = os.urandom(len(CONTENT))
    failing(files, "half", "404")
    urls = [files.address("a/toolkit.run"), files.address("b/toolkit.run")]
    assert fetcher(tmp_path).fetch(a_file(CONTENT, urls)).path.read_bytes() == CONTENT


def test_a_later_run_goes_on(files: Files, tmp_path: Path) -> None:
    failing(files, "half", "404")
    file = a_file(CONTENT, [files.address("a/toolkit.run")])
    with pytest.raises(ArtifactError):
        fetcher(tmp_path).fetch(file)
    assert (tmp_path / "partial" / file.sha256).stat().st_size == HALF
    fetcher(tmp_path).fetch(file)
    assert files.requests[-1].sent == HALF


def test_what_is_stored_is_not_downloaded_again(files: Files, tmp_path: Path) -> None:
    file = a_file(CONTENT, [files.address("a/toolkit.run")])
    for _ in range(2):
        fetcher(tmp_path).fetch(file)
    assert len(files.requests) == 1


def test_a_stored_file_that_was_changed_is_fetched_again(files: Files, tmp_path: Path) -> None:
    file = a_file(CONTENT, [files.address("a/toolkit.run")])
    path = fetcher(tmp_path).fetch(file).path
    path.chmod(0o644)
    path.write_bytes(b"damaged")
    assert fetcher(tmp_path).fetch(file).path.read_bytes() == CONTENT


def test_two_fetches_of_one_file_download_it_once(files: Files, tmp_path: Path) -> None:
    failing(files, "stall")
    file = a_file(CONTENT, [files.address("a/toolkit.run")])
    found: list[Path] = []

    def fetch() -> None:
        found.append(fetcher(tmp_path).fetch(file).path)

    threads = [threading.Thread(target=fetch) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert [path.read_bytes() == CONTENT for path in found] == [True] * 4
    assert sum(each.sent for each in files.requests) == len(CONTENT)


def test_an_unexpected_size_is_refused_before_the_download(files: Files, tmp_path: Path) -> None:
    file = a_file(CONTENT, [files.address("a/toolkit.run")], size=len(CONTENT) + 1)
    with pytest.raises(ArtifactError, match="100,000 bytes, but 100,001 were published"):
        fetcher(tmp_path).fetch(file)


def test_a_certificate_that_is_not_trusted(tmp_path: Path) -> None:
    authority, other = trustme.CA(), trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    for name, issuer in (("good", authority), ("unknown", other), ("name", authority)):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        issuer.issue_cert("elsewhere" if name == "name" else "localhost").configure_cert(context)
        with serving(context) as files:
            files.content["toolkit.run"] = CONTENT
            file = a_file(CONTENT, [files.address("toolkit.run")])
            own = fetcher(tmp_path / name, ca=tmp_path / "ca.pem")
            if name == "good":
                assert own.fetch(file).path.read_bytes() == CONTENT
                continue
            with pytest.raises(ArtifactError, match="its certificate is not trusted") as raised:
                own.fetch(file)
            assert ("--ca FILE" in str(raised.value)) == (name == "unknown")


def test_no_server_at_all(tmp_path: Path) -> None:
    urls = ["http://127.0.0.1:1/a", "http://no-such-host.invalid/a"]
    with pytest.raises(ArtifactError) as raised:
        fetcher(tmp_path).fetch(a_file(CONTENT, urls))
    assert all(f"\n  {url}: " in str(raised.value) for url in urls)


def test_a_full_disk_is_told_before_the_download(
    files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=10))
    with pytest.raises(FileError, match="the disk is full"):
        fetcher(tmp_path).fetch(a_file(CONTENT, [files.address("a/toolkit.run")]))
    assert files.requests[0].path == "a/toolkit.run"
    monkeypatch.undo()
    own = fetcher(tmp_path)
    assert own.fetch(a_file(CONTENT, [files.address("a/toolkit.run")])).path.exists()


def test_a_disk_that_fills_up_keeps_what_has_arrived(
    files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "no space left on device")

    monkeypatch.setattr(transfer, "_CHUNK", 10_000)
    own = fetcher(tmp_path)
    own.screen = _Screen(full)  # type: ignore[assignment]
    file = a_file(CONTENT, [files.address("a/toolkit.run")])
    with pytest.raises(FileError, match=r"the disk is full. Free space"):
        own.fetch(file)
    assert 0 < (tmp_path / "partial" / file.sha256).stat().st_size < len(CONTENT)
    assert not wrong_files(tmp_path)
    assert fetcher(tmp_path).fetch(file).path.read_bytes() == CONTENT


class _Screen:
    def __init__(self, bar: object) -> None:
        self._bar = bar

    def bar(self, _: str) -> _Screen:
        return self

    def __enter__(self) -> object:
        return self._bar

    def __exit__(self, *_: object) -> None:
        pass


def test_an_interrupt_stops_a_fetch_and_keeps_what_has_arrived(
    files: Files, tmp_path: Path
) -> None:
    failing(files, "503")
    own = fetcher(tmp_path)
    own.patience = replace(QUICK, pause=5.0)
    threading.Timer(0.1, own.stop.set).start()
    with pytest.raises(Stopped):
        own.fetch(a_file(CONTENT, [files.address("a/toolkit.run")]))


def test_an_interrupt_does_not_wait_for_a_server_that_stalls(files: Files, tmp_path: Path) -> None:
    failing(files, "stall")
    own = fetcher(tmp_path)
    own.client = Client(None, Timeouts(connect=2.0, read=60.0))

    def interrupt() -> None:
        own.stop.set()
        own.client.abort()

    threading.Timer(0.3, interrupt).start()
    begun = time.monotonic()
    with pytest.raises(Stopped):
        own.fetch(a_file(CONTENT, [files.address("a/toolkit.run")]))
    assert time.monotonic() - begun < 1.5
    assert (tmp_path / "partial" / digest(CONTENT)).stat().st_size == HALF


def test_the_proxy_of_the_environment_is_used(
    files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = "http://files.example.com/toolkit.run"
    monkeypatch.setenv("http_proxy", files.url)
    monkeypatch.delenv("no_proxy", raising=False)
    files.content[url] = CONTENT
    assert fetcher(tmp_path).fetch(a_file(CONTENT, [url])).path.read_bytes() == CONTENT


def test_headers_go_to_the_server_and_not_to_another_one(files: Files, tmp_path: Path) -> None:
    secret = (("Referer", "https://example.com/"), ("X-Token", "secret"))
    with serving() as other:
        other.content["a/toolkit.run"] = CONTENT
        files.content["go/toolkit.run"] = b""
        file = a_file(CONTENT, [])
        address = Address(url=files.address("go/toolkit.run"), headers=secret)
        files.faults["go/toolkit.run"] = [Fault(kind=f"to {other.address('a/toolkit.run')}")]
        fetcher(tmp_path).fetch(replace(file, addresses=(address,)))
        [there] = other.requests
    [here] = files.requests
    assert here.headers["x-token"] == "secret"
    assert here.headers["referer"] == there.headers["referer"] == "https://example.com/"
    assert "x-token" not in there.headers


def test_a_zip_with_a_published_hash_is_opened(files: Files, tmp_path: Path) -> None:
    archive = zipped({"folder/toolkit.run": CONTENT, "other": b"1"})
    files.content["a/toolkit.zip"] = archive
    file = in_zip(CONTENT, archive, [files.address("a/toolkit.zip")])
    for _ in range(2):
        found = fetcher(tmp_path).fetch(file)
        assert found.path.read_bytes() == CONTENT
    assert len(files.requests) == 1
    assert not [each for each in (tmp_path / "partial").iterdir() if each.suffix != ".lock"]
