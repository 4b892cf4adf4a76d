# SPDX-License-Identifier: Apache-2.0
"""An engine, a registry with bases for two platforms, and small checkouts that are built there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from cannery.common.references import full_reference
from cannery.engine.base import building_architecture
from cannery.matrix.project import Project
from cannery.registry.client import Repository
from tests.faults.base import publish_index
from tests.faults.small_checkout import (
    TARGET,
    make_small_checkout,
    toolkit,
)

from .conftest import Said
from .engines import Engine

HERE = building_architecture()
OTHER = {"amd64": "arm64", "arm64": "amd64"}[HERE]
IMAGE = f"cannery:{TARGET}"
STEP = "mkdir -p /layers/toolkit/opt; cp /base /layers/toolkit/opt/built-on"
"""In the build, keeps the text of the build base in the image."""


@dataclass(frozen=True, kw_only=True)
class World:
    """An engine, and a registry at ``host``."""

    engine: Engine
    host: str
    folder: Path

    def publish(
        self,
        name: str,
        *,
        here: str = "of here",
        other: str = "of another",
        compression: str = "gzip",
    ) -> str:
        """Publish a base for both architectures; its reference, by the digest of the index."""
        notes = {HERE: f"{name} {here}", OTHER: f"{name} {other}"}
        repository = Repository(self.host, f"{name}/debian")
        digest = publish_index(repository, "bookworm", notes, compression=compression)
        return f"{self.host}/{name}/debian:bookworm@{digest}"

    def checkout(self, base: str, build_base: str = "") -> Checkout:
        root = self.folder / f"checkout{len([*self.folder.iterdir()])}"
        project = make_small_checkout(root, base, architecture=OTHER, build_base=build_base)
        return Checkout(project=project, engine=self.engine)


@dataclass(frozen=True, kw_only=True)
class Checkout:
    """A small checkout, which is built with ``engine``."""

    project: Project
    engine: Engine

    def __post_init__(self) -> None:
        [target] = self.project.matrix().targets.values()
        path = self.project.artifacts / target.artifacts["toolkit"].name
        path.write_bytes(toolkit(0, STEP))

    def allow_stand_ins(self, base: str) -> None:
        """Allow stand-ins for ``base``, with a program that makes none."""
        root, repository = self.project.root, full_reference(base).name
        setting = f'[stand-ins]\n"{repository}" = "make-base"\n'
        (root / "cannery.toml").write_text(setting, encoding="utf-8")
        (root / "make-base").write_text("#!/bin/sh\necho no mirror\nexit 9\n", encoding="utf-8")
        (root / "make-base").chmod(0o755)

    def build_py(self, *words: str, **env: str) -> Said:
        done = subprocess.run(
            [sys.executable, "-m", "tests.faults.child", str(self.project.root), *words],
            env={**os.environ, "DOCKER_HOST": self.engine.host, **env},
            capture_output=True,
            text=True,
            check=False,
        )
        assert "Traceback" not in done.stderr
        return Said(code=done.returncode, text=done.stdout + done.stderr)

    def build(self, *words: str, **env: str) -> Said:
        return self.build_py("--target", TARGET, "--no-test", *words, **env)

    def key(self) -> str:
        """The content key that a plan expects."""
        said = self.build_py("--target", TARGET, "--plan", "--format", "json")
        found, _ = json.JSONDecoder().raw_decode(said.text)
        return str(found["targets"][0]["key"])

    def labels(self) -> dict[str, str]:
        found: dict[str, str] = json.loads(
            self.engine.docker("image", "inspect", "--format", "{{json .Config.Labels}}", IMAGE)
        )
        return found

    def text(self, path: str) -> str:
        """The text of a file in the image."""
        name = self.engine.docker("create", "--platform", f"linux/{OTHER}", IMAGE, "sh")
        file = self.project.state / "file"
        try:
            self.engine.docker("cp", f"{name}:{path}", str(file))
        finally:
            self.engine.docker("rm", name)
        return file.read_text(encoding="utf-8")
