# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from cannery.common.files import write_files
from cannery.common.model import Target
from cannery.registry import records
from cannery.verify.results import (
    Basis,
    Result,
    Verified,
    known_results,
    path_of,
    phrase,
    to_text,
    verdicts,
)
from tests.unit.catalogues import BARE, NPU, SIMULATED, release
from tests.unit.matrices import Checkout
from tests.unit.publications import sha

NOW = sha("9")


def result(
    tested: records.Tested, basis: Basis = Basis.CURRENT, *, simulated: bool = False
) -> Result:
    return Result(tested=tested, simulated=simulated, basis=basis)


def results(
    checkout: Checkout, *releases: records.Record, verified: Iterable[Verified] = ()
) -> object:
    """Those of the target ``full``, whose simulated images have the contents NOW."""
    write_files({path_of(checkout.project.root, "full"): to_text(verified)})

    def key_of(_: Target, simulated: bool) -> str:
        return NOW if simulated else sha("8")

    targets = checkout.matrix.targets.values()
    found = known_results(checkout.project, targets, releases, key_of)
    assert found["bare"] == ()
    return found["full"]


def test_a_result_is_older_once_its_image_or_checks_have_changed(checkout: Checkout) -> None:
    verified = [
        Verified(simulated=False, key=NOW, checks=1, tested=NPU),
        Verified(simulated=True, key=NOW, checks=0, tested=BARE),
        Verified(simulated=True, key=NOW, checks=1, tested=SIMULATED),
    ]
    assert results(checkout, verified=verified) == (
        replace(result(NPU, Basis.OLDER), moved=("contents", "checks")),
        result(BARE, simulated=True),
        replace(result(SIMULATED, Basis.OLDER, simulated=True), moved=("checks",)),
    )


def test_the_results_of_the_newest_release_are_known_too(checkout: Checkout) -> None:
    target = checkout.matrix.targets["full"]
    old = release(target, pushed="2026-11-20T12:00:00Z", tag="full-old", verified=(BARE,))
    new = release(target, verified=(NPU, replace(NPU, device="tpu"), replace(BARE, passed=0)))
    assert results(checkout, old, new) == (result(NPU, Basis.PUBLISHED),)


FAILED = replace(BARE, failed=1)


@pytest.mark.parametrize(
    ("known", "best"),
    [
        ([], []),
        ([result(BARE)], [result(BARE)]),
        ([result(NPU), result(BARE)], [result(NPU)]),
        ([result(NPU, Basis.OLDER), result(BARE)], [result(NPU, Basis.OLDER)]),
        ([result(NPU), result(NPU, Basis.PUBLISHED)], [result(NPU)]),
        ([result(NPU), result(replace(NPU, date="2026-11-20"))], [result(NPU)]),
        # That it failed anywhere says more than that it passed elsewhere.
        ([result(FAILED), result(NPU)], [result(FAILED)]),
        # Simulated packages say nothing about the vendor's.
        (
            [result(SIMULATED, simulated=True), result(FAILED)],
            [result(FAILED), result(SIMULATED, simulated=True)],
        ),
        (
            [result(BARE, simulated=True), result(SIMULATED, simulated=True), result(NPU)],
            [result(NPU), result(SIMULATED, simulated=True)],
        ),
    ],
)
def test_the_results_that_say_most(known: list[Result], best: list[Result]) -> None:
    assert [*verdicts(known)] == best
    assert [*verdicts(reversed(known))] == best


@pytest.mark.parametrize(
    ("each", "said"),
    [
        (result(NPU), "verified (NPU) 2026-11-21"),
        (result(BARE, Basis.PUBLISHED), "verified (no device) 2026-11-21, published image"),
        (
            replace(result(SIMULATED, Basis.OLDER, simulated=True), moved=("contents", "checks")),
            "verified (simulated device) 2026-11-21, older state (contents, checks)",
        ),
        (
            result(FAILED, simulated=True),
            "failed (no device, simulated packages) 2026-11-21",
        ),
    ],
)
def test_a_result_in_words(each: Result, said: str) -> None:
    assert phrase(each) == said
