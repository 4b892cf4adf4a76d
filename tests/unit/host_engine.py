# SPDX-License-Identifier: Apache-2.0
"""An engine in the place of docker's, for the checks of a host."""

from __future__ import annotations

from dataclasses import dataclass, field

from cannery.common.errors import EngineError, Problem
from cannery.deploy.workload import Workload
from cannery.matrix.project import Project
from tests.unit.matrices import CHECKOUT

PROJECT = Project(root=CHECKOUT)
TARGET = PROJECT.matrix().targets["py39-torch251-cann81rc1-vllm073"]
WORKLOAD = Workload(image="registry.example.com/ascend:tag", target=TARGET, cards=(0, 1))
BUILD = "python build.py --target x"


@dataclass
class Engine:
    """Answers as an engine would, in its place."""

    machine: str = "aarch64"
    runtimes: frozenset[str] = frozenset({"runc"})
    images: dict[str, str] = field(default_factory=lambda: {WORKLOAD.image: "arm64"})
    why: Problem | None = None
    asked: list[tuple[str, str]] = field(default_factory=list)
    dead: bool = False
    signs: tuple[str, ...] = ()
    """What says that the image is simulated."""

    def machine_and_runtimes(self) -> tuple[str, frozenset[str]]:
        if self.dead:
            raise EngineError(Problem(what="the container engine does not answer.", fix="Start it"))
        return self.machine, self.runtimes

    def image_details(self, reference: str) -> dict[str, str]:
        known = reference in self.images
        return {"Id": "sha256:1", "Architecture": self.images[reference]} if known else {}

    def stand_ins(self, *_: object) -> tuple[str, ...]:
        return self.signs

    def why_not_pulled(self, reference: str, platform: str) -> Problem | None:
        self.asked.append((reference, platform))
        return self.why
