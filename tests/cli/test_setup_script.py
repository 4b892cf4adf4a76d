# SPDX-License-Identifier: Apache-2.0
"""setup.sh: which requirements it installs, and when."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
USER, TESTS = "requirements.txt", "requirements-dev.txt"

# 'python3 -m venv FOLDER' takes seconds, and pip a network.
PYTHON = f"""#!/bin/sh
[ "$1 $2" = "-m venv" ] || exec {sys.executable} "$@"
for venv; do :; done
[ "$3" != --clear ] || rm -r "$venv"
mkdir -p "$venv/bin"
touch "$venv/pyvenv.cfg"
cp "$(dirname "$0")/pip" "$venv/bin/pip"
ln -sf {sys.executable} "$venv/bin/python"
"""
PIP = """#!/bin/sh
for word; do last="$word"; done
echo "$last" >>"$PIP_LOG"
exit "$PIP_CODE"
"""
THERE = (
    "arch-test",
    "chromium",
    "cosign",
    "ip",
    "mmdebstrap",
    "mpicxx",
    "rootlesskit-docker-proxy",
)
NEEDED = ("bash", "cat", "cmp", "cp", "dirname", "grep", "ln", "mkdir", "rm", "sed", "sh", "touch")
APT = """#!/bin/sh
echo "$*" >>"$PIP_LOG.apt"
"""


def program(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


@dataclass(frozen=True)
class Machine:
    """A checkout with setup.sh, and programs that stand in for Python's venv and for pip."""

    folder: Path

    @property
    def stamp(self) -> Path:
        return self.folder / "checkout" / ".venv" / ".requirements"

    def has(self, requirements: str, python: str = f'exec {sys.executable} "$@"') -> None:
        """An environment, whose ``python`` is this line of a shell."""
        venv = self.stamp.parent
        (venv / "bin").mkdir(parents=True)
        (venv / "pyvenv.cfg").touch()
        program(venv / "bin" / "python", f"#!/bin/sh\n{python}\n")
        shutil.copy2(self.folder / "checkout" / requirements, self.stamp)

    def setup(
        self, *words: str, pip_code: int = 0, path: str = os.environ["PATH"]
    ) -> subprocess.CompletedProcess[str]:
        env = {**os.environ, "PATH": f"{self.folder}/programs:{path}"}
        env |= {"PIP_LOG": str(self.folder / "pip.log"), "PIP_CODE": str(pip_code)}
        argv = ["bash", str(self.folder / "checkout" / "setup.sh"), *words]
        return subprocess.run(argv, env=env, capture_output=True, text=True, check=False)

    def has_programs(self, *, hub: bool = True) -> None:
        """It is a machine as root that has an engine and all other programs, without any PATH.

        ``hub`` says whether Docker Hub can be reached.
        """
        programs = self.folder / "programs"
        for name in NEEDED:
            (programs / name).symlink_to(shutil.which(name) or name)
        # An arm64 machine needs no emulation.
        texts = {**dict.fromkeys(THERE, ""), "id": "echo 0", "uname": "echo arm64"}
        texts |= {"docker": "echo 28", "systemctl": "", "timeout": f"exit {int(not hub)}"}
        for name, text in texts.items():
            program(programs / name, f"#!/bin/sh\n{text}\n")
        program(programs / "apt-get", APT)

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
    program(programs / "python3", PYTHON)
    program(programs / "pip", PIP)
    return Machine(tmp_path)


@pytest.mark.parametrize(
    ("there", "options", "installed"),
    [
        ("", ("--venv",), [USER]),
        (USER, ("--venv",), []),
        (TESTS, ("--venv",), []),
        ("", ("--venv", "--tests"), [TESTS]),
        (USER, ("--tests", "--venv"), [TESTS]),
        (TESTS, ("--tests=full", "--venv"), []),
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


@pytest.mark.parametrize("python", ["echo 3.9", "exit 127"], ids=["another", "none"])
def test_an_environment_of_another_python_is_made_again(machine: Machine, python: str) -> None:
    machine.has(USER, python)
    left = machine.stamp.with_name("left")
    left.touch()
    done = machine.setup("--venv")
    assert done.returncode == 0, done.stderr
    assert "making it again" in done.stderr
    assert machine.installed == [USER]
    assert not left.exists()
    again = machine.setup("--venv")
    assert "up to date" in again.stderr, again.stderr


def test_a_failed_pip_ends_setup_before_the_command(machine: Machine) -> None:
    done = machine.setup("--venv", "echo", "ran", pip_code=1)
    assert (done.returncode, done.stdout) == (6, "")
    assert f"pip could not install {USER}" in done.stderr
    assert not machine.stamp.exists()
    assert machine.setup("--venv", "echo", "ran").stdout == "ran\n"


@pytest.mark.parametrize("option", ["--test", "--tests=", "--tests=all"])
def test_an_unknown_option_is_refused_and_nothing_is_installed(
    machine: Machine, option: str
) -> None:
    done = machine.setup("--venv", option, "echo", "ran")
    assert (done.returncode, done.stdout) == (2, "")
    assert "Usage: bash setup.sh" in done.stderr
    assert machine.installed == []


@pytest.mark.parametrize(
    ("option", "more"), [("--tests", []), ("--tests=full", ["docker-registry"])]
)
def test_docker_registry_is_installed_only_with_tests_full(
    machine: Machine, option: str, more: list[str]
) -> None:
    machine.has_programs()
    done = machine.setup(option, path="")
    assert done.returncode == 0, done.stderr
    assert machine.installed == [TESTS]
    log = machine.folder / "pip.log.apt"
    words = log.read_text(encoding="utf-8").split() if log.exists() else []
    assert [word for word in words if word == "docker-registry"] == more


ALLOWED = {"docker.io/library/debian": "tools/standin-base"}
OWN = '[mirrors]\n"docker.io" = ["mirror.test"]\n'


@pytest.mark.parametrize(
    ("hub", "before", "after", "said"),
    [
        (True, "", None, "ready"),
        (False, "", ALLOWED, "cannery.toml allows stand-ins for Debian's images"),
        (False, OWN, None, "cannery.toml allows no stand-ins for Debian's images"),
    ],
)
def test_stand_ins_are_allowed_where_docker_hub_cannot_be_reached(
    machine: Machine, *, hub: bool, before: str, after: dict[str, str] | None, said: str
) -> None:
    machine.has_programs(hub=hub)
    settings = machine.folder / "checkout" / "cannery.toml"
    if before:
        settings.write_text(before, encoding="utf-8")
    for _ in range(2):
        done = machine.setup(path="")
        assert done.returncode == 0, done.stderr
        text = settings.read_text(encoding="utf-8") if settings.exists() else ""
        assert tomllib.loads(text).get("stand-ins") == after
        assert text.startswith(before)
        assert said in done.stderr or after
