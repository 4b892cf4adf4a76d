# SPDX-License-Identifier: Apache-2.0
"""What sources said when they were opened: a row names no version that is not among their words.

``CANNERY_OPEN=URL``, a package index, opens its files again, and looks for the words.
"""

from __future__ import annotations

import os
import re
import tarfile
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit
from urllib.request import urlopen

import pytest
import yaml

from cannery.compat.facts import Pairing, Release
from tests.unit.compat_targets import COMPAT

RECORDED: dict[str, dict[str, Any]] = yaml.load(
    Path(__file__).with_name("data").joinpath("citations.yaml").read_text(encoding="utf-8"),
    Loader=yaml.BaseLoader,
)
INDEX = os.environ.get("CANNERY_OPEN", "")
FILES = [
    pytest.param(file, members, id=file)
    for record in RECORDED.values()
    for file, members in record.get("files", {}).items()
]


def named(row: Pairing) -> list[str]:
    """The versions of a pair, as documents write them."""
    app = row.app.rpartition(" v")[2]
    return [*filter(None, (row.torch_npu, str(row.cann), row.triton_ascend, row.mooncake, app))]


def has(words: str, version: str) -> bool:
    """Whether a version is in the words, and not only as the beginning of a longer one."""
    return bool(re.search(rf"(?<![0-9.]){re.escape(version)}(?![0-9]|\.(?:[0-9]|post|rc))", words))


def test_each_record_is_of_a_source_and_was_opened_after_its_date() -> None:
    for name, record in RECORDED.items():
        assert COMPAT.sources[name].date[:7] <= record["opened"][:7], name
        assert record["words"], name


@pytest.mark.parametrize("name", RECORDED)
def test_a_pair_names_what_its_sources_say(name: str) -> None:
    rows = [row for row in COMPAT.pairings if name in {source.name for source in row.sources}]
    words = "\n".join(RECORDED[name]["words"])
    wrong = [
        (row.line, version) for row in rows for version in named(row) if not has(words, version)
    ]
    assert wrong == []
    releases = [row for row in COMPAT.releases if name in {s.name for s in row.sources}]
    assert all(isinstance(row, Release) and has(words, str(row.cann)) for row in releases)
    assert all(chip in words for row in releases for chip in row.chips)


def test_every_record_is_of_a_row_or_more() -> None:
    cited = {
        source.name
        for rows in (
            *(COMPAT.pairings, COMPAT.releases, COMPAT.packages, COMPAT.known_bad),
            COMPAT.applications,
        )
        for row in rows
        for source in row.sources
    }
    assert {*RECORDED} <= cited


def test_a_longer_version_is_another_one() -> None:
    assert has("torch-npu==2.10.0.post4", "2.10.0.post4")
    assert not has("torch-npu==2.10.0.post4", "2.10.0")
    assert not has("9.1.0", "9.1")
    assert not has("12.10.0", "2.10.0")


@pytest.mark.skipif(not INDEX, reason="CANNERY_OPEN names no package index")
@pytest.mark.parametrize(("file", "members"), FILES)
def test_a_file_of_an_index_says_it_still(
    file: str, members: dict[str, list[str]], tmp_path: Path
) -> None:
    package, _, version = file.removesuffix(".tar.gz").rpartition("-")
    page = f"{INDEX.rstrip('/')}/{package.replace('_', '-')}/"
    with urlopen(page, timeout=60) as answer:
        links: list[str] = re.findall(r'href="([^"]+)"', answer.read().decode())
    [link] = [link for link in links if urlsplit(link).path.endswith(f"/{file}")]
    with urlopen(urljoin(page, link), timeout=300) as answer:
        (tmp_path / file).write_bytes(answer.read())
    with tarfile.open(tmp_path / file) as archive:
        for member, words in members.items():
            stream = archive.extractfile(f"{package}-{version}/{member}")
            assert stream is not None
            text = stream.read().decode()
            assert [word for word in words if word not in text] == []
