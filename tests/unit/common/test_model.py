# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from cannery.common.errors import closest, did_you_mean
from cannery.common.model import chip_hint, chip_named
from cannery.common.wheels import WheelPlatform, platforms
from tests.unit.compat_targets import python

NAMES = {
    "910b": ["A2", "Atlas A2", "910B", "910b3", "Ascend910B1", "ascend910b"],
    "a3": ["A3", "910_93", "910-93", "Ascend910_9392", "910C"],
    "950": ["A5", "950", "Ascend950", "950PR"],
    "910": ["910", "910A", "Ascend910ProA"],
    "310p": ["310P", "310p3", "Ascend310P1"],
    "310b": ["310B", "ascend310b4"],
}


@pytest.mark.parametrize(("chip", "name"), [(c, n) for c, names in NAMES.items() for n in names])
def test_each_name_belongs_to_one_chip(chip: str, name: str) -> None:
    assert chip_named(name) == chip


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


@pytest.mark.parametrize(
    ("name", "known", "said"),
    [
        ("pyhton", ["python", "torch"], "Did you mean 'python'?"),
        ("xyz", ["stack", "stack", "base"], "Known: base, stack."),
        ("xyz", [], ""),
        ("PY39-MAIN", ["py39-main", "py38-main"], "Did you mean 'py39-main'?"),
        ("A3", ["910b", "a3"], "Did you mean 'a3'?"),
    ],
)
def test_a_hint(name: str, known: list[str], said: str) -> None:
    assert did_you_mean(name, known) == said


def test_a_hint_does_not_list_a_hundred_names() -> None:
    said = did_you_mean("xyz", [f"name-{number}" for number in range(2000, 4000)])
    assert said.startswith("Known: name-2000, name-2001, ")
    assert said.endswith(", name-2019 and 1,980 more.")


def platform(python: str = "3.9.2", abi: str = "cp39", machine: str = "aarch64") -> WheelPlatform:
    return WheelPlatform(python=python, abi=abi, machine=machine, glibc="2.31")


def test_platforms_are_those_of_an_older_glibc_newest_first() -> None:
    found = platforms("aarch64", "2.19")
    assert found == [
        *("manylinux_2_19_aarch64", "manylinux_2_18_aarch64", "manylinux_2_17_aarch64"),
        *("manylinux2014_aarch64", "linux_aarch64"),
    ]


@pytest.mark.parametrize(
    ("best", "next_best"),
    [
        ("cp39-cp39-manylinux_2_31_aarch64", "cp39-cp39-manylinux_2_17_aarch64"),
        ("cp39-cp39-linux_aarch64", "cp39-abi3-manylinux_2_31_aarch64"),
        ("cp39-abi3-manylinux_2_17_aarch64", "cp38-abi3-manylinux_2_31_aarch64"),
        ("cp36-abi3-manylinux_2_17_aarch64", "py3-none-manylinux_2_31_aarch64"),
        ("py3-none-manylinux_2_17_aarch64", "py3-none-any"),
    ],
)
def test_the_order_of_tags(best: str, next_best: str) -> None:
    tags = [str(tag) for tag in platform().tags]
    assert tags.index(best) < tags.index(next_best)


@pytest.mark.parametrize("tag", ["cp310-cp310", "cp310-abi3", "cp39-cp39"])
@pytest.mark.parametrize("system", ["manylinux_2_32_aarch64", "manylinux_2_17_x86_64"])
def test_tags_of_other_systems_are_not_supported(tag: str, system: str) -> None:
    assert f"{tag}-{system}" not in map(str, platform().tags)
    assert f"{tag}-musllinux_1_1_aarch64" not in map(str, platform().tags)


@pytest.mark.parametrize(
    ("version", "tag", "abi"),
    [("3.7.17", "cp37", "cp37m"), ("3.8.18", "cp38", "cp38"), ("3.11.2", "cp311", "cp311")],
)
def test_the_abi_has_an_m_up_to_python_3_7(version: str, tag: str, abi: str) -> None:
    own = python(version)
    assert (own.tag, own.abi) == (tag, abi)
    assert str(platform(version, abi).tags[0]) == f"{tag}-{abi}-manylinux_2_31_aarch64"
