# SPDX-License-Identifier: Apache-2.0
"""A schema refuses what its reader refuses for a key or a kind, and accepts what it accepts."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cannery.common.errors import MatrixError, Problem
from cannery.common.models import parse_yaml
from cannery.matrix.schema import parse_matrix
from cannery.publish.policy import PublishFile
from cannery.verify.audit.profiles import ProfilesFile
from tests.unit import applications
from tests.unit.families import FAMILY
from tests.unit.matrices import MATRIX
from tests.unit.schemas.editors import validator, values

pytestmark = pytest.mark.slow

PUBLISH = """\
schema: 1
repository: ascend
tags: {immutable: "{target}-{key}", moving: "{target}"}
aliases: {latest: arm}
schemes: ["{cann}-{chip}"]
indexes: {both: [arm, x86]}
trials: {arm: {title: Try it, url: "https://example.com/"}}
"""
PROFILES = """\
schema: 1
profiles:
  farm:
    {about: ours, entrypoint: none, programs: [sh], users: [{name: me, uid: 7}], ports: [80]}
"""
TWO = MATRIX.replace("full:", "arm:") + (
    MATRIX.partition("targets:\n")[2]
    .partition("  bare:")[0]
    .replace("full:", "x86:")
    .replace("arm64", "amd64")
)
MERGES = """\
    exclude: [{python: own, pair: new}]
    include: [{python: own, pair: new}]
    overrides:
      base-old: {torch: {replace: 2.1.0}, requirements: {append: [rich]}}
"""
IS_OF_A_KEY_OR_KIND = re.compile(
    r"unknown key |.* has no '\w+'\. Add it\.$|"
    r".* must be (text|a list|a mapping|true)|.* is empty\.|there is no value\."
)
ONLY_THE_READER_KNOWS = re.compile(
    # What is put together from the parts of a family, and the names of its axes.
    r"many\.\S+ has no|unknown key '\w+' in an item of '(ex|in)clude'|"
    r"an item of '(ex|in)clude' in \S+ has no"
)
KINDS: list[Any] = [None, True, "", " ", "x", 7, [], ["x"], [None], {}, {"x": "y"}, {"x": {}}]

Place = tuple[Any, ...]


def read_matrix(text: str) -> object:
    return parse_matrix(text, "matrix.yaml")


def read_profiles(text: str) -> object:
    return parse_yaml(ProfilesFile, text, "profiles.yaml")


def read_publish(text: str) -> object:
    context = {"matrix": parse_matrix(TWO, "matrix.yaml"), "owners": {"arm": "arm"}}
    return parse_yaml(PublishFile, text, "publish.yaml", context)


@dataclass(frozen=True, kw_only=True)
class File:
    """A file that is good as it is; ``read`` is its reader, and ``edits`` how many it gets."""

    name: str
    text: str
    read: Callable[[str], object]
    edits: int = 3

    @cached_property
    def good(self) -> Any:
        """The values of the file; nobody changes them."""
        return values(self.text)

    def problems(self, document: Any) -> list[Problem]:
        """What the reader says of ``document``; JSON is YAML."""
        try:
            self.read(json.dumps(document))
        except MatrixError as error:
            return [*error.problems]
        return []


FILES = [
    File(name="matrix.yaml", text=applications.TEXT, read=read_matrix),
    File(name="profiles.yaml", text=PROFILES, read=read_profiles),
    File(name="publish.yaml", text=PUBLISH, read=read_publish),
    # Several edits can leave a part of a family out of every target, and then nobody reads it.
    File(name="matrix.yaml", text=MATRIX + FAMILY + MERGES, read=read_matrix, edits=1),
]
VALIDATORS = {file.name: validator(file.name) for file in FILES}


def places(tree: Any, so_far: Place = ()) -> list[Place]:
    """The way to every value of ``tree`` but the whole."""
    pairs = [*tree.items()] if isinstance(tree, dict) else [*enumerate(tree)]
    found = []
    for key, value in pairs:
        found.append((*so_far, key))
        if isinstance(value, dict | list):
            found += places(value, (*so_far, key))
    return found


def replaced(document: Any, place: Place, value: Any) -> Any:
    """``document`` with another value in ``place``; ``...`` stands for none at all."""
    made = inner = copy.deepcopy(document)
    for key in place[:-1]:
        inner = inner[key]
    if value is ...:
        del inner[place[-1]]
    else:
        inner[place[-1]] = value
    return made


def edits(document: Any) -> Iterator[tuple[Place, Any]]:
    """Every edit of one place: another kind, nothing at all, and a key that nobody knows."""
    for place in places(document):
        yield from ((place, value) for value in [*KINDS, ...])
    mappings = [place[:-1] for place in places(document) if isinstance(place[-1], str)]
    yield from (((*place, "surprise"), "x") for place in dict.fromkeys(mappings))


def check(file: File, document: Any) -> None:
    problems = file.problems(document)
    texts = [f"{problem.what} {problem.fix}" for problem in problems]
    refused = [
        text
        for text in texts
        if IS_OF_A_KEY_OR_KIND.match(text) and not ONLY_THE_READER_KNOWS.match(text)
    ]
    accepts = VALIDATORS[file.name].is_valid(document)
    assert not (refused and accepts), refused
    assert accepts or problems, [*VALIDATORS[file.name].iter_errors(document)]


@pytest.mark.parametrize("file", FILES)
def test_reader_and_schema_accept_what_is_edited_below(file: File) -> None:
    assert not file.problems(file.good)
    assert VALIDATORS[file.name].is_valid(file.good)


@pytest.mark.parametrize("file", FILES)
@given(st.data())
@settings(max_examples=100, deadline=None)
def test_reader_and_schema_agree_on_edits(file: File, data: st.DataObject) -> None:
    document = file.good
    for _ in range(data.draw(st.integers(1, file.edits))):
        if everything := [*edits(document)]:
            # By number, because sampled_from would look at each of them.
            place, value = everything[data.draw(st.integers(0, len(everything) - 1))]
            document = replaced(document, place, value)
    check(file, document)
