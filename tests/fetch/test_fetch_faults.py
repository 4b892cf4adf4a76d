# SPDX-License-Identifier: Apache-2.0
"""What servers do wrong, one by one: a fetch goes on, or says why not, and stores no wrong byte."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from cannery.common.errors import ArtifactError, FileError
from cannery.fetch.fetcher import Terms
from tests.fetch.fetches import CONTENT, HALF, a_file, digest, failing, fetcher
from tests.fetch.run_files import a_toolkit
from tests.fetch.server import Files

RESUMED = ["half", "reset", "stall", "slow", "long length"]
REPEATED = ["429", "429 date", "503", "503 odd", "500", "nothing", "not HTTP", "chunked"]
REFUSED = {
    "403": "it denies access (403)",
    "404": "it does not have the file (404)",
    "login page": "it sends a web page",
    "login page as file": "it sends a web page",
    "redirect loop": "it redirects in circles",
    "redirect to file": "it redirects to an invalid address",
    "redirect nowhere": "it redirects to an invalid address",
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
def test_transient_failures_are_retried(kind: str, files: Files, tmp_path: Path) -> None:
    failing(files, kind)
    found = fetcher(tmp_path).fetch(a_file(CONTENT, [files.address("a/toolkit.run")]))
    assert found.path.read_bytes() == CONTENT
    assert len(files.requests) >= 2


@pytest.mark.parametrize("kind", REFUSED)
def test_another_mirror_is_used_or_the_reason_is_reported(
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


def test_a_changed_file_is_not_resumed(files: Files, tmp_path: Path) -> None:
    other = a_toolkit(os.urandom(len(CONTENT)))
    own = fetcher(tmp_path, terms=Terms(first_use=True))
    failing(files, *["half"] * 3, "404")
    with pytest.raises(ArtifactError):
        own.fetch(a_file(CONTENT, [files.address("a/toolkit.run")], pinned=False))
    files.content["a/toolkit.run"] = other
    found = own.fetch(a_file(CONTENT, [files.address("a/toolkit.run")], pinned=False))
    assert found.path.read_bytes() == other
    assert files.requests[-1].headers["if-range"]


def test_another_mirror_resumes(files: Files, tmp_path: Path) -> None:
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


def test_stored_files_are_not_downloaded_again(files: Files, tmp_path: Path) -> None:
    file = a_file(CONTENT, [files.address("a/toolkit.run")])
    for _ in range(2):
        fetcher(tmp_path).fetch(file)
    assert len(files.requests) == 1


def test_a_damaged_stored_file_is_fetched_again(files: Files, tmp_path: Path) -> None:
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


@pytest.mark.parametrize("kind", ["link", "hard link", "link to nothing", "pipe"])
def test_what_others_put_in_the_place_of_a_download_is_not_written_through(
    files: Files, tmp_path: Path, kind: str
) -> None:
    file = a_file(CONTENT, [files.address("a/toolkit.run")])
    victim, place = tmp_path / "victim", tmp_path / "store" / "partial" / file.sha256
    place.parent.mkdir(parents=True)
    if kind == "link to nothing":
        place.symlink_to(victim)
    else:
        victim.write_text("kept")
        {"link": place.symlink_to, "hard link": place.hardlink_to}.get(
            kind, lambda _: os.mkfifo(place)
        )(victim)
    fetched = fetcher(tmp_path / "store").fetch(file)
    assert fetched.path.read_bytes() == CONTENT
    assert not fetched.path.is_symlink()
    assert victim.exists() == (kind != "link to nothing")
    assert not victim.exists() or victim.read_text() == "kept"


@pytest.mark.parametrize("place", ["partial/{sha256}.json", "records/{sha256}.json"])
def test_a_note_that_is_a_link_is_not_written_through(
    files: Files, tmp_path: Path, place: str
) -> None:
    file = a_file(CONTENT, [files.address("a/toolkit.run")])
    victim = tmp_path / "victim"
    victim.write_text("kept")
    link = tmp_path / "store" / place.format(sha256=file.sha256)
    link.parent.mkdir(parents=True)
    link.symlink_to(victim)
    with suppress(FileError):
        fetcher(tmp_path / "store").fetch(file)
    assert victim.read_text() == "kept"


def test_a_lock_that_is_a_link_is_an_error_and_not_followed(files: Files, tmp_path: Path) -> None:
    file = a_file(CONTENT, [files.address("a/toolkit.run")])
    victim = tmp_path / "victim"
    victim.write_text("kept")
    place = tmp_path / "store" / "partial" / f"{file.sha256}.lock"
    place.parent.mkdir(parents=True)
    place.symlink_to(victim)
    with pytest.raises(FileError, match=f"cannot write {place}"):
        fetcher(tmp_path / "store").fetch(file)
    assert victim.read_text() == "kept"
