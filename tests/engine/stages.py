# SPDX-License-Identifier: Apache-2.0
"""One stage of a target's Dockerfile, built with simulated packages, and with edits."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cannery.common.model import Target
from cannery.common.package_index import PackageIndex
from cannery.engine.base import building_architecture
from cannery.image.content_key import bases_of
from cannery.image.render import Renderer
from cannery.matrix.project import Project

from .bases import base_image


@dataclass(frozen=True, kw_only=True)
class Stages:
    """The files that a target's image is built from, in ``folder``; ``artifacts`` has packages."""

    project: Project
    target: Target
    packages: PackageIndex
    artifacts: Path
    folder: Path

    def write(self, edits: Mapping[str, tuple[str, str]] | None = None, after: str = "") -> None:
        """Write the target's files; ``edits`` maps a name to a text and what replaces it.

        ``after`` ends the Dockerfile.
        """
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        for name, text in Renderer(self.project).render(self.target).files.items():
            old, new = (edits or {}).get(name, ("", ""))
            assert old in text, (name, old)
            edited = text.replace(old, new) if old else text
            (self.folder / name).write_text(edited + (after if name == "Dockerfile" else ""))

    def build(self, stage: str, *more: str) -> subprocess.CompletedProcess[str]:
        """Build a stage of what was written, with ``more`` options of buildx."""
        words = ["docker", "buildx", "build", "--platform", self.target.platform]
        words += ["--provenance=false", "--target", stage, "--progress", "plain"]
        words += ["--build-context", f"artifacts={self.artifacts}"]
        words += ["--build-context", f"cannery={self.project.build_context}"]
        words += ["--build-arg", "SIMULATED=true"]
        for name, base in bases_of(self.target).items():
            own = building_architecture() if name == "BUILD_IMAGE" else self.target.docker_arch
            words += ["--build-arg", f"{name}={base_image(base, own)}"]
        words += ["--secret", f"id=ca,src={self.packages.ca}"] if self.packages.ca else []
        words += [*more, str(self.folder)]
        return subprocess.run(words, capture_output=True, text=True, check=False)
