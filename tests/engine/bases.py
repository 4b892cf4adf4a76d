# SPDX-License-Identifier: Apache-2.0
"""The bases that builds on this machine use."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from cannery.common.bases import Base
from cannery.engine.base import BaseCache, Bases
from cannery.engine.builder import find_builder
from cannery.matrix.files import SETTINGS

ROOT = Path(__file__).resolve().parents[2]


def allow_stand_ins(root: Path) -> None:
    """Give the checkout ``root`` this one's cannery.toml, which may allow stand-ins."""
    if (ROOT / SETTINGS).is_file():
        shutil.copy2(ROOT / SETTINGS, root / SETTINGS)
        shutil.copytree(ROOT / "tools", root / "tools", dirs_exist_ok=True)


def base_image(base: Base, architecture: str) -> str:
    """What a Dockerfile names for ``base``: a stand-in, which only this machine's engine has."""
    with tempfile.TemporaryDirectory() as folder:
        bases = Bases(builder=find_builder(""), notes=BaseCache(state=Path(folder)))
        return bases.find(base, architecture).reference
