# SPDX-License-Identifier: Apache-2.0
"""A real engine, the images that 'nox -s image' has built, and images spoiled on purpose."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from cannery.building.planning import Selection, make_plan
from cannery.building.running import build_all
from cannery.common.model import Target
from cannery.common.package_index import PackageIndex, package_index
from cannery.common.references import image_name
from cannery.engine import client as engine
from cannery.engine.simulator import Simulated, simulate
from cannery.matrix.project import Project
from cannery.options import BuildOptions

ROOT = Path(__file__).parent.parent.parent
MAIN = "py39-torch231-cann8t39"
SECOND = "py39-torch210-cann8rc2"

Spoil = Callable[..., str]
"""Makes an image from an image with some Dockerfile lines more; returns its name."""


@dataclass(frozen=True, kw_only=True)
class Built:
    """A target whose simulated image is here, with what it was made from."""

    target: Target
    image: str
    simulated: Simulated


@pytest.fixture(scope="session")
def project() -> Project:
    return Project(root=ROOT)


@pytest.fixture(scope="session")
def packages() -> PackageIndex:
    return package_index(None, "")


def _built(project: Project, packages: PackageIndex, name: str) -> Built:
    target = project.matrix().targets[name]
    image = image_name(target.id, simulate=True)
    if not engine.image_id(image):
        pytest.fail(f"{image} is not here; 'nox -s image' builds it")
    made = simulate(project, target, packages, project.artifacts)
    return Built(target=target, image=image, simulated=made)


def build_one(project: Project, target: Target, options: BuildOptions) -> None:
    """Build one target."""
    selection = Selection(matrix=project.matrix(), targets=(target,))
    build_all(project, selection, options, make_plan(project, selection, options))


def rename_images(root: Path, names: str) -> None:
    """Let the checkout ``root`` call its images ``names:TAG``, so that it moves no other name."""
    place = root / "cannery" / "common" / "references.py"
    text = place.read_text(encoding="utf-8")
    renamed = text.replace('_LOCAL = "cannery"', f'_LOCAL = "{names}"')
    assert renamed != text
    place.write_text(renamed, encoding="utf-8")


@pytest.fixture(scope="session")
def main(project: Project, packages: PackageIndex) -> Built:
    return _built(project, packages, MAIN)


@pytest.fixture(scope="session")
def second(project: Project, packages: PackageIndex) -> Built:
    return _built(project, packages, SECOND)


@pytest.fixture
def spoil(tmp_path: Path) -> Iterator[Spoil]:
    made: list[str] = []

    def derive(image: str, *lines: str, name: str) -> str:
        tag = f"cannery-spoiled:{name}"
        (tmp_path / "Dockerfile").write_text("\n".join([f"FROM {image}", *lines, ""]))
        subprocess.run(
            [
                *("docker", "buildx", "build", "--quiet", "--platform", "linux/arm64"),
                *("--provenance", "false", "--output", f"type=docker,name={tag}", str(tmp_path)),
            ],
            check=True,
            capture_output=True,
        )
        made.append(tag)
        return tag

    yield derive
    for tag in made:
        subprocess.run(["docker", "image", "rm", "--force", tag], check=True, capture_output=True)


@dataclass(frozen=True, kw_only=True)
class Said:
    """What a run of build.py ended with."""

    code: int
    text: str


def run_build_py(root: Path, *words: str, inside: Sequence[str] = (), **env: str) -> Said:
    """Run build.py of the checkout ``root``; ``inside`` runs a command in another network."""
    argv = [*inside, sys.executable, str(root / "build.py"), *words]
    done = subprocess.run(
        argv, cwd="/", env={**os.environ, **env}, capture_output=True, text=True, check=False
    )
    assert f'Traceback (most recent call last):\n  File "{root}' not in done.stderr
    return Said(code=done.returncode, text=done.stdout + done.stderr)


@pytest.fixture(scope="session")
def build_py() -> Callable[..., Said]:
    return partial(run_build_py, ROOT)
