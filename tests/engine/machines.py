# SPDX-License-Identifier: Apache-2.0
"""Other machines: each has a clone of this checkout, an empty engine and a proxy."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from .conftest import ROOT, Said
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
        own = {"DOCKER_HOST": self.engine.host, "DOCKER_CONFIG": str(self.settings)}
        done = subprocess.run(
            [sys.executable, str(self.clone / "build.py"), *words],
            env={**os.environ, **own, **env},
            capture_output=True,
            text=True,
            check=False,
        )
        assert "Traceback" not in done.stderr
        return Said(code=done.returncode, text=done.stdout + done.stderr)


@contextmanager
def machine(folder: Path, number: int, password: str = "pass") -> Iterator[Machine]:
    """A machine below ``folder``; ``number`` tells its engine from others."""
    clone, settings, address = folder / "clone", folder / "settings", f"10.213.{number}.1"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    # They stand in for the vendor's files, and compiling them takes longer than the build.
    if (made := ROOT / ".cannery" / "simulator").is_dir():
        shutil.copytree(made, clone / ".cannery" / "simulator", symlinks=True)
    with (
        engine(folder, number, containerd=True) as started,
        proxy(address, "builder", password, settings),
    ):
        yield Machine(clone=clone, engine=started, address=address, settings=settings)
