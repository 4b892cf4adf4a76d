# SPDX-License-Identifier: Apache-2.0
"""What ``check`` says in the end, and what ``explain`` shows of a finding."""

from __future__ import annotations

from dataclasses import replace

from cannery.common.model import Target
from cannery.compat import Finding, Verdict, judge
from cannery.compat.check_report import explained, summary
from tests.unit.compat_targets import COMPAT, GOOD, cann, changed

TODAY = "2026-11-22"
NEW = changed(
    id="new",
    torch="2.7.1",
    torch_npu="2.7.1.post8",
    cann=cann("9.1.0"),
    apex=None,
    deepspeed="0.16.9",
)


def judged(*targets: Target, today: str = TODAY) -> list[str]:
    return summary([(each, judge(each, COMPAT)) for each in targets], today)


def finding(component: str, verdict: Verdict, text: str = "It is so.") -> Finding:
    return Finding(component=component, verdict=verdict, text=text, key=component)


def test_all_is_known() -> None:
    lines = summary([(GOOD, [finding("torch", Verdict.ALLOWED)])], TODAY)
    assert lines == ["1 target checked: all of its components are known to work."]
    lines = summary([(GOOD, []), (NEW, [])], TODAY)
    assert lines == ["2 targets checked: all of their components are known to work."]


def test_disagreements_of_sources_are_counted_by_component() -> None:
    one = [finding("protobuf", Verdict.DISPUTED), finding("driver", Verdict.DISPUTED)]
    found = [(GOOD, one), (NEW, one[:1]), (replace(GOOD, id="third"), one[:1])]
    lines = summary(found, TODAY)
    [line] = lines[1:]
    assert line.startswith("Sources disagree on protobuf (3 targets) and driver (1 target). To see")
    assert line.endswith(" what each says: python build.py explain TARGET")


def test_an_end_is_reported_once_with_the_number_of_targets() -> None:
    lines = judged(GOOD, NEW, replace(NEW, id="newer"))
    [ending] = [line for line in lines if "libascendcl.so" in line]
    assert ending == (
        "2 targets: CANN releases after 2026-12-30 will not have libascendcl.so, which torch_npu "
        "up to 2.14.0 loads."
    )


def test_a_passed_end_of_maintenance_is_a_warning() -> None:
    base = "Maintenance of Debian bullseye: until 2026-08-31."
    lines = judged(GOOD, NEW)
    assert f"warning: 2 targets: {base} This day has passed." in lines
    assert f"2 targets: {base}" in judged(GOOD, NEW, today="2026-08-31")
    assert lines[-1].startswith("warning: ")


def test_an_end_in_more_than_a_year_is_left_out() -> None:
    base = "2 targets: Maintenance of Debian bullseye: until 2026-08-31."
    assert base in judged(GOOD, NEW, today="2025-08-31")
    assert base not in judged(GOOD, NEW, today="2025-08-30")


def test_an_unverified_target_is_named_with_its_reason() -> None:
    target = replace(GOOD, unverified="our own build", torch_npu="2.3.1.post99")
    lines = judged(target, NEW)
    assert lines[0] == "good: unverified: our own build"
    known = "nothing is known of 1 unverified component; all others are known to work."
    assert f"2 targets checked: {known}" in lines


def test_an_unneeded_reason_is_reported() -> None:
    lines = judged(replace(GOOD, unverified="it was new"))
    assert lines[:2] == [
        "good: unverified: it was new",
        "good: all of its components are known; remove 'unverified' if it is about nothing else.",
    ]


def test_a_row_is_shown_with_the_address_to_open() -> None:
    [found] = [each for each in judge(GOOD, COMPAT) if each.component == "torch_npu"]
    lines = explained(found, 100)
    place = next(number for number, line in enumerate(lines) if "by       Ascend/pytorch" in line)
    assert [line.strip() for line in lines[place + 1 : place + 4]] == [
        "torch: 2.3.1, torch_npu: 2.3.1.post2, cann: 8.0.RC3, pythons: 3.8-3.11, branch:",
        "v2.3.1-6.0.rc3",
        "maker, rank 1: https://github.com/Ascend/pytorch/blob/master/COMPATIBILITY.md",
    ]


def test_both_sides_of_a_disagreement_and_their_notes_are_shown() -> None:
    [found] = [each for each in judge(NEW, COMPAT) if each.component == "driver"]
    disputed = replace(found, verdict=Verdict.DISPUTED, against=found.rows)
    lines = explained(disputed, 60)
    assert lines[0].startswith("  driver [disputed]: The host needs driver 25.2 to 26.1.1")
    assert any(line.startswith("      by       hicann/release-management") for line in lines)
    assert any(line.startswith("      against  hicann/release-management") for line in lines)


def test_an_unpublished_source_has_no_address() -> None:
    target = changed(cann=cann("8.0.T39", nearest_public="8.0.RC3"))
    [found] = [each for each in judge(target, COMPAT) if each.component == "torch_npu"]
    lines = explained(found, 100)
    place = next(number for number, line in enumerate(lines) if "910B team notes" in line)
    assert lines[place + 2] == (
        "               report, rank 5: notes on three 910B images and LLaMA-Factory 0.9.0"
    )
