# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from packaging.tags import Tag

from cannery.common.wheels import WheelPlatform, platforms


def platform(python: str = "3.9.2", abi: str = "cp39", machine: str = "aarch64") -> WheelPlatform:
    return WheelPlatform(python=python, abi=abi, machine=machine, glibc="2.31")


def test_platforms_are_those_of_an_older_glibc_newest_first() -> None:
    found = platforms("aarch64", "2.19")
    assert found == [
        *("manylinux_2_19_aarch64", "manylinux_2_18_aarch64", "manylinux_2_17_aarch64"),
        *("manylinux2014_aarch64", "linux_aarch64"),
    ]


def test_x86_64_has_older_platforms_than_aarch64() -> None:
    found = platforms("x86_64", "2.31")
    assert found[-2:] == ["manylinux1_x86_64", "linux_x86_64"]
    assert found.index("manylinux_2_12_x86_64") + 1 == found.index("manylinux2010_x86_64")
    assert "manylinux_2_32_x86_64" not in found


def test_the_name_of_a_platform_for_uv() -> None:
    assert platform().uv_name == "aarch64-manylinux_2_31"


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


@pytest.mark.parametrize(
    "tag",
    [
        Tag("cp310", "cp310", "manylinux_2_17_aarch64"),
        Tag("cp310", "abi3", "manylinux_2_17_aarch64"),
        Tag("cp39", "cp39", "manylinux_2_17_x86_64"),
        Tag("cp39", "cp39", "manylinux_2_32_aarch64"),
        Tag("cp39", "cp39", "musllinux_1_1_aarch64"),
    ],
)
def test_tags_of_other_systems_are_not_supported(tag: Tag) -> None:
    assert tag not in platform().tags


def test_the_abi_of_python_3_7_has_an_m() -> None:
    assert str(platform("3.7.16", "cp37m").tags[0]) == "cp37-cp37m-manylinux_2_31_aarch64"
