# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from cannery.publish.scan.components import Component
from cannery.publish.scan.findings import best_name, find, is_version
from tests.unit.scans import LIBC, TAR, TORCH, TORNADO, findings

REQUESTS = "pkg:pypi/requests@2.30.0"


def test_records_of_one_vulnerability_are_one_finding() -> None:
    [found] = findings(TORCH)
    assert found.id == "CVE-2025-32434"
    assert found.names == ("CVE-2025-32434", "GHSA-53q9-r3pm-6pq6", "PYSEC-2025-41")
    assert (found.rating.severity, found.rating.score) == ("critical", 9.3)
    assert found.fixed == "2.6.0"
    assert found.summary.startswith("torch.load")


def test_the_severity_may_be_in_a_record_without_packages() -> None:
    [found] = findings(TORNADO)
    assert (found.id, found.rating.score, found.fixed) == ("CVE-2023-28370", 6.1, "6.3.2")


def test_an_advisory_of_debian_adds_nothing_to_that_of_its_vulnerability() -> None:
    [found] = findings(LIBC)
    assert (found.id, found.rating.score) == ("CVE-2023-4911", 7.8)
    assert "DSA-5514-1" in found.names
    assert found.fixed == "2.31-13+deb11u7"
    assert found.component.packages == ("libc6",)


def test_a_release_of_debian_has_its_own_fix() -> None:
    twelve = LIBC.replace("2.31-13%2Bdeb11u5", "2.36-9%2Bdeb12u2").replace("debian-11", "debian-12")
    assert [each.fixed for each in findings(twelve)] == ["2.36-9+deb12u3"]
    assert findings(twelve.replace("deb12u2", "deb12u3")) == []


def test_the_most_severe_is_first() -> None:
    found = [each.id for each in findings(TAR, TORNADO, REQUESTS, TORCH, LIBC)]
    assert found == [
        *("CVE-2025-32434", "CVE-2023-4911", "CVE-2023-32681", "CVE-2023-28370", "CVE-2005-2541")
    ]


def test_newer_versions_have_nothing() -> None:
    assert findings("pkg:pypi/torch@2.6.0", "pkg:pypi/tornado@6.6.1") == []


def test_a_version_that_cannot_be_compared_has_no_findings() -> None:
    from tests.unit.scans import database

    odd = Component(ecosystem="PyPI", name="torch", version="not a version")
    assert not is_version(odd)
    assert find([odd], database([odd])) == []


def test_the_best_known_name() -> None:
    assert best_name(["GHSA-1", "PYSEC-1"]) == "GHSA-1"
    assert best_name(["DSA-1-1", "X-1"]) == "DSA-1-1"
    assert best_name(["MAL-1", "X-1"]) == "MAL-1"
