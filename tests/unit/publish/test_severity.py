# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from cannery.publish.scan.advisories import Rating, Severity, in_words, of_score, rating, worst

V2 = "AV:N/AC:L/Au:N/C:C/I:C/A:C"
V3 = "CVSS:3.1/AV:N/AC:H/PR:N/UI:R/S:C/C:H/I:N/A:N"
V4 = "CVSS:4.0/AV:N/AC:L/AT:N/PR:N/UI:N/VC:H/VI:H/VA:H/SC:N/SI:N/SA:N"


@pytest.mark.parametrize(
    ("vectors", "severity", "score"),
    [
        ([V2], Severity.CRITICAL, 10.0),
        ([V3], Severity.MEDIUM, 6.1),
        ([V4], Severity.CRITICAL, 9.3),
        ([V3, V4], Severity.CRITICAL, 9.3),
        ([V2, V3], Severity.MEDIUM, 6.1),
        (["CVSS:3.1/AV:N", V2], Severity.CRITICAL, 10.0),
    ],
)
def test_the_newest_vector_that_is_valid_counts(
    vectors: list[str], severity: Severity, score: float
) -> None:
    assert rating(vectors, "LOW") == Rating(severity=severity, score=score)


@pytest.mark.parametrize("vectors", [[], ["7.5"], ["CVSS:9/AV:N"], [""]])
def test_without_a_valid_vector_words_count(vectors: list[str]) -> None:
    assert rating(vectors, "MODERATE") == Rating(severity=Severity.MEDIUM)
    assert rating(vectors) == Rating(severity=Severity.UNKNOWN)


def test_words_may_be_in_place_of_a_vector() -> None:
    assert rating(["low"]) == Rating(severity=Severity.LOW)
    assert rating(["low", V3]) == Rating(severity=Severity.MEDIUM, score=6.1)


@pytest.mark.parametrize(
    ("score", "severity"),
    [
        *((0.0, "none"), (0.1, "low"), (3.9, "low"), (4.0, "medium"), (6.9, "medium")),
        *((7.0, "high"), (8.9, "high"), (9.0, "critical"), (10.0, "critical")),
    ],
)
def test_scores_are_divided_as_cvss_does(score: float, severity: str) -> None:
    assert of_score(score) == severity


def test_words_of_sources() -> None:
    words = ("Negligible", "Important", "MODERATE", "Critical", "strange")
    assert [in_words(each) for each in words] == ["none", "high", "medium", "critical", "unknown"]


def test_the_worst_is_by_severity_and_then_by_score() -> None:
    low, high = Rating(severity=Severity.LOW), Rating(severity=Severity.HIGH, score=7.1)
    higher = Rating(severity=Severity.HIGH, score=8.8)
    assert worst([low, higher, high]) is higher
    assert worst([]) == Rating()
