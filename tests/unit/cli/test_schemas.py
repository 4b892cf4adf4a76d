# SPDX-License-Identifier: Apache-2.0
"""The JSON schemas accept and refuse what the readers do, where keys depend on others."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft7Validator

from cannery.common.errors import MatrixError
from cannery.matrix.schema import parse_matrix
from tests.unit import applications
from tests.unit.families import FAMILY
from tests.unit.matrices import CHECKOUT, MATRIX, edited


def validator(name: str) -> Draft7Validator:
    """What checks the file ``name`` by its committed schema."""
    path = CHECKOUT / "schemas" / name.replace(".yaml", ".schema.json")
    return Draft7Validator(json.loads(path.read_text(encoding="utf-8")))


def values(text: str) -> Any:
    """The values of ``text``. YAML 1.2, which editors read, has no dates, and keys are texts."""
    return _value(yaml.compose(text, Loader=yaml.CSafeLoader))


def _value(node: yaml.Node | None) -> Any:
    if isinstance(node, yaml.MappingNode):
        return {key.value: _value(value) for key, value in node.value}
    if isinstance(node, yaml.SequenceNode):
        return [_value(each) for each in node.value]
    assert isinstance(node, yaml.ScalarNode)
    kind = node.tag.removeprefix("tag:yaml.org,2002:")
    if kind in ("int", "float"):
        # A form of number that JSON lacks is a text, as most of them are in YAML 1.2.
        try:
            return json.loads(node.value)
        except ValueError:
            return node.value
    plain = {"true": True, "false": False} if kind == "bool" else {}
    return None if kind == "null" else plain.get(node.value, node.value)


ARCHIVE = "{file: a.tar.gz, origin: its makers}"

# old text, new text; the matrix is refused with it
REFUSED = {
    "the base of a Debian Python": (
        "    source: debian\n    base: debian-11\n",
        "    source: debian\n",
    ),
    "an archive of a Debian Python": (
        "source: debian\n",
        f"source: debian\n    archive: {ARCHIVE}\n",
    ),
    "the public release of an interim one": ("    nearest_public: 8.0.RC3\n", ""),
    "torch_npu beside torch": ("    torch_npu: 2.3.1.post2\n", ""),
    "torch beside torch_npu": ("    torch: 2.3.1\n", ""),
    "an unknown platform": (
        "everything there is\n    platform: linux/arm64",
        "everything there is\n    platform: linux/aarch64",
    ),
    "an unknown layout": (
        "8.0.RC2:\n    layout: ascend-toolkit",
        "8.0.RC2:\n    layout: ascend-tools",
    ),
    "targets or families": ("\ntargets:\n", "\nfamilies: []\ntargets:\n"),
}
ACCEPTED = {
    "the release edition": (
        "8.0.RC2:\n    layout",
        "8.0.RC2:\n    edition: release\n    nearest_public: 8.0.RC2\n    layout",
    ),
    "no torch at all": ("    torch: 2.3.1\n    torch_npu: 2.3.1.post2\n", ""),
    "families beside targets": ("\ntargets:\n", f"\n{FAMILY}\ntargets:\n"),
    "a number as a text": ("suite: bullseye", "suite: 11"),
    "a date as a text": ("suite: bullseye", "suite: 2026-08-21"),
}


@pytest.mark.parametrize(("old", "new"), REFUSED.values(), ids=REFUSED)
def test_refused(old: str, new: str) -> None:
    assert not validator("matrix.yaml").is_valid(values(edited(old, new)))


@pytest.mark.parametrize(("old", "new"), ACCEPTED.values(), ids=ACCEPTED)
def test_accepted(old: str, new: str) -> None:
    assert validator("matrix.yaml").is_valid(values(edited(old, new)))


def test_families_stand_for_targets() -> None:
    head = MATRIX.partition("targets:")[0]
    assert not validator("matrix.yaml").is_valid(values(head))
    assert validator("matrix.yaml").is_valid(values(head + FAMILY))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("summary: one of many", "sumary: one of many"),
        ("deepspeed: 0.15.0", "deepspeed: [0.15.0]"),
        ("requirements: [tqdm, einops]", "requirements: {apend: [tqdm]}"),
        ("requirements: [tqdm, einops]", "requirements: {append: [tqdm], replace: []}"),
        ('id: "{python}-{pair}"', "name: many"),
    ],
)
def test_refused_in_a_family(old: str, new: str) -> None:
    text = MATRIX.partition("targets:")[0] + FAMILY
    assert not validator("matrix.yaml").is_valid(values(edited(old, new, text)))


OF_KEYS_AND_KINDS = re.compile(
    r"[^:]+:\d+:\d+: (unknown key |.* has no '\w+'\. Add it|.*this is empty|there is no value|"
    r".*this must be (text|a list|a mapping|true))"
)
ONLY_THE_READER_KNOWS = re.compile(
    # What is put together from the parts of a family, and what follows from other keys.
    r": targets\.\S+ has no |: \S+ has no 'summary'"
)
EDITS: list[Any] = [None, "", " ", "x", 7, [], ["x"], [None], {}, {"x": "y"}, {"x": {}}]
Place = tuple[Any, ...]


def places(tree: Any, above: Place = ()) -> Iterator[Place]:
    for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
        yield (*above, key)
        if isinstance(value, dict | list):
            yield from places(value, (*above, key))


@pytest.mark.slow
@pytest.mark.parametrize("text", [applications.TEXT, MATRIX + FAMILY], ids=["targets", "families"])
@given(data=st.data())
@settings(max_examples=50, deadline=None)
def test_reader_and_schema_agree_on_keys_and_kinds(text: str, data: st.DataObject) -> None:
    document = copy.deepcopy(values(text))
    every = [*places(document)]
    # By number, because sampled_from would look at each of them.
    *above, key = every[data.draw(st.integers(0, len(every) - 1))]
    inner = document
    for each in above:
        inner = inner[each]
    match data.draw(st.sampled_from(["another", "none", "more"])):
        case "another":
            inner[key] = data.draw(st.sampled_from(EDITS))
        case "none":
            del inner[key]
        case _ if isinstance(inner, dict):
            inner["surprise"] = "x"
    problems = []
    try:
        parse_matrix(json.dumps(document), "matrix.yaml")  # JSON is YAML
    except MatrixError as error:
        problems = [str(each) for each in error.problems]
    refused = [
        each
        for each in problems
        if OF_KEYS_AND_KINDS.match(each) and not ONLY_THE_READER_KNOWS.search(each)
    ]
    accepts = validator("matrix.yaml").is_valid(document)
    assert not (refused and accepts), refused
    assert accepts or problems, [*validator("matrix.yaml").iter_errors(document)]
