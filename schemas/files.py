# SPDX-License-Identifier: Apache-2.0
"""The schema of each YAML file, made by running its reader on its sample."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import yaml

from cannery.common.models import Model, json_schema
from cannery.common.yaml_reader import Problems, Section
from cannery.compat import Compat
from cannery.matrix.families import MERGES
from cannery.matrix.files import DATA
from cannery.matrix.schema import matrix_of
from cannery.publish.policy import PublishFile
from cannery.verify.audit.profiles import ProfilesFile
from cannery.verify.audit.user_checks import ChecksFile
from schemas.emit import Schema, document
from schemas.recorder import Recorder

T = TypeVar("T")

FOLDER = Path(__file__).resolve().parent

MODELS: dict[str, type[Model]] = {
    "compat": Compat,
    "publish": PublishFile,
    "checks": ChecksFile,
    "profiles": ProfilesFile,
}


def schema_files(folder: Path = FOLDER) -> dict[Path, str]:
    """Path to text of every schema in ``folder``, which has the samples.

    Raises:
        MatrixError: a sample is wrong, or lacks an example of a key.
    """
    matrix, _ = record(folder, "matrix.yaml", lambda top: matrix_of(top, None))
    _describe(matrix, (FOLDER.parent / "docs" / "matrix.md").read_text(encoding="utf-8"))
    _complete_families(matrix)
    return {
        folder / f"{name}.schema.json": json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
        for name, schema in (
            *(("matrix", matrix), ("data", _data(matrix))),
            *((name, json_schema(model)) for name, model in MODELS.items()),
        )
    }


def record(folder: Path, name: str, read: Callable[[Section], T]) -> tuple[Schema, T]:
    """The schema of the file ``name``, and what ``read`` makes of its sample's first document.

    Raises:
        MatrixError: the sample is wrong, or lacks an example of a key.
    """
    path = folder / "samples" / name
    problems = Problems(f"schemas/samples/{name}")
    nodes = yaml.compose_all(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    seen = [Recorder(node, name, problems) for node in nodes]
    results = [read(top) for top in seen]
    for top in seen:
        top.done()
    problems.raise_if_any()
    return document(name, seen), results[0]


def _data(matrix: Schema) -> Schema:
    """The schema of the files of cannery/data that define what targets of ``matrix`` may name."""
    keys = [key for names in DATA.values() for key in names]
    properties = {key: matrix["properties"][key] for key in keys}
    schema = {key: value for key, value in matrix.items() if key not in ("required", "anyOf")}
    return {**schema, "title": "cannery/data", "properties": properties}


def _describe(matrix: Schema, docs: str) -> None:
    """Give each key the text of its row in a table of ``docs``: | `key` or `key.NAME` | text |."""
    top = matrix["properties"]
    application = top["applications"]["additionalProperties"]["properties"]
    for names, text in re.findall(r"^\| (`.*?`) \| (.*) \|$", docs, re.MULTILINE):
        for name in re.findall(r"`(\w+)", names):
            found = top.get(name) or application.get(name)
            if found is not None:
                found["description"] = re.sub(r"\[(.*?)\]\(.*?\)", r"\1", text)


def _complete_families(matrix: Schema) -> None:
    """Let each part of a family have any keys of a target, each with its value or a merge of it.

    The parts are put together before they are read, so no reader asks anything of one alone.
    """
    top, definitions = matrix["properties"], matrix["definitions"]
    definitions["target"] = target = top["targets"]["additionalProperties"]
    top["targets"]["additionalProperties"] = {"$ref": "#/definitions/target"}
    values = [
        (key, {"$ref": f"#/definitions/target/properties/{key}"}) for key in target["properties"]
    ]
    definitions["part"] = {
        "type": "object",
        "properties": {key: {"anyOf": [value, _merge(value)]} for key, value in values},
        "additionalProperties": False,
    }
    part = {"$ref": "#/definitions/part"}
    family = top["families"]["additionalProperties"]["properties"]
    family["common"] = family["overrides"]["additionalProperties"] = part
    family["axes"]["additionalProperties"]["additionalProperties"] = part


def _merge(value: Schema) -> Schema:
    return {
        "type": "object",
        "properties": dict.fromkeys(MERGES, value),
        "additionalProperties": False,
        "minProperties": 1,
        "maxProperties": 1,
    }
