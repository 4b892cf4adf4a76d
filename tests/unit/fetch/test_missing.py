# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from cannery.fetch.needs import Missing

FILES = {f"file-{number}": f"origin {number}" for number in range(1, 11)}


def test_a_file_that_several_targets_lack_has_one_number_and_one_line() -> None:
    found = Missing([{"a.run": "the vendor"}, {}, {"b.whl": "its makers", "a.run": "the vendor"}])
    assert found.needs(["a.run"]) == "needs file 1"
    assert found.needs(["b.whl", "a.run"]) == "needs files 2, 1"
    assert found.legend("missing:") == [
        "missing:",
        "  1  a.run (the vendor)",
        "  2  b.whl (its makers)",
    ]


def test_numbers_are_aligned() -> None:
    lines = Missing([FILES]).legend("missing:")
    assert (lines[1], lines[10]) == ("   1  file-1 (origin 1)", "  10  file-10 (origin 10)")


def test_nothing_is_missing() -> None:
    assert Missing([{}, {}]).legend("missing:") == []
