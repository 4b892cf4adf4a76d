# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from cannery.common.wheels import WheelPlatform, platforms


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


def test_the_abi_of_python_3_7_has_an_m() -> None:
    assert str(platform("3.7.16", "cp37m").tags[0]) == "cp37-cp37m-manylinux_2_31_aarch64"
