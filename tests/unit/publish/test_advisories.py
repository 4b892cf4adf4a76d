# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest

from cannery.common.errors import FileError
from cannery.publish.scan.advisories import MAX_PROBLEMS, Database
from tests.unit.scans import advisory

TORCH = ("PyPI", "torch")


def filled(*records: Any) -> Database:
    found = Database({TORCH})
    for number, each in enumerate(records, 1):
        found.add(each, f"record {number}")
    found.raise_if_wrong()
    return found


def test_only_advisories_about_wanted_packages_are_kept() -> None:
    found = filled(advisory(), advisory("CVE-2026-2", "numpy", aliases=["GHSA-x"]))
    assert [each.id for each in found.for_package(*TORCH)] == ["CVE-2026-1"]
    assert found.count == 2
    assert found.names == {"CVE-2026-1", "CVE-2026-2", "GHSA-x"}


def test_names_are_normalised() -> None:
    found = Database({("PyPI", "ruamel-yaml")})
    found.add(advisory(package="Ruamel.YAML"), "a record")
    assert found.for_package("PyPI", "ruamel-yaml")


def test_withdrawn_advisories_do_not_count() -> None:
    assert filled(advisory(withdrawn="2026-01-01T00:00:00Z")).count == 0


def test_an_advisory_that_is_read_twice_counts_once() -> None:
    found = filled(advisory(), advisory())
    assert (found.count, len(found.for_package(*TORCH))) == (1, 1)


def test_the_newest_change_dates_the_database() -> None:
    found = filled(
        advisory(modified="2026-03-01T00:00:00Z"),
        advisory("CVE-2026-2", modified="2026-11-20T10:00:00.5Z"),
        advisory("CVE-2026-3", modified="2025-01-01T00:00:00Z"),
    )
    assert found.newest == "2026-11-20"


def test_a_release_may_have_more_words() -> None:
    record = advisory(package="openssl")
    record["affected"][0]["package"]["ecosystem"] = "Ubuntu:22.04:LTS"
    found = Database({("Ubuntu:22.04", "openssl")})
    found.add(record, "a record")
    assert found.for_package("Ubuntu:22.04", "openssl")


def test_what_debian_calls_unimportant_has_no_severity() -> None:
    record = advisory(severity=[{"type": "CVSS_V2", "score": "AV:N/AC:L/Au:N/C:C/I:C/A:C"}])
    assert filled(record).rating_of(["CVE-2026-1"]).severity == "critical"
    record["affected"][0]["ecosystem_specific"] = {"urgency": "unimportant"}
    assert filled(record).rating_of(["CVE-2026-1"]).severity == "none"


def test_the_severity_may_be_with_the_package() -> None:
    record = advisory()
    vector = "CVSS:3.1/AV:L/AC:L/PR:L/UI:N/S:U/C:H/I:H/A:H"
    record["affected"][0]["severity"] = [{"type": "CVSS_V3", "score": vector}]
    assert filled(record).rating_of(["CVE-2026-1"]).score == 7.8


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ([], "record 1: the record is not an object."),
        ({}, "record 1: the record has no 'id'."),
        ({"id": 7}, "record 1: 'id' is not text."),
        (advisory(aliases="CVE-1"), "record 1: aliases is not a list."),
        (advisory(aliases=[7]), "record 1: aliases has an item that is not text."),
        ({"id": "X", "affected": {}}, "record 1: affected is not a list."),
        ({"id": "X", "affected": [7]}, "record 1: affected[0] is not an object."),
        (
            {"id": "X", "affected": [{"package": {"name": "x"}, "ranges": 7}]},
            "record 1: affected[0].ranges is not a list.",
        ),
        (
            {"id": "X", "affected": [{"package": {}, "ranges": [{"events": [{"fixed": 7}]}]}]},
            "record 1: affected[0].ranges[0].events[0] is not an object with versions.",
        ),
        ({"id": "X", "severity": 7}, "record 1: severity is not a list."),
    ],
)
def test_a_wrong_record_is_refused_with_its_place(record: Any, said: str) -> None:
    with pytest.raises(FileError) as caught:
        filled(record)
    assert str(caught.value) == said


@pytest.mark.parametrize(
    "record",
    [
        {"id": "X"},
        {"id": "X", "affected": None, "aliases": None},
        {"id": "X", "affected": [{"package": None}, {"package": {}, "ranges": [7]}]},
        {"id": "X", "severity": [7, {}], "database_specific": 7},
    ],
)
def test_what_is_missing_is_not_wrong(record: Any) -> None:
    assert filled(record).count == 1


def test_too_many_problems_are_not_all_listed() -> None:
    with pytest.raises(FileError) as caught:
        filled(*[{}] * (MAX_PROBLEMS * 2))
    assert len(caught.value.problems) == MAX_PROBLEMS + 1
    assert str(caught.value.problems[-1]) == f"Only the first {MAX_PROBLEMS} are listed."
