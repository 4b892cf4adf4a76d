# SPDX-License-Identifier: Apache-2.0
"""Hashes of files that are trusted on first use, in the texts of a matrix."""

from __future__ import annotations

import pytest
import yaml

from cannery.matrix import text as texts
from cannery.matrix.schema import parse_files, parse_matrix
from tests.unit.matrices import MATRIX


def has_place(text: str, name: str) -> bool:
    return texts.has_place({"matrix.yaml": text}, name)


def with_sha256(text: str, name: str, sha256: str) -> str:
    return texts.with_sha256({"matrix.yaml": text}, name, sha256)["matrix.yaml"]


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


LAYOUTS = """\
cann_layouts:
  cann:
    origin: Huawei
    toolkit: toolkit_{release}_{machine}.run
    kernels: {default: "{chip}_{release}_{machine}.run"}
cann:
  9.1.0:
    layout: cann
    chips: [910b]
    sha256:
      toolkit_9.1.0_aarch64.zip: DIGEST  # published
  9.1.1:
    layout: cann
    chips: [910b]
""".replace("DIGEST", HASH)
WHOLE = MATRIX.replace("cann:\n", LAYOUTS, 1)


@pytest.mark.parametrize(
    ("name", "added"),
    [
        ("toolkit_9.1.0_aarch64.run", ["      toolkit_9.1.0_aarch64.run: "]),
        ("910b_9.1.0_x86_64.run", ["      910b_9.1.0_x86_64.run: "]),
        ("910b_9.1.1_x86_64.run", ["    sha256:", "      910b_9.1.1_x86_64.run: "]),
    ],
)
def test_the_hash_of_a_file_of_a_layout_goes_into_its_release(name: str, added: list[str]) -> None:
    assert has_place(WHOLE, name)
    after = with_sha256(WHOLE, name, HASH)
    lines = [line for line in after.splitlines() if line not in WHOLE.splitlines()]
    expected = [*added[:-1], f"{added[-1]}{HASH}"]
    assert lines in (expected, expected[-1:])
    release = parse_matrix(after, "matrix.yaml").cann[name.split("_")[1]]
    files = {file.name: file for each in release.packages.values() for file in each.files}
    assert files[name].sha256 == HASH
    assert not has_place(after, name)


@pytest.mark.parametrize("text", [WHOLE.replace("9.1.0:\n", "9.1.0: 7\n  x:\n"), "- 1\n"])
def test_an_unreadable_matrix_has_no_place(text: str) -> None:
    assert not has_place(text, "toolkit_9.1.0_aarch64.run")


def test_the_hash_goes_into_the_file_with_the_release() -> None:
    head, _, tail = WHOLE.partition("cann_layouts:\n")
    releases, _, others = tail.partition("\napex:")
    data = {"cannery/data/cann.yaml": f"cann_layouts:\n{releases}"}
    files = {"matrix.yaml": f"{head}apex:{others}", **data}
    after = texts.with_sha256(files, "910b_9.1.1_x86_64.run", HASH)
    assert [name for name in files if after[name] != files[name]] == ["cannery/data/cann.yaml"]
    release = parse_files(after).cann["9.1.1"]
    assert release.packages["x86_64"].kernels["910b"].sha256 == HASH
