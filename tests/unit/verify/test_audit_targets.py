# SPDX-License-Identifier: Apache-2.0
"""An image of each target of matrix.yaml, as its record describes it, is judged as the target."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cannery.common.model import Target
from cannery.compat import judge
from cannery.compat.finding import Verdict
from cannery.verify.audit.contents import judge_image
from cannery.verify.audit.facts import ImageConfig
from cannery.verify.audit.report import Standing
from tests.unit.audits import COMPAT, KNOWN, PROJECT, SITE, found_with
from tests.unit.described import described_folder

TARGETS = [
    each
    for each in PROJECT.matrix().targets.values()
    if (PROJECT.images / each.id / "target.json").exists()
]


def _infos(target: Target, home: str) -> dict[str, dict[str, str]]:
    folder = f"{home}/{target.machine}-linux"
    infos = {
        f"{folder}/ascend_toolkit_install.info": target.cann.version,
        f"{folder}/ascend_kernels_install.info": target.kernels.version,
    }
    if target.with_nnal:
        infos["/usr/local/Ascend/nnal/atb/x/ascend_nnal_install.info"] = target.nnal.version
    return {path: {"version": each, "arch": target.machine} for path, each in infos.items()}


def _facts(target: Target, record: dict[str, Any]) -> dict[str, Any]:
    home = str(record["toolkit_home"])
    wheels = {**record["wheels"], **record["vendor_wheels"]}
    versions = {name.replace("_", "-"): version for name, version in wheels.items()}
    plugin = versions.pop("deepspeed-plugin", "")
    if plugin:
        versions["deepspeed-npu"] = plugin
    return {
        "libc": f"glibc {target.base.glibc}",
        "python": {"path": record["interpreter"], "version": target.python.version},
        "environment": record["environment"],
        "torch_file": target.torch,
        "own_record": [],
        "ascend": {
            "homes": {home: [home]},
            "infos": _infos(target, home),
            "operators": [target.operators],
            "simulated": [],
        },
        "versions": versions,
    }


@pytest.mark.parametrize("target", TARGETS, ids=lambda each: str(each.id))
def test_a_target_s_image_is_judged_as_the_target(target: Target) -> None:
    made = described_folder(PROJECT.images / target.id)
    facts = _facts(target, json.loads(made["target.json"]))
    versions = facts.pop("versions")
    places = {name: ((version, SITE),) for name, version in versions.items()}
    found = found_with(**facts).model_copy(update={"distributions": places})
    config = ImageConfig(reference="theirs:1", architecture=target.docker_arch)
    results = judge_image(found, config, COMPAT, KNOWN, target.chip)
    assert not [each for each in results if each.standing is Standing.BROKEN]
    unknown = {each.check for each in results if each.standing is Standing.UNKNOWN}
    own = {
        f"compat/{each.component}"
        for each in judge(target, COMPAT)
        if each.verdict is Verdict.UNKNOWN
    }
    assert {each for each in unknown if each.startswith("compat/")} <= own
