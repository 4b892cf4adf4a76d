# SPDX-License-Identifier: Apache-2.0
"""A requirement in matrix.yaml is accepted if, and only if, the parser of packaging accepts it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.requirements import InvalidRequirement
from pydantic import TypeAdapter, ValidationError

from cannery.common.specifiers import parse_requirement
from cannery.matrix.file_definitions import Requirements
from tests.unit.examples import times

REQUIREMENTS = TypeAdapter(Requirements)
NAME = r"[a-z0-9._-]{1,3}"
EXTRAS = r"(\[[a-z,]{0,3}\])?"
BOUNDS = r"([=!<>~]{1,3}[0-9.*]{0,4}(\.post1)?(\.\*)?,?){0,2}"
MARKER = r"(; ?python_version [<>]=? '3\.8'?)?"


def is_valid(text: str) -> bool:
    try:
        parse_requirement(text)
    except InvalidRequirement:
        return False
    return True


@pytest.mark.slow
@given(st.from_regex(NAME + EXTRAS + BOUNDS + MARKER, fullmatch=True))
@times(5)
def test_what_is_accepted_is_what_the_parser_accepts(text: str) -> None:
    try:
        found = REQUIREMENTS.validate_python((text,))
    except ValidationError:
        found = ()
    assert found == ((text,) if is_valid(text) else ())
