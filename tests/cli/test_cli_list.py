# SPDX-License-Identifier: Apache-2.0
"""``list`` in each format, and ``--where`` wherever targets are chosen."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from cannery.matrix.project import Project
from tests.cli.checkout import Checkout

LAST = "py39-torch231-cann8t39"
OLD = "py37-torch1110-cann63rc1-llama13b"
BARE = "py37-mindspore200-cann63rc1"
OLD_PYTHON = "cpython-3.7.17-aarch64-unknown-linux-gnu-install_only.tar.gz"


def names(checkout: Checkout, *words: str) -> list[str]:
    result = checkout.run("list", "--format", "names", *words)
    result.accepted()
    assert result.out.endswith("\n")
    return result.out.splitlines()


def as_json(checkout: Checkout, *words: str) -> list[dict[str, Any]]:
    result = checkout.run("list", "--format", "json", *words)
    result.accepted()
    found: list[dict[str, Any]] = json.loads(result.out)
    return found


def notes(checkout: Checkout, *words: str) -> dict[str, str]:
    """What a table says of targets below it."""
    result = checkout.run("list", *words)
    result.accepted()
    _, _, below = result.out.partition("\n\n")
    return dict(line.split(": ", 1) for line in below.splitlines())


def test_the_formats_show_the_same_targets(original: Checkout) -> None:
    ids = [*Project(root=original.root).matrix().targets]
    assert names(original) == ids
    assert [each["id"] for each in as_json(original)] == ids
    table = original.run("list", "--format", "table").out
    assert table == original.run("list").out
    head, *rows = table.split("\n\n")[0].splitlines()
    assert [row.split()[0] for row in rows] == ids
    assert head.split()[0] == "target"


def test_what_json_says_of_a_target(original: Checkout) -> None:
    [found] = as_json(original, "--target", "py39-torch231-cann8t39-llamafactory090")
    target = Project(root=original.root).matrix().targets[found["id"]]
    assert found["summary"] == target.summary
    assert (found["platform"], found["chip"]) == ("linux/arm64", "910b")
    assert found["components"] == target.components
    assert found["components"]["llamafactory"] == "0.9.0"
    assert found["unverified"] == ""


def test_a_table_shows_what_is_not_there_as_a_dash(original: Checkout) -> None:
    rows = original.run("list", "--target", "*mindspore271*").out.split("\n\n")[0].splitlines()
    cells = dict(zip(rows[0].split(), re.split(r"  +", rows[1].strip()), strict=True))
    assert cells["torch"] == cells["torch_npu"] == cells["apex"] == cells["deepspeed"] == "-"
    assert cells["application"] == "mindspore 2.7.1"


def test_nothing_is_written_and_no_format_is_mixed(original: Checkout) -> None:
    before = original.state()
    for form in ("table", "json", "names"):
        assert original.run("list", "--format", form).err == ""
    assert original.state() == before


WHERE = {
    "python=3.8": ["py38-torch210-cann8rc2"],
    "python=3.8.18": ["py38-torch210-cann8rc2"],
    "cann=8.0.RC2": ["py38-torch210-cann8rc2", "py39-torch210-cann8rc2"],
    "kernels=8.0.RC2": ["py38-torch210-cann8rc2", "py39-torch210-cann8rc2"],
    "python=3.9 cann=8.0.RC2": ["py39-torch210-cann8rc2"],
    "chip=a3": ["py311-torch271-cann910-a3", "py311-torch290-cann910-a3"],
    "chip=a3 torch=2.9": ["py311-torch290-cann910-a3"],
    "torch_npu=2.1.0 deepspeed=0.13": ["py310-torch210-cann80rc1-llamafactory082"],
    "llamafactory=0.9": ["py39-torch231-cann8t39-llamafactory090"],
    "mindspore=2": [BARE, "py39-mindspore271-cann83rc1"],
    "apex=0.1 torch=1.11": ["py37-torch1110-cann63rc1-llama13b"],
    "base=debian-12 python=3.11 torch=2.1": ["py311-torch210-cann8rc3-swift261"],
}


@pytest.mark.parametrize("conditions", WHERE)
def test_targets_that_a_condition_holds_for(original: Checkout, conditions: str) -> None:
    assert names(original, "--where", *conditions.split()) == WHERE[conditions]


@pytest.mark.parametrize("conditions", [each for each in WHERE if " " in each])
def test_conditions_may_be_given_one_by_one(original: Checkout, conditions: str) -> None:
    words = [word for each in conditions.split() for word in ("--where", each)]
    assert names(original, *words) == WHERE[conditions]


def test_a_condition_is_about_the_targets_that_are_named(original: Checkout) -> None:
    found = names(original, "--where", "python=3.9", "--target", "*llama*", "--target", "*vllm*")
    assert found == ["py39-torch231-cann8t39-llamafactory090", "py39-torch251-cann81rc1-vllm073"]


def test_a_part_of_a_number_is_no_version(original: Checkout) -> None:
    words = ["list", "--where", "python=3.1"]
    original.run(*words).refused(2, "no target is selected by * python=3.1.")


WRONG = {
    "unknown key": (["pyton=3.9"], "targets have no 'pyton'. Did you mean 'python'?"),
    "no value": (["python"], "invalid condition 'python'. Write it as in python=3.9."),
    "nothing": ([""], "invalid condition ''."),
    "no such version": (["python=2.7"], "no target is selected by * python=2.7."),
    "one beside another": (["python=3.9", "cann=9.1.0"], "by * python=3.9 cann=9.1.0."),
    "a range": (["torch>=2.1"], "targets have no 'torch>'. Did you mean 'torch'?"),
    "an empty key": (["=3.9"], "targets have no ''."),
}


@pytest.mark.parametrize("command", ["list", "render", "lock", "check"])
@pytest.mark.parametrize(("conditions", "said"), WRONG.values(), ids=WRONG)
def test_conditions_that_select_nothing(
    original: Checkout, conditions: list[str], said: str, command: str
) -> None:
    before = original.state()
    original.run(command, "--where", *conditions).refused(2, said)
    assert original.state() == before


def test_all_wrong_conditions_and_targets_are_named(original: Checkout) -> None:
    words = ["--target", "py27", "--where", "pyton=3.9", "chip"]
    original.run("list", *words).refused(2, "'py27'", "'pyton'", "invalid condition 'chip'")


def test_where_without_a_condition(original: Checkout) -> None:
    original.run("list", "--where").refused(2, "--where")


def test_check_and_render_take_conditions(original: Checkout) -> None:
    done = original.run("check", "--where", "chip=a3")
    assert done.out.startswith("2 targets checked")
    original.run("render", "--check", "--where", "chip=a3").accepted("in sync (2 targets)")


def test_render_writes_only_what_the_conditions_hold_for(checkout: Checkout) -> None:
    paths = {path.parent.name: path for path in checkout.root.glob("images/*/Dockerfile")}
    for path in paths.values():
        path.write_text("stale", encoding="utf-8")
    checkout.run("render", "--where", "chip=a3").accepted("2 targets rendered")
    written = {name for name, path in paths.items() if path.read_text(encoding="utf-8") != "stale"}
    assert written == {*WHERE["chip=a3"]}


def test_why_a_target_cannot_be_built_here(original: Checkout) -> None:
    said = notes(original)
    assert said[BARE] == (
        f"cannot be built, with --simulate either, without {OLD_PYTHON} "
        "(built from CPython 3.7.17's sources into a folder 'python')"
    )
    assert "torch_npu-1.11.0-cp37-cp37m-linux_aarch64.whl (" in said[OLD]
    assert LAST not in said
    [found] = as_json(original, "--target", BARE)
    assert OLD_PYTHON in json.dumps(found)
    targets = Project(root=original.root).matrix().targets.values()
    assert {*said} == {target.id for target in targets if target.real_artifacts}


def test_what_is_in_the_folder_is_not_missing(checkout: Checkout) -> None:
    (checkout.root / "artifacts").mkdir()
    (checkout.root / "artifacts" / OLD_PYTHON).touch()
    said = notes(checkout)
    assert BARE not in said
    assert OLD_PYTHON not in said[OLD]
    assert "deepspeed-0.6.0-py3-none-any.whl" in said[OLD]


def test_a_reason_is_shown_in_table_and_json(checkout: Checkout) -> None:
    line = "    application: mindspore-2.7.1\n"
    checkout.edit(line, f"{line}    unverified: our own build\n")
    name = "py39-mindspore271-cann83rc1"
    assert notes(checkout)[name] == "not known to work: our own build"
    found = {each["id"]: each["unverified"] for each in as_json(checkout)}
    assert {key: why for key, why in found.items() if why} == {name: "our own build"}


def test_a_reason_lets_the_unknown_through_and_nothing_that_is_forbidden(
    checkout: Checkout,
) -> None:
    checkout.edit("    torch_npu: 2.1.0.post3\n", "    torch_npu: 2.1.0.post8\n")
    checkout.run("list").refused(3, "torch_npu 2.1.0.post8 and torch 2.1.0 are not known to work")
    checkout.edit("    deepspeed: 0.13.2\n", "    deepspeed: 0.13.2\n    unverified: ours\n")
    checkout.run("list").accepted()
    checkout.edit("    deepspeed: 0.13.2\n", "    deepspeed: 0.10.0\n")
    checkout.run("list").refused(3, "deepspeed 0.10.0 does not find the NPU")


@pytest.mark.parametrize("form", ["tabel", "yaml", ""])
def test_a_format_that_is_none(original: Checkout, form: str) -> None:
    original.run("list", "--format", form).refused(2, f"invalid value {form!r}.")
