# SPDX-License-Identifier: Apache-2.0
"""Targets to make pages of: those of the checkout, some with results and a release of ours."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

from make import LIST

from images import page_data

ROOT = Path(__file__).resolve().parents[2]
PUBLISHED = "py39-torch231-cann8t39"
"""The target that has a release in ``some_targets``."""

_SOME = "torch231|torch2100-cann910(-910b|-a3)$|mindspore290|vllm|py37|amd64|cann910-runtime"
"""Of targets that are enough to choose from."""

BY_DIGEST = f"registry.example.com/ascend@sha256:{'1' * 64}"

BARE = {"device": "none", "hardware": "x86_64", "passed": 40, "failed": 0, "not_run": 2}
BARE["date"] = "2026-11-21"
SIMULATED = {**BARE, "device": "simulated"}
NPU = {**BARE, "device": "npu", "hardware": "Atlas 800T A2, 910B3"}


@cache
def _listed() -> str:
    argv = [sys.executable, *LIST.split()[1:]]
    return subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def all_targets() -> list[dict[str, Any]]:
    """The targets of the checkout, without the results and releases that they have now."""
    targets: list[dict[str, Any]] = json.loads(_listed())
    return [{**each, "results": [], "verdicts": [], "release": None} for each in targets]


def some_targets() -> list[dict[str, Any]]:
    """Some of them, of which ``PUBLISHED`` has a release."""
    targets = [each for each in all_targets() if re.search(_SOME, each["id"])]
    return [published(each) if each["id"] == PUBLISHED else each for each in targets]


def target(name: str = PUBLISHED) -> dict[str, Any]:
    """One of them, without a release."""
    return next(each for each in all_targets() if each["id"] == name)


def image(made: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """What the page's script gets of ``made``, a target, with these ``changes``."""
    shown: dict[str, Any] = page_data([{**made, **changes}], "")["images"][0]
    return shown


def result(tested: dict[str, Any], basis: str = "current", **changes: Any) -> dict[str, Any]:
    """A result of an image without simulated packages, unless ``changes`` say so."""
    usual = {"simulated": False, "basis": basis, "moved": [], "where": tested["device"]}
    return {"tested": tested, **usual, **changes}


def published(made: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """``made``, a target, with a release that passed its tests, and with its commands."""
    name, platform = made["id"], made["platform"]
    registry, _, repository = BY_DIGEST.partition("@")[0].partition("/")
    layers = [{"name": "wheels-torch", "size": 800_000_000}]
    release = {
        "registry": registry,
        "repository": repository,
        "tag": f"{name}-0123456789ab",
        "tags": [name],
        "digest": BY_DIGEST.partition("@")[2],
        "simulated": False,
        "pushed": "2026-11-21T12:00:00Z",
        "commit": "c" * 40,
        "platforms": {platform: {"size": 3_141_592_653, "layers": layers}},
        "components": made["components"],
        "packages": {"wheels": {"torch": "2.3.1"}, "debian": {"libc6": "2.31-13"}, "vendor": {}},
        "changes": {"since": "old", "added": {}, "removed": {}, "changed": {"torch": ["1", "2"]}},
        **changes,
    }
    texts = [each for each in made["commands"] if each["use"] not in ("build", "try")]
    texts = [{**each, "text": _by_digest(made, each["text"])} for each in texts]
    plain = {"cards": 0, "runtime": ""}
    pull = {"use": "pull", "text": f"docker pull --platform {platform} {BY_DIGEST}", **plain}
    verify = {"use": "signature", "text": f"cosign verify --key cosign.pub {BY_DIGEST}", **plain}
    return {
        **made,
        "release": release,
        "published": BY_DIGEST,
        "results": [result(each, "published") for each in (BARE, NPU)],
        "verdicts": [result(NPU, "published")],
        "commands": [pull, *texts, verify],
        "trial": {"title": "910B, 1 card", "url": "https://train.example.com/trials/7"},
    }


def _by_digest(made: dict[str, Any], text: str) -> str:
    for name in (made["reference"], f"cannery:{made['id']}"):
        text = re.sub(rf"{re.escape(name)}(?![\w.-])", BY_DIGEST, text)
    return text
