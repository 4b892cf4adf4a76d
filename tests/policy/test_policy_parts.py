# SPDX-License-Identifier: Apache-2.0
"""What a plan says of layers is what the Dockerfiles do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cannery.image.layers import Layer, layers_of
from cannery.model import Target
from tests.policy.conftest import PROJECT, TARGETS
from tests.policy.dockerfile import Instruction


def parts(target: Target) -> dict[str, Layer]:
    folder = PROJECT.images / target.id
    files = {
        str(path.relative_to(folder)): path.read_text(encoding="utf-8")
        for path in folder.rglob("*")
        if path.is_file()
    }
    return {part.name: part for part in layers_of(target, files)}


def stage(folder: Path, name: str) -> str:
    """The text of a stage and of all that it is made of, but for what all have in common."""
    text = (folder / "Dockerfile").read_text(encoding="utf-8")
    found = re.search(rf"(?ms)^FROM [^\n]* AS {name}$(.*?)(?=^FROM |\Z)", text)
    assert found, name
    lines = [line for line in found[1].splitlines() if line and not line.startswith("#")]
    sources = re.findall(r"from=([\w-]+)", found[1]) + re.findall(rf"^FROM (\S+) AS {name}$", text)
    inner = [stage(folder, each) for each in sources if f" AS {each}\n" in text and each != "tools"]
    if "wheels.txt" in found[1]:
        group = name.removeprefix("wheels-")
        lines.append((folder / "wheels" / f"{group}.txt").read_text(encoding="utf-8"))
    return "\n".join([*lines, *inner])


def test_a_plan_names_the_layers_of_the_dockerfile(
    target: Target, dockerfile: list[Instruction]
) -> None:
    copied = re.findall(
        r"--link --from=(?:layer-)?(\S+) /layer/ /", "\n".join(map(str, dockerfile))
    )
    assert sorted(parts(target)) == sorted(copied)


# The guard has the target's own record, so no two are the same.
SHARED = sorted({name for target in TARGETS.values() for name in parts(target)} - {"guard"})


@pytest.mark.parametrize("name", SHARED)
def test_parts_are_one_where_their_stages_are(name: str) -> None:
    """Two targets share a layer, as a plan says, if and only if its stage is the same in both."""
    have = [target for target in TARGETS.values() if name in parts(target)]
    prefix = "layer-" if name in ("toolkit", "kernels", "nnal") else ""
    by_identity: dict[str, set[str]] = {}
    by_text: dict[str, set[str]] = {}
    for target in have:
        by_identity.setdefault(parts(target)[name].identity, set()).add(target.id)
        text = target.base.image if name in ("os", "packages-stack") else ""
        text += stage(PROJECT.images / target.id, prefix + name)
        by_text.setdefault(text, set()).add(target.id)
    assert sorted(map(sorted, by_identity.values())) == sorted(map(sorted, by_text.values()))
