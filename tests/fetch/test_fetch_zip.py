# SPDX-License-Identifier: Apache-2.0
"""Zips with the vendor's packages: what is taken from them, and which are refused."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from cannery.common.errors import ArtifactError
from tests.fetch.fetches import fetcher, in_zip, zipped
from tests.fetch.server import Files

CONTENT = b"#!/bin/sh\n" + b"payload" * 1000


def fetched(server: Files, root: Path, archive: bytes) -> bytes:
    server.content = {"toolkit.zip": archive}
    file = in_zip(CONTENT, archive, [server.address("toolkit.zip")])
    return fetcher(root).fetch(file).path.read_bytes()


def test_the_one_zip_in_a_zip(server: Files, tmp_path: Path) -> None:
    inner = zipped({"toolkit.run": CONTENT, "readme.txt": b"1"}, zipfile.ZIP_DEFLATED)
    archive = zipped({"a.zip": inner, "a.zip.cms": b"signature", "a.zip.crl": b"list"})
    assert fetched(server, tmp_path, archive) == CONTENT


def test_names_in_a_zip_lead_nowhere(server: Files, tmp_path: Path) -> None:
    archive = zipped({"../../../toolkit.run": CONTENT, "/etc/other": b"1"})
    assert fetched(server, tmp_path / "store", archive) == CONTENT
    assert {path.name for path in tmp_path.iterdir()} == {"store"}


def _damaged(archive: bytes) -> bytes:
    at = archive.index(b"payload")
    return archive[:at] + b"PAYLOAD" + archive[at + 7 :]


def _claims(archive: bytes, size: int) -> bytes:
    """The archive, whose member says that it has ``size`` bytes."""
    honest = len(CONTENT).to_bytes(4, "little")
    return archive.replace(honest + honest, honest + size.to_bytes(4, "little"))


@pytest.mark.parametrize(
    ("archive", "why"),
    [
        (zipped({"other.run": CONTENT}), "it does not contain toolkit.run"),
        (
            zipped({"a/toolkit.run": CONTENT, "toolkit.run": b"2"}),
            "it contains toolkit.run 2 times",
        ),
        (zipped({"a.zip": b"1", "b.zip": b"1"}), "it does not contain toolkit.run"),
        (zipped({"a.zip": zipped({"b.zip": b"1"})}), "cannot use a.zip: it does not contain"),
        (b"PK\x03\x04 and no more", "it is damaged"),
        (zipped({"toolkit.run": CONTENT})[:-40], "it is damaged"),
        (_damaged(zipped({"toolkit.run": CONTENT})), "it is damaged (Bad CRC-32"),
        (_claims(zipped({"toolkit.run": CONTENT}), 1 << 31), "would have 2,147,483,648 bytes"),
        (zipped({"\\.zip": b"1"}), r"it contains the invalid name '\\.zip'"),
        (zipped({"a.zip": b"no zip"}), "cannot use a.zip: it is damaged"),
    ],
)
def test_unusable_zips(archive: bytes, why: str, server: Files, tmp_path: Path) -> None:
    with pytest.raises(ArtifactError) as raised:
        fetched(server, tmp_path, archive)
    assert why in str(raised.value)
    assert not [*tmp_path.glob("sha256/*/*")]
    assert not [*tmp_path.glob("partial/unzip-*")]
