# SPDX-License-Identifier: Apache-2.0
"""Secrets that a build is given are in nothing that an engine keeps of it.

The main target is built through a package index with a password, on an engine of its own. Secrets
that are put into each of these places on purpose are found there.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
import trustme

from cannery.image.names import image_name
from tests.canaries import Canary, Content, canaries, look, watching
from tests.indexes import guarded_index

from .conftest import MAIN, ROOT
from .engines import Engine, engine

NUMBER = 12
ADDRESS = f"10.213.{NUMBER}.1"
"""Of this machine on the engine's bridge."""

PLACES = ("layers", "history", "config", "build cache", "docker's settings", "checkout", "console")
PLANTED = """\
FROM {image} AS cached
RUN echo {cache} >/dev/null
FROM {image}
COPY --from=cached /etc/hostname /etc/cached
ADD planted /etc/planted
RUN echo {history} >/dev/null
LABEL planted={config}
"""


@dataclass(frozen=True, kw_only=True)
class Site:
    """A clone of this checkout, an engine, and what the build of the main target has said."""

    clone: Path
    settings: Path
    engine: Engine
    secrets: Mapping[str, Canary]
    said: bytes
    commands: bytes

    def places(self, image: str) -> dict[str, list[Content]]:
        """All that there is of the build of ``image``."""
        root = Path(self.engine.docker("info", "--format", "{{.DockerRootDir}}"))
        archive = self.settings / "image.tar"
        self.engine.docker("save", "--output", str(archive), image)
        history = self.engine.docker("history", "--no-trunc", "--format", "{{json .}}", image)
        cache = self.engine.docker("buildx", "du", "--verbose")
        with archive.open("rb") as saved:
            layers = saved.read() if archive.stat().st_size < 1 else archive
        return {
            "layers": [layers],
            "history": [history.encode()],
            "config": [self.engine.docker("image", "inspect", image).encode()],
            "build cache": [cache.encode(), *sorted(root.glob("buildkit/*.db"))],
            "docker's settings": [self.settings / "config.json"],
            "checkout": [self.clone / ".cannery", self.clone / "verified"],
            "console": [self.said],
            "command lines": [self.commands],
            "temporary files": [self.settings.parent / "tmp"],
        }
