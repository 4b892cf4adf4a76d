# SPDX-License-Identifier: Apache-2.0
"""Other machines: each has a clone of this checkout, an engine with the bases only, and a proxy."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cannery.building.bases import bases
from cannery.matrix.project import Project

from .bases import allow_stand_ins, base_image
from .conftest import MAIN, ROOT, Said, run_build_py
from .engines import Engine, engine
from .proxy import proxy


@dataclass(frozen=True, kw_only=True)
class Machine:
    """A clone of this checkout and an engine; ``settings`` is the folder of docker's settings."""

    clone: Path
    engine: Engine
    address: str
    settings: Path

    def build_py(self, *words: str, **env: str) -> Said:
        """What build.py ended with: what it printed, and then what it said."""
        env = {"DOCKER_HOST": self.engine.host, "DOCKER_CONFIG": str(self.settings), **env}
        return run_build_py(self.clone, *words, **env)


def load_bases(engine: Engine, archive: Path) -> None:
    """Bring the bases of the main target, which elsewhere are pulled by their digests."""
    target = Project(root=ROOT).matrix().targets[MAIN]
    names = {base_image(*each) for each in bases(target).values()}
    subprocess.run(["docker", "save", "--output", str(archive), *sorted(names)], check=True)
    engine.docker("load", "--input", str(archive))
    archive.unlink()


@contextmanager
def machine(folder: Path, number: int, password: str = "pass") -> Iterator[Machine]:
    """A machine below ``folder``; ``number`` tells its engine from others."""
    clone, settings, address = folder / "clone", folder / "settings", f"10.213.{number}.1"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    allow_stand_ins(clone)
    # They stand in for the vendor's files, and compiling them takes longer than the build.
    if (made := ROOT / ".cannery" / "simulator").is_dir():
        shutil.copytree(made, clone / ".cannery" / "simulator", symlinks=True)
    with (
        engine(folder, number, containerd=True) as started,
        proxy(address, "builder", password, settings),
    ):
        load_bases(started, folder / "bases.tar")
        yield Machine(clone=clone, engine=started, address=address, settings=settings)
