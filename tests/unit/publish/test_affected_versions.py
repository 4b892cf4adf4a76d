# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cannery.publish.scan.advisories import Affected, Range
from cannery.publish.scan.findings import fixed_version, is_affected, order_of

PROTOBUF = (
    (("introduced", "0"), ("fixed", "4.25.8")),
    (("introduced", "5.26.0rc1"), ("fixed", "5.29.5")),
    (("introduced", "6.30.0rc1"), ("fixed", "6.31.1")),
)


def affected(
    *ranges: tuple[tuple[str, str], ...], ecosystem: str = "PyPI", versions: tuple[str, ...] = ()
) -> Affected:
    return Affected(
        ecosystem=ecosystem,
        name="package",
        ranges=tuple(Range(events=each) for each in ranges),
        versions=versions,
    )


@pytest.mark.parametrize(
    ("version", "fixed"),
    [
        *(("3.20.3", "4.25.8"), ("4.25.8rc1", "4.25.8"), ("4.25.8", None), ("5.25", None)),
        *(("5.26.0rc1", "5.29.5"), ("5.29.5", None), ("6.31.0", "6.31.1"), ("7.36.2", None)),
    ],
)
def test_several_ranges(version: str, fixed: str | None) -> None:
    package = affected(*PROTOBUF)
    assert is_affected(version, package) is (fixed is not None)
    assert fixed_version(version, package) == (fixed or "")


def test_events_of_one_range_need_no_order() -> None:
    events = (("fixed", "2.0"), ("introduced", "3.0"), ("introduced", "1.0"), ("fixed", "3.1"))
    found = [is_affected(each, affected(events)) for each in ("0.9", "1.0", "2.0", "3.0", "3.1")]
    assert found == [False, True, False, True, False]


def test_the_last_affected_version_is_affected_as_a_local_version_too() -> None:
    package = affected((("introduced", "0"), ("last_affected", "2.5.1")))
    found = [is_affected(each, package) for each in ("2.5.1", "2.5.1+cpu", "2.5.1.post1", "2.6.0")]
    assert found == [True, True, False, False]
    assert fixed_version("2.5.1", package) == ""


def test_listed_versions_are_affected_however_they_are_written() -> None:
    package = affected(versions=("1.0", "not a version"))
    assert [is_affected(each, package) for each in ("1.0.0", "1.0+local", "1.1")] == [
        *(True, True, False)
    ]


def test_debian_versions_are_ordered_as_dpkg_does() -> None:
    package = affected((("introduced", "0"), ("fixed", "1:2.0-1+deb12u10")), ecosystem="Debian:12")
    older = ["2.0-1", "9.9", "1:2.0~rc1-1", "1:2.0-1", "1:2.0-1+deb12u9"]
    newer = ["1:2.0-1+deb12u10", "1:2.0-1+deb12u11", "2:0.1"]
    assert [is_affected(each, package) for each in (*older, *newer)] == [True] * 5 + [False] * 3


def test_without_an_introduced_version_nothing_is_affected() -> None:
    assert not is_affected("1.0", affected((("fixed", "2.0"),)))


def test_what_is_not_a_version_of_the_advisory_is_passed_over() -> None:
    assert is_affected("1.0", affected((("introduced", "0"), ("fixed", "not a version"))))


@pytest.mark.parametrize("ecosystem", ["PyPI", "Debian:12"])
@pytest.mark.parametrize("version", ["", "not a version", "1 0"])
def test_a_version_that_cannot_be_compared_is_an_error(ecosystem: str, version: str) -> None:
    with pytest.raises(ValueError):
        is_affected(version, affected((("introduced", "0"),), ecosystem=ecosystem))


PARTS = st.text(alphabet="019a~+.", min_size=1, max_size=6).map(lambda text: f"1{text}0")
VERSIONS = st.builds(
    lambda epoch, upstream, revision: epoch + upstream + revision,
    st.sampled_from(["", "0:", "1:"]),
    PARTS,
    st.one_of(st.just(""), PARTS.map(lambda text: "-" + text)),
)


@pytest.mark.skipif(not shutil.which("dpkg"), reason="dpkg is the reference")
@given(first=VERSIONS, second=VERSIONS)
def test_the_order_is_that_of_dpkg(first: str, second: str) -> None:
    order = order_of("Debian:12")
    argv = ["dpkg", "--compare-versions", first, "lt", second]
    assert (order(first) < order(second)) is (subprocess.run(argv, check=False).returncode == 0)
