# SPDX-License-Identifier: Apache-2.0
"""``python -m tests.engine.second_target``: builds a target as machines with a registry do.

All bases are pulled by digest from a local registry: by an engine with the containerd image store,
which has nothing and builds twice, with equal layers, and by the engine that runs here, which
checks the image and names it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from cannery.common.package_index import package_index
from cannery.common.references import image_name
from cannery.engine.simulator import simulate
from cannery.matrix.project import Project

from .conftest import ROOT, SECOND
from .engines import engine, registry
from .proxy import proxy
from .registry_bases import use_registry
from .small_copy import copy_checkout
from .two_engines import layers

NUMBER = 23
"""Tells the engine from others."""

BRIEF = ("os", "python")
"""The components whose checks run in the image of the engine with the containerd store."""


def _say(what: str, begun: float) -> None:
    print(f"[{time.monotonic() - begun:6.1f} s] {what}", file=sys.stderr, flush=True)


def _build_py(root: Path, *words: str, **env: str) -> None:
    argv = [sys.executable, str(root / "build.py"), *words, "--target", SECOND, "--simulate"]
    subprocess.run(argv, env={**os.environ, **env}, check=True)


def _elsewhere(root: Path, folder: Path) -> None:
    """Build twice and check with an engine that has nothing, and the containerd image store."""
    settings = folder / "settings"
    with (
        engine(folder, NUMBER, containerd=True) as started,
        # The engine keeps its hands off the firewall, so its steps reach this machine only.
        proxy(f"10.213.{NUMBER}.1", "builder", "pass", settings),
    ):
        own = {"DOCKER_HOST": started.host, "DOCKER_CONFIG": str(settings)}
        built = []
        for words in ((), ("--force",)):
            _build_py(root, "build", "--no-test", *words, **own)
            built.append(layers(started, image_name(SECOND, simulate=True)))
        if built[0] != built[1]:
            sys.exit(f"two builds without a cache have other layers:\n{built[0]}\n{built[1]}")
        checked = [word for name in BRIEF for word in ("--component", name)]
        _build_py(root, "test", *checked, **own)


def main() -> None:
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="cannery-second-") as temporary:
        folder = Path(temporary)
        root = folder / "checkout"
        copy_checkout(root)
        (ROOT / ".cannery" / "simulator").mkdir(parents=True, exist_ok=True)
        (root / ".cannery").mkdir()
        (root / ".cannery" / "simulator").symlink_to(ROOT / ".cannery" / "simulator")
        # Made here, where the device is compiled already.
        here = Project(root=ROOT)
        target = here.matrix().targets[SECOND]
        simulate(here, target, package_index(None, ""), here.artifacts)
        _say("the packages are simulated", begun)
        with registry(folder) as host:
            use_registry(root, host, [SECOND], ROOT / ".cannery" / "blobs")
            _say(f"the bases are in the registry at {host}", begun)
            _elsewhere(root, folder)
            _say("built twice and checked by an engine with the containerd image store", begun)
            _build_py(root, "build")
            _say("built and checked by the engine that runs here", begun)


if __name__ == "__main__":
    main()
