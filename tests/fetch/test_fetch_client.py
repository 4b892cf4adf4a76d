# SPDX-License-Identifier: Apache-2.0
"""What goes wrong on this side of a fetch: certificates, disks, interrupts, proxies, redirects."""

from __future__ import annotations

import errno
import shutil
import ssl
import threading
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import trustme

from cannery.common.errors import ArtifactError, FileError
from cannery.common.process import Stopped
from cannery.fetch import transfer
from cannery.fetch.http import Client
from tests.fetch.fetches import (
    CONTENT,
    HALF,
    QUICK,
    a_file,
    digest,
    failing,
    fetcher,
    in_zip,
    wrong_files,
    zipped,
)
from tests.fetch.server import Files, serving


def test_untrusted_certificates_are_refused(tmp_path: Path) -> None:
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


def test_a_full_disk_keeps_the_partial_download(
    files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **_more: object) -> None:
        raise OSError(errno.ENOSPC, "no space left on device")

    monkeypatch.setattr(transfer, "_CHUNK", 10_000)
    own = fetcher(tmp_path)
    monkeypatch.setattr(own.bars, "update", full)
    file = a_file(CONTENT, [files.address("a/toolkit.run")])
    with pytest.raises(FileError, match=r"the disk is full. Free space"):
        own.fetch(file)
    assert 0 < (tmp_path / "partial" / file.sha256).stat().st_size < len(CONTENT)
    assert not wrong_files(tmp_path)
    assert fetcher(tmp_path).fetch(file).path.read_bytes() == CONTENT


def test_an_interrupt_stops_a_fetch(files: Files, tmp_path: Path) -> None:
    failing(files, "503")
    own = fetcher(tmp_path)
    own.retries = replace(QUICK, pause=5.0)
    threading.Timer(0.1, own.stop.set).start()
    with pytest.raises(Stopped):
        own.fetch(a_file(CONTENT, [files.address("a/toolkit.run")]))


def test_an_interrupt_ends_a_stalled_transfer(files: Files, tmp_path: Path) -> None:
    failing(files, "stall")
    own = fetcher(tmp_path)
    own.client = Client(None, (2.0, 60.0))

    partial = tmp_path / "partial" / digest(CONTENT)

    def interrupt() -> None:
        while not partial.exists() or partial.stat().st_size < HALF:
            time.sleep(0.01)
        own.stop.set()
        own.client.abort()

    threading.Thread(target=interrupt, daemon=True).start()
    begun = time.monotonic()
    with pytest.raises(Stopped):
        own.fetch(a_file(CONTENT, [files.address("a/toolkit.run")]))
    assert time.monotonic() - begun < 30
    assert partial.stat().st_size == HALF


def test_the_proxy_of_the_environment_is_used(
    files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = "http://files.example.com/toolkit.run"
    monkeypatch.setenv("http_proxy", files.url)
    monkeypatch.delenv("no_proxy", raising=False)
    files.content[url] = CONTENT
    assert fetcher(tmp_path).fetch(a_file(CONTENT, [url])).path.read_bytes() == CONTENT


def test_a_zip_with_a_published_hash_is_opened(files: Files, tmp_path: Path) -> None:
    archive = zipped({"folder/toolkit.run": CONTENT, "other": b"1"})
    files.content["a/toolkit.zip"] = archive
    file = in_zip(CONTENT, archive, [files.address("a/toolkit.zip")])
    for _ in range(2):
        found = fetcher(tmp_path).fetch(file)
        assert found.path.read_bytes() == CONTENT
    assert len(files.requests) == 1
    assert not [each for each in (tmp_path / "partial").iterdir() if each.suffix != ".lock"]
