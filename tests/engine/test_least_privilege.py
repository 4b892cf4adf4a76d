# SPDX-License-Identifier: Apache-2.0
"""An image as the platforms with the strictest settings run it."""

from __future__ import annotations

import subprocess
from dataclasses import replace

import pytest

from cannery.deploy.run_spec import RunSpec, no_device, simulated_device

from .conftest import Built

HOME = "/home/HwHiAiUser"

USERS = {"1000:1000": HOME, "123456:0": "/tmp", "123456:123456": "/tmp"}
"""The image's own user, and users without an account, to the home directory."""

PROGRAM = """\
import getpass, os, tempfile
import torch, torch_npu
assert tempfile.gettempdir() == "/tmp" and getpass.getuser()
print(os.environ["HOME"], (torch.ones(2, 2).npu() @ torch.ones(2, 2).npu()).sum().item())
"""

RIGHTS = r"""
find / -xdev -perm /6000 ! -path '/proc/*'
find / -xdev ! -type l -writable ! -path '/proc/*' ! -path '/dev/*'
true  # some folders cannot be searched
"""


def _run(built: Built, spec: RunSpec, *command: str, stdin: str) -> list[str]:
    argv = spec.docker_argv(built.image, built.target.platform, command)
    argv.insert(2, "--interactive")
    done = subprocess.run(argv, input=stdin, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


@pytest.mark.parametrize(("user", "home"), USERS.items())
def test_the_device_needs_no_rights(main: Built, user: str, home: str) -> None:
    spec = replace(
        simulated_device(main.simulated.host),
        user=user,
        unprivileged=True,
        read_only=True,
        tmpfs=("/tmp",),
    )
    assert _run(main, spec, "python3", "-", stdin=PROGRAM)[-1] == f"{home} 8.0"


@pytest.mark.parametrize(("user", "home"), USERS.items())
def test_only_its_home_and_tmp_can_be_written(main: Built, user: str, home: str) -> None:
    spec = replace(no_device(), user=user)
    assert {*_run(main, spec, "bash", "-s", stdin=RIGHTS)} == {"/tmp", home}
