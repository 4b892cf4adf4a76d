# SPDX-License-Identifier: Apache-2.0
"""Builds images without the engine's cache, neither checked nor named."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from cannery.building.assembly import Assembly
from cannery.building.planning import Planned
from cannery.building.selection import index_of
from cannery.common.errors import CanneryError
from cannery.common.process import run
from cannery.common.progress import Board, shown
from cannery.engine import client as engine
from cannery.engine.bake import BakeSettings, Built, bake
from cannery.engine.builder import find_builder
from cannery.engine.simulator import Simulated
from cannery.image.bake_events import Event, EventKind, short
from cannery.image.bake_file import Caches
from cannery.matrix.matrix import Matrix
from cannery.matrix.project import Project
from cannery.options import BuildOptions


@dataclass(frozen=True, kw_only=True)
class BuildAnew:
    """A build of all targets of ``planned`` without the cache.

    ``made`` has the simulated files of targets, and ``built`` is called with the ids of a target
    and of its image. ``done`` says what has then happened to it.
    """

    project: Project
    matrix: Matrix
    planned: Planned
    made: Mapping[str, Simulated]
    built: Built
    done: str

    def run(self, options: BuildOptions) -> Mapping[str, CanneryError]:
        """Build the images, and return the failures.

        Raises:
            CanneryError: as ``Assembly.image`` and ``bake``.
        """
        builder = find_builder(options.builder)
        assembly = Assembly(self.project, self.matrix, options, builder)
        builds = [
            replace(assembly.image(ready, self.made.get(name)), anew=True)
            for name, ready in self.planned.ready.items()
        ]
        settings = BakeSettings(
            builder=builder,
            source=index_of(options),
            caches=Caches(),
            logs=self.project.state / "logs",
        )
        board = Board([build.id for build in builds])

        def heard(target: str, event: Event, _: tuple[int, int]) -> None:
            if event.kind is EventKind.DONE:
                board.step(target, short(event.step), event.seconds)

        def built(target: str, image: str) -> None:
            board.tell(target, "done", self.done, ended=True)
            self.built(target, image)

        with shown(board):
            return bake(builds, settings, heard, built)


def remove_unnamed(image: str) -> None:
    """Remove the image with the id ``image`` from the engine, unless it has a name."""
    if not engine.image_details(image).get("RepoTags"):
        run(["docker", "image", "rm", image], capture=True)
