# SPDX-License-Identifier: Apache-2.0
"""The programs of the build context as modules, and what their tests have in common."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from tests.unit.matrices import CHECKOUT

DATE = 946684800
"""The date of everything in a layer: 2000-01-01, in seconds since 1970."""

Seal = Callable[..., dict[str, str]]
"""Runs seal-layer with some options; returns path to text of the layer's files."""


def load(name: str, monkeypatch: pytest.MonkeyPatch, folder: str = "context") -> ModuleType:
    """A program of the build context, or of another ``folder`` of cannery/image."""
    # Beside it is the build context of every image, where the programs find each other.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    script = CHECKOUT / "cannery" / "image" / folder / name
    monkeypatch.syspath_prepend(script.parent)
    loader = importlib.machinery.SourceFileLoader(name.replace("-", "_"), str(script))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def write(path: Path, text: str, date: int = 1_000_000_000) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, (date, date))
    return path
