# SPDX-License-Identifier: Apache-2.0
"""Families: which targets they give, what these have, and how many there may be."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.unit.families import FAMILY, HEAD, TARGETS, refused
from tests.unit.matrices import edited, load

OVERRIDES = "    overrides: {own-old: OVERRIDE}\n"


def targets(folder: Path, text: str) -> list[str]:
    return [*load(folder, HEAD + text).targets]


def requirements(folder: Path, override: str) -> tuple[str, ...]:
    """Those of one target, where ``override`` is what its override says of them."""
    text = FAMILY + OVERRIDES.replace("OVERRIDE", f"{{requirements: {override}}}")
    return load(folder, HEAD + text).targets["own-old"].requirements


def test_every_combination_is_a_target_in_the_order_of_the_axes(tmp_path: Path) -> None:
    assert targets(tmp_path, FAMILY) == ["own-new", "own-old", "base-new", "base-old"]


def test_a_target_combines_common_keys_and_keys_of_its_values(tmp_path: Path) -> None:
    found = load(tmp_path, HEAD + FAMILY).targets
    assert {target.summary for target in found.values()} == {"one of many"}
    assert found["own-old"].python.name == found["own-new"].python.name == "own-python"
    assert (found["own-old"].torch, found["own-new"].torch) == ("2.1.0", "2.3.1")
    assert found["base-old"].requirements == ("tqdm", "einops")
    assert found["base-new"].requirements == ()


def test_the_rule_names_the_targets(tmp_path: Path) -> None:
    text = edited('"{python}-{pair}"', "x.{pair}.on_{python}-{pair}", FAMILY)
    assert targets(tmp_path, text) == [
        "x.new.on_own-new",
        "x.old.on_own-old",
        "x.new.on_base-new",
        "x.old.on_base-old",
    ]


def test_an_axis_of_one_value_need_not_be_in_the_rule(tmp_path: Path) -> None:
    text = edited("        base: {base: debian-11, python: base-python}\n", "", FAMILY)
    assert targets(tmp_path, edited("{python}-{pair}", "{pair}", text)) == ["new", "old"]


def test_families_come_before_targets_in_their_own_order(tmp_path: Path) -> None:
    more = FAMILY.replace("families:\n", "").replace("many:", "more:")
    more = more.replace('"{python}', '"more-{python}')
    assert targets(tmp_path, FAMILY + more + TARGETS) == [
        *("own-new", "own-old", "base-new", "base-old"),
        *("more-own-new", "more-own-old", "more-base-new", "more-base-old"),
        *("full", "bare"),
    ]


SELECTED = {
    "one combination": ("exclude: [{python: own, pair: new}]", ["own-old", "base-new", "base-old"]),
    "every combination with a value": ("exclude: [{pair: new}]", ["own-old", "base-old"]),
    "what either leaves out": ("exclude: [{pair: new}, {python: own}]", ["base-old"]),
    "one of them after all": (
        "exclude: [{pair: new}]\n    include: [{python: base, pair: new}]",
        ["own-old", "base-old", "base-new"],
    ),
    "one that is there already": (
        "include: [{python: own, pair: new}]",
        ["own-new", "own-old", "base-new", "base-old"],
    ),
}


@pytest.mark.parametrize(("text", "ids"), SELECTED.values(), ids=SELECTED)
def test_combinations_are_excluded_and_included(tmp_path: Path, text: str, ids: list[str]) -> None:
    assert targets(tmp_path, f"{FAMILY}    {text}\n") == ids


def test_an_override_is_for_its_target_only(tmp_path: Path) -> None:
    text = FAMILY + OVERRIDES.replace(
        "OVERRIDE", "{summary: {replace: quite another}, deepspeed: 0.15.0}"
    )
    found = load(tmp_path, HEAD + text).targets
    assert (found["own-old"].summary, found["own-old"].deepspeed) == ("quite another", "0.15.0")
    assert (found["base-old"].summary, found["base-old"].deepspeed) == ("one of many", "")


@pytest.mark.parametrize(
    ("override", "result"),
    [
        ("{replace: [six]}", ("six",)),
        ("{append: [six, ninja]}", ("tqdm", "einops", "six", "ninja")),
        ("{prepend: [six, ninja]}", ("six", "ninja", "tqdm", "einops")),
        ("{append: []}", ("tqdm", "einops")),
        ("{replace: []}", ()),
    ],
)
def test_how_a_list_is_merged(tmp_path: Path, override: str, result: tuple[str, ...]) -> None:
    assert requirements(tmp_path, override) == result


@pytest.mark.parametrize("how", ["append", "prepend", "replace"])
def test_there_need_not_be_anything_to_merge_with(tmp_path: Path, how: str) -> None:
    text = FAMILY + f"    overrides: {{own-new: {{requirements: {{{how}: [six]}}}}}}\n"
    assert load(tmp_path, HEAD + text).targets["own-new"].requirements == ("six",)


def test_an_axis_may_say_too_how_it_is_merged(tmp_path: Path) -> None:
    text = edited("requirements: [tqdm, einops]", "requirements: {append: [einops]}", FAMILY)
    text += "      requirements: [tqdm]\n"
    text = edited("own: {base", "own: {requirements: {prepend: [six]}, base", text)
    found = load(tmp_path, HEAD + text).targets
    assert found["own-old"].requirements == ("six", "tqdm", "einops")
    assert found["base-old"].requirements == ("tqdm", "einops")
    assert found["base-new"].requirements == ("tqdm",)


def test_the_merge_of_one_target_does_not_show_in_another(tmp_path: Path) -> None:
    text = FAMILY + OVERRIDES.replace("OVERRIDE", "{requirements: {append: [six]}}")
    assert load(tmp_path, HEAD + text).targets["base-old"].requirements == ("tqdm", "einops")


def test_an_axis_name_need_not_be_a_python_identifier(tmp_path: Path) -> None:
    text = edited("{python}-{pair}", "{0}-{a.b}", FAMILY)
    text = edited("      python:\n", "      '0':\n", text)
    text = edited("      pair:\n", "      a.b:\n", text)
    assert targets(tmp_path, text) == ["own-new", "own-old", "base-new", "base-old"]


def test_an_unused_value_of_an_axis_is_reported(tmp_path: Path) -> None:
    family = FAMILY + "    exclude: [{pair: old, python: own}, {pair: old, python: base}]\n"
    matrix = load(tmp_path, HEAD + family)
    assert "families: many.pair.old" in matrix.unused
    assert not [each for each in matrix.unused if "many.python" in each or "pair.new" in each]


def axes_of(*sizes: int) -> str:
    """A family with as many values on each of its axes."""
    lines = ["families:", "  many:", '    id: "' + "-".join(f"{{a{n}}}" for n in range(len(sizes)))]
    lines[-1] += '"'
    lines.append("    axes:")
    for number, size in enumerate(sizes):
        lines.append(f"      a{number}:")
        lines += [f"        v{value}: {{k{number}: x}}" for value in range(size)]
    return "\n".join(lines) + "\n"


def test_a_family_of_ten_million_targets_is_refused_at_once(tmp_path: Path) -> None:
    begun = time.process_time()
    [problem] = refused(tmp_path, axes_of(10, 10, 10, 10, 10, 10, 10))
    assert time.process_time() - begun < 5
    assert "many has 10,000,000 combinations, and a file may have 10,000 targets" in problem
    assert problem.startswith("matrix.yaml:")


def test_too_many_combinations_in_all_are_refused(tmp_path: Path) -> None:
    text = axes_of(100, 60)
    text += text.replace("families:\n", "").replace("many:", "more:")
    problems = refused(tmp_path, text)
    assert [each for each in problems if "more has 6,000 combinations" in each]
    assert not [each for each in problems if "many has" in each]


def test_too_many_targets_are_refused(tmp_path: Path) -> None:
    text = "targets:\n" + "".join(f"  t{number}: {{}}\n" for number in range(10_001))
    [problem] = refused(tmp_path, text)
    assert "there are 10,001 targets, and a file may have 10,000" in problem
