# SPDX-License-Identifier: Apache-2.0
"""``python -m tests.engine.second_target``: builds a target as machines with a registry do.

All bases are pulled by digest from a local registry. An engine with the containerd image store
builds the target from nothing and checks its image; then the engine that runs here builds it from
the layers that the first has put into the registry, checks it and names it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from .conftest import ROOT, SECOND
from .engines import engine, registry
from .proxy import proxy
from .registry_bases import use_registry
from .small_copy import copy_checkout

NUMBER = 23
"""Tells the engine from others."""


def _say(what: str, begun: float) -> None:
    print(f"[{time.monotonic() - begun:6.1f} s] {what}", file=sys.stderr, flush=True)


def _build(root: Path, *words: str, **env: str) -> None:
    argv = [sys.executable, str(root / "build.py"), "--target", SECOND, "--simulate", *words]
    subprocess.run(argv, env={**os.environ, **env}, check=True)


def main() -> None:
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="cannery-second-") as temporary:
        folder = Path(temporary)
        root = folder / "checkout"
        copy_checkout(root)
        (ROOT / ".cannery" / "simulator").mkdir(parents=True, exist_ok=True)
        (root / ".cannery").mkdir()
        (root / ".cannery" / "simulator").symlink_to(ROOT / ".cannery" / "simulator")
        with registry(folder) as host:
            use_registry(root, host, [SECOND], ROOT / ".cannery" / "blobs")
            _say(f"the bases are in the registry at {host}", begun)
            cache = f"{host}/cache"
            settings = folder / "settings"
            with (
                engine(folder, NUMBER, containerd=True) as started,
                # The engine keeps its hands off the firewall, so its steps reach this machine only.
                proxy(f"10.213.{NUMBER}.1", "builder", "pass", settings),
            ):
                own = {"DOCKER_HOST": started.host, "DOCKER_CONFIG": str(settings)}
                _build(root, "--cache-to", cache, **own)
                _say("built and checked by an engine with the containerd image store", begun)
            _build(root, "--cache-from", cache)
            _say("built and checked by the engine that runs here", begun)


if __name__ == "__main__":
    main()
