# SPDX-License-Identifier: Apache-2.0
"""Until when releases are maintained, and how it is shown where no source says so."""

from __future__ import annotations

from dataclasses import replace

from cannery.compat import Verdict
from cannery.compat.lifetimes import UNKNOWN, end_of_life, lifetimes_of
from tests.unit.compat_targets import COMPAT, GOOD, cann, changed, findings


def ends(version: str, torch: str, torch_npu: str, public: str = "") -> dict[str, str]:
    target = changed(cann=cann(version, nearest_public=public), torch=torch, torch_npu=torch_npu)
    return {name: end_of_life(row) for name, row in lifetimes_of(target, COMPAT).items()}


def test_the_end_is_the_one_of_the_makers_table() -> None:
    found = ends("8.1.RC1", "2.5.1", "2.5.1.post1")
    assert found == {"cann": UNKNOWN, "torch_npu": "2026-08-08"}


def test_a_release_without_a_known_end_may_have_a_known_beginning() -> None:
    row = lifetimes_of(changed(cann=cann("8.5.0")), COMPAT)["cann"]
    assert row is not None
    assert (row.released, end_of_life(row)) == ("2026-01-23", UNKNOWN)


def test_a_torch_that_is_still_developed_has_no_end() -> None:
    assert ends("9.1.0", "2.10.0", "2.10.0.post4")["torch_npu"] == UNKNOWN


def test_without_torch_only_cann_has_a_lifetime() -> None:
    assert ends("8.3.RC1", "", "") == {"cann": UNKNOWN}


def test_an_interim_build_has_the_lifetime_of_the_public_release() -> None:
    found = ends("8.5.T1", "2.8.0", "2.8.0.post2", "8.5.0")
    assert found["cann"] == UNKNOWN
    row = lifetimes_of(changed(cann=cann("8.5.T1", nearest_public="8.5.0")), COMPAT)["cann"]
    assert row is not None
    assert row.version == "8.5.0"


def test_the_better_source_is_shown() -> None:
    [row] = [each for each in COMPAT.lifetimes if each.version == "2.3.1"]
    worse = replace(
        row,
        ends="2030-01-01",
        sources=tuple(replace(source, rank=source.rank + 1) for source in row.sources),
    )
    compat = replace(COMPAT, lifetimes=(worse, row))
    assert end_of_life(lifetimes_of(GOOD, compat)["torch_npu"]) == "2026-06-07"


def test_a_known_end_is_told_and_refuses_nothing() -> None:
    found = findings(GOOD)["maintenance"]
    assert found.verdict is Verdict.ENDING
    assert found.text == "Maintenance of torch_npu for torch 2.3.1: until 2026-06-07."
    assert "SUPPORT.en.md" in found.rows[0].cited
    assert "maintenance" not in findings(changed(torch="2.9.0", torch_npu="2.9.0"))
