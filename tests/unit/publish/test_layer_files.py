# SPDX-License-Identifier: Apache-2.0
"""The files of layers and their differences."""

from __future__ import annotations

import io
import tarfile

import pytest

from cannery.publish.originals import (
    ONLY_ORIGINAL,
    ONLY_REBUILT,
    Entries,
    FileChange,
    file_changes,
    read_layer,
)
from tests.unit.archives import digest, tar


def member(**fields: object) -> bytes:
    """A layer of one file, or of what ``fields`` make of it."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        info = tarfile.TarInfo("opt/file")
        content = fields.pop("content", b"text")
        assert isinstance(content, bytes)
        for name, value in fields.items():
            setattr(info, name, value)
        info.size = len(content) if info.isreg() else 0
        archive.addfile(info, io.BytesIO(content))
    return made.getvalue()


def entries(layer: bytes) -> Entries:
    return read_layer(io.BytesIO(layer))[1]


def test_the_digest_is_that_of_all_bytes() -> None:
    layer = tar({"a": b"1", "b": b"2"}) + b"\0" * 5_000_000
    found, files = read_layer(io.BytesIO(layer))
    assert found == digest(layer)
    assert [*files] == ["a", "b"]


def test_an_equal_layer_has_no_differences() -> None:
    assert file_changes(entries(member()), entries(member())) == ()


ATTRIBUTES: dict[str, tuple[dict[str, object], tuple[str, ...]]] = {
    "content": ({"content": b"longer"}, ("content",)),
    "mode": ({"mode": 0o755}, ("mode",)),
    "owner": ({"uid": 1000}, ("owner",)),
    "group": ({"gid": 1000}, ("owner",)),
    "date": ({"mtime": 1}, ("date",)),
    "type": (
        {"type": tarfile.SYMTYPE, "linkname": "/bin/sh"},
        ("type", "link", "content"),
    ),
}


@pytest.mark.parametrize(("fields", "how"), ATTRIBUTES.values(), ids=ATTRIBUTES)
def test_each_attribute(fields: dict[str, object], how: tuple[str, ...]) -> None:
    [change] = file_changes(entries(member()), entries(member(**fields)))
    assert change == FileChange(path="opt/file", how=how)


def test_files_of_one_side_only() -> None:
    found = file_changes(entries(tar({"a": b"", "b": b""})), entries(tar({"b": b"", "c": b""})))
    assert [(each.path, each.how) for each in found] == [
        ("a", (ONLY_ORIGINAL,)),
        ("c", (ONLY_REBUILT,)),
    ]


def test_what_is_no_layer() -> None:
    with pytest.raises(tarfile.TarError):
        read_layer(io.BytesIO(b"no layer" * 100))
