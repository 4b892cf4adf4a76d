# SPDX-License-Identifier: Apache-2.0
"""The page "Forty images in your registry", typed as it is, in an empty folder."""

from __future__ import annotations

import re
import shlex
import subprocess
import time
from pathlib import Path

import pytest

from tests.engine.bases import allow_stand_ins
from tests.publish.servers import registry
from tests.tool.conftest import ROOT, Tool

PAGE = (ROOT / "docs/forty-images.md").read_text(encoding="utf-8")
_IN_BLOCKS = re.MULTILINE | re.DOTALL
COMMANDS = "".join(re.findall(r"^```sh\n(.*?)^```", PAGE, _IN_BLOCKS)).splitlines()
[MATRIX] = re.findall(r"^```yaml\n(.*?)^```", PAGE, _IN_BLOCKS)
REGISTRY = "registry.example.com"
MOST_LINES = 80


def typed(tool: Tool, line: str, host: str) -> str:
    """What ``line`` prints, with the registry ``host`` in place of the example's."""
    program, *words = shlex.split(line.replace(REGISTRY, host))
    if program == "cannery":
        return tool.run(*words)
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
    done = subprocess.run(
        [program, *identity, *words], cwd=tool.folder, check=True, capture_output=True, text=True
    )
    return done.stdout


@pytest.fixture(scope="module")
def team(script: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What each command of the page printed, and the folder as ''."""
    tool = Tool(script=script, folder=tmp_path_factory.mktemp("forty") / "our-images")
    tool.folder.mkdir()
    printed = {"": str(tool.folder)}
    started = time.monotonic()
    with registry(tmp_path_factory.mktemp("registry")) as server:
        for line in COMMANDS:
            if line == "cannery check":
                (tool.folder / "matrix.yaml").write_text(MATRIX, encoding="utf-8")
                allow_stand_ins(tool.folder)
            printed[line] = typed(tool, line, server.host)
    print(f"{len(COMMANDS)} commands in {time.monotonic() - started:.0f} s")
    return printed


def test_the_matrix_has_forty_targets_in_few_lines(team: dict[str, str], script: Path) -> None:
    assert MATRIX.count("\n") <= MOST_LINES
    tool = Tool(script=script, folder=Path(team[""]))
    assert len(tool.run("list", "--format", "names").split()) == 40
    assert len([*(tool.folder / "images").glob("*/Dockerfile")]) == 40


def test_the_commands_do_as_the_page_says(team: dict[str, str]) -> None:
    [ran] = [text for line, text in team.items() if line.startswith("cannery run")]
    [pushed] = [text for line, text in team.items() if line.startswith("cannery push")]
    [planned] = [text for line, text in team.items() if line.startswith("cannery ci")]
    assert ran.split()[-1] == "42"
    assert "/our-images@sha256:" in pushed
    assert "include" in planned
    listed = team["cannery list --where chip=a3 torch=2.13.0"]
    assert {"py311-torch2130-cann920-a3", "py312-torch2130-cann920-a3"} <= {*listed.split()}
