# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

from cannery.compat import Finding, Verdict
from cannery.publish.release_notes import release_notes
from cannery.registry.records import Changes, Record
from tests.unit.compat_targets import GOOD
from tests.unit.publications import RECORD, record, sha

NPU = replace(RECORD.verified[0], device="npu", hardware="8 x 910B3")


def notes(*records: Record, findings: tuple[Finding, ...] = ()) -> str:
    return release_notes(GOOD, findings, records)


def finding(component: str, verdict: Verdict) -> Finding:
    return Finding(component=component, verdict=verdict, text="It is so.", key=component)


def section(text: str, name: str) -> str:
    return text.partition(f"## {name}")[2].partition("\n## ")[0]


def test_the_newest_record_is_the_one_to_pull() -> None:
    older = record(tag="full-000000000000", digest=sha("9"), pushed="2026-11-01T12:00:00Z")
    said = notes(older, record())
    assert "    docker pull registry.example.com/ascend:full-0123456789ab\n" in said
    assert f"Pushed 2026-11-21T12:00:00Z, digest `{sha('1')}`, from commit {'c' * 40}." in said
    assert "Tags that moved to it: `full`, `latest`." in said
    assert "It is signed." in said
    assert f"| `full-000000000000` | `{sha('9')}` |" in section(said, "Earlier images")


def test_what_has_changed() -> None:
    changes = Changes(
        since="full-1", added={"new": "1"}, removed={"old": "2"}, changed={"torch": ("1", "2")}
    )
    said = section(notes(record(changes=changes)), "Changes since full-1")
    assert "| torch | 1 | 2 |\n| new |  | 1 |\n| old | 2 |  |" in said
    assert "No package has changed." in notes(record(changes=Changes(since="full-1")))
    assert "This is the first image of the target." in notes(record(changes=Changes()))


def test_checks_and_sizes() -> None:
    said = notes(record())
    assert "| none | qemu-aarch64 on x86_64, no NPU | 40 | 0 | 2 |" in said
    assert "- linux/arm64: 100 B to pull; largest layers: torch 90 B" in said
    assert "No check has run on it." in notes(record(verified=()))


def test_known_issues() -> None:
    every = tuple(finding(str(verdict), verdict) for verdict in Verdict)
    said = section(notes(record(), findings=every), "Known issues")
    assert "- No check has run on an NPU." in said
    assert "- disputed (sources disagree): It is so." in said
    assert "- ending (will end): It is so." in said
    assert "allowed" not in said
    simulated = section(notes(record(simulated=True)), "Known issues")
    assert "This image is simulated" in simulated
    assert section(notes(record(verified=(NPU,))), "Known issues").strip() == "None."


def test_a_target_that_is_unverified_by_choice() -> None:
    target = replace(GOOD, unverified="it_works *here*")
    assert "- Unverified: it_works \\*here\\*" in release_notes(target, (), ())


def test_the_driver_of_the_host() -> None:
    said = section(notes(findings=(finding("driver", Verdict.ALLOWED),)), "Driver of the host")
    assert said.strip() == "- It is so."


def test_without_a_record() -> None:
    said = notes()
    assert "Not published yet." in said
    assert f"| torch | {GOOD.torch} |" in said
    assert "## Checks" not in said
