# SPDX-License-Identifier: Apache-2.0
"""What people type into a finished image, and what must not become of its torch."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from cannery.common.package_index import PackageIndex
from cannery.deploy.run_spec import no_device
from cannery.deploy.user_options import TRUSTED
from cannery.engine import containers

from .conftest import Built

# What the two frameworks ask for themselves, as their documentation has people install them.
LLAMAFACTORY = "llamafactory[torch-npu]==0.9.0"  # wants torch 2.1.0 and torch-npu 2.1.0.post3
SWIFT = "ms-swift==2.6.1"  # wants any torch, through its dependencies, and numpy below 2


@dataclass(frozen=True, kw_only=True)
class Shell:
    """Runs commands in one container of the main image that trusts what this machine trusts."""

    container: str
    trust: tuple[str, ...]

    def __call__(self, command: str, stdin: str = "") -> tuple[int, str]:
        """Exit code and output."""
        argv = ["docker", "exec", "--interactive", *self.trust, self.container]
        done = subprocess.run(
            [*argv, "bash", "-c", command],
            input=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout

    def held(self) -> dict[str, str]:
        """The versions of what the image holds fast."""
        code, said = self("pip list --format=freeze")
        assert code == 0, said
        pairs = (line.split("==") for line in said.splitlines() if "==" in line)
        return {name: v for name, v in pairs if name in ("torch", "torch-npu", "numpy")}


@pytest.fixture(scope="module")
def shell(main: Built, packages: PackageIndex) -> Iterator[Shell]:
    with containers.container(main.image, main.target.platform, no_device(), packages.ca) as name:
        variables = ["PIP_CERT", "SSL_CERT_FILE"] if packages.ca else []
        options = [f"--env={variable}={TRUSTED}" for variable in variables]
        if packages.index_url:
            options += [f"--env={v}={packages.index_url}" for v in ("PIP_INDEX_URL", "UV_INDEX")]
        made = Shell(container=name, trust=tuple(options))
        code, said = made("pip install uv")
        assert code == 0, said
        yield made


def _refused(shell: Shell, command: str, stdin: str = "") -> str:
    before = shell.held()
    assert len(before) == 3
    code, said = shell(command, stdin)
    assert code != 0, said
    assert shell.held() == before
    return said


@pytest.mark.ci("one pip install that replaces torch is what the images are made against")
def test_uv_refuses_a_package_with_another_torch(shell: Shell) -> None:
    said = _refused(shell, "uv pip install --system torchvision==0.22.1")
    assert "torch==2.7.1" in said


def test_pip_refuses_llamafactory_s_own_requirements(shell: Shell) -> None:
    command = "cat >/tmp/requirements.txt; pip install -r /tmp/requirements.txt"
    said = _refused(shell, command, stdin=LLAMAFACTORY)
    assert "torch==2.1.0" in said
    assert "/usr/local/share/cannery/constraints.txt" in said
    assert "which may break the image, unset PIP_CONSTRAINT and try again" in said


def test_uv_refuses_llamafactory_s_own_requirements(shell: Shell) -> None:
    command = "cat >/tmp/requirements.txt; uv pip install --system -r /tmp/requirements.txt"
    said = _refused(shell, command, stdin=LLAMAFACTORY)
    assert re.search(r"depends on torch(-npu)?==2\.1\.0", said), said


def test_a_deliberate_override_works(shell: Shell) -> None:
    command = "uv pip install --system --dry-run torchvision==0.22.1"
    code, said = shell(f"unset UV_CONSTRAINT; {command}")
    assert code == 0, said
    assert "+ torch==2.7.1" in said


def test_swift_s_own_requirements_leave_torch(shell: Shell) -> None:
    code, said = shell("uv pip install --system --dry-run -r -", stdin=SWIFT)
    assert code == 0, said
    assert f"+ {SWIFT}" in said
    assert not re.search(r"^ [-+~] (torch|torch-npu|numpy)==", said, re.MULTILINE), said
