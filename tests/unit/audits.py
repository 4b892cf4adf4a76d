# SPDX-License-Identifier: Apache-2.0
"""Images of several origins, as the probe and the engine tell of them."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from cannery.common.models import parse_yaml
from cannery.matrix.project import Project
from cannery.verify.audit.contents import judge_image
from cannery.verify.audit.facts import ImageConfig, ImageFacts, parse_probe
from cannery.verify.audit.report import Result
from cannery.verify.audit.user_checks import ChecksFile, UserCheck
from tests.unit.described import described_folder
from tests.unit.matrices import CHECKOUT

PROJECT = Project(root=CHECKOUT)
COMPAT = PROJECT.compat()
KNOWN = PROJECT.matrix().cann
TARGET = "py39-torch231-cann8t39"
SITE = "/usr/local/lib/python3.9/dist-packages"
HOME = "/usr/local/Ascend/ascend-toolkit/8.0.T39"
LATEST = "/usr/local/Ascend/ascend-toolkit/latest"
_MADE = described_folder(CHECKOUT / "images" / TARGET)
RECORD: dict[str, Any] = json.loads(_MADE["target.json"])
CONSTRAINTS = _MADE["constraints.txt"]
GUARD = "/usr/local/share/cannery/constraints.txt"


def user_check(name: str, command: str, **keys: object) -> UserCheck:
    """A check of the file mine.yaml, in its first line."""
    check = {"name": name, "command": command, **keys}
    text = json.dumps({"schema": 1, "checks": [check]})
    return parse_yaml(ChecksFile, text, "mine.yaml").checks[0]


def _info(version: str) -> dict[str, str]:
    return {"package_name": "Ascend-cann", "version": version, "arch": "aarch64", "os": "linux"}


FACTS: dict[str, Any] = {
    "probe": 1,
    "failed": {},
    "machine": "aarch64",
    "libc": "glibc 2.31",
    "os": {"id": "debian", "version_id": "11", "pretty_name": "Debian GNU/Linux 11 (bullseye)"},
    "python": {"path": "/usr/bin/python3.9", "version": "3.9.2"},
    "prefix": "/usr",
    "other_pythons": {},
    "uid": 0,
    "users": [{"name": "root", "uid": "0", "gid": "0", "home": "/root", "shell": "/bin/bash"}],
    "programs": {"bash": "/usr/bin/bash", "sh": "/usr/bin/sh", "python3": "/usr/bin/python3"},
    "environment": {**RECORD["environment"], "PIP_CONSTRAINT": GUARD, "UV_CONSTRAINT": GUARD},
    "shell_files": {},
    "distributions": {
        **{name: [[version, SITE]] for name, version in RECORD["wheels"].items()},
        "apex": [["0.1+ascend", SITE]],
    },
    "torch_file": "2.3.1",
    "ascend": {
        "homes": {HOME: [LATEST, HOME]},
        "infos": {
            f"{HOME}/aarch64-linux/ascend_toolkit_install.info": _info("8.0.T39"),
            f"{HOME}/aarch64-linux/ascend_kernels_install.info": _info("8.0.T39"),
            f"{HOME}/version.cfg": {"runtime_running_version": "[0.0.0.0.0:8.0.T39]"},
            "/usr/local/Ascend/nnal/atb/8.0.T39/version.info": {
                "ascend-cann-atb": "8.0.T39",
                "ascend-cann-atb version": "8.0.T39.simulated",
                "platform": "aarch64",
            },
        },
        "operators": ["ascend910b"],
        "set_env": ["/usr/local/Ascend/ascend-toolkit/set_env.sh"],
        "simulated": ["/usr/local/Ascend/simulated/Ascend-cann-toolkit"],
    },
    "driver": [],
    "triton": {},
    "cann_programs": {},
    "own_record": RECORD,
    "constraints": CONSTRAINTS,
}
"""What the probe says of an image of TARGET."""

LABELS = {"io.cannery.target": TARGET, "io.cannery.chip": "910b"}
OURS = ImageConfig(
    reference=f"cannery:{TARGET}-sim",
    id="sha256:1",
    environment=FACTS["environment"],
    command=("/bin/bash",),
    labels=LABELS,
    history=(
        f"LABEL org.opencontainers.image.title={TARGET}-sim io.cannery.simulated=true",
        "ENV CANNERY_SIMULATED=1",
        'CMD ["/bin/bash"]',
        f"LABEL org.opencontainers.image.title={TARGET} io.cannery.target={TARGET}",
        "COPY /layer/ / # buildkit",
    ),
)
DERIVED = replace(
    OURS,
    reference="mine:1",
    history=("RUN /bin/sh -c pip install transformers # buildkit", "WORKDIR /app", *OURS.history),
)
FOREIGN = replace(OURS, reference="theirs:910b", labels={}, history=("RUN make",))


def said(facts: Mapping[str, Any]) -> str:
    """What comes out of a container in which the probe has run, and something else, too."""
    return f"warning: not ours\n\ncannery-probe: {json.dumps(facts)}\n"


def found_with(**changes: Any) -> ImageFacts:
    """What is found in an image that differs from TARGET's in these facts.

    A change of a mapping is merged into it; None removes a key.
    """
    facts = copy.deepcopy(FACTS)
    for name, value in changes.items():
        if isinstance(value, dict) and isinstance(facts.get(name), dict):
            merged = {**facts[name], **value}
            facts[name] = {key: each for key, each in merged.items() if each is not None}
        else:
            facts[name] = value
    return parse_probe(said(facts))


def dists(**versions: str | None) -> dict[str, Any]:
    """A change of distributions; an underscore stands for the '-' of a name."""
    return {
        name.replace("_", "-"): [[version, SITE]] if version else None
        for name, version in versions.items()
    }


def results(found: ImageFacts, config: ImageConfig = FOREIGN, chip: str = "") -> dict[str, Result]:
    """Name of each check that is no pass to its result."""
    every = judge_image(found, config, COMPAT, KNOWN, chip)
    return {each.check: each for each in every if each.standing not in ("passed", "note")}
