# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re
from typing import Any

import pytest
from tests.samples import (
    BARE,
    BY_DIGEST,
    NPU,
    PUBLISHED,
    SIMULATED,
    all_targets,
    image,
    published,
    result,
    some_targets,
    target,
)

from images import FACETS, MORE, NONE, age, best_first, choices, facets, page_data, size_text

TARGETS = all_targets()


def test_choices_are_all_there_are() -> None:
    values = choices(TARGETS)
    assert [*values] == [*FACETS, *MORE]
    for facet, own in values.items():
        assert sorted(own) == sorted({facets(each)[facet] for each in TARGETS})


def test_the_newest_version_is_first_and_of_others_the_most_common() -> None:
    values = choices(TARGETS)
    assert values["python"][-3:] == ["3.9", "3.8", "3.7"]
    assert values["cann"].index("9.1.0") < values["cann"].index("8.0.RC3")
    assert values["cann"].index("8.0.RC3") < values["cann"].index("8.0.RC2")
    assert values["torch"].index("2.10.0") < values["torch"].index("2.9.0")
    assert values["torch"][-1] == NONE
    assert values["chip"][0] == "910b"
    assert values["use"] == ["train", "serve", "evaluate"]


def test_a_name_without_a_version_number_is_the_oldest() -> None:
    own = target("py37-mindspore200-cann63rc1")
    assert age("torch", own) > age("torch", target("py37-torch1110-cann63rc1-llama13b"))
    assert age("cann", {**own, "cann": {"version": "ours", "order": []}}) > age("cann", own)


@pytest.mark.parametrize(
    ("part", "use"),
    [
        (r"-cann\w+-vllm", "serve"),
        ("-runtime", "serve"),
        ("opencompass", "evaluate"),
        ("verl.*-vllm", "train"),
        ("swift.*-vllm", "train"),
    ],
)
def test_the_use_of_an_image(part: str, use: str) -> None:
    assert {facets(each)["use"] for each in TARGETS if re.search(part, each["id"])} == {use}
    assert {facets(each)["use"] for each in TARGETS if each["flavour"] == "devel"} == {"train"}


@pytest.mark.parametrize(
    ("tested", "verified"),
    [
        ((), "nothing"),
        ((BARE,), "none"),
        ((BARE, SIMULATED), "simulated"),
        ((NPU, BARE), "npu"),
        (({**BARE, "failed": 1}, NPU), "failed"),
    ],
)
def test_where_it_was_verified(tested: tuple[dict[str, Any], ...], verified: str) -> None:
    own = facets({**target(), "verdicts": [result(each) for each in tested]})
    assert (own["verified"], own["published"]) == (verified, "no")


def test_recommended_verified_and_new_images_come_first() -> None:
    tested = [
        {**each, "verdicts": [result(SIMULATED)] if number % 2 else []}
        for number, each in enumerate(TARGETS)
    ]
    every = best_first(tested)
    first = [each["id"] for each in TARGETS if each["recommended"]]
    assert [each["id"] for each in every[: len(first)]] == first
    verified = [bool(each["verdicts"]) for each in every[len(first) :]]
    assert verified == sorted(verified, reverse=True)
    others = [each for each in every[len(first) :] if each["verdicts"]]
    served = [all(file["downloadable"] for file in each["needs"].values()) for each in others]
    assert served == sorted(served, reverse=True)
    for kind in {*served}:
        ages = [age("cann", each) for each, k in zip(others, served, strict=True) if k is kind]
        assert ages == sorted(ages)


def test_an_image_says_how_many_of_its_files_no_server_has() -> None:
    file = {"size": None, "origin": "Huawei", "sha256": "known"}
    needs = {name: {**file, "downloadable": name == "a"} for name in ("a", "b", "c")}
    [image] = page_data([{**target(), "needs": needs}], "")["images"]
    assert image["offline"] == 2
    other = {**target(), "id": "served", "recommended": "", "needs": {}}
    first, _ = best_first([{**target(), "recommended": "", "needs": needs}, other])
    assert first["id"] == "served"


def test_orders_are_by_version_and_of_releases_by_size_and_date() -> None:
    data = page_data(some_targets(), "")
    assert data["sorts"] == ["best", "torch", "cann", "size", "pushed"]
    by_id = {each["id"]: each["places"] for each in data["images"]}
    old = by_id["py37-torch1110-cann63rc1-llama13b"]
    assert {order: by_id[PUBLISHED][order] < place for order, place in old.items()} == (
        dict.fromkeys(old, True)
    )
    assert page_data(TARGETS, "")["sorts"] == ["best", "torch", "cann"]


def test_the_selectable_hosts_match_the_commands() -> None:
    data = page_data(TARGETS, "")
    assert (data["cards"], data["runtimes"]) == ([1, 8], ["devices", "ascend"])


def test_a_published_image_shows_its_release() -> None:
    own = target()
    changed = {**own["components"], "deepspeed": "0.14.3", "extra": "1.0.0"}
    del changed["apex"]
    release = image(published(own, components=changed))["release"]
    assert release["tag"] == f"registry.example.com/ascend:{PUBLISHED}-0123456789ab"
    assert release["sizes"] == {"linux/arm64": "3.1 GB"}
    assert release["outdated"] == ["deepspeed 0.14.3", "extra 1.0.0", "apex -"]
    assert release["changes"] == [("changed", "torch 1 → 2")]


def test_a_result_of_this_machine_only_is_not_published() -> None:
    own = image(target(), results=[result(BARE), result(NPU, "local")])
    assert [each["device"] for each in own["results"]] == ["none"]


def test_the_same_file_is_had_in_the_same_way_on_every_machine() -> None:
    file = {"supply": "here", "size": None, "origin": "Huawei", "licence": None}
    needs = {
        "a.run": {**file, "downloadable": True, "sha256": "known"},
        "b.run": {**file, "downloadable": True, "sha256": "unpublished"},
        "c.run": {**file, "downloadable": False, "sha256": "known", "size": 2_500_000},
    }
    files = page_data([{**target(), "needs": needs}], "")["pool"][:3]
    assert files == [
        ("a.run", "", "Huawei", "download"),
        ("b.run", "", "Huawei", "first use"),
        ("c.run", "2.5 MB", "Huawei", "by hand"),
    ]


@pytest.mark.parametrize(
    ("size", "text"),
    [(None, ""), (0, "0 B"), (999, "999 B"), (31_000_000, "31.0 MB"), (800_000_000, "800 MB")],
)
def test_sizes(size: int | None, text: str) -> None:
    assert size_text(size) == text


def test_the_search_knows_purposes_and_machines() -> None:
    words = image(published(target()))["words"]
    for word in (PUBLISHED, "chip 910b", "aarch64", "train", "训练", "pytorch 2.3.1", BY_DIGEST):
        assert word in words
