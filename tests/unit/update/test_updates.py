# SPDX-License-Identifier: Apache-2.0
"""What is news, and what may be written. The compat.yaml here knows torch 2.3.1 only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from packaging.version import Version

from cannery.common.cann_version import CannVersion
from cannery.common.errors import Span
from cannery.common.model import Target
from cannery.compat.facts import Compat, Pairing
from cannery.compat.sources import Kind
from cannery.lock.index_versions import Question, Runtime, questions
from cannery.matrix.text import Use
from cannery.update.updates import UpdateNotice, compare
from tests.unit.compat_targets import BASE, COMPAT, GOOD, PLUGIN, cann, changed, python

ROW = next(row for row in COMPAT.pairings if row.torch_npu == GOOD.torch_npu)
ON_39 = Runtime(python="3.9", machine="aarch64", glibc="2.31")
ON_310 = replace(ON_39, python="3.10")
KNOWN = {"torch_npu": "2.3.1.post2", "deepspeed": "0.15.0"}


def row(torch_npu: str, cann: str = "8.0.RC3", **more: object) -> Pairing:
    parsed = CannVersion.parse(cann)
    return ROW.model_copy(update={"torch_npu": torch_npu, "cann": parsed, **more})


def facts(*rows: Pairing) -> Compat:
    return COMPAT.model_copy(update={"pairings": (ROW, *rows), "rejected": ()})


def use(key: str, *targets: Target, line: int = 1) -> Use:
    versions = {getattr(target, key) for target in targets}
    span = Span(file="matrix.yaml", line=line, column=1)
    return Use(key=key, version=versions.pop(), where=span, targets=targets)


def uses_of(*targets: Target) -> list[Use]:
    keys = ("torch_npu", "deepspeed")
    return [
        use(key, target, line=line)
        for line, target in enumerate(targets)
        for key in keys
        if getattr(target, key)
    ]


def answers(runtime: Runtime = ON_39, /, **versions: str) -> Mapping[Question, frozenset[Version]]:
    """What an index has; of what is not named, what is known."""
    return {
        Question(package=package, runtime=runtime): frozenset(
            Version(each) for each in f"{KNOWN[package]} {versions.get(package, '')}".split()
        )
        for package in KNOWN
    }


def news(*rows: Pairing, target: Target = GOOD, **versions: str) -> list[UpdateNotice]:
    return compare(uses_of(target), [target.id], facts(*rows), answers(**versions))


def moves(result: list[UpdateNotice]) -> list[tuple[str, str, str]]:
    return [(m.use.key, m.use.version, m.version) for each in result for m in each.moves]


def test_a_post_release_with_a_row_for_the_same_cann_can_be_written() -> None:
    [result] = news(row("2.3.1.post3"), row("2.3.1.post4"), torch_npu="2.3.1.post3 2.3.1.post4")
    assert moves([result]) == [("torch_npu", "2.3.1.post2", "2.3.1.post4")]
    assert result.targets == ("good",)
    assert "torch_npu 2.3.1.post4 is newer than 2.3.1.post2" in result.what
    assert not result.remark


def test_a_post_release_without_a_row_is_told_and_not_written() -> None:
    [result] = news(torch_npu="2.3.1.post3 2.3.1.post4")
    assert result.moves == () and not result.remark
    assert result.targets == ("good",)
    assert result.what.startswith("torch_npu 2.3.1.post4, 2.3.1.post3: newer than 2.3.1.post2")
    assert "Add its row to compat.yaml from COMPATIBILITY.md" in result.change


def test_known_and_unknown_post_releases_are_both_reported() -> None:
    result = news(row("2.3.1.post3"), torch_npu="2.3.1.post3 2.3.1.post4")
    assert [len(each.moves) for each in result] == [1, 0]
    assert "2.3.1.post4: newer than 2.3.1.post3" in result[1].what


@pytest.mark.parametrize(
    "known",
    [
        row("2.3.1.post3", "8.1.RC1"),
        row("2.3.1.post3", pythons=("3.10",), wheels_pythons=()),
    ],
    ids=["of another CANN", "of another Python"],
)
def test_an_unsuitable_post_release_is_not_reported(known: Pairing) -> None:
    assert news(known, torch_npu="2.3.1.post3") == []


def test_a_merely_compatible_torch_npu_is_not_reported() -> None:
    # 2.9.0.post6 is paired with CANN 9.1.0, and post9 with CANN 9.2.0 and compatible with 9.1.0.
    target = changed(
        torch="2.9.0",
        torch_npu="2.9.0.post6",
        cann=cann("9.1.0"),
        python=python("3.11.2"),
        deepspeed="",
        apex=None,
    )
    runtime = replace(ON_39, python="3.11")
    offered = {
        Question(package=name, runtime=runtime): {Version(each) for each in versions}
        for name, versions in {
            "torch_npu": ["2.9.0.post6", "2.9.0.post8", "2.9.0.post9"],
        }.items()
    }
    result = compare([use("torch_npu", target)], [target.id], COMPAT, offered)
    assert moves(result) == [("torch_npu", "2.9.0.post6", "2.9.0.post8")]


def test_a_disputed_version_is_a_remark() -> None:
    other = ROW.sources[0].model_copy(update={"name": "other", "kind": Kind.MAKER})
    [result] = news(row("2.3.1.post3", sources=(other,)), torch_npu="2.3.1.post3")
    assert result.moves == () and result.remark
    assert "sources disagree" in result.what


def test_unverified_does_not_allow_another_version() -> None:
    target = changed(unverified="our own build")
    result = news(row("2.3.1.post3", "8.1.RC1"), target=target, torch_npu="2.3.1.post3")
    assert result == []


@pytest.mark.parametrize("version", ["2.3.1.post3.dev1", "2.3.1.post3+local", "2.4.0rc1"])
def test_prereleases_are_not_reported(version: str) -> None:
    assert news(torch_npu=version, deepspeed=version) == []


def test_a_shared_version_moves_for_all_targets_or_none() -> None:
    second = changed(id="second", python=python("3.10.14"))
    uses = [use("torch_npu", GOOD, second)]
    compat = facts(row("2.3.1.post3"), row("2.3.1.post4"))
    on_39 = answers(torch_npu="2.3.1.post3 2.3.1.post4")
    both = {**on_39, **answers(ON_310, torch_npu="2.3.1.post3")}
    assert moves(compare(uses, ["good", "second"], compat, on_39)) == []
    [result] = compare(uses, ["good"], compat, both)
    assert moves([result]) == [("torch_npu", "2.3.1.post2", "2.3.1.post3")]
    assert result.targets == ("good", "second")


def test_places_with_the_same_move_are_one_news() -> None:
    uses = uses_of(GOOD, changed(id="second"))
    compat = facts(row("2.3.1.post3"))
    [result] = compare(uses, ["good", "second"], compat, answers(torch_npu="2.3.1.post3"))
    assert len(result.moves) == 2
    assert result.targets == ("good", "second")


def test_a_wheel_from_the_vendor_is_not_compared() -> None:
    assert GOOD.apex
    target = changed(torch_npu_wheel=GOOD.apex, deepspeed_plugin=PLUGIN)
    uses = uses_of(target)
    assert {each.package for each in questions(uses, ["good"], facts())} == set()
    result = compare(uses, ["good"], facts(row("2.3.1.post3")), answers(torch_npu="2.3.1.post3"))
    assert moves(result) == []


@pytest.mark.parametrize(
    ("version", "is_news"),
    [("2.4.0", True), ("2.3.2", True), ("2.3.0", False), ("2.2.0.post9", False)],
)
def test_a_series_without_any_row(version: str, is_news: bool) -> None:
    result = news(torch_npu=version)
    assert [each.what for each in result] == (
        [f"torch_npu {version}: compat.yaml has no row for this series."] if is_news else []
    )
    assert all(each.moves == () and each.targets == () for each in result)


def test_a_selection_gets_only_its_own_updates() -> None:
    other = changed(id="other", torch="2.4.0", torch_npu="2.4.0")
    uses = uses_of(GOOD, other)
    index = answers(torch_npu="2.4.0.post1 2.5.0")
    assert compare(uses, ["good"], facts(), index) == []
    [result] = compare(uses, ["other"], facts(), index)
    assert "2.4.0.post1: newer than 2.4.0" in result.what
    assert len(compare(uses, ["good", "other"], facts(), index)) == 2


def test_deepspeed_moves_on_request() -> None:
    [result] = news(deepspeed="0.16.0 0.17.0")
    assert moves([result]) == [("deepspeed", "0.15.0", "0.17.0")]
    assert "With --deepspeed --write" in result.change


def test_only_the_newest_deepspeed_in_use_moves() -> None:
    old = changed(id="old", deepspeed="0.14.3")
    uses = uses_of(GOOD, old)
    [result] = compare(uses, ["good", "old"], facts(), answers(deepspeed="0.17.0"))
    assert result.targets == ("good",)
    [result] = compare(uses, ["old"], facts(), answers(deepspeed="0.17.0"))
    assert moves([result]) == [("deepspeed", "0.14.3", "0.17.0")]


def test_a_refused_deepspeed_is_skipped() -> None:
    target = changed(deepspeed="0.9.1")
    assert moves(news(target=target, deepspeed="0.9.3 0.10.0")) == [
        ("deepspeed", "0.9.1", "0.15.0")
    ]
    refused = {Question(package="deepspeed", runtime=ON_39): [Version("0.10.0")]}
    assert compare([use("deepspeed", target)], ["good"], facts(), refused) == []


def test_the_questions_to_the_index() -> None:
    newer_base = replace(BASE, name="debian-12", glibc="2.36")
    second = changed(id="second", python=python("3.10.14"), base=newer_base, deepspeed="")
    uses = uses_of(GOOD, second)
    compat = facts(row("2.3.1.post3", pythons=("3.9", "3.14")))
    asked = {(each.package, each.runtime) for each in questions(uses, ["good", "second"], compat)}
    on_310 = Runtime(python="3.10", machine="aarch64", glibc="2.36")
    on_314 = replace(on_310, python="3.14")
    assert asked == {
        ("deepspeed", ON_39),
        ("torch_npu", ON_39),
        *((package, runtime) for package in KNOWN for runtime in (on_310, on_314)),
    } - {("deepspeed", on_310), ("deepspeed", on_314)}
    only = {(each.package, each.runtime) for each in questions(uses, ["good"], compat)}
    assert only == {("deepspeed", ON_39), ("torch_npu", ON_39)}


@pytest.mark.parametrize(
    ("offered", "message"),
    [
        ("2.49.0", ["ray 2.49.0 is newer than 2.48.0, and compat.yaml has nothing against it."]),
        ("2.40.0 2.48.0 2.50.0rc1", []),
    ],
)
def test_a_newer_tool_is_a_remark(offered: str, message: list[str]) -> None:
    target = changed(extras={"ray": "2.48.0"})
    span = Span(file="matrix.yaml", line=1, column=1)
    use_of_ray = Use(key="ray", version="2.48.0", where=span, targets=(target,))
    asked = Question(package="ray", runtime=ON_39)
    result = compare(
        [use_of_ray], [target.id], facts(), {asked: {Version(each) for each in offered.split()}}
    )
    assert [each.what for each in result] == message
    assert all(each.remark and not each.moves for each in result)


def test_a_conflicting_tool_is_not_reported() -> None:
    target = changed(extras={"ray": "2.48.0"}, requirements=("ray<2.49",))
    span = Span(file="matrix.yaml", line=1, column=1)
    use_of_ray = Use(key="ray", version="2.48.0", where=span, targets=(target,))
    asked = Question(package="ray", runtime=ON_39)
    assert compare([use_of_ray], [target.id], facts(), {asked: {Version("2.49.0")}}) == []
