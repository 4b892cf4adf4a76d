# SPDX-License-Identifier: Apache-2.0
"""The engines of the tests leave nothing behind, even if they are killed."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

from tests.faults import base

from .engines import engine

ENGINE_NUMBER = 41


def _mounted(folder: Path) -> list[str]:
    text = Path("/proc/self/mounts").read_text(encoding="utf-8")
    return [line for line in text.splitlines() if f" {folder}/" in line]


def test_a_killed_engine(tmp_path: Path) -> None:
    own, data = tmp_path / "e", tmp_path / "data"
    own.mkdir()
    data.mkdir()
    archive = tmp_path / "base.tar"
    archive.write_bytes(base.archive("tests"))
    with engine(own, ENGINE_NUMBER, containerd=False, data=data) as started:
        started.docker("import", str(archive), "base")
        container = started.docker("run", "--detach", "base", "sleep", "infinity")
        pid = started.docker("inspect", "--format", "{{.State.Pid}}", container)
        assert _mounted(tmp_path)
        started.kill()
    assert _mounted(tmp_path) == []
    assert not data.exists()
    argv = ["pgrep", "--full", f"{own}/exec/"]
    assert subprocess.run(argv, capture_output=True, check=False).stdout == b""
    for _ in range(300):  # it has been killed, and ends soon
        if not Path("/proc", pid).exists():
            break
        time.sleep(0.1)
    assert not Path("/proc", pid).exists()
