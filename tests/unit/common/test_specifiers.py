# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from functools import cache
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.requirements import InvalidRequirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from cannery.common.specifiers import exceeds, overlap, parse_requirement


def versions(pre: str, post: str, dev: str, local: str) -> list[Version]:
    """Every version of these parts, which are separated by spaces, and none of each."""
    releases = ("0", "1", "1.0.1", "1.1", "1.2", "2")
    parts = (["", *words.split()] for words in (pre, post, dev, local))
    return [Version("".join(each)) for each in product(("", "1!"), releases, *parts)]


named = versions("a1 rc2", ".post1 .post3", ".dev1", "")
"""Those that specifiers name, with others between them."""

WORLD = versions(
    "a0 a1 a2 b1 rc1 rc2 rc3", ".post0 .post1 .post2 .post3 .post4", ".dev0 .dev1 .dev2", "+x"
)
"""At least one version of every range between two of ``named``."""

plain = st.builds(
    "{}{}".format, st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), st.sampled_from(named)
)
series = st.builds(
    "{}{}.*".format, st.sampled_from(["==", "!="]), st.sampled_from(["1", "1.0", "1.1", "1!1"])
)
near = st.builds("~={}".format, st.sampled_from([v for v in named if len(v.release) > 1]))
sets = st.lists(plain | series | near, max_size=3).map(lambda parts: SpecifierSet(",".join(parts)))


@cache
def admitted(clause: str) -> frozenset[Version]:
    one = SpecifierSet(clause)
    return frozenset(version for version in WORLD if one.contains(version, prereleases=True))


def admitted_by_all(bounds: SpecifierSet) -> frozenset[Version]:
    return frozenset(WORLD).intersection(*(admitted(str(clause)) for clause in bounds))


@given(sets, sets)
def test_overlap_and_excess_are_those_of_the_sets_of_versions(
    first: SpecifierSet, second: SpecifierSet
) -> None:
    ours, theirs = admitted_by_all(first), admitted_by_all(second)
    assert overlap(first, second) == bool(ours & theirs)
    assert exceeds(first, second) == bool(ours - theirs)


@pytest.mark.parametrize(
    ("wanted", "bound", "common", "out"),
    [
        ("", "<2", True, True),
        ("<2", "<2", True, False),
        ("==1.26.4", "<2", True, False),
        (">=2", "<2", False, True),
        (">=1.20,<2", "<2", True, False),
        ("~=1.26", "<2", True, False),
        ("==3.20.3", "==3.20.*", True, False),
        ("==3.21.0", "==3.20.*", False, True),
        (">=3.20,<3.21", "==3.20.*", True, False),
        ("!=2.0", "<2", True, True),
        ("<=0.34.2", ">=0.34.0", True, True),
        # Between two posts, two pre-releases, and in another epoch.
        (">2.1.0.post1", "<2.1.0.post3", True, True),
        (">2.1.0a1", "<2.1.0a3", True, True),
        (">2.1.0rc1", "<2.1.0", False, True),
        (">1!1.0", "<1!1.0.1", True, True),
        (">1!1.0", "<2", False, True),
        (">=100000", "<=100000", True, True),
    ],
)
def test_examples(wanted: str, bound: str, common: bool, out: bool) -> None:
    assert overlap(SpecifierSet(wanted), SpecifierSet(bound)) == common
    assert exceeds(SpecifierSet(wanted), SpecifierSet(bound)) == out


@pytest.mark.parametrize(
    "marker", ["python_version ~= '3'", "python_version < '3' and os_name ~= 'x'"]
)
def test_an_incomparable_marker_is_refused(marker: str) -> None:
    with pytest.raises(InvalidRequirement, match=r"the marker .* compares nothing"):
        parse_requirement(f"wheel; {marker}")
