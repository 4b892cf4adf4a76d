# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import pytest

from cannery.catalog.entries import gather
from cannery.catalog.facets import FACETS, MORE, NONE, age, best_first, choices, facets
from cannery.common.model import Flavour
from cannery.matrix.project import Project
from cannery.registry import records
from tests.unit.catalogues import BARE, NPU, SIMULATED, entry, key_of, release, verify
from tests.unit.matrices import CHECKOUT, Checkout

ENTRIES = gather(Project(root=CHECKOUT), key_of)


def test_choices_are_all_there_are() -> None:
    found = choices(ENTRIES)
    assert [*found] == [*FACETS, *MORE]
    for facet, values in found.items():
        assert sorted(values) == sorted({facets(each)[facet] for each in ENTRIES})


def test_the_newest_version_is_first_and_of_others_the_most_common() -> None:
    found = choices(ENTRIES)
    assert found["python"][-3:] == ["3.9", "3.8", "3.7"]
    assert found["cann"].index("9.1.0") < found["cann"].index("8.0.RC3")
    assert found["cann"].index("8.0.RC3") < found["cann"].index("8.0.RC2")
    assert found["torch"].index("2.10.0") < found["torch"].index("2.9.0")
    assert found["torch"][-1] == NONE
    assert found["chip"][0] == "910b"
    assert found["use"] == ["train", "serve", "evaluate"]


def test_what_is_no_version_is_the_oldest() -> None:
    assert age("cann", "our own") > age("cann", "6.3.RC1.alpha003")
    assert age("torch", NONE) > age("torch", "1.11.0")


@pytest.mark.parametrize(
    ("part", "use"),
    [("vllm", "serve"), ("-runtime", "serve"), ("opencompass", "evaluate"), ("verl", "train")],
)
def test_what_an_image_is_for(part: str, use: str) -> None:
    found = [each for each in ENTRIES if part in each.id]
    assert {facets(each)["use"] for each in found} == {use}
    plain = [each for each in ENTRIES if each.target.flavour is Flavour.DEVEL]
    assert {facets(each)["use"] for each in plain} == {"train"}


@pytest.mark.parametrize(
    ("tested", "said"),
    [
        ((), "nothing"),
        ((BARE,), "none"),
        ((BARE, SIMULATED), "simulated"),
        ((BARE, NPU), "npu"),
        ((replace(BARE, failed=1), NPU), "failed"),
    ],
)
def test_where_it_was_verified(
    checkout: Checkout, tested: tuple[records.Tested, ...], said: str
) -> None:
    verify(checkout, *tested)
    found = facets(entry(checkout))
    assert (found["verified"], found["published"]) == (said, "no")


def test_what_is_published(checkout: Checkout) -> None:
    assert facets(entry(checkout, release(checkout.matrix.targets["full"])))["published"] == "yes"


def test_recommended_verified_and_new_images_come_first() -> None:
    every = best_first(ENTRIES)
    assert [bool(each.target.recommended) for each in every[:4]] == [True, True, True, False]
    assert [each.id for each in every[:3]] == [each.id for each in ENTRIES[:3]]
    found = [facets(each) for each in every[3:]]
    verified = [each["verified"] not in ("nothing", "failed") for each in found]
    assert verified == sorted(verified, reverse=True)
    ages = [age("cann", each["cann"]) for each in found if each["verified"] == "simulated"]
    assert ages == sorted(ages)
