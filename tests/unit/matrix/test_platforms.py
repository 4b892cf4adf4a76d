# SPDX-License-Identifier: Apache-2.0
"""Targets for several platforms: one for each of them, with ids that stay."""

from __future__ import annotations

from pathlib import Path

import pytest

from cannery.common.model import Target
from tests.unit.families import FAMILY, HEAD, TARGETS, place, refused
from tests.unit.matrices import edited, load

BOTH = "platforms: [linux/arm64, linux/amd64]"
FAMILY_OF_BOTH = edited("platform: linux/arm64", BOTH, FAMILY)
TARGET_OF_BOTH = TARGETS.replace("platform: linux/arm64", BOTH, 1)


def platforms(folder: Path, text: str) -> dict[str, str]:
    return {name: target.platform for name, target in load(folder, HEAD + text).targets.items()}


def test_each_target_of_a_family_is_there_for_each_platform(tmp_path: Path) -> None:
    assert platforms(tmp_path, FAMILY_OF_BOTH) == {
        name + end: platform
        for name in ("own-new", "own-old", "base-new", "base-old")
        for end, platform in (("", "linux/arm64"), ("-amd64", "linux/amd64"))
    }


def test_the_first_platform_has_the_id(tmp_path: Path) -> None:
    text = edited(BOTH, "platforms: [linux/amd64, linux/arm64]", FAMILY_OF_BOTH)
    found = platforms(tmp_path, text)
    assert (found["own-new"], found["own-new-arm64"]) == ("linux/amd64", "linux/arm64")


def test_a_value_of_an_axis_may_have_its_own_platforms(tmp_path: Path) -> None:
    text = edited("platform: linux/arm64", "platforms: [linux/arm64]", FAMILY)
    text = edited("new: {", "new: {platforms: {replace: [linux/arm64, linux/amd64]}, ", text)
    assert [*platforms(tmp_path, text)] == [
        *("own-new", "own-new-amd64", "own-old", "base-new", "base-new-amd64", "base-old")
    ]


def test_a_target_by_itself_may_be_for_both(tmp_path: Path) -> None:
    matrix = load(tmp_path, HEAD + TARGET_OF_BOTH)
    assert [*matrix.targets] == ["full", "full-amd64", "bare"]
    assert matrix.platforms == {"full": ("full", "full-amd64")}

    def same(target: Target) -> dict[str, str]:
        return {**target.components, "summary": target.summary}

    assert same(matrix.targets["full"]) == same(matrix.targets["full-amd64"])


def test_an_override_of_the_other_platform_is_for_it_only(tmp_path: Path) -> None:
    override = "{summary: {replace: on a laptop}}"
    text = f"{FAMILY_OF_BOTH}    overrides: {{own-new-amd64: {override}}}\n"
    found = load(tmp_path, HEAD + text).targets
    assert found["own-new-amd64"].summary == "on a laptop"
    assert found["own-new"].summary == "one of many"


def test_a_wheel_for_one_machine_leaves_the_others_to_the_index(tmp_path: Path) -> None:
    wheel = "torch-2.3.1+cpu-{tag}-{abi}-linux_x86_64.whl"
    section = f'torch_wheels:\n  2.3.1: {{file: "{wheel}", origin: there, DOWNLOAD}}\n\n'
    section = section.replace("DOWNLOAD", "download: https://files.example.com/cpu/")
    found = load(tmp_path, HEAD + section + TARGET_OF_BOTH).targets
    assert found["full"].torch_wheel is None
    assert "torch" not in found["full"].artifacts
    file = found["full-amd64"].artifacts["torch"]
    python = found["full"].python
    name = wheel.format(tag=python.tag, abi=python.abi)
    assert file.name == name
    [address] = file.addresses
    assert address.url == f"https://files.example.com/cpu/{name.replace('+', '%2B')}"


WRONG = {
    "both keys": (f"{BOTH}\n    platform: linux/arm64", "there is a 'platform', too."),
    "none": ("platforms: []", "this is empty."),
    "no list": ("platforms: linux/arm64", "this must be a list"),
    "unknown": ("platforms: [linux/arm64, linux/amd46]", "Did you mean 'linux/amd64'?"),
    "twice": ("platforms: [linux/amd64, linux/amd64]", "linux/amd64"),
    "mapping": ("platforms: {linux/amd64: {}}", "this must be a list"),
}


@pytest.mark.parametrize(("new", "said"), WRONG.values(), ids=WRONG)
def test_wrong_platforms_are_one_problem_at_their_line(tmp_path: Path, new: str, said: str) -> None:
    text = TARGETS.replace("platform: linux/arm64", new, 1)
    [problem] = refused(tmp_path, text)
    assert said in problem
    file, line, _ = place(text, new.partition("\n")[0]).split(":")[:3]
    assert problem.startswith(f"{file}:{line}:")


def test_a_target_with_the_id_of_another_platform_is_refused(tmp_path: Path) -> None:
    text = TARGET_OF_BOTH.replace("  bare:", "  full-amd64:")
    [problem] = refused(tmp_path, text)
    assert "target 'full-amd64' is declared already" in problem


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("torch: 2.3.1", "torhc: 2.3.1", "unknown key 'torhc' in targets.full. Did you mean"),
        ("nnal: 8.0.RC2, chip: 910b", "nnal: 8.0.RC2, chip: a3", "no kernels file"),
    ],
)
def test_what_is_wrong_with_a_target_is_said_once_for_all_its_platforms(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    problems = refused(tmp_path, edited(old, new, TARGET_OF_BOTH))
    assert [said in problem for problem in problems].count(True) == 1
    assert not [problem for problem in problems if "full-amd64" in problem]
