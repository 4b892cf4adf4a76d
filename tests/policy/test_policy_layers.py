# SPDX-License-Identifier: Apache-2.0
"""What a plan says of layers is what the Dockerfiles do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cannery.common.model import Target
from cannery.image.layers import Layer
from cannery.image.plan import plan_image
from cannery.lock.lock_file import read_lock
from tests.policy.conftest import PROJECT, TARGETS


def layers(target: Target) -> dict[str, Layer]:
    lock = read_lock(PROJECT, target)
    return {layer.name: layer for layer in plan_image(target, lock).layers}


def stage(folder: Path, name: str) -> str:
    """The text of a stage and of all that it is made of, but for what all have in common."""
    text = (folder / "Dockerfile").read_text(encoding="utf-8")
    found = re.search(rf"(?ms)^FROM [^\n]* AS {name}$(.*?)(?=^FROM |\Z)", text)
    assert found, name
    lines = [line for line in found[1].splitlines() if line and not line.startswith("#")]
    parents = re.findall(rf"^FROM (\S+) AS {name}$", text, re.MULTILINE)
    sources = re.findall(r"from=([\w-]+)", found[1]) + parents
    common = ("build", "sealer", "build-python", "files")
    inner = [
        stage(folder, each) for each in sources if f" AS {each}\n" in text and each not in common
    ]
    return "\n".join([*lines, *inner])


def wheels(layer: Layer) -> str:
    return "\n".join(wheel.requirement for wheel in layer.wheels)


# The guard has the target's own record, so no two are the same.
SHARED = sorted({name for target in TARGETS.values() for name in layers(target)} - {"guard"})


@pytest.mark.parametrize("name", SHARED)
def test_layers_are_one_where_their_stages_are(name: str) -> None:
    """Two targets share a layer, as a plan says, if and only if its stage is the same in both."""
    by_identity: dict[str, set[str]] = {}
    by_text: dict[str, set[str]] = {}
    for target in TARGETS.values():
        every = layers(target)
        if layer := every.get(name):
            by_identity.setdefault(layer.identity, set()).add(target.id)
            text = target.base.image if name in ("os", "packages-application") else ""
            # Its Python comes from the base, by the name of a version.
            text += target.python.version if name == "cann-python" else ""
            beside = [each for each in every.values() if each.stage in layer.importable]
            text += "".join(map(wheels, [layer, *beside]))
            text += stage(PROJECT.images / target.id, layer.stage)
            by_text.setdefault(text, set()).add(target.id)
    assert sorted(map(sorted, by_identity.values())) == sorted(map(sorted, by_text.values()))
