# SPDX-License-Identifier: Apache-2.0
"""A file without a published hash is taken only if it is the package that its name promises."""

from __future__ import annotations

from pathlib import Path

import pytest

from cannery.fetch.run_file import wrong_package
from tests.fetch.run_files import RUNTIME, TOOLKIT, a_toolkit, parts, run_file, wrong_bodies

BODIES = wrong_bodies()
GOOD = a_toolkit()
AT = GOOD.index(b"\x1f\x8b")


def refusal(folder: Path, content: bytes, name: str = TOOLKIT) -> str:
    path = folder / "download"
    path.write_bytes(content)
    return wrong_package(path, name)


@pytest.mark.parametrize("words", BODIES)
def test_what_is_no_package_is_refused_with_what_it_is(tmp_path: Path, words: str) -> None:
    assert refusal(tmp_path, BODIES[words]) == f"it is {words}, and not a package of the vendor's"


def test_packages_of_either_header_are_taken(tmp_path: Path) -> None:
    assert refusal(tmp_path, GOOD) == ""
    assert refusal(tmp_path, run_file(parts(RUNTIME), old=True)) == ""


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (GOOD[:-1], f"it has {len(GOOD) - 1:,} bytes, and its header says {len(GOOD):,}"),
        (GOOD + b"x", f"it has {len(GOOD) + 1:,} bytes, and its header says {len(GOOD):,}"),
        (GOOD[: AT + 20] + b"\0" + GOOD[AT + 21 :], "its archive has the sha256 "),
        (run_file(parts(RUNTIME), checksum=False), "its header has no checksum"),
        (run_file(b"no archive" * 10), "its archive is damaged ("),
        (run_file(parts("files.tar")), "no parts that name a release"),
    ],
    ids=["short", "long", "altered", "unsummed", "no archive", "nameless"],
)
def test_a_package_that_is_not_whole_is_refused(tmp_path: Path, content: bytes, why: str) -> None:
    assert why in refusal(tmp_path, content)


NEW = "run_package/cann-{}_{}_linux-{}.run"


@pytest.mark.parametrize(
    ("name", "inside", "why"),
    [
        (TOOLKIT, ["CANN-runtime-8.2.RC1-linux.aarch64.run"], "it is of release 8.2.rc1, and not"),
        (TOOLKIT, ["CANN-runtime-8.1.RC1-linux.x86_64.run"], "it is for x86_64, and not for"),
        (
            TOOLKIT,
            ["CANN-opp_kernel-8.1.RC1-linux.aarch64.run"],
            "it is a package of kernels, with",
        ),
        (
            "Ascend-cann-nnal_9.1.0_linux-x86_64.run",
            [NEW.format("runtime", "9.1.0", "x86_64")],
            "it is a package of toolkit, with cann-runtime_9.1.0_linux-x86_64.run",
        ),
        (
            "Ascend-cann-A3-ops_9.1.0_linux-x86_64.run",
            [NEW.format("910b-ops-math", "9.1.0", "x86_64")],
            "its operators are for chip 910b, and not for a3",
        ),
        (
            "Ascend-cann-toolkit_9.2.0_linux-x86_64.run",
            [NEW.format("runtime", "9.2.0-beta.2", "x86_64")],
            "it is of release 9.2.0-beta.2, and not of 9.2.0",
        ),
    ],
)
def test_another_package_is_refused(tmp_path: Path, name: str, inside: list[str], why: str) -> None:
    assert refusal(tmp_path, run_file(parts(*inside)), name).startswith(why)


@pytest.mark.parametrize(
    ("name", "inside"),
    [
        # Parts have versions of their own, too.
        (
            "Ascend-cann-toolkit_9.2.0-beta.2_linux-x86_64.run",
            [
                NEW.format("mstx", "26.2.0", "x86_64"),
                NEW.format("npu-runtime", "9.2.0-beta.2", "x86_64"),
            ],
        ),
        (
            "Ascend-cann-910b-ops_9.1.0_linux-x86_64.run",
            [NEW.format("910b-ops-nn", "9.1.0", "x86_64")],
        ),
        ("Ascend-cann-kernels-910b_8.0.RC1_linux.run", ["x-opp_kernel-8.0.rc1-linux.x86_64.run"]),
    ],
)
def test_the_names_of_its_parts_show_the_right_package(
    tmp_path: Path, name: str, inside: list[str]
) -> None:
    assert refusal(tmp_path, run_file(parts(*inside)), name) == ""


def test_a_header_that_claims_anything_ends_in_a_refusal(tmp_path: Path) -> None:
    for change in (b'skip="999999"', b'skip="-1"', b'filesizes="9 9"', b'filesizes="' + b"9" * 99):
        key = change.partition(b'"')[0]
        start = GOOD.index(key)
        end = GOOD.index(b"\n", start)
        assert refusal(tmp_path, GOOD[:start] + change + GOOD[end:])
