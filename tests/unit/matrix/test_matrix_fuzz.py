# SPDX-License-Identifier: Apache-2.0
"""Whatever is written in matrix.yaml, it is a matrix or is refused with places: never a traceback.

JSON is YAML, so what hypothesis makes up is written as JSON.
"""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from cannery.common.errors import MatrixError
from cannery.compat import Compat, parse_compat
from cannery.matrix.matrix import Matrix
from cannery.matrix.schema import parse_matrix
from tests.unit.compat_targets import COMPAT
from tests.unit.examples import times
from tests.unit.families import FAMILY
from tests.unit.matrices import FACTS_FILE, MATRIX

pytestmark = pytest.mark.slow

FACTS = parse_compat(FACTS_FILE.read_text(encoding="utf-8"), FACTS_FILE.name)

APPLICATIONS = """\
applications:
  serve-1.0:
    component: serve
    version: 1.0
    requirements: [serve==1.0]
    overrides: [six==1.17.0]
    sdists: [fire]
    packages: [pdsh]
    environment: {A: "1"}
    ports: [80]
    volumes: {./data: /data}
    sources: [{folder: code, file: code.tar.gz, origin: its makers}]
"""
TORCH_NPU = """\
torch_npu_wheels:
  2.1.0.post6:
    file: torch_npu-2.1.0.post6-{tag}-{abi}-manylinux_2_17_{machine}.whl
    origin: its makers
"""
GOOD: dict[str, Any] = yaml.load(MATRIX + APPLICATIONS + TORCH_NPU + FAMILY, Loader=yaml.BaseLoader)
GOOD["families"]["many"] |= {
    "exclude": [{"python": "own", "pair": "new"}],
    "include": [{"python": "own", "pair": "new"}],
    "overrides": {"base-old": {"application": "serve-1.0", "torch": {"replace": "2.1.0"}}},
}

WORDS = [
    *("axes", "id", "common", "exclude", "include", "overrides", "append", "prepend", "replace"),
    *("a", "b", "x", "{a}", "{a}-{b}", "{", "{}", "{0}", "{a!r}", "{a:x}", "{a[0]}", "{a.b}", "0"),
    *("torch", "torch_npu", "cann", "toolkit", "summary", "application", "requirements", "8.0.RC2"),
    *("own-new", "base-old", "python", "pair", "2", "2.1.0", "full", "serve-1.0", "", " ", "\n"),
    *("ten: x", "$HOME", '"', "é", "\u2028", "../..", "*", "&a", "!!int 3", "9" * 99),
]
TEXTS = st.sampled_from(WORDS) | st.text(max_size=6)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS
TREES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)
FAMILIES = st.dictionaries(
    TEXTS,
    st.fixed_dictionaries(
        {
            "id": TEXTS,
            "axes": st.dictionaries(
                st.sampled_from(["a", "b", "0", "a.b"]),
                st.dictionaries(TEXTS, st.dictionaries(TEXTS, TREES, max_size=3), max_size=3),
                max_size=3,
            ),
        },
        optional=dict.fromkeys(("common", "exclude", "include", "overrides", "other"), TREES),
    ),
    max_size=2,
)


def read(document: Any, compat: Compat | None = FACTS) -> Matrix | None:
    """The matrix; None where it is refused as it should be."""
    try:
        return parse_matrix(json.dumps(document), "matrix.yaml", compat)
    except MatrixError as error:
        problems = error.problems
    assert problems
    assert all(problem.what.endswith((".", "?")) for problem in problems), problems
    assert all(problem.where or "YAML" in problem.what for problem in problems), problems
    return None


def places(tree: Any, so_far: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to every value of ``tree``."""
    pairs = tree.items() if isinstance(tree, dict) else enumerate(tree)
    if not isinstance(tree, dict | list):
        return [so_far]
    return [so_far, *(each for key, value in pairs for each in places(value, (*so_far, key)))]


PLACES = [place for place in places(GOOD) if place]


def changed(place: tuple[Any, ...], value: Any) -> Any:
    document = copy.deepcopy(GOOD)
    inner = document
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    return document


def test_the_matrix_before_fuzzing_is_valid() -> None:
    matrix = read(GOOD)
    assert matrix
    assert [*matrix.targets] == ["own-old", "base-new", "base-old", "own-new", "full", "bare"]


@given(TREES | FAMILIES)
@times(0.5)
def test_anything_under_families(families: Any) -> None:
    read({**GOOD, "families": families})


@given(st.sampled_from(PLACES), TREES)
@times(0.5)
def test_anything_in_any_place(place: tuple[Any, ...], value: Any) -> None:
    read(changed(place, value), COMPAT)


@given(st.sampled_from([place for place in PLACES if place[0] == "families"]), TEXTS, TREES)
@times(0.5)
def test_anything_more_in_a_family(place: tuple[Any, ...], key: str, value: Any) -> None:
    document = copy.deepcopy(GOOD)
    inner = document
    for each in place:
        inner = inner[each]
    if isinstance(inner, dict):
        inner[key] = value
    read(document)


def test_every_place_left_out_in_turn() -> None:
    for place in PLACES:
        document = copy.deepcopy(GOOD)
        inner = document
        for key in place[:-1]:
            inner = inner[key]
        del inner[place[-1]]
        read(document)
