# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from cannery.publish.scan.advisories import Severity
from cannery.publish.scan.exceptions import Exempted
from cannery.publish.scan.result import Scan, Scanned, split, without_effect
from tests.unit.scans import LIBC, TORCH, TORNADO, findings

TODAY = "2026-11-22"


def exception(identifier: str, package: str, expires: str = TODAY) -> Exempted:
    return Exempted(id=identifier, package=package, reason="because", expires=expires, line=3)


def test_an_exception_holds_on_its_last_day_by_any_id_and_package_name() -> None:
    found = findings(TORCH, LIBC)
    rules = [exception("GHSA-53q9-r3pm-6pq6", "torch"), exception("CVE-2023-4911", "libc6")]
    counting, accepted = split(found, rules, TODAY)
    assert counting == []
    assert [each.exempted for each in accepted] == rules


def test_an_expired_exception_does_not_hold() -> None:
    rules = [exception("CVE-2025-32434", "torch", "2026-11-21")]
    counting, accepted = split(findings(TORCH), rules, TODAY)
    assert ([each.id for each in counting], accepted) == (["CVE-2025-32434"], [])


def test_an_exception_is_about_one_package() -> None:
    counting, _ = split(findings(TORCH), [exception("CVE-2025-32434", "tornado")], TODAY)
    assert len(counting) == 1


def test_exceptions_without_effect_are_told_with_the_reason() -> None:
    rules = [
        exception("CVE-2025-32434", "torhc"),
        exception("CVE-2023-28371", "tornado"),
        exception("CVE-2023-32681", "requests"),
        exception("CVE-2023-28370", "tornado"),
    ]
    # More than names are compared with one by one.
    names = {f"CVE-1999-{number}" for number in range(2000)}
    names |= {"CVE-2025-32434", "CVE-2023-28370", "CVE-2023-32681"}
    wrong, unknown, unused = without_effect(rules, findings(TORCH, TORNADO), names, "e.yaml")
    assert wrong == (
        "e.yaml:3: the exception for CVE-2025-32434 of torhc has no effect: "
        "CVE-2025-32434 is a vulnerability of torch."
    )
    assert "the database does not have CVE-2023-28371. Did you mean 'CVE-2023-28370'?" in unknown
    assert "CVE-2023-32681 of requests is not used: nothing that was scanned has" in unused


def test_what_is_a_failure() -> None:
    high = Scanned(name="x", findings=findings(LIBC), components=1)

    def failed(threshold: Severity | None, *expired: Exempted, scanned: Scanned = high) -> bool:
        return Scan(
            source="a test", scanned=[scanned], threshold=threshold, expired=expired
        ).is_failure

    assert failed(Severity.HIGH)
    assert failed(Severity.LOW)
    assert not failed(Severity.CRITICAL)
    assert not failed(None)
    none = Scanned(name="x", findings=(), components=1)
    assert not failed(Severity.HIGH, scanned=none)
    assert failed(Severity.CRITICAL, exception("CVE-1", "x"), scanned=none)
    assert not failed(None, exception("CVE-1", "x"), scanned=none)
