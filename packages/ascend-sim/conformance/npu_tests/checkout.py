# SPDX-License-Identifier: Apache-2.0
"""The files of tests in checkouts of op-plugin and torch_npu, in an order that a seed decides."""

from __future__ import annotations

import random
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from ascend_sim.command.errors import UsageError
from conformance import machine

SETTINGS = re.compile(r"\bos\.(?:environ|putenv)\b|\bsubprocess\b")


@dataclass(frozen=True)
class Suite:
    """Folders of tests in one repository."""

    name: str
    folders: tuple[str, ...]


SUITES = {
    "op-plugin": Suite("op-plugin", ("test/test_base_ops",)),
    "pytorch": Suite("pytorch", ("test/npu", "test/contrib")),
}


@dataclass(frozen=True, order=True)
class File:
    """A file of tests: of which repository, and its path there."""

    suite: str
    path: str
    place: Path

    @property
    def name(self) -> str:
        """What it is called in results."""
        return f"{self.suite}/{self.path}"

    @property
    def cold(self) -> bool:
        """Whether it may set variables before it imports torch_npu."""
        return bool(SETTINGS.search(self.place.read_text(encoding="utf-8")))


def copied(suite: Suite, checkout: Path, folder: Path) -> list[File]:
    """The files of tests of a checkout, in a copy of its tests, since tests write beside them.

    Raises:
        UsageError: the checkout has no such tests.
    """
    for name in suite.folders:
        if not (checkout / name).is_dir():
            raise UsageError(f"{checkout} has no {name}: give a checkout of Ascend/{suite.name}")
    copy = folder / suite.name
    shutil.copytree(checkout / "test", copy / "test")
    return [
        File(suite.name, str(place.relative_to(copy)), place)
        for name in suite.folders
        for place in sorted((copy / name).rglob("test_*.py"))
    ]


def ordered(files: list[File], only: str | None, seed: int) -> list[File]:
    """The files whose path matches, so that the first ones are a random sample of all."""
    chosen = sorted(file for file in files if only is None or re.search(only, file.path))
    random.Random(seed).shuffle(chosen)  # noqa: S311 - no secret
    return chosen


def commits(checkouts: dict[str, Path]) -> str:
    """The checkouts with their commits, for the page."""
    return ", ".join(f"Ascend/{name} {machine.commit(root)}" for name, root in checkouts.items())
