# SPDX-License-Identifier: Apache-2.0
"""JSON schemas of YAML files and cannery.toml, for editors, made of the models that read them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from cannery.common.files import read_text
from cannery.common.models import Model, json_schema
from cannery.compat import Compat
from cannery.matrix.families import MERGES
from cannery.matrix.files import DATA
from cannery.matrix.schema import MatrixShape
from cannery.matrix.settings import settings_file
from cannery.publish.policy import PublishFile
from cannery.verify.audit.profiles import ProfilesFile
from cannery.verify.audit.user_checks import ChecksFile

Schema = dict[str, Any]

MODELS: dict[str, type[Model]] = {
    "compat": Compat,
    "publish": PublishFile,
    "checks": ChecksFile,
    "profiles": ProfilesFile,
    "settings": settings_file(),
}


def schema_files(root: Path) -> dict[Path, str]:
    """Path to text of every schema of the checkout ``root``, whose docs describe the keys."""
    matrix = json_schema(MatrixShape)
    _describe(matrix, read_text(root / "docs" / "matrix.md"))
    _complete_families(matrix)
    data = _data(matrix)
    _let_definitions_change(matrix)
    schemas = {"matrix": matrix, "data": data}
    schemas |= {name: json_schema(model) for name, model in MODELS.items()}
    return {
        root / "schemas" / f"{name}.schema.json": json.dumps(schema, indent=2) + "\n"
        for name, schema in schemas.items()
    }


def _data(matrix: Schema) -> Schema:
    """The schema of the files of cannery/data that define what targets of ``matrix`` may name."""
    keys = [key for names in DATA.values() for key in names]
    properties = {key: matrix["properties"][key] for key in keys}
    schema = {key: value for key, value in matrix.items() if key not in ("required", "anyOf")}
    return {**schema, "title": "cannery/data", "properties": properties}


def _describe(matrix: Schema, docs: str) -> None:
    """Give each key the text of its row in a table of ``docs``: | `key` or `key.NAME` | text |."""
    top = matrix["properties"]
    application = matrix["$defs"]["ApplicationShape"]["properties"]
    for names, text in re.findall(r"^\| (`.*?`) \| (.*) \|$", docs, re.MULTILINE):
        for name in re.findall(r"`(\w+)", names):
            found = top.get(name) or application.get(name)
            if found is not None:
                found["description"] = re.sub(r"\[(.*?)\]\(.*?\)", r"\1", text)


def _complete_families(matrix: Schema) -> None:
    """Let each part of a family have any keys of a target, each with its value or a merge of it.

    The parts are put together before they are read.
    """
    definitions, part = matrix["$defs"], {"$ref": "#/$defs/part"}
    values = [
        (key, {"$ref": f"#/$defs/TargetShape/properties/{key}"})
        for key in definitions["TargetShape"]["properties"]
    ]
    definitions["part"] = {
        "type": "object",
        "properties": {key: {"anyOf": [value, _merge(value)]} for key, value in values},
        "additionalProperties": False,
    }
    family = definitions["Family"]["properties"]
    matrix["properties"]["common"] = family["common"] = part
    [of_target] = matrix["properties"]["targets"]["patternProperties"]
    named = {"from": {"type": "string"}, **definitions["part"]["properties"]}
    alone = {
        "type": "object",
        "properties": named,
        "additionalProperties": False,
        "if": {"not": {"required": ["from"]}},
        "then": {"dependencies": definitions["TargetShape"]["dependencies"]},
    }
    matrix["properties"]["targets"]["patternProperties"] = {of_target: alone}
    [axis] = family["axes"]["patternProperties"].values()
    for mapping in (family["overrides"], axis):
        mapping.pop("patternProperties", None)
        mapping["additionalProperties"] = part


def _let_definitions_change(matrix: Schema) -> None:
    """Let each definition say that it replaces or extends one of cannery/data."""
    for key in (key for names in DATA.values() for key in names):
        mapping = matrix["properties"][key]
        for pattern, value in mapping.get("patternProperties", {}).items():
            change = _one_of({"replace": value, "extend": {"type": ["object", "array"]}})
            allowed = {pattern: {"anyOf": [value, change]}}
            matrix["properties"][key] = {**mapping, "patternProperties": allowed}


def _merge(value: Schema) -> Schema:
    return _one_of(dict.fromkeys(MERGES, value))


def _one_of(properties: Schema) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
        "minProperties": 1,
        "maxProperties": 1,
    }
