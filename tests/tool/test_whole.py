# SPDX-License-Identifier: Apache-2.0
"""From an empty folder to an image in a registry, with nothing but Python, docker and the wheel."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from cannery.engine.base import building_architecture
from tests.engine.bases import allow_stand_ins
from tests.publish.servers import registry
from tests.tool.conftest import Tool

TARGET = "native"

OWN_CHECK = """
def test_it_is_a_debian(host):
    assert host.file("/etc/debian_version").exists
"""


def _git(folder: Path, *words: str) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
    subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)


@pytest.mark.engine
def test_a_team_goes_from_nothing_to_a_registry(script: Path, tmp_path: Path) -> None:
    started, team = time.monotonic(), Tool(script=script, folder=tmp_path / "team")
    team.folder.mkdir()
    team.run("init")
    team.run("new", "--python", "3.11", "--torch", "2.8.0", "--cann", "8.5.0", "--write")
    # Without PyTorch, and for this machine: nothing is emulated.
    with (team.folder / "matrix.yaml").open("a", encoding="utf-8") as stream:
        stream.write(
            f"  {TARGET}: {{summary: CANN alone, platform: linux/{building_architecture()},"
            " base: debian-12, python: cpython-3.11.2, cann: 9.1.0}\n"
        )
    (team.folder / "checks").mkdir()
    (team.folder / "checks" / "test_company.py").write_text(OWN_CHECK, encoding="utf-8")
    allow_stand_ins(team.folder)
    team.run("sync")
    _git(team.folder, "init", "--quiet")
    _git(team.folder, "add", "--all")
    _git(team.folder, "commit", "--quiet", "--message", "all")
    team.run("build", TARGET, "--simulate")
    reports = (team.folder / ".cannery" / "reports").glob("*.json")
    assert "checks/test_company.py::test_it_is_a_debian" in "".join(
        path.read_text(encoding="utf-8") for path in reports
    )
    said = team.run("run", TARGET, "--simulate", "--", "python3", "-c", "print(6 * 7)")
    assert said.split()[-1] == "42"
    team.run("test", TARGET, "--simulate", "--component", "python")
    with registry(tmp_path / "registry") as server:
        words = ("push", TARGET, "--simulate", "--allow", "simulated", "--registry", server.host)
        pushed = team.run(*words).strip()
    assert pushed.startswith(f"{server.host}/team@sha256:")
    assert [*(team.folder / "releases" / TARGET).glob("*.json")]
    print(f"{time.monotonic() - started:.0f} s, {os.cpu_count()} cores")
