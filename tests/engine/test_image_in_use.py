# SPDX-License-Identifier: Apache-2.0
"""An image as people use it, and as the platforms with the strictest settings run it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import replace

import docker
import pytest

from cannery.deploy.run_spec import RunSpec, no_device, simulated_device
from cannery.engine.containers import container

from .conftest import Built, Said

PRINT_VERSION = ["python3", "-c", "import torch; print(torch.__version__)"]

# The first thing that people run in a new environment, to the letter.
SNIPPET = """\
import torch
import torch_npu
from torch_npu.contrib import transfer_to_npu

torch.rand([100, 100]).cuda() @ torch.rand([100, 100]).cuda()
"""


def _output(*argv: str, stdin: str = "") -> str:
    done = subprocess.run(argv, input=stdin, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.ci("docker exec has CANN in its environment only if the engine sets it")
def test_run_and_exec_need_no_profile(main: Built) -> None:
    run = no_device().docker_argv(main.image, main.target.platform, PRINT_VERSION)
    assert _output(*run) == "2.3.1"

    idle = ["docker", "run", "--detach", "--rm", "--platform", main.target.platform]
    container = _output(*idle, main.image, "sleep", "600")
    try:
        assert _output("docker", "exec", container, *PRINT_VERSION) == "2.3.1"
    finally:
        _output("docker", "rm", "--force", container)


def test_printed_run_command_runs_the_snippet(main: Built, build_py: Callable[..., Said]) -> None:
    said = build_py("run", "--target", main.target.id, "--simulate", "--print", "python3", "-")
    assert said.code == 0, said.text
    command = said.text.replace("docker run", "docker run --interactive", 1)
    program = f"{SNIPPET}print((torch.ones(2, 2).cuda() @ torch.ones(2, 2).cuda()).sum().item())"
    assert _output("bash", "-c", command, stdin=program) == "8.0"


HOME = """\
import ctypes, getpass, glob, os, shutil, site
os.makedirs(site.getusersitepackages())
os.mkdir("kernel_meta")  # as CANN does when it compiles an operator
# A program that was compiled on first use can be loaded.
ctypes.CDLL(shutil.copy(glob.glob("/lib/*/libz.so.1")[0], os.path.expanduser("~/libz.so")))
try:
    open("/etc/written", "w")
except OSError as error:
    print(getpass.getuser(), os.getuid(), error.strerror)
"""


@pytest.mark.parametrize(
    ("user", "expected"),
    [(["--user", "12345"], "user12345 12345 Read-only"), ([], "root 0 Read-only")],
)
def test_any_user_on_a_read_only_root_can_work(
    main: Built, build_py: Callable[..., Said], user: list[str], expected: str
) -> None:
    options = ["--simulate", *user, "--read-only", "--print"]
    said = build_py("run", "--target", main.target.id, *options, "python3", "-")
    assert said.code == 0, said.text
    command = said.text.replace("docker run", "docker run --interactive", 1)
    printed = _output("bash", "-c", command, stdin=SNIPPET + HOME)
    assert printed == f"{expected} file system"


def test_a_test_container_takes_its_volumes_along(main: Built) -> None:
    client = docker.from_env()
    made = client.containers.create(main.image, ["true"], platform=main.target.platform)
    image = made.commit(changes="VOLUME /data")
    made.remove()
    try:
        before = {each.id for each in client.volumes.list()}
        with container(str(image.id), main.target.platform, no_device(), None):
            assert {each.id for each in client.volumes.list()} > before
        assert {each.id for each in client.volumes.list()} == before
    finally:
        client.images.remove(str(image.id))


def test_nothing_secret_is_in_the_history(main: Built) -> None:
    history = docker.from_env().images.get(main.image).history()
    said = " ".join(str(layer["CreatedBy"]) for layer in history)
    assert "COPY /layer/ /" in said  # or this would look at the wrong thing
    assert "BEGIN CERTIFICATE" not in said


HOME_FOLDER = "/home/HwHiAiUser"

USERS = {"1000:1000": HOME_FOLDER, "123456:0": "/tmp", "123456:123456": "/tmp"}
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
