# SPDX-License-Identifier: Apache-2.0
"""Copies of the checkout that a figure may change."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from cannery.common.errors import CanneryError
from cannery.common.process import run
from cannery.matrix.files import SETTINGS
from cannery.matrix.project import Project

_NEEDED = (
    *("build.py", "matrix.yaml", "publish.yaml", "pyproject.toml"),
    *("README.md", "docs/forty-images.md", "docs/targets.md"),
    *("cannery", "images", "packages/ascend-sim", "tests", "verified"),
)
_LEFT_OUT = shutil.ignore_patterns("__pycache__")


def copied(project: Project, root: Path) -> Project:
    """A copy at ``root`` of the files that build and check; simulated packages are shared."""
    (project.state / "simulator").mkdir(parents=True, exist_ok=True)
    settings = (SETTINGS, "tools") if (project.root / SETTINGS).is_file() else ()
    for name in (*_NEEDED, *settings):
        source = project.root / name
        if source.is_dir():
            shutil.copytree(source, root / name, ignore=_LEFT_OUT)
        else:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, root / name)
    copied_project = Project(root=root)
    copied_project.state.mkdir()
    for mine, theirs in (
        (project.state / "simulator", copied_project.state / "simulator"),
        (project.artifacts, copied_project.artifacts),
    ):
        if mine.is_dir():
            theirs.symlink_to(mine)
    return copied_project


def render(project: Project, *options: str) -> None:
    """Run ``build.py render`` in the checkout of ``project``.

    Raises:
        CanneryError: it failed.
    """
    argv = [sys.executable, str(project.root / "build.py"), "render", *options]
    code, said = run(argv, cwd=project.root)
    if code:
        what = f"build.py render failed in a copy of this checkout ({code}):\n{said.strip()}"
        raise CanneryError(what)
