# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cannery.common.cann_version import CannRange, CannVersion

parse = CannVersion.parse

IN_ORDER = [
    "5.0.4",
    "5.1.RC2",
    "6.0.RC1",
    "6.0.1",
    "6.3.T7",
    "6.3.RC1.alpha003",
    "6.3.RC1",
    "6.3.RC2.alpha002",
    "6.3.RC3",
    "6.3.RC3.1",
    "7.0.0",
    "8.0.T2",
    "8.0.T13",
    "8.0.T39",
    "8.0.T113",
    "8.0.RC1.alpha001",
    "8.0.RC2",
    "8.0.RC3",
    "8.0.RC10",
    "8.0.0.alpha002",
    "8.0.0",
    "8.1.RC1",
    "8.5.0.alpha001",
    "8.5.0",
    "8.5.1",
    "9.0.T511",
    "9.0.0-beta.1",
    "9.0.0-beta.2",
    "9.0.0",
    "9.1.0-beta.3",
    "9.1.0",
    "10.0.0",
]

number = st.integers(min_value=0, max_value=12)


def test_the_order() -> None:
    assert sorted({*IN_ORDER}, key=parse) == IN_ORDER
    assert len({parse(text) for text in IN_ORDER}) == len(IN_ORDER)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("8.0.RC2", "8.0.RC2.beta1"),
        ("8.0.0", "8.0.0.beta1"),
        ("8.0.RC1.alpha1", "8.0.RC1.alpha001"),
    ],
)
def test_two_names_of_one_version(one: str, other: str) -> None:
    assert parse(one) == parse(other)
    assert hash(parse(one)) == hash(parse(other))
    assert str(parse(other)) == other


@pytest.mark.parametrize(
    "text",
    [
        "",
        "8",
        "8.0",
        "8.0.RC",
        "8.0.rc2",
        "8.0.t39",
        "8.0.T39.alpha001",
        "8.0.RC2.beta2",
        "8.0.RC2-beta.1",
        "8.0.0.1",
        "v8.0.0",
        " 8.0.0",
        "8.0.0\n",
        "CANN-7.1",
        "٨.0.0",
    ],
)
def test_an_invalid_version_fails(text: str) -> None:
    with pytest.raises(
        ValueError, match=r"is not a CANN version\. Write it as in 8\.0\.RC2"
    ) as caught:
        parse(text)
    assert repr(text) in str(caught.value)


@given(number, number, number, st.sampled_from(["RC1.alpha001", "RC1", "0.alpha001", "0"]))
def test_an_interim_build_is_below_the_rest_of_its_train_and_above_the_train_before(
    major: int, minor: int, build: int, release: str
) -> None:
    interim = parse(f"{major}.{minor}.T{build}")
    assert interim.is_interim
    assert interim.is_preview
    assert interim < parse(f"{major}.{minor}.{release}")
    assert interim < parse(f"{major}.{minor + 1}.T0")
    assert interim < parse(f"{major}.{minor}.T{build + 1}")
    assert interim not in CannRange.parse(f">={major}.{minor}.RC1")


def test_the_kind_of_a_version() -> None:
    assert parse("8.0.RC2").train == (8, 0)
    assert not parse("8.0.RC2").is_preview
    assert parse("8.0.RC2.alpha001").is_preview
    assert not parse("8.0.RC2.alpha001").is_interim
    assert parse("9.1.0-beta.3").is_preview


@pytest.mark.parametrize(
    ("bounds", "inside", "outside"),
    [
        ("<=8.2.RC1", ["8.2.RC1", "8.2.RC1.alpha003", "8.0.T39", "8.2.RC1.beta1"], ["8.2.RC2"]),
        (">=8.0.RC2, <8.5.0", ["8.0.RC2", "8.5.0.alpha001"], ["8.5.0", "8.0.T39"]),
        ("==8.0.0", ["8.0.0.beta1"], ["8.0.0.alpha001"]),
        ("!=8.0.0", ["8.0.RC3"], ["8.0.0.beta1"]),
        (">8.0.0", ["8.1.RC1"], ["8.0.0"]),
    ],
)
def test_bounds(bounds: str, inside: list[str], outside: list[str]) -> None:
    found = CannRange.parse(bounds)
    assert all(parse(each) in found for each in inside)
    assert not any(parse(each) in found for each in outside)
    assert str(found) == bounds


@pytest.mark.parametrize("bounds", ["", "8.0.0", "~=8.0.0", ">=8.0.0,", ">=8.0"])
def test_invalid_bounds_are_refused(bounds: str) -> None:
    with pytest.raises(ValueError, match=r"is not a (bound|CANN version)\."):
        CannRange.parse(bounds)
