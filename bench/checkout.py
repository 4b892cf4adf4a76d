# SPDX-License-Identifier: Apache-2.0
"""Copies of the checkout that a figure may change, and larger matrices."""

from __future__ import annotations

import copy
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from cannery.common.errors import CanneryError
from cannery.common.process import run
from cannery.matrix.project import Project

_NEEDED = (
    *("build.py", "matrix.yaml", "compat.yaml", "publish.yaml", "pyproject.toml"),
    *("README.md", "docs/targets.md"),
    *("cannery", "images", "packages/ascend-sim", "tests", "verified"),
)
_LEFT_OUT = shutil.ignore_patterns("__pycache__")


def copied(project: Project, root: Path) -> Project:
    """A copy at ``root`` of the files that build and check; simulated packages are shared."""
    (project.state / "simulator").mkdir(parents=True, exist_ok=True)
    for name in _NEEDED:
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
    code, said = run(argv, cwd=project.root, capture=True)
    if code:
        what = f"build.py render failed in a copy of this checkout ({code}):\n{said.strip()}"
        raise CanneryError(what)


def grow(project: Project, times: int) -> int:
    """Repeat every target of the copy ``project`` ``times`` times; returns the number of targets.

    Each has its own id, lock and folder.

    Raises:
        CanneryError: the larger matrix cannot be rendered.
    """
    ids = [*project.matrix().targets]
    path = project.root / "matrix.yaml"
    text = path.read_text(encoding="utf-8")
    path.write_text(repeated(text, times), encoding="utf-8")
    for number in range(1, times):
        for name in ids:
            folder = project.images / f"{name}-g{number}"
            folder.mkdir()
            for lock in (project.images / name).glob("*.lock"):
                shutil.copy2(lock, folder)
    render(project)
    return len(ids) * times


class _Loader(yaml.BaseLoader):
    """Makes text of every value but true and false, so that 3.10 does not become 3.1."""


class _Dumper(yaml.SafeDumper):
    """Puts text into quotes, and nothing else."""


_BOOL = "tag:yaml.org,2002:bool"
_Loader.add_implicit_resolver(_BOOL, re.compile(r"^(true|false)$"), ["t", "f"])
_Loader.add_constructor(_BOOL, lambda _, node: node.value == "true")
_Dumper.add_representer(
    bool, lambda dumper, value: dumper.represent_scalar(_BOOL, str(value).lower(), style="")
)


def repeated(text: str, times: int) -> str:
    """The matrix.yaml ``text`` with each target and family ``times`` times."""
    matrix = yaml.load(text, Loader=_Loader)  # noqa: S506 - it makes no objects
    return yaml.dump(
        grown(matrix, times), Dumper=_Dumper, sort_keys=False, default_style='"', width=1000
    )


def grown(matrix: dict[str, Any], times: int) -> dict[str, Any]:
    """``matrix`` with each target and family ``times`` times, under different ids."""
    families, targets = matrix.get("families", {}), matrix.get("targets", {})
    larger = {**matrix, "families": {**families}, "targets": {**targets}}
    for number in range(1, times):
        mark = f"-g{number}"
        for name, family in families.items():
            again = copy.deepcopy(family)
            again["id"] += mark
            if "overrides" in again:
                again["overrides"] = {id_ + mark: o for id_, o in again["overrides"].items()}
            larger["families"][name + mark] = again
        larger["targets"] |= {name + mark: copy.deepcopy(t) for name, t in targets.items()}
    return larger


def factors(count: int, sizes: Sequence[int]) -> list[int]:
    """The smallest factors by which ``count`` targets become at least each of ``sizes``."""
    return sorted({-(-size // count) for size in sizes})
