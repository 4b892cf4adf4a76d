# SPDX-License-Identifier: Apache-2.0
"""Actions and GitLab components for other projects, as the two services read them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft7Validator

from tests.workflows.steps import ROOT


def inputs_that_reach_a_script(action: Mapping[str, Any]) -> set[str]:
    """The inputs of an action that its scripts are given."""
    steps = action["runs"]["steps"]
    texts = [text for step in steps for text in step.get("env", {}).values()]
    return {name for text in texts for name in re.findall(r"inputs\.(\w+)", text)}


def _filled(value: Any, inputs: Mapping[str, Any]) -> Any:
    if isinstance(value, dict):
        return {_filled(k, inputs): _filled(each, inputs) for k, each in value.items()}
    if isinstance(value, list):
        return [_filled(each, inputs) for each in value]
    if not isinstance(value, str):
        return value
    if alone := re.fullmatch(r"\$\[\[ inputs\.(\w+) \]\]", value):
        return inputs[alone[1]]
    return re.sub(r"\$\[\[ inputs\.(\w+) \]\]", lambda match: str(inputs[match[1]]), value)


class Component:
    """A GitLab component of templates/ with one job."""

    def __init__(self, name: str) -> None:
        text = (ROOT / "templates" / f"{name}.yml").read_text(encoding="utf-8")
        spec, self._jobs = yaml.safe_load_all(text)
        self.inputs: dict[str, Any] = spec["spec"]["inputs"]

    def job(self, **given: Any) -> tuple[str, dict[str, Any]]:
        """Name and content of the job, as GitLab has it once the inputs are put in."""
        own = {name: each["default"] for name, each in self.inputs.items() if "default" in each}
        [(name, job)] = _filled(self._jobs, own | given).items()
        return str(name), dict(job)


def require_job_of_gitlab(name: str, job: Mapping[str, Any]) -> None:
    """Assert that GitLab's schema allows the job, and that no input was forgotten."""
    spec = find_spec("check_jsonschema")
    assert spec
    assert spec.origin
    folder = Path(spec.origin).parent / "builtin_schemas" / "vendor"
    schema = json.loads((folder / "gitlab-ci.json").read_text(encoding="utf-8"))
    assert [e.message for e in Draft7Validator(schema).iter_errors({name: job})] == []
    assert "$[[" not in json.dumps(job)
