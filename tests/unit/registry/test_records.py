# SPDX-License-Identifier: Apache-2.0
"""Records: what is written is what is read, and a spoilt file is named."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cannery.common.errors import FileError
from cannery.common.files import write_files
from cannery.registry.records import (
    Record,
    RecordFile,
    difference,
    latest,
    path_of,
    read_records,
    record_file,
    to_text,
)
from tests.unit.publications import RECORD, record, sha


def keep(folder: Path, *records: Record) -> None:
    write_files({path_of(folder, each): to_text(each) for each in records})


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    keep(tmp_path, RECORD)
    assert read_records(tmp_path) == (RECORD,)
    assert path_of(tmp_path, RECORD) == tmp_path / "full" / "full-0123456789ab.json"


def test_a_tag_in_another_registry_has_a_record_of_its_own(tmp_path: Path) -> None:
    other = record(registry="127.0.0.1:5000", repository="team/ascend", pushed="2026-12-01")
    keep(tmp_path, RECORD)
    path = tmp_path / "full" / "full-0123456789ab@127.0.0.1-5000-team-ascend.json"
    file = record_file(tmp_path, other, [RECORD])
    assert file == RecordFile(path=path, text=to_text(other), before=None)
    write_files({path: file.text})
    assert read_records(tmp_path) == (RECORD, other)
    assert record_file(tmp_path, other, [RECORD, other]) is None
    assert record_file(tmp_path, RECORD, [RECORD, other]) is None
    first = record_file(tmp_path, other, [])
    assert first == RecordFile(path=path_of(tmp_path, other), text=to_text(other), before=None)


def test_another_image_under_a_tag_replaces_the_record_of_its_place(tmp_path: Path) -> None:
    other = record(registry="127.0.0.1:5000", repository="team/ascend")
    keep(tmp_path, RECORD)
    beside = record_file(tmp_path, other, [RECORD])
    assert beside
    write_files({beside.path: beside.text})
    for old, path in ((RECORD, path_of(tmp_path, RECORD)), (other, beside.path)):
        new = replace(old, digest=sha("9"))
        file = record_file(tmp_path, new, [RECORD, other])
        assert file == RecordFile(path=path, text=to_text(new), before=to_text(old))


def test_the_text_is_stable_and_sorted() -> None:
    text = to_text(RECORD)
    assert text == to_text(record(packages=dict(reversed([*RECORD.packages.items()]))))
    loaded = json.loads(text)
    assert [*loaded] == sorted(loaded)
    assert loaded["schema"] == 1
    assert loaded["changes"]["changed"] == {"torch": ["2.1.0", "2.3.1"]}
    assert loaded["platforms"]["linux/arm64"]["layers"][0]["name"] == "torch"


def test_the_latest_is_the_last_pushed_real_one(tmp_path: Path) -> None:
    older = record(tag="full-1", pushed="2026-10-01T00:00:00Z")
    simulated = record(tag="full-2-sim", pushed="2026-12-01T00:00:00Z", simulated=True)
    other = record(target="bare", tag="bare-1", pushed="2026-12-02T00:00:00Z")
    keep(tmp_path, RECORD, simulated, other, older)
    result = read_records(tmp_path)
    assert [each.tag for each in result] == ["full-1", RECORD.tag, "full-2-sim", "bare-1"]
    assert latest(result, "full") == RECORD
    assert latest([simulated], "full") == simulated


def spoil(**changes: Any) -> str:
    loaded = json.loads(to_text(RECORD))
    for name, value in changes.items():
        if value is None:
            del loaded[name]
        else:
            loaded[name] = value
    return json.dumps(loaded)


SPOILT = {
    "no JSON": ("{", "is not a valid record of a push: it is not JSON: Expecting property name"),
    "no mapping": ("[]", "reads schema 1 only"),
    "schema": (spoil(schema=2), "reads schema 1 only"),
    "missing": (spoil(digest=None), "the field 'digest' is missing"),
    "unknown": (spoil(colour="red"), "the field 'colour' is unknown"),
    "type": (spoil(simulated="no"), "the field 'simulated' is wrong: Input should be a valid bool"),
    "mapping": (spoil(components=[]), "the field 'components' is wrong: Input should be"),
    "layer": (
        spoil(platforms={"linux/arm64": {"layers": [{}]}}),
        "the field 'platforms.linux/arm64.digest' is missing",
    ),
    "name": (spoil(tag="full-2"), "it is the record of full, tag full-2, which has another name"),
}


@pytest.mark.parametrize(("text", "message"), SPOILT.values(), ids=SPOILT)
def test_a_spoilt_record_is_an_error_with_its_name(tmp_path: Path, text: str, message: str) -> None:
    path = path_of(tmp_path, RECORD)
    write_files({path: text, tmp_path / "bare" / "bare-1.json": "{"})
    with pytest.raises(FileError) as caught:
        read_records(tmp_path)
    assert len(caught.value.problems) == 2
    assert str(path) in str(caught.value)
    assert message in str(caught.value)


def test_the_difference_between_two_lists() -> None:
    before = {"wheels": {"torch": "2.1.0", "numpy": "1.26.4", "six": "1"}, "debian": {"git": "1"}}
    after = {"wheels": {"torch": "2.3.1", "numpy": "1.26.4"}, "debian": {"git": "2", "vim": "9"}}
    result = difference("full-1", before, after)
    assert result.since == "full-1"
    assert result.added == {"vim": "9"}
    assert result.removed == {"six": "1"}
    assert result.changed == {"torch": ("2.1.0", "2.3.1"), "git": ("1", "2")}


def test_equal_names_of_two_kinds_get_the_kind_in_front() -> None:
    before = {"wheels": {"attr": "1"}, "debian": {"attr": "2.4"}}
    after = {"wheels": {"attr": "2"}, "debian": {"attr": "2.4"}}
    assert difference("", before, after).changed == {"wheels:attr": ("1", "2")}
    gone: dict[str, dict[str, str]] = {"wheels": {}, "debian": {"attr": "2.4"}}
    assert difference("", before, gone).removed == {"wheels:attr": "1"}
