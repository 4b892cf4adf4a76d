# SPDX-License-Identifier: Apache-2.0
"""'test --image' on images whose programs print, fork and reach out as they like."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cannery.engine.base import building_architecture
from cannery.matrix.project import Project

from .bases import base_image
from .conftest import MAIN, ROOT, Said

NAME = "cannery-spoiled:hostile"

DOCKERFILE = """\
FROM {base}
RUN printf '#!/bin/sh\\ncase "$2" in *version_info*) exit 0 ;; esac\\n{does}\\n' \\
    >/usr/bin/python3 && chmod 755 /usr/bin/python3
"""

LIMITS = """\
schema: 1
checks:
  - {name: no network, command: tail -n +3 /proc/net/dev, output: '\\A *lo:[^\\n]*\\n?\\Z'}
  - {name: no rights to gain, command: grep NoNewPrivs /proc/self/status, output: '1$'}
  - name: no raw sockets, devices or modules
    command: grep CapEff /proc/self/status
    output: '\\b00000000000000eb$'
  - name: a limit of processes
    command: cat /sys/fs/cgroup/pids.max || cat /sys/fs/cgroup/pids/pids.max
    output: ^16384$
"""
"""0xeb: CHOWN, DAC_OVERRIDE, FOWNER, KILL, SETGID and SETUID."""

Make = Callable[[str], None]
"""Makes the image ``NAME``, in which python3 does this."""


@pytest.fixture(scope="module")
def base(project: Project) -> str:
    """A base that runs without emulation."""
    return base_image(project.matrix().targets[MAIN].base, building_architecture())


@pytest.fixture
def make(base: str, tmp_path: Path) -> Iterator[Make]:
    architecture = building_architecture()

    def build(does: str) -> None:
        (tmp_path / "Dockerfile").write_text(DOCKERFILE.format(base=base, does=does))
        argv = ["docker", "buildx", "build", "--quiet", "--platform", f"linux/{architecture}"]
        argv += ["--provenance", "false", "--output", f"type=docker,name={NAME}", str(tmp_path)]
        subprocess.run(argv, check=True, capture_output=True)

    yield build
    subprocess.run(["docker", "image", "rm", "--force", NAME], check=True, capture_output=True)


def test_a_python_that_prints_without_end_is_stopped(make: Make, tmp_path: Path) -> None:
    make("exec yes yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy")
    argv = [sys.executable, str(ROOT / "build.py"), "test", "--image", NAME]
    said = tmp_path / "said"
    with said.open("w", encoding="utf-8") as stream:
        process = subprocess.Popen(argv, stdout=stream, stderr=stream)
        _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    text = said.read_text(encoding="utf-8")
    assert process.returncode == 8, text
    assert "could not be found out: the probe printed without end" in text
    # In KiB, of the largest of its processes.
    assert used.ru_maxrss < 600 << 10


def test_programs_of_an_image_have_limits(
    build_py: Callable[..., Said], base: str, tmp_path: Path
) -> None:
    (tmp_path / "checks").mkdir()
    (tmp_path / "checks/limits.yaml").write_text(LIMITS, encoding="utf-8")
    said = build_py("test", "--image", base, "--checks", str(tmp_path / "checks"))
    assert said.code == 0, said.text
