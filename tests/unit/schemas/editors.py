# SPDX-License-Identifier: Apache-2.0
"""YAML as an editor's plugin hands it to a JSON schema."""

from __future__ import annotations

import json
from typing import Any

import yaml
from jsonschema import Draft7Validator

from schemas.files import FOLDER


def validator(name: str) -> Draft7Validator:
    """What checks the file ``name`` by its committed schema."""
    path = FOLDER / name.replace(".yaml", ".schema.json")
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
