# SPDX-License-Identifier: Apache-2.0
"""The wheel of this checkout, and an environment in which it is installed and no checkout is."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, kw_only=True)
class Tool:
    """The console script of an environment with the wheel, run in the project ``folder``."""

    script: Path
    folder: Path

    def start(self, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
        """Run cannery with ``words``, and nothing of this checkout."""
        kept = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        kept.pop("VIRTUAL_ENV", None)
        return subprocess.run(
            [str(self.script), *words],
            cwd=self.folder,
            env={**kept, **env},
            capture_output=True,
            text=True,
            check=False,
        )

    def run(self, *words: str, **env: str) -> str:
        """As ``start``, which must end well; what is printed."""
        done = self.start(*words, **env)
        assert done.returncode == 0, done.stderr[-4000:]
        assert "build.py" not in done.stdout + done.stderr
        return done.stdout


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy of the files of git, by way of a source distribution."""
    folder = tmp_path_factory.mktemp("wheel")
    argv = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(argv, cwd=ROOT, check=True, capture_output=True).stdout.decode()
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file() and not name.startswith(("images/", "verified/")):
            (folder / "checkout" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / "checkout" / name)
    _uv("build", "--out-dir", str(folder), str(folder / "checkout"))
    [built] = folder.glob("*.whl")
    return built


@pytest.fixture(scope="session")
def script(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    environment = tmp_path_factory.mktemp("environment") / "venv"
    _uv("venv", "--python", sys.executable, str(environment))
    python = environment / "bin" / "python"
    _uv("pip", "install", "--python", str(python), str(wheel))
    return environment / "bin" / "cannery"


@pytest.fixture(scope="session")
def tool(script: Path, tmp_path_factory: pytest.TempPathFactory) -> Tool:
    """In a project that 'init' has made, with a second target that 'new' has added."""
    folder = tmp_path_factory.mktemp("team") / "Our Images"
    folder.mkdir()
    made = Tool(script=script, folder=folder)
    made.run("init", "--ci", "gitlab")
    made.run("new", "--python", "3.11", "--torch", "2.8.0", "--cann", "8.5.0", "--write")
    made.run("sync")
    return made


def _uv(*words: str) -> None:
    done = subprocess.run(["uv", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
