# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from cannery.common.errors import closest
from cannery.common.model import CHIPS, chip_hint, chip_named

NAMES = {
    "910b": ["A2", "Atlas A2", "910B", "910b3", "Ascend910B1", "ascend910b"],
    "a3": ["A3", "910_93", "910-93", "Ascend910_9392", "910C"],
    "950": ["A5", "950", "Ascend950", "950PR"],
    "910": ["910", "910A", "Ascend910ProA"],
    "310p": ["310P", "310p3", "Ascend310P1"],
    "310b": ["310B", "ascend310b4"],
}


@pytest.mark.parametrize(("chip", "name"), [(c, n) for c, names in NAMES.items() for n in names])
def test_a_name_is_that_of_one_chip(chip: str, name: str) -> None:
    assert chip_named(name) == chip


def test_every_chip_has_names() -> None:
    assert NAMES.keys() == {*CHIPS}


@pytest.mark.parametrize("name", ["", "900", "h100", "910d", "a4", "910_94", "b200"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"unknown chip .* Known: 310b, 310p, 910"):
        chip_named(name)


def test_the_hint_is_the_same_chip_or_all() -> None:
    assert chip_hint("A2", ["910b", "a3"]) == "Write 910b."
    assert chip_hint("950", ["910b", "910"]) == "Known: 910, 910b."


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("8.5.0.alpha002", ""),
        ("8.0.RC9", "8.0.RC3"),
        ("9.3.0", ""),
        ("950", ""),
        ("2.7.0", "2.7.1"),
        ("debain-12", "debian-12"),
    ],
)
def test_a_version_is_like_one_of_its_series_only(name: str, near: str) -> None:
    known = ["6.3.RC1", "8.0.RC3", "8.5.0", "9.1.0", "910", "910b", "2.7.1", "debian-12"]
    assert closest(name, known) == near
