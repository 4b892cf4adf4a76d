# SPDX-License-Identifier: Apache-2.0
"""``build.py run`` with a program in docker's place."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.checkout import Checkout

TARGET = "py39-torch231-cann8t39"
MOUNTS = [
    *("/usr/local/Ascend/driver", "/usr/local/dcmi"),
    *("/usr/local/bin/npu-smi", "/etc/ascend_install.info"),
]
FIND_HOST = """
import sys
from pathlib import Path
from cannery.execute.simulator import simulated
from cannery.project import Project
project = Project(root=Path.cwd())
print(simulated(project, project.matrix().targets[sys.argv[1]]).host)
"""


@pytest.fixture
def host(checkout: Checkout) -> Path:
    """The driver tree of a simulated host, as a build with --simulate would leave it."""
    done = subprocess.run(
        [sys.executable, "-c", FIND_HOST, TARGET],
        cwd=checkout.root,
        env=checkout.environ(),
        capture_output=True,
        text=True,
        check=True,
    )
    path = Path(done.stdout.strip())
    assert path.is_relative_to(checkout.root)
    path.mkdir(parents=True)
    return path


@pytest.fixture
def path(tmp_path: Path) -> dict[str, str]:
    """An environment in which docker prints the words that it is given."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "docker").write_text(
        f"#!{sys.executable}\nimport sys\nprint(*sys.argv[1:], sep='\\n')\nsys.exit(7)\n",
        encoding="utf-8",
    )
    (folder / "docker").chmod(0o755)
    return {"PATH": str(folder)}


def words(host: Path) -> list[str]:
    return [
        *("run", "--rm", "--platform", "linux/arm64", "--shm-size", "16g"),
        *(
            word
            for where in MOUNTS
            for word in ("--mount", f"type=bind,source={host}{where},target={where},readonly")
        ),
        *(f"cannery:{TARGET}-sim", "python3", "-c", "print(1, 'x')"),
    ]


COMMAND = ["--target", TARGET, "--simulate", "--", "python3", "-c", "print(1, 'x')"]


def test_what_is_run(checkout: Checkout, host: Path, path: dict[str, str]) -> None:
    result = checkout.run("run", *COMMAND, env=path)
    assert (result.code, result.err) == (7, "")
    assert result.out.splitlines() == words(host)


def test_what_is_printed_is_what_would_be_run(
    checkout: Checkout, host: Path, path: dict[str, str]
) -> None:
    result = checkout.run("run", "--print", *COMMAND)
    result.accepted()
    printed = subprocess.run(
        ["/bin/bash", "-c", result.out], env=path, capture_output=True, text=True, check=False
    )
    assert printed.stdout.splitlines() == words(host)


@pytest.mark.usefixtures("host")
def test_docker_is_not_installed(checkout: Checkout, tmp_path: Path) -> None:
    result = checkout.run("run", *COMMAND, env={"PATH": str(tmp_path)})
    result.refused(6, "docker cannot be started: no such file or directory. 'bash setup.sh'")
