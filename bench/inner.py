# SPDX-License-Identifier: Apache-2.0
"""Runs inside a checkout: ``render --check`` and a bare loop in turn, in one process.

Usage: inner.py RUNS, with the checkout as the first folder on Python's path. Prints JSON.
``render --check`` is run where no file has changed since the last time, where one has, and anew.
The bare loop does the least that is necessary: it loads matrix.yaml with the C loader, renders
every template with the same values in one Jinja environment, and compares the texts with the files.
"""

from __future__ import annotations

import contextlib
import gc
import io
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import jinja2
import yaml

from cannery.cli import ROOT, main
from cannery.matrix.project import Project

PROJECT = Project(root=ROOT)

Fill = tuple[str, tuple[Any, ...], dict[str, Any], str]
"""A template's name, its positional and named values, and the rendered text."""


def check() -> None:
    """Run ``render --check`` as a user does.

    Raises:
        RuntimeError: images/ is not in sync.
    """
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        code = main(["render", "--check"])
    if code:
        raise RuntimeError(f"render --check failed with code {code}: {said.getvalue()[-2000:]}")


def recorded() -> list[Fill]:
    """Every rendering of a template in one ``render --check``."""
    fills: list[Fill] = []
    original = jinja2.Template.render

    def render(self: jinja2.Template, *values: Any, **named: Any) -> str:
        text = original(self, *values, **named)
        fills.append((str(self.name), values, named, text))
        return text

    with mock.patch.object(jinja2.Template, "render", render):
        check()
    return fills


def placed(fills: list[Fill]) -> list[tuple[Fill, Path]]:
    """Each rendering with the committed file that it is compared with."""
    files = [path for path in PROJECT.images.glob("*/*") if path.is_file()]
    by_text = {path.read_text(encoding="utf-8", errors="replace"): path for path in files}
    return [(fill, by_text[fill[3]]) for fill in fills if fill[3] in by_text]


def bare(places: list[tuple[Fill, Path]]) -> None:
    """The bare loop.

    Raises:
        RuntimeError: images/ is not in sync.
    """
    with (PROJECT.root / "matrix.yaml").open(encoding="utf-8") as file:
        yaml.load(file, Loader=yaml.CSafeLoader)
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(PROJECT.templates),
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - a Dockerfile is no HTML
    )
    for (name, values, named, _), path in places:
        text = environment.get_template(name).render(*values, **named)
        if path.read_text(encoding="utf-8") != text:
            raise RuntimeError(f"{path} is not in sync")


def _milliseconds(step: Callable[[], None]) -> float:
    gc.collect()
    start = time.perf_counter()
    step()
    return (time.perf_counter() - start) * 1000


def measure(runs: int) -> dict[str, Any]:
    """Samples of all in milliseconds, taken in turn after a warm-up run of each."""
    # As build.py does, for both sides.
    gc.set_threshold(100_000)
    places = placed(recorded())
    bare(places)
    steps: dict[str, Callable[[], None]] = {"check": check, "bare": lambda: bare(places)}
    found: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(runs):
        for name, step in steps.items():
            found[name].append(_milliseconds(step))
    return {**found, "filled": len(places), "targets": len(PROJECT.matrix().targets)}


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]))))
