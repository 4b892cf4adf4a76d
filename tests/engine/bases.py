# SPDX-License-Identifier: Apache-2.0
"""The bases that builds on this machine use."""

from __future__ import annotations

import tempfile
from pathlib import Path

from cannery.common.bases import Base
from cannery.engine.base import Bases, Notes
from cannery.engine.builder import find_builder


def base_image(base: Base, architecture: str) -> str:
    """What a Dockerfile names for ``base``: a stand-in, which only this machine's engine has."""
    with tempfile.TemporaryDirectory() as folder:
        bases = Bases(builder=find_builder(""), notes=Notes(state=Path(folder)))
        return bases.find(base, architecture).reference
