# SPDX-License-Identifier: Apache-2.0
"""packages.lock: what it keeps, and how differences are shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cannery.common.errors import MatrixError
from cannery.lock.debs import Deb, changed_debs, debs_of, debs_text, parse_debs

CURL = Deb(name="curl", version="7.74.0-1", architecture="arm64", sha256="a" * 64)
CPP = Deb(name="cpp", version="4:10.2.1-1", architecture="arm64", sha256="b" * 64)

WORDS = st.from_regex(r"[a-z0-9][a-z0-9.+~:-]*", fullmatch=True)
DEBS = st.builds(Deb, name=WORDS, version=WORDS, architecture=WORDS, sha256=WORDS)


@pytest.mark.slow
@given(st.dictionaries(st.sampled_from(["os", "packages-hccl_test"]), st.sets(DEBS)))
def test_a_record_is_read_back(layers: dict[str, set[Deb]]) -> None:
    found = parse_debs(debs_text("debian:11 (registry)", layers)).layers
    assert found == {name: tuple(sorted(debs)) for name, debs in layers.items()}


def test_the_list_of_an_image_is_recorded_with_epochs() -> None:
    [deb] = debs_of(f"{'b' * 64}  cpp_4%3a10.2.1-1_arm64.deb\n")
    assert deb == CPP
    assert f"\n[os]\ncpp=4:10.2.1-1 arm64 sha256:{'b' * 64}\n" in debs_text("", {"os": [deb]})


@pytest.mark.parametrize("line", ["curl=1 arm64", "curl", CURL.line])
def test_an_invalid_line_of_a_record(line: str) -> None:
    with pytest.raises(MatrixError, match=r"images/a/packages.lock:2:1: invalid line"):
        parse_debs(f"# a comment\n{line}\n", "images/a/packages.lock")


def test_a_layer_is_hashed_by_its_packages() -> None:
    lock = parse_debs(debs_text("one", {"os": [CURL, CPP], "packages-application": []}))
    again = parse_debs(debs_text("another", {"os": [CPP, CURL]}))
    assert lock.digest("os") == again.digest("os") != lock.digest("packages-application")
    assert again.digest("packages-application") == ""


def test_differences_name_both_versions_or_hashes() -> None:
    newer = Deb(name="curl", version="7.74.0-2", architecture="arm64", sha256="c" * 64)
    other = Deb(name="cpp", version=CPP.version, architecture="arm64", sha256="d" * 64)
    assert changed_debs({"curl": CURL, "cpp": CPP}, {"curl": newer, "cpp": other}) == [
        f"cpp 4:10.2.1-1 (sha256 {'b' * 12}) -> 4:10.2.1-1 (sha256 {'d' * 12})",
        "curl 7.74.0-1 -> 7.74.0-2",
    ]
    assert changed_debs({"curl": CURL}, {"cpp": CPP}) == [
        "cpp (none) -> 4:10.2.1-1",
        "curl 7.74.0-1 -> (none)",
    ]
    assert changed_debs({"curl": CURL}, {"curl": CURL}) == []
