# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest

from cannery.common.process import allowed_env, run, run_within, stream
from cannery.publish import cosign

EVERYWHERE = {"PATH": "/bin", "HOME": "/root", "LC_ALL": "C", "https_proxy": "p", "TMPDIR": "/t"}
DOCKERS = {"DOCKER_HOST": "tcp://h:1", "AWS_PROFILE": "a", "ACTIONS_RUNTIME_TOKEN": "t"}
INDEXES = {"UV_INDEX_OWN_PASSWORD": "p", "UV_CACHE_DIR": "/c", "PIP_INDEX_URL": "i"}
LEAKS = dict.fromkeys(
    (
        *("PYTEST_ADDOPTS", "PYTEST_PLUGINS", "PYTHONPATH", "PYTHONSTARTUP", "PYTHONOPTIMIZE"),
        *("LD_PRELOAD", "SOURCE_DATE_EPOCH", "DOCKER_DEFAULT_PLATFORM", "DOCKER_CONTENT_TRUST"),
        *("UV_CONSTRAINT", "UV_INDEX_STRATEGY", "UV_PRERELEASE", "PIP_CONSTRAINT", "PIP_PRE"),
        *("GIT_DIR", "GIT_INDEX_FILE", "OPENSSL_CONF", "APT_CONFIG", "TRIVY_SEVERITY", "BASH_ENV"),
    ),
    "x",
)


@pytest.mark.parametrize(
    ("program", "more"),
    [
        ("docker", DOCKERS),
        ("pytest", DOCKERS),
        ("uv", {k: v for k, v in INDEXES.items() if k[:2] == "UV"}),
        ("pip", {"PIP_INDEX_URL": "i"}),
        ("cosign", {"AWS_PROFILE": "a"}),
        ("git", {}),
        ("unknown", {}),
    ],
)
def test_a_program_gets_what_is_stated_for_it(program: str, more: dict[str, str]) -> None:
    found = allowed_env(program, {**EVERYWHERE, **DOCKERS, **INDEXES, **LEAKS})
    assert found == {**EVERYWHERE, **more}


@pytest.mark.parametrize("way", ["run", "run_within", "stream"])
def test_no_other_variable_reaches_a_program(monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    for name in LEAKS:
        if name != "LD_PRELOAD":  # which this process would ask for, too
            monkeypatch.setenv(name, "leaked")
    argv = ["sh", "-c", "env"]
    heard: list[str] = []
    match way:
        case "run":
            heard.append(run(argv, capture=True, env={"GIVEN": "1"})[1])
        case "run_within":
            heard.append(run_within(argv, 60)[1])
        case _:
            stream(argv, heard.append)
    said = "".join(heard)
    assert "leaked" not in said
    assert "PATH=" in said
    assert ("GIVEN=1" in said) is (way == "run")


def test_the_key_that_a_variable_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "cosign"
    program.write_text('#!/bin/sh\necho "-----BEGIN PUBLIC KEY $OWN_KEY $OTHER"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setenv("OWN_KEY", "secret")
    monkeypatch.setenv("OTHER", "another")
    assert cosign.public_key("env://OWN_KEY") == "-----BEGIN PUBLIC KEY secret \n"
