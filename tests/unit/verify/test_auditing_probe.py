# SPDX-License-Identifier: Apache-2.0
"""What becomes of a probe and of users' commands, with a program in the place of docker."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cannery.common.errors import EngineError, Span
from cannery.engine import client
from cannery.verify.audit.user_checks import UserCheck
from cannery.verify.auditing import NoFactsError, probe, read_config, run_check

CHECK = UserCheck(
    name="a",
    command="echo $ASCEND_RT_VISIBLE_DEVICES; exit 4",
    output="",
    exit_code=0,
    seconds=20,
    memory_mb=0,
    cards=2,
    place=Span(file="a.yaml", line=1, column=1),
)
Docker = Callable[[str], None]


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Docker:
    def install(script: str) -> None:
        path = tmp_path / "docker"
        path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        path.chmod(0o755)

    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return install


EXEC = """
shift
while [ "${1#--env}" != "$1" ]; do export "$2"; shift 2; done
shift
exec "$@"
"""
"""Does on this machine what 'docker exec' would do in a container."""


def test_a_whole_probe(docker: Docker) -> None:
    docker(EXEC)
    assert probe("c").programs["sh"]


def test_no_shell(docker: Docker) -> None:
    docker("""echo 'exec: "sh": executable file not found in $PATH' >&2; exit 127""")
    with pytest.raises(NoFactsError, match="executable file not found"):
        probe("c")


def test_a_probe_that_never_ends(docker: Docker) -> None:
    docker("echo begun; exec sleep 60")
    with pytest.raises(NoFactsError, match="did not end in 0 s"):
        probe("c", seconds=0.3)


def test_a_command_that_is_measured(docker: Docker) -> None:
    docker(EXEC)
    ran = run_check("c", CHECK, sys.executable)
    assert (ran.code, ran.said, ran.timed_out) == (4, "0,1\n", False)
    assert ran.peak_kib > 0


def test_a_command_in_an_image_without_python(docker: Docker) -> None:
    docker(EXEC)
    ran = run_check("c", CHECK, "")
    assert (ran.code, ran.said, ran.peak_kib) == (4, "0,1\n", -1)


def test_a_container_that_is_gone(docker: Docker) -> None:
    docker("echo 'No such container: c' >&2; exit 1")
    ran = run_check("c", CHECK, "python3")
    assert (ran.code, ran.said) == (1, "No such container: c\n")


def test_docker_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EngineError, match="docker is not installed"):
        probe("c")


def test_an_image_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "image_details", lambda _: {})
    with pytest.raises(EngineError, match=r"there is no image mine:1 here\. .*docker pull mine:1"):
        read_config("mine:1")
