# SPDX-License-Identifier: Apache-2.0
"""The lines by which the README, the action and the component's examples install torch."""

from __future__ import annotations

import re

import yaml

from tools.archive import FOLDER

_LINE = re.compile(r"^    ascend-sim install (.+)$", re.MULTILINE)


def install_lines() -> list[str]:
    """The options of each ``ascend-sim install`` once, in the order of the documents."""
    found = _LINE.findall((FOLDER / "README.md").read_text(encoding="utf-8"))
    workflow = yaml.safe_load((FOLDER / "examples" / "github.yml").read_text(encoding="utf-8"))
    pipeline = yaml.safe_load((FOLDER / "examples" / "gitlab.yml").read_text(encoding="utf-8"))
    inputs = [each.get("with", {}) for each in workflow["jobs"]["test"]["steps"]]
    inputs += [each["inputs"] for each in pipeline["include"]]
    for given in inputs:
        if torch := given.get("torch"):
            npu = given.get("torch_npu")
            found.append(f"--torch {torch}" + (f" --torch-npu {npu}" if npu else ""))
    return [*dict.fromkeys(found)]
