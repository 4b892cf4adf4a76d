# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.requirements import InvalidRequirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from cannery.common.specifiers import exceeds, overlap, parse_requirement

sign = st.sampled_from(["<", "<=", ">", ">=", "==", "!="])
release = st.lists(st.integers(0, 3), min_size=1, max_size=3).map(
    lambda parts: ".".join(map(str, parts))
)
specifiers = st.lists(st.builds("{}{}".format, sign, release), max_size=3).map(
    lambda parts: SpecifierSet(",".join(parts))
)


@pytest.mark.parametrize(
    ("wanted", "bound", "common", "out"),
    [
        ("", "<2", True, True),
        ("<2", "<2", True, False),
        ("==1.26.4", "<2", True, False),
        (">=2", "<2", False, True),
        ("==2.0.1", "<2", False, True),
        ("<2.1", "<2", True, True),
        (">=1.20,<2", "<2", True, False),
        ("~=1.26", "<2", True, False),
        ("==3.20.3", "==3.20.*", True, False),
        ("==3.20.*", "==3.20.*", True, False),
        ("==3.21.0", "==3.20.*", False, True),
        (">=3.20,<3.21", "==3.20.*", True, False),
        ("!=2.0", "<2", True, True),
        ("<=0.34.2", ">=0.34.0", True, True),
        ("===1.0", "<2", True, False),
    ],
)
def test_examples(wanted: str, bound: str, common: bool, out: bool) -> None:
    assert overlap(SpecifierSet(wanted), SpecifierSet(bound)) == common
    assert exceeds(SpecifierSet(wanted), SpecifierSet(bound)) == out


@given(specifiers, specifiers, release)
def test_no_version_is_overlooked(wanted: SpecifierSet, bound: SpecifierSet, text: str) -> None:
    version = Version(text)
    if version in wanted:
        assert (overlap if version in bound else exceeds)(wanted, bound)


@pytest.mark.parametrize(
    "marker", ["python_version ~= '3'", "python_version < '3' and os_name ~= 'x'"]
)
def test_an_incomparable_marker_is_refused(marker: str) -> None:
    with pytest.raises(InvalidRequirement, match=r"the marker .* compares nothing"):
        parse_requirement(f"wheel; {marker}")
