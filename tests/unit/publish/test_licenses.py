# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.licenses import canonicalize_license_expression

from cannery.publish.inventory import declared, expression

OSI = "License :: OSI Approved :: "


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("MIT", "MIT"),
        ("mit", "MIT"),
        ("bsd-3-clause", "BSD-3-Clause"),
        ("Apache-2.0 and MIT", "Apache-2.0 AND MIT"),
        ("Apache License,  Version 2.0", "Apache-2.0"),
        ("BSD", ""),
        ("BSD License", ""),
        ("Apache-2.0 OR", ""),
        ("Copyright (c) 2005 somebody\n\nRedistribution", ""),
        ("", ""),
    ],
)
def test_only_what_is_certain_becomes_an_expression(words: str, meant: str) -> None:
    assert expression(words) == meant


@pytest.mark.parametrize(
    ("own", "words", "classifiers", "found"),
    [
        ("MIT AND BSD-3-Clause", "something else", [OSI + "Apache"], "BSD-3-Clause AND MIT"),
        ("", "MIT", [OSI + "Apache Software License"], "MIT"),
        ("", "Copyright (c) 2020", [OSI + "MIT License"], "MIT"),
        ("", "", [OSI + "BSD License"], "BSD License"),
        ("", "BSD", [OSI + "BSD License"], "BSD"),
        ("", "UNKNOWN", [], ""),
        ("", "", ["Programming Language :: Python"], ""),
        ("", "", [], ""),
    ],
)
def test_the_most_certain_field_wins(
    own: str, words: str, classifiers: list[str], found: str
) -> None:
    if " AND " in found:
        assert {*declared(own, words, classifiers).split(" AND ")} == {*found.split(" AND ")}
    else:
        assert declared(own, words, classifiers) == found


@given(st.text(), st.text(), st.lists(st.text()))
def test_any_text_is_taken(own: str, words: str, classifiers: list[str]) -> None:
    found = declared(own, words, classifiers)
    assert found == found.strip()
    assert not expression(found) or canonicalize_license_expression(expression(found))
