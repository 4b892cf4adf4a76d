# SPDX-License-Identifier: Apache-2.0
"""The schemas that editors use are those of the readers, and the YAML files satisfy them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft7Validator

from cannery.cli.schemas import schema_files
from tests.policy.test_policy_sources import ROOT
from tests.unit.cli.test_schemas import validator, values

FOLDER = ROOT / "schemas"
FILES = schema_files(ROOT)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_schema_is_current(path: Path) -> None:
    current = path.exists() and path.read_text(encoding="utf-8") == FILES[path]
    assert current, f"{path.name} is out of date: run 'build.py sync' and commit schemas/"


def test_there_is_no_other_schema() -> None:
    assert {*FOLDER.glob("*.json")} == {*FILES}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_schema_is_one(path: Path) -> None:
    Draft7Validator.check_schema(json.loads(FILES[path]))


@pytest.mark.parametrize("name", ["matrix.yaml", "cannery/data/compat.yaml", "publish.yaml"])
def test_a_file_names_its_schema_and_satisfies_it(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    schema = f"schemas/{Path(name).stem}.schema.json"
    assert (
        f"# yaml-language-server: $schema={'../' * name.count('/')}{schema}"
        in text.splitlines()[:5]
    )
    assert ROOT / schema in FILES
    assert [each.message for each in validator(Path(name).name).iter_errors(values(text))] == []


def test_keys_are_described_by_the_docs() -> None:
    schema = json.loads(FILES[FOLDER / "matrix.schema.json"])
    keys, application = schema["properties"], schema["$defs"]["ApplicationShape"]["properties"]
    assert keys["bases"]["description"]
    assert application["packages"]["description"]
