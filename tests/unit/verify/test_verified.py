# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cannery.common.errors import MatrixError
from cannery.common.files import write_files
from cannery.registry import records
from cannery.verify.results import Verified, path_of, read_verified, to_text, updated
from tests.unit.publications import sha

BARE = records.Tested(
    device="none",
    hardware="qemu-aarch64 on x86_64, no NPU",
    passed=38,
    failed=0,
    not_run=12,
    date="2026-11-21",
)
SIMULATED = replace(BARE, device="simulated", passed=21, failed=0, not_run=29)
NPU = replace(SIMULATED, device="npu", hardware="aarch64, 8 x 910B3, driver 24.1.rc3")


ALL = tuple(
    Verified(simulated=simulated, key=sha("1"), checks=3, tested=tested)
    for simulated, tested in ((False, BARE), (False, NPU), (True, BARE), (True, SIMULATED))
)
TEXT = to_text(ALL)


def write(root: Path, text: str, name: str = "full") -> None:
    write_files({path_of(root, name): text})


def read(root: Path) -> tuple[Verified, ...]:
    return read_verified(root, ["full"])["full"]


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
        "  hardware: qemu-aarch64 on x86_64, no NPU\n"
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
    tested = replace(BARE, hardware=hardware, passed=passed, failed=failed)
    every = (Verified(simulated=sim, key=sha("1"), checks=3, tested=tested),)
    write(root, to_text(every))
    assert read(root) == every


def test_a_run_replaces_the_results_on_its_devices_only() -> None:
    later = replace(ALL[3], key=sha("2"), tested=replace(SIMULATED, failed=3))
    assert updated(ALL, [later]) == (*ALL[:3], later)
    assert updated((), [later]) == (later,)
    bare = replace(ALL[0], key=sha("2"))
    assert updated(ALL, [bare]) == (bare, *ALL[1:])


def test_a_run_without_any_check_replaces_nothing() -> None:
    nothing = replace(ALL[1], tested=replace(NPU, passed=0, failed=0, not_run=50))
    assert updated(ALL, [nothing]) == ALL
    assert updated((), [nothing]) == ()


def spoilt(old: str, new: str) -> str:
    """A file with one result in which ``old`` is replaced."""
    text = to_text(ALL[3:])
    assert text.count(old) == 1
    return text.replace(old, new)


KEY = sha("1")
SPOILT = {
    "no YAML": ("{", ["full.yaml:2:1: this is not YAML"]),
    "a list": ("- a\n", ["full.yaml:1:1: verified/full.yaml must be a mapping"]),
    "another schema": (spoilt("schema: 3", "schema: 2"), ["2:9: this version of cannery reads"]),
    "an unknown image": (
        spoilt("image: simulated", "image: simulatd"),
        [":4:10: there is no kind"],
    ),
    "an unknown device": (
        spoilt("device: simulated", "device: gpu"),
        [":5:11: there is no device"],
    ),
    "a simulated image on an NPU": (
        spoilt("device: simulated", "device: npu"),
        [":5:11: an image with simulated packages is not checked on device npu. Use none or sim"],
    ),
    "a real image on a simulated device": (
        spoilt("image: simulated", "image: vendor"),
        [":5:11: an image with Huawei's packages is not checked on device simulated."],
    ),
    "half a hash": (spoilt(KEY, KEY[:30]), [":11:8: invalid key 'sha256:1111"]),
    "no key": (
        spoilt(f"  key: {KEY}\n", ""),
        [":4:3: an item of 'results' in verified/full.yaml"],
    ),
    "counts": (
        spoilt("passed: 21\n  failed: 0", "passed: many\n  failed: -1"),
        [":8:11: invalid passed 'many'.", ":9:11: invalid failed '-1'."],
    ),
    "no check": (spoilt("passed: 21", "passed: 0"), [":8:11: no check was run"]),
    "an unknown field": (spoilt("not_run", "notrun"), [":10:3: unknown key 'notrun'"]),
    "twice": (
        to_text(ALL[3:]) + to_text(ALL[3:]).partition("results:\n")[2],
        [":14:11: this image and device have a result already. Remove one."],
    ),
    "a result that is text": ("schema: 3\nresults: [a]\n", [":2:11: an item of 'results'"]),
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
