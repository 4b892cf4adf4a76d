# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest

from cannery.common.errors import FileError, MatrixError
from cannery.publish.scan.exceptions import read_exceptions

GOOD = """\
schema: 1
exceptions:
  - id: CVE-2023-28370
    package: tornado
    reason: nothing in the image serves pages
    expires: 2027-01-31
"""


def read(tmp_path: Path, text: str) -> list[str]:
    """The problems of a file with ``text``."""
    path = tmp_path / "exceptions.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(MatrixError) as caught:
        read_exceptions(path)
    return [str(each) for each in caught.value.problems]


def test_an_exception(tmp_path: Path) -> None:
    path = tmp_path / "exceptions.yaml"
    path.write_text(GOOD, encoding="utf-8")
    [found] = read_exceptions(path)
    assert (found.id, found.package, found.line) == ("CVE-2023-28370", "tornado", 3)
    assert [found.is_expired(day) for day in ("2027-01-31", "2027-02-01")] == [False, True]


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("    expires: 2027-01-31\n", "", "3:5: an exception has no 'expires'. Add it."),
        ("reason", "raeson", "5:5: unknown key 'raeson' in an exception. Did you mean 'reason'?"),
        ("nothing in the image serves pages", "''", "5:13: 'reason' in an exception is empty."),
        ("2027-01-31", "2027-02-29", "6:14: '2027-02-29' is not a day. Write it as in"),
        ("2027-01-31", "never", "6:14: 'never' is not a day. Write it as in 2027-01-31."),
        ("2027-01-31", "2027-13-01", "6:14: '2027-13-01' is not a day."),
        ("CVE-2023-28370", "tornado", "3:9: 'tornado' is not the id of a vulnerability. Write it"),
        ("schema: 1", "schema: 2", "1:9: this version of cannery reads schema 1 only."),
        ("exceptions:", "exemptions:", "2:1: unknown key 'exemptions'"),
    ],
)
def test_a_mistake_is_named_with_its_place(
    tmp_path: Path, before: str, after: str, said: str
) -> None:
    assert before in GOOD
    [found] = read(tmp_path, GOOD.replace(before, after))
    assert found.startswith(f"exceptions.yaml:{said}")


def test_all_mistakes_are_named_at_once(tmp_path: Path) -> None:
    text = GOOD.replace("2027-01-31", "soon").replace("CVE-2023-28370", "x y")
    assert len(read(tmp_path, text)) == 2


def test_two_exceptions_of_the_same_are_a_mistake(tmp_path: Path) -> None:
    [found] = read(tmp_path, GOOD + GOOD.partition("exceptions:\n")[2])
    assert found == (
        "exceptions.yaml:7:9: CVE-2023-28370 of tornado is given twice, first in line 3. "
        "Keep one of them."
    )


def test_a_file_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"cannot read .*/none.yaml"):
        read_exceptions(tmp_path / "none.yaml")
