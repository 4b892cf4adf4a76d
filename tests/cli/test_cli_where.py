# SPDX-License-Identifier: Apache-2.0
"""``--where``, wherever targets are chosen."""

from __future__ import annotations

import pytest
from packaging.version import Version

from tests.cli.checkout import Checkout

BARE = "py37-mindspore200-cann63rc1"


def names(checkout: Checkout, *words: str) -> list[str]:
    result = checkout.run("list", "--format", "names", *words)
    result.accepted()
    assert result.out.endswith("\n")
    return result.out.splitlines()


WHERE = {
    "python=3.8": ["py38-torch210-cann8rc2"],
    "cann=8.0.RC2": ["py38-torch210-cann8rc2", "py39-torch210-cann8rc2"],
    "chip=a3 torch=2.9": ["py311-torch290-cann910-a3"],
    "torch_npu=2.1.0 deepspeed=0.13": ["py310-torch210-cann80rc1-llamafactory082"],
    "mindspore=2.0": [BARE],
    "application=vllm architecture=arm64": ["py39-torch251-cann81rc1-vllm073"],
    "apex=0.1 torch=1.11": ["py37-torch1110-cann63rc1-llama13b"],
    "base=debian-12 python=3.11 torch=2.1": ["py311-torch210-cann8rc3-swift261"],
}


@pytest.mark.parametrize("conditions", WHERE)
def test_where_selects_the_matching_targets(original: Checkout, conditions: str) -> None:
    assert names(original, "--where", *conditions.split()) == WHERE[conditions]


def test_a_condition_filters_the_named_targets(original: Checkout) -> None:
    found = names(original, "--where", "python=3.9", "--target", "*llama*", "--target", "*vllm*")
    assert found == ["py39-torch231-cann8t39-llamafactory090", "py39-torch251-cann81rc1-vllm073"]


WRONG = {
    "unknown key": (["pyton=3.9"], "targets have no 'pyton'. Did you mean 'python'?"),
    "no value": (["python"], "invalid condition 'python'. Write it as in python=3.9."),
    "an empty value": (["torch="], "invalid condition 'torch='. Write it as in python=3.9."),
    "no such version": (["python=2.7"], "no target is selected by python=2.7."),
    "a misspelt chip": (["chip=910bb"], "by chip=910bb. Did you mean '910b'?"),
    "one beside another": (
        ["python=3.8", "cann=9.1.0"],
        "by python=3.8 cann=9.1.0. With python=3.8, cann is 8.0.RC2.",
    ),
    "a version of a known series": (["torch=2.7.0"], "by torch=2.7.0. Of 2.7 there is 2.7.1."),
    "a value of one key": (["base=debian-13"], "Did you mean 'debian-12'?"),
}


def test_the_known_versions_are_listed_in_order(original: Checkout) -> None:
    said = original.run("list", "--where", "python=3.1").err
    versions = said.partition("Known: ")[2].partition(". 'build.py")[0].split(", ")
    assert versions[0].startswith("3.7.") and len(versions) > 3
    assert [Version(each) for each in versions] == sorted(map(Version, versions))
    said = original.run("list", "--where", "cann=8.4").err
    assert "Did you mean" not in said
    assert "8.0.RC1, 8.0.RC2, 8.0.RC3" in said
    releases = said.partition("Known: ")[2].partition(". 'build.py")[0].split(", ")
    assert releases[0].startswith("6.3.") and releases[-1] == "9.1.0"


@pytest.mark.parametrize("command", ["list", "lock"])
@pytest.mark.parametrize(("conditions", "said"), WRONG.values(), ids=WRONG)
def test_conditions_without_a_match_are_refused(
    original: Checkout, conditions: list[str], said: str, command: str
) -> None:
    before = original.state()
    original.run(command, "--where", *conditions).refused(2, said)
    assert original.state() == before


def test_all_wrong_conditions_and_targets_are_named(original: Checkout) -> None:
    words = ["--target", "py27", "--where", "pyton=3.9", "chip"]
    original.run("list", *words).refused(2, "'py27'", "'pyton'", "invalid condition 'chip'")


def test_check_and_render_take_conditions(original: Checkout) -> None:
    done = original.run("check", "--where", "chip=a3")
    assert done.out.startswith("2 targets checked")
    original.run("render", "--check", "--where", "chip=a3").accepted("in sync (2 targets)")


def test_render_writes_only_the_selected_targets(checkout: Checkout) -> None:
    paths = {path.parent.name: path for path in checkout.root.glob("images/*/Dockerfile")}
    for path in paths.values():
        path.write_text("stale", encoding="utf-8")
    checkout.run("render", "--where", "chip=a3").accepted("2 targets rendered")
    written = {name for name, path in paths.items() if path.read_text(encoding="utf-8") != "stale"}
    assert written == {*names(checkout, "--where", "chip=a3")}
