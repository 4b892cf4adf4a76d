# SPDX-License-Identifier: Apache-2.0
"""What images take on the bench's engine."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.engine import must
from cannery.common.errors import EngineError


@dataclass(frozen=True, kw_only=True)
class Layer:
    """A layer: ``diff`` names its content."""

    diff: str
    size: int


def layers(image: str) -> list[Layer]:
    """The layers of an image of the bench's engine, the bottom one first.

    Raises:
        EngineError: the engine stores its layers in another way.
    """
    root = Path(must("docker", "info", "--format", "{{.DockerRootDir}}").strip())
    driver = must("docker", "info", "--format", "{{.Driver}}").strip()
    said = must("docker", "image", "inspect", "--format", "{{json .RootFS.Layers}}", image)
    diffs = [str(diff) for diff in json.loads(said)]
    found = []
    for diff, chain in zip(diffs, chains(diffs), strict=True):
        place = root / "image" / driver / "layerdb" / chain.replace(":", "/") / "size"
        try:
            size = int(place.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            what = f"the size of layer {chain} is not in {place}."
            raise EngineError(what) from error
        found.append(Layer(diff=diff, size=size))
    return found


def chains(diffs: Sequence[str]) -> list[str]:
    """The chain ids of layers, as the OCI image specification defines them."""
    found: list[str] = []
    for diff in diffs:
        text = f"{found[-1]} {diff}" if found else ""
        found.append("sha256:" + hashlib.sha256(text.encode()).hexdigest() if text else diff)
    return found


def total(images: Iterable[Sequence[Layer]]) -> int:
    """The sum of the image sizes in bytes."""
    return sum(layer.size for image in images for layer in image)


def distinct(images: Iterable[Sequence[Layer]]) -> int:
    """The bytes where each distinct layer is stored once, as in a registry."""
    return sum({layer.diff: layer.size for image in images for layer in image}.values())
