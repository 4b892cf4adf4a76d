# SPDX-License-Identifier: Apache-2.0
"""Licences, files without a published hash, and the store's records and upkeep."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from cannery.common.bases import Address, File
from cannery.common.errors import ArtifactError, FileError
from cannery.fetch.fetcher import Terms
from cannery.fetch.store import Store, store_folder
from tests.fetch.fetches import a_file, digest, fetcher, in_zip, zipped
from tests.fetch.run_files import TOOLKIT, a_toolkit, parts, run_file, wrong_bodies
from tests.fetch.server import Fault, Files, serving

CONTENT = a_toolkit()
EULA = "https://example.com/eula"


@pytest.fixture
def server() -> Iterator[Files]:
    with serving() as files:
        files.content = {"toolkit.run": CONTENT}
        yield files


def test_a_licence_must_be_accepted_before_anything_is_asked_for(
    server: Files, tmp_path: Path
) -> None:
    file = replace(a_file(CONTENT, [server.address("toolkit.run")]), eula=EULA)
    with pytest.raises(ArtifactError) as raised:
        fetcher(tmp_path, terms=Terms()).fetch(file)
    assert EULA in str(raised.value)
    assert "--accept-eula NAME" in str(raised.value)
    assert not server.requests
    own = fetcher(tmp_path, terms=Terms(accepted_by="Example Ltd"))
    record = own.store.record(own.fetch(file).sha256)
    assert record
    assert (record.eula, record.accepted_by) == (EULA, "Example Ltd")
    assert record.fetched.startswith("20")
    assert fetcher(tmp_path, terms=Terms()).fetch(file).path.read_bytes() == CONTENT


def test_no_acceptance_is_recorded_for_a_file_without_a_licence(
    server: Files, tmp_path: Path
) -> None:
    own = fetcher(tmp_path, terms=Terms(accepted_by="Example Ltd"))
    record = own.store.record(own.fetch(a_file(CONTENT, [server.address("toolkit.run")])).sha256)
    assert record
    assert record.accepted_by == record.eula == ""


def test_a_file_without_a_hash_is_refused_unless_it_is_trusted(
    server: Files, tmp_path: Path
) -> None:
    file = a_file(CONTENT, [server.address("toolkit.run")], pinned=False)
    with pytest.raises(ArtifactError, match=r"nobody publishes a sha256 of toolkit.run"):
        fetcher(tmp_path).fetch(file)
    assert not server.requests
    found = fetcher(tmp_path, terms=Terms(first_use=True)).fetch(file)
    assert found.first_use
    assert found.sha256 == digest(CONTENT)
    assert not fetcher(tmp_path).fetch(replace(file, sha256=found.sha256)).first_use


BODIES = wrong_bodies()


@pytest.mark.parametrize("words", BODIES)
def test_on_first_use_an_error_page_is_no_package(
    words: str, server: Files, tmp_path: Path
) -> None:
    server.content[TOOLKIT] = BODIES[words]
    file = replace(a_file(b"", [server.address(TOOLKIT)], pinned=False), name=TOOLKIT)
    with pytest.raises(ArtifactError, match=words.replace(".", r"\.")):
        fetcher(tmp_path, terms=Terms(first_use=True)).fetch(file)
    assert not [*tmp_path.glob("sha256/*/*"), *tmp_path.glob("records/*")]


def test_two_packages_never_have_one_hash(server: Files, tmp_path: Path) -> None:
    """Of contents without names, nothing but the equal hash tells that one of them is wrong."""
    server.content["a.run"] = server.content["b.run"] = run_file(parts("files.tar"))
    trusting = fetcher(tmp_path, terms=Terms(first_use=True))
    files = [
        replace(a_file(b"", [server.address(name)], pinned=False), name=name)
        for name in ("a.run", "b.run")
    ]
    taken = trusting.fetch(files[0])
    with pytest.raises(ArtifactError, match=r"its bytes are those of a\.run"):
        trusting.fetch(files[1])
    assert [each.sha256 for each in trusting.store.files()] == [taken.sha256]


def test_all_missing_consent_is_reported_at_once(tmp_path: Path) -> None:
    file = replace(a_file(CONTENT, ["https://example.com/a"], pinned=False), eula=EULA)
    with pytest.raises(ArtifactError) as raised:
        fetcher(tmp_path, terms=Terms()).fetch(file)
    assert len(raised.value.problems) == 2


@pytest.mark.parametrize(
    "kind", ["half without length", "more without length", "login page as file"]
)
def test_on_first_use_a_length_is_required_and_no_page_is_taken(
    kind: str, server: Files, tmp_path: Path
) -> None:
    server.faults["toolkit.run"] = [Fault(kind=kind, at=100)] * 9
    file = a_file(CONTENT, [server.address("toolkit.run")], pinned=False)
    with pytest.raises(ArtifactError, match=r"how long the file is|web page"):
        fetcher(tmp_path, terms=Terms(first_use=True)).fetch(file)


def test_on_first_use_a_server_without_tls_is_not_trusted(tmp_path: Path) -> None:
    file = a_file(CONTENT, ["http://example.com/toolkit.run"], pinned=False)
    with pytest.raises(ArtifactError, match="without TLS"):
        fetcher(tmp_path, terms=Terms(first_use=True)).fetch(file)


def test_own_servers_have_files_under_their_names_alone(server: Files, tmp_path: Path) -> None:
    own = fetcher(tmp_path)
    own.servers = (Address(url=server.url, headers=(("X-Token", "1"),)),)
    file = File(name="toolkit.run", origin="a partner", sha256=digest(CONTENT))
    assert own.fetch(file).path.read_bytes() == CONTENT
    assert server.requests[0].headers["x-token"] == "1"
    archive = zipped({"toolkit.run": CONTENT + b"1"})
    server.content["toolkit.zip"] = archive
    assert own.fetch(in_zip(CONTENT, archive, [])).path.read_bytes() == CONTENT + b"1"


def test_no_login_of_an_address_is_shown_or_recorded(server: Files, tmp_path: Path) -> None:
    url = server.address("toolkit.run").replace("://", "://user:secret@") + "?token=secret"
    own = fetcher(tmp_path)
    with pytest.raises(ArtifactError) as raised:
        own.fetch(a_file(b"another", [url]))
    assert "secret" not in str(raised.value)
    server.content["toolkit.run?token=secret"] = CONTENT
    record = own.store.record(own.fetch(a_file(CONTENT, [url])).sha256)
    assert record
    assert "secret" not in str(record)


def test_the_folder_of_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    assert store_folder(None, {}) == Path("/home/me/.cache/cannery")
    assert store_folder(None, {"XDG_CACHE_HOME": "/c"}) == Path("/c/cannery")
    assert store_folder(None, {"XDG_CACHE_HOME": "c"}) == Path("/home/me/.cache/cannery")
    assert store_folder(tmp_path, {"XDG_CACHE_HOME": "/c"}) == tmp_path


def _aged(root: Path, days: float) -> None:
    then = time.time() - days * 86_400
    for path in (*root.glob("records/*"), *root.glob("partial/*")):
        os.utime(path, (then, then))


def test_prune_removes_unused_files(server: Files, tmp_path: Path) -> None:
    server.content["other.run"] = b"other"
    own = fetcher(tmp_path)
    for name, content in (("toolkit.run", CONTENT), ("other.run", b"other")):
        own.fetch(a_file(content, [server.address(name)]))
    server.faults["toolkit.run"] = [Fault(kind="half", at=3), Fault(kind="404")]
    server.content["toolkit.run"] = b"a third"
    with pytest.raises(ArtifactError):
        own.fetch(a_file(b"a third", [server.address("toolkit.run")]))
    _aged(tmp_path, 40)
    own.fetch(a_file(b"other", [server.address("other.run")]))
    assert [each.size for each in own.store.prune(50)] == []
    assert [each.sha256 for each in own.store.prune(30)] == [digest(CONTENT)]
    assert [each.sha256 for each in own.store.files()] == [digest(b"other")]
    assert not [path for path in (tmp_path / "partial").iterdir() if path.suffix != ".lock"]
    assert len(own.store.prune(0)) == 1
    assert not own.store.files()


def test_prune_keeps_a_running_download(tmp_path: Path) -> None:
    store = Store(tmp_path)
    with store.locked("key", lambda: None):
        store.partial("key").write_bytes(b"half")
        store.prune(0)
        assert store.partial("key").exists()
    store.prune(0)
    assert not store.partial("key").exists()


BUILD = """
import sys
from pathlib import Path
from cannery.fetch.store import Store
print(Store(Path(sys.argv[1])).expose({"toolkit.run": Path(sys.argv[2])}, "name"), flush=True)
sys.stdin.read()
"""
"""A build, as far as the store knows of it: it has a folder of files until it ends."""


def test_prune_keeps_the_files_of_a_running_build(server: Files, tmp_path: Path) -> None:
    own = fetcher(tmp_path)
    path = own.fetch(a_file(CONTENT, [server.address("toolkit.run")])).path
    argv = [sys.executable, "-c", BUILD, str(tmp_path), str(path)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as build:
        assert build.stdin and build.stdout
        folder = Path(build.stdout.readline().strip())
        assert [each.sha256 for each in own.store.prune(0)] == [digest(CONTENT)]
        assert (folder / "toolkit.run").read_bytes() == CONTENT
        build.stdin.close()
    assert not own.store.prune(0)
    assert not folder.exists()


def test_a_damaged_record_is_none_and_the_file_stays(server: Files, tmp_path: Path) -> None:
    own = fetcher(tmp_path)
    sha256 = own.fetch(a_file(CONTENT, [server.address("toolkit.run")])).sha256
    [record] = tmp_path.glob("records/*")
    for text in ("{", "[]", json.dumps({"name": 1}), "\0"):
        record.write_text(text, encoding="utf-8")
        assert own.store.record(sha256) is None
        assert own.store.has(sha256)
    assert [each.record for each in own.store.files()] == [None]


def test_records_with_a_signature_are_read(server: Files, tmp_path: Path) -> None:
    own = fetcher(tmp_path)
    sha256 = own.fetch(a_file(CONTENT, [server.address("toolkit.run")])).sha256
    [record] = tmp_path.glob("records/*")
    before, text = own.store.record(sha256), record.read_text(encoding="utf-8")
    record.write_text(json.dumps({**json.loads(text), "signature": "verified"}), encoding="utf-8")
    assert own.store.record(sha256) == before is not None


def test_a_folder_of_files_for_a_build(server: Files, tmp_path: Path) -> None:
    own = fetcher(tmp_path / "store")
    path = own.fetch(a_file(CONTENT, [server.address("toolkit.run")])).path
    local = tmp_path / "apex.whl"
    local.write_bytes(b"apex")
    for _ in range(2):
        folder = own.store.expose({"toolkit.run": path, "apex.whl": local}, "name")
    assert {each.name: each.read_bytes() for each in folder.iterdir()} == {
        "toolkit.run": CONTENT,
        "apex.whl": b"apex",
    }
    assert (folder / "toolkit.run").stat().st_ino == path.stat().st_ino


def test_an_unwritable_store_is_an_error(server: Files, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(FileError, match="cannot write"):
        fetcher(tmp_path / "file").fetch(a_file(CONTENT, [server.address("toolkit.run")]))
