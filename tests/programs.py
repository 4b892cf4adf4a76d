# SPDX-License-Identifier: Apache-2.0
"""Programs that some tests need, and that setup.sh --tests=full can install on Debian only."""

from __future__ import annotations

import platform
import shutil
import subprocess
from typing import NoReturn

import pytest


def need(untested: str, *names: str) -> str:
    """The path of the first program of ``names`` that is here.

    Without any, the test fails on Debian, and is skipped elsewhere; ``untested`` is what it tests.
    """
    path = next((path for name in names if (path := shutil.which(name))), None)
    if path is None:
        _missing(names[0], untested)
    return path


def need_compose() -> None:
    """Fails or skips the test if docker has no Compose."""
    done = subprocess.run(["docker", "compose", "version"], capture_output=True, check=False)
    if done.returncode:
        _missing("docker compose", "Compose files as Compose reads them")


def _missing(name: str, untested: str) -> NoReturn:
    if platform.freedesktop_os_release()["ID"] == "debian":
        pytest.fail(f"{name} is not installed; 'bash setup.sh --tests=full' installs it")
    pytest.skip(f"{name} is not installed, so this was not tested: {untested}")
