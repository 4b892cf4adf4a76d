# SPDX-License-Identifier: Apache-2.0
"""A file of which servers have different ones under one name, and a file beside its zip."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cannery.common.bases import Address, File, Published
from cannery.common.errors import ArtifactError
from cannery.fetch.fetcher import Fetcher, Terms
from tests.fetch.fetches import a_file, digest, fetcher, in_zip, zipped
from tests.fetch.run_files import a_toolkit
from tests.fetch.server import Fault, Files

ONE, OTHER = a_toolkit(b"one"), a_toolkit(b"the other")
ARCHIVE = zipped({"toolkit.run": ONE})


def of_two_servers(urls: list[str], *, sizes: bool = True) -> File:
    variants = tuple(
        Published(
            sha256=digest(content),
            origin=f"https://{name}.example.com",
            read="2026-11-28",
            size=len(content) * sizes,
        )
        for name, content in (("one", ONE), ("other", OTHER))
    )
    return replace(a_file(b"", urls, pinned=False), variants=variants)


def refusal(own: Fetcher, file: File) -> str:
    with pytest.raises(ArtifactError) as raised:
        own.fetch(file)
    return str(raised.value)


@pytest.mark.parametrize("content", [ONE, OTHER])
def test_each_of_the_files_of_one_name_is_taken_by_its_hash(
    content: bytes, files: Files, tmp_path: Path
) -> None:
    files.content["toolkit.run"] = content
    file = of_two_servers([files.address("toolkit.run")])
    taken = fetcher(tmp_path).fetch(file)
    assert (taken.path.read_bytes(), taken.sha256) == (content, digest(content))
    assert not taken.first_use
    asked = len(files.requests)
    assert fetcher(tmp_path).fetch(file).sha256 == digest(content)
    assert len(files.requests) == asked


def test_a_third_file_of_the_name_is_refused_with_who_published_the_others(
    files: Files, tmp_path: Path
) -> None:
    files.content["toolkit.run"] = a_toolkit(b"a third")
    address = files.address("toolkit.run")
    said = refusal(fetcher(tmp_path), of_two_servers([address], sizes=False))
    assert f"{digest(ONE)} (https://one.example.com, read 2026-11-28) and {digest(OTHER)}" in said
    files.content["toolkit.run"] = ONE + b"more"
    sizes = f"{len(ONE):,} and {len(OTHER):,} were published"
    assert sizes in refusal(fetcher(tmp_path), of_two_servers([address]))
    assert not [*tmp_path.glob("sha256/*/*")]


def test_what_one_server_has_begun_another_with_its_own_file_does_not_finish(
    files: Files, tmp_path: Path
) -> None:
    files.content |= {"a/toolkit.run": ONE, "b/toolkit.run": OTHER}
    files.faults["a/toolkit.run"] = [Fault(kind="reset", at=len(ONE) // 2)] * 9
    urls = [files.address("a/toolkit.run"), files.address("b/toolkit.run")]
    assert fetcher(tmp_path).fetch(of_two_servers(urls)).path.read_bytes() == OTHER
    [last] = [each for each in files.requests if each.path == "b/toolkit.run"]
    assert "range" not in last.headers


def beside_its_zip(files: Files, sha256: str = "") -> File:
    """A file whose zip has a published hash, both on a server."""
    file = in_zip(ONE, ARCHIVE, [files.address("toolkit.zip")])
    own = (Address(url=files.address("toolkit.run")),)
    return replace(file, sha256=sha256, addresses=own)


def test_where_the_zip_is_not_the_file_is_taken_on_first_use(files: Files, tmp_path: Path) -> None:
    files.content["toolkit.run"] = ONE
    said = refusal(fetcher(tmp_path), beside_its_zip(files))
    assert "toolkit.zip: it does not have the file (404)" in said
    assert "--trust-first-use takes the file itself" in said
    taken = fetcher(tmp_path, terms=Terms(first_use=True)).fetch(beside_its_zip(files))
    assert (taken.path.read_bytes(), taken.first_use) == (ONE, True)


def test_a_zip_that_was_altered_is_not_followed_by_first_use(files: Files, tmp_path: Path) -> None:
    files.content |= {"toolkit.zip": ARCHIVE + b"altered", "toolkit.run": OTHER}
    own = fetcher(tmp_path, terms=Terms(first_use=True))
    assert f"but {digest(ARCHIVE)} was published" in refusal(own, beside_its_zip(files))
    assert "toolkit.run" not in {each.path for each in files.requests}


def test_the_zip_goes_before_first_use(files: Files, tmp_path: Path) -> None:
    files.content |= {"toolkit.zip": ARCHIVE, "toolkit.run": ONE}
    taken = fetcher(tmp_path, terms=Terms(first_use=True)).fetch(beside_its_zip(files))
    assert (taken.path.read_bytes(), taken.first_use) == (ONE, False)


def test_a_file_of_known_hash_is_taken_out_of_its_zip_where_it_is_not_itself(
    files: Files, tmp_path: Path
) -> None:
    files.content["toolkit.zip"] = ARCHIVE
    taken = fetcher(tmp_path).fetch(beside_its_zip(files, digest(ONE)))
    assert (taken.path.read_bytes(), taken.first_use) == (ONE, False)
    said = refusal(fetcher(tmp_path / "other"), beside_its_zip(files, digest(OTHER)))
    assert f"has toolkit.run with sha256 {digest(ONE)}, but {digest(OTHER)} was published" in said


def test_the_hash_that_a_file_had_in_its_zip_is_its_own_from_then_on(
    files: Files, tmp_path: Path
) -> None:
    files.content["toolkit.zip"] = ARCHIVE
    own = fetcher(tmp_path)
    own.store.remove(own.fetch(beside_its_zip(files)).sha256)
    files.content = {"toolkit.run": ONE}
    assert fetcher(tmp_path).fetch(beside_its_zip(files)).path.read_bytes() == ONE
