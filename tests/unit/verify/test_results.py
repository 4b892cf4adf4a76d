# SPDX-License-Identifier: Apache-2.0
"""Results in verified/ and in releases."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cannery.common.errors import FileError, MatrixError
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
    read_verified,
    to_text,
    updated,
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
        Verified.of(NPU, simulated=False, key=NOW, checks=1),
        Verified.of(BARE, simulated=True, key=NOW, checks=0),
        Verified.of(SIMULATED, simulated=True, key=NOW, checks=1),
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
def test_the_strongest_results_are_chosen(known: list[Result], best: list[Result]) -> None:
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


WITHOUT = records.Tested(
    device="none",
    hardware="qemu-aarch64 on x86_64, no ON_NPU",
    passed=38,
    failed=0,
    not_run=12,
    date="2026-11-21",
)
ON_SIMULATED = replace(WITHOUT, device="simulated", passed=21, failed=0, not_run=29)
ON_NPU = replace(ON_SIMULATED, device="npu", hardware="aarch64, 8 x 910B3, driver 24.1.rc3")


ALL = tuple(
    Verified.of(tested, simulated=simulated, key=sha("1"), checks=3)
    for simulated, tested in (
        (False, WITHOUT),
        (False, ON_NPU),
        (True, WITHOUT),
        (True, ON_SIMULATED),
    )
)
TEXT = to_text(ALL)


def write(root: Path, text: str, name: str = "full") -> None:
    write_files({path_of(root, name): text})


def read(root: Path) -> tuple[Verified, ...]:
    return read_verified(root, ["full"])["full"]


@pytest.mark.parametrize("target", ["gone", "full.yaml"])
def test_results_behind_a_broken_link_are_not_taken_for_none(tmp_path: Path, target: str) -> None:
    (tmp_path / "verified").mkdir()
    (tmp_path / "verified" / "full.yaml").symlink_to(target)
    with pytest.raises(FileError, match=r"full\.yaml: (it is a link to|too many levels of)"):
        read_verified(tmp_path, ["full"])


def test_a_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    write(tmp_path, TEXT)
    assert read(tmp_path) == ALL
    assert read_verified(tmp_path, ["full", "bare"]) == {"full": ALL, "bare": ()}


def test_the_text_is_for_people_too() -> None:
    assert to_text(ALL[3:]) == (
        "# Written by 'python build.py build --record'. Do not edit.\n"
        "schema: 3\n"
        "results:\n"
        "- image: simulated\n"
        "  device: simulated\n"
        "  date: '2026-11-21'\n"
        "  hardware: qemu-aarch64 on x86_64, no ON_NPU\n"
        "  passed: 21\n"
        "  failed: 0\n"
        "  not_run: 29\n"
        f"  key: {sha('1')}\n"
        "  checks: 3\n"
    )


HARDWARE = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=30)


@given(HARDWARE, st.integers(1, 999999), st.integers(0, 999999), st.booleans())
def test_any_result_survives(
    tmp_path_factory: pytest.TempPathFactory, hardware: str, passed: int, failed: int, sim: bool
) -> None:
    root = tmp_path_factory.mktemp("root")
    tested = replace(WITHOUT, hardware=hardware, passed=passed, failed=failed)
    every = (Verified.of(tested, simulated=sim, key=sha("1"), checks=3),)
    write(root, to_text(every))
    assert read(root) == every


def test_a_run_replaces_the_results_on_its_devices_only() -> None:
    later = ALL[3].model_copy(update={"key": sha("2"), "failed": 3})
    assert updated(ALL, [later]) == (*ALL[:3], later)
    assert updated((), [later]) == (later,)
    bare = ALL[0].model_copy(update={"key": sha("2")})
    assert updated(ALL, [bare]) == (bare, *ALL[1:])


def spoilt(old: str, new: str) -> str:
    """A file with one result in which ``old`` is replaced."""
    text = to_text(ALL[3:])
    assert text.count(old) == 1
    return text.replace(old, new)


KEY = sha("1")
SPOILT = {
    "another schema": (spoilt("schema: 3", "schema: 2"), [":2:9: schema: this version of cannery"]),
    "an unknown image": (
        spoilt("image: simulated", "image: simulatd"),
        ["4:10: results[0].image"],
    ),
    "a simulated image on an NPU": (
        spoilt("device: simulated", "device: npu"),
        ["packages is not checked on device npu. Use none or simulated."],
    ),
    "a real image on a simulated device": (
        spoilt("image: simulated", "image: vendor"),
        [":5:11: results[0].device: an image with Huawei's packages is not checked on device"],
    ),
    "half a hash": (spoilt(KEY, KEY[:30]), [":11:8: results[0].key: 'sha256:1111"]),
    "a hash of the checks": (
        spoilt("checks: 3", f"checks: {KEY}"),
        [":12:11: results[0].checks: 'sha256"],
    ),
    "a date": (spoilt("'2026-11-21'", "2026-13-21"), ["[0].date: '2026-13-21' is not a day."]),
    "counts": (
        spoilt("passed: 21\n  failed: 0", "passed: many\n  failed: -1"),
        [
            ":8:11: results[0].passed: 'many' is not a number.",
            ":9:11: results[0].failed: '-1' should be greater than or equal to 0.",
        ],
    ),
    "no check": (spoilt("passed: 21", "passed: 0"), [":8:11: results[0].passed: no check was run"]),
    "twice": (
        to_text(ALL[3:]) + to_text(ALL[3:]).partition("results:\n")[2],
        [":14:11: results[1].device: this image and device have a result already. Remove one."],
    ),
}


@pytest.mark.parametrize(("text", "said"), SPOILT.values(), ids=SPOILT)
def test_every_mistake_is_reported_with_its_line(
    tmp_path: Path, text: str, said: list[str]
) -> None:
    write(tmp_path, text)
    write(tmp_path, "schema: 7\n", "bare")
    with pytest.raises(MatrixError) as caught:
        read_verified(tmp_path, ["full", "bare"])
    *own, other = map(str, caught.value.problems)
    assert other.startswith("verified/bare.yaml:1:9: ")
    assert len(own) == len(said), own
    for problem, part in zip(own, said, strict=True):
        assert part in problem
