# SPDX-License-Identifier: Apache-2.0
"""Hashes of files that are trusted on first use, in the text of matrix.yaml."""

from __future__ import annotations

import pytest
import yaml

from cannery.matrix.first_use import has_place, with_sha256

HASH = "0123456789abcdef" * 4
TEXT = """\
# Ünicode before it
cann:
  8.1.RC1:
    toolkit:
      file: toolkit.run  # as the vendor writes it
      origin: &where Huawei
    kernels:
      910b: {file: kernels.run, origin: *where}
      310p:
        file: known.run
        sha256: 1
    nnal: {origin: *where, file: "nnal.run"}
"""


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("toolkit.run", ("toolkit",)),
        ("kernels.run", ("kernels", "910b")),
        ("nnal.run", ("nnal",)),
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_hash_is_added_and_nothing_else_changes(
    name: str, path: tuple[str, ...], newline: str
) -> None:
    text = TEXT.replace("\n", newline)
    after = with_sha256(text, name, HASH)
    expected = yaml.safe_load(TEXT)
    entry = expected["cann"]["8.1.RC1"]
    for step in path:
        entry = entry[step]
    entry["sha256"] = HASH
    assert yaml.safe_load(after) == expected
    changed = [line for line in after.split(newline) if line not in text.split(newline)]
    assert len(changed) == 1
    assert "as the vendor writes it" in after
    assert not has_place(after, name)


@pytest.mark.parametrize("name", ["known.run", "other.run", "toolkit"])
def test_without_a_place_nothing_changes(name: str) -> None:
    assert not has_place(TEXT, name)
    assert with_sha256(TEXT, name, HASH) == TEXT
