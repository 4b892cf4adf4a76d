# SPDX-License-Identifier: Apache-2.0
"""A Dockerfile builds without build.py: with the command that its head names."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

from cannery.building.bases import bases
from cannery.matrix.project import Project
from tests.engine.bases import base_image

from .conftest import Built


def layers(image: str) -> list[str]:
    argv = ["docker", "image", "inspect", "--format", "{{json .RootFS.Layers}}", image]
    done = subprocess.run(argv, check=True, capture_output=True, text=True)
    found: list[str] = json.loads(done.stdout)
    return found


def test_the_command_in_the_head_builds_the_same_image(project: Project, main: Built) -> None:
    head = (project.images / main.target.id / "Dockerfile").read_text(encoding="utf-8")
    [command] = re.findall(r"^#   (docker buildx build (?:.*\\\n#.*)+)$", head, re.MULTILINE)
    words = re.sub(r"\\\n#", " ", command).split()
    words[words.index("artifacts=DIR")] = f"artifacts={main.simulated.artifacts}"
    assert Path(words[-1]) == Path("images") / main.target.id
    more = ["--build-arg", "SIMULATED=true", "--tag", "cannery-plain:test", "--load"]
    for argument, base in bases(main.target).items():
        more += ["--build-arg", f"{argument}={base_image(*base)}"]
    subprocess.run(
        [*words[:-1], *more, words[-1]],
        cwd=project.root,
        check=True,
        capture_output=True,
        timeout=600,
    )
    try:
        assert layers("cannery-plain:test") == layers(main.image)
    finally:
        subprocess.run(["docker", "image", "rm", "cannery-plain:test"], check=True)
