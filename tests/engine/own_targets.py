# SPDX-License-Identifier: Apache-2.0
"""A copy of this checkout with targets of its own, which build.py locks, renders and builds."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from .conftest import Built, rename_images
from .small_copy import copy_checkout


@contextmanager
def own_checkout(
    root: Path, names: str, sections: Mapping[str, str], targets: str, *simulated: Built
) -> Iterator[Path]:
    """The copy ``root``, whose images are called ``names``:TAG and removed afterwards.

    ``sections`` maps sections of matrix.yaml to what is in them there; ``targets`` take the
    place of all targets. Simulated packages of targets of the same id are there already.
    """
    copy_checkout(root, *simulated)
    rename_images(root, names)
    matrix = root / "matrix.yaml"
    text, found, _ = matrix.read_text(encoding="utf-8").partition("\nfamilies:\n")
    assert found and "\ntargets:\n" not in text
    more = "".join(f"\n{name}:\n{own}" for name, own in sections.items())
    matrix.write_text(f"{text}{more}\ntargets:\n{targets}", encoding="utf-8")
    try:
        yield root
    finally:
        listed = ["docker", "image", "ls", "--quiet", "--no-trunc", names]
        done = subprocess.run(listed, capture_output=True, text=True, check=True)
        if images := {*done.stdout.split()}:
            argv = ["docker", "image", "rm", "--force", *images]
            subprocess.run(argv, capture_output=True, check=True)


def build(root: Path, targets: Iterable[str]) -> None:
    """Lock, render and build ``targets`` in the checkout ``root``; all checks must pass."""
    chosen = [word for each in targets for word in ("--target", each)]
    for words in (["lock"], ["render"], ["--simulate"]):
        argv = [sys.executable, str(root / "build.py"), *words, *chosen]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
