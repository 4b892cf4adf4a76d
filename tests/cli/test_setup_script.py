# SPDX-License-Identifier: Apache-2.0
"""setup.sh: which requirements it installs, and when."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
USER, TESTS = "requirements.txt", "requirements-dev.txt"

# 'python3 -m venv FOLDER' takes seconds, and pip a network.
PYTHON = f"""#!/bin/sh
[ "$1 $2" = "-m venv" ] || exec {sys.executable} "$@"
mkdir -p "$3/bin"
cp "$(dirname "$0")/pip" "$3/bin/pip"
"""
PIP = """#!/bin/sh
for word; do last="$word"; done
echo "$last" >>"$PIP_LOG"
exit "$PIP_CODE"
"""


@dataclass(frozen=True)
class Machine:
    """A checkout with setup.sh, and programs that stand in for Python's venv and for pip."""

    folder: Path

    @property
    def stamp(self) -> Path:
        return self.folder / "checkout" / ".venv" / ".requirements"

    def has(self, requirements: str) -> None:
        self.stamp.parent.mkdir()
        shutil.copy2(self.folder / "checkout" / requirements, self.stamp)

    def setup(self, *words: str, pip_code: int = 0) -> subprocess.CompletedProcess[str]:
        env = {**os.environ, "PATH": f"{self.folder}/programs:{os.environ['PATH']}"}
        env |= {"PIP_LOG": str(self.folder / "pip.log"), "PIP_CODE": str(pip_code)}
        argv = ["bash", str(self.folder / "checkout" / "setup.sh"), *words]
        return subprocess.run(argv, env=env, capture_output=True, text=True, check=False)

    @property
    def installed(self) -> list[str]:
        """The files that pip was given."""
        log = self.folder / "pip.log"
        paths = log.read_text(encoding="utf-8").split() if log.exists() else []
        return [Path(path).name for path in paths]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    programs, checkout = tmp_path / "programs", tmp_path / "checkout"
    programs.mkdir()
    checkout.mkdir()
    for name in ("setup.sh", USER, TESTS):
        shutil.copy2(ROOT / name, checkout / name)
    for name, text in (("python3", PYTHON), ("pip", PIP)):
        (programs / name).write_text(text, encoding="utf-8")
        (programs / name).chmod(0o755)
    return Machine(tmp_path)


@pytest.mark.parametrize(
    ("there", "options", "installed"),
    [
        ("", ("--venv",), [USER]),
        (USER, ("--venv",), []),
        (TESTS, ("--venv",), []),
        ("", ("--venv", "--tests"), [TESTS]),
        (USER, ("--tests", "--venv"), [TESTS]),
        (TESTS, ("--venv", "--tests"), []),
    ],
)
def test_the_tests_requirements_come_with_an_option(
    machine: Machine, there: str, options: tuple[str, ...], installed: list[str]
) -> None:
    if there:
        machine.has(there)
    done = machine.setup(*options, "echo", "--venv")
    assert (done.returncode, done.stdout) == (0, "--venv\n"), done.stderr
    assert machine.installed == installed
    if installed:
        assert machine.stamp.read_bytes() == (ROOT / installed[0]).read_bytes()


def test_a_pip_that_fails_ends_it_before_the_command(machine: Machine) -> None:
    done = machine.setup("--venv", "echo", "ran", pip_code=1)
    assert (done.returncode, done.stdout) == (6, "")
    assert f"pip could not install {USER}" in done.stderr
    assert not machine.stamp.exists()
    assert machine.setup("--venv", "echo", "ran").stdout == "ran\n"


def test_an_unknown_option_is_refused_and_nothing_is_installed(machine: Machine) -> None:
    done = machine.setup("--venv", "--test", "echo", "ran")
    assert (done.returncode, done.stdout) == (2, "")
    assert "Usage: bash setup.sh" in done.stderr
    assert machine.installed == []
