# SPDX-License-Identifier: Apache-2.0
"""Plans, shards, and what cannot be asked of them: no engine can be reached here."""

from __future__ import annotations

import json

import pytest

from cannery.matrix.project import Project
from tests.cli.checkout import Checkout

TARGET = "py39-torch231-cann8t39"
SECOND = "py39-torch210-cann8rc2"
NEEDS_A_FILE = "py38-torch210-cann8rc2"
NO_ENGINE = "the container engine is not running: "


def test_the_whole_matrix(original: Checkout) -> None:
    before = original.state()
    result = original.run("--all", "--simulate", "--plan")
    result.accepted("the container engine is not running: ")
    lines = {line.split()[1]: line for line in result.out.split("\n\n")[0].splitlines()}
    assert {*lines} == {*Project(root=original.root).matrix().targets}
    assert lines[TARGET].startswith("build ")
    assert "the local images are unknown, because no engine answers" in lines[TARGET]
    assert lines[NEEDS_A_FILE].split(maxsplit=2)[::2] == ["skip", "needs file 1"]
    _, _, legend = result.out.partition("\n\nmissing files:\n")
    number, name = legend.split()[:2]
    assert number == "1"
    assert name.startswith("cpython-3.8.18")
    [shared] = [line for line in result.out.splitlines() if "for several targets" in line]
    assert shared.endswith("(--verbose lists them)")
    verbose = original.run("--all", "--simulate", "--plan", "--verbose").out
    assert "\n  toolkit: " in verbose
    assert original.state() == before


def test_a_plan_for_programs(original: Checkout) -> None:
    words = ["--target", TARGET, "--target", "py38-*", "--simulate"]
    result = original.run(*words, "--plan", "--format", "json", "--if-changed", "torch")
    assert result.code == 0, result.err
    plan = json.loads(result.out)
    actions = {each["id"]: each["action"] for each in plan["targets"]}
    assert actions == {TARGET: "build", NEEDS_A_FILE: "skip"}
    [name] = next(each["missing"] for each in plan["targets"] if each["id"] == NEEDS_A_FILE)
    assert name.startswith("cpython-3.8.18")
    assert plan["change"]["rebuilt"][TARGET] == ["wheels-torch", "wheels-torch-deps", "guard"]
    assert "toolkit" in plan["change"]["kept"][TARGET]


def test_a_named_target_without_its_files_fails_a_plan_too(original: Checkout) -> None:
    words = ["--target", TARGET, "--target", NEEDS_A_FILE, "--simulate", "--plan"]
    result = original.run(*words)
    assert result.code == 5
    assert f"build  {TARGET}  " in result.out
    assert f"build.py: [{NEEDS_A_FILE}] " in result.err


@pytest.mark.parametrize(
    ("words", "count"),
    [
        (["--all"], 18),
        (["--target", "py3[89]-torch210-*"], 2),
        (["--target", "py38-*", "--simulate"], 1),
        (["--target", NEEDS_A_FILE, "--target", "py311-*210*"], 2),
    ],
)
@pytest.mark.parametrize("instead", [["--plan"], ["--plan", "--format", "json"], ["--print"]])
def test_a_plan_of_nothing_ends_as_the_build_would(
    original: Checkout, words: list[str], count: int, instead: list[str]
) -> None:
    built, planned = original.run(*words), original.run(*words, *instead)
    assert (built.code, planned.code) == (5, 5)
    assert planned.out
    said = planned.messages[-1]
    several = f"none of the {count} selected targets can be built."
    assert said.startswith(several if count > 1 else "the selected target cannot be built.")
    assert ("add --simulate" in said) == ("--simulate" not in words)
    real = "missing for a real build:" in planned.out + planned.err
    assert real == ("--simulate" not in words)
    assert len(planned.messages) == 1 + (NEEDS_A_FILE in words) + (real and instead != ["--plan"])


WRONG = {
    "a plan of what is not there": (
        ["--all", "--plan", "--if-changed", "torhc"],
        ["no selected target has a component 'torhc'. Did you mean 'torch'?"],
    ),
    "all, and some": (["--all", "--target", TARGET], ["--all and --target cannot be combined."]),
    "what needs a plan": (
        ["--all", "--if-changed", "torch", "--compare-with", "r.test/x"],
        ["--if-changed needs --plan.", "--compare-with needs --plan."],
    ),
    "two ways to do nothing": (
        ["--all", "--plan", "--print"],
        ["--plan and --print cannot be combined."],
    ),
    "to record what is not checked": (
        ["--all", "--record", "--no-test"],
        ["--record and --no-test cannot be combined."],
    ),
    "another format": (
        ["--all", "--plan", "--format", "jsn"],
        ["invalid value 'jsn'. Did you mean 'json'?"],
    ),
    "no jobs": (
        ["--all", "--jobs", "0"],
        ["argument --jobs: invalid number '0'. Use a number from 1 to 999."],
    ),
    "no shard": (
        ["--all", "--shard", "3"],
        ["argument --shard: invalid shard '3'. Write it as in 1/3"],
    ),
    "a shard too many": (["--all", "--shard", "4/3"], ["invalid shard '4/3'. Use 1/3 to 3/3."]),
    "a cache without a type": (
        ["--all", "--cache-to", "ref=r.test/x"],
        ["--cache-to 'ref=r.test/x' has no type."],
    ),
    "a cache that is no repository": (
        ["--all", "--cache-from", "https://r.test/x"],
        ["--cache-from: invalid name of a repository: 'https://r.test/x'."],
    ),
    "one place for many caches": (
        ["--all", "--cache-to", "type=registry,ref=r.test/x"],
        ["each target would replace the cache of the others. Put {target} into it"],
    ),
}


@pytest.mark.parametrize(("arguments", "said"), WRONG.values(), ids=WRONG)
def test_wrong_arguments_are_refused(
    original: Checkout, arguments: list[str], said: list[str]
) -> None:
    before = original.state()
    original.run(*arguments).refused(2, *said)
    assert original.state() == before
