# SPDX-License-Identifier: Apache-2.0
"""Every script of every workflow is tried here, in one of two ways.

DONE: it runs for real, in a copy of the project, with stand-ins for the service only
(test_workflow_effects.py).
READ: it needs an engine, a registry, an NPU or the network. It runs with stand-ins for all of these
and for build.py, each command that it would give is parsed by the real parser, and what does the
work is tested by nox sessions: image, images, engine, publish and browser.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from cannery.cli.parser import parse
from tests.workflows.sessions import SESSIONS, TAGS
from tests.workflows.steps import CHILD, MAIN, STEPS, VALUES, WORKFLOWS, Machine
from tests.workflows.test_workflow_effects import DONE

REGISTRY = {
    **dict.fromkeys(("REGISTRY", "CANNERY_REGISTRY"), "registry.example.com"),
    **dict.fromkeys(("USERNAME", "PASSWORD", "COSIGN_PRIVATE_KEY", "COSIGN_PASSWORD"), "x"),
    **dict.fromkeys(("REGISTRY_USERNAME", "REGISTRY_PASSWORD"), "x"),
}
READ: dict[str, Mapping[str, str]] = {
    "ci/check/Lint, types and tests that need no engine": {},
    "ci/suite/The main image, and tests that only an engine can answer": {},
    "nightly/full/The main image, which the tests use, and all tests": {},
    "gitlab/nightly/script": {},
    "ci/build/Install requirements": {**VALUES, "CACHE": ""},
    "ci/build/Create a builder that can write a cache": {**VALUES, "CACHE": "x", "TOKEN": "x"},
    "ci/build/Build, check and name the images": {**VALUES, "CACHE": "ghcr.io/Some/One/cache"},
    "npu/npu/Install requirements": VALUES,
    "npu/npu/Build": VALUES,
    "npu/npu/Test on the NPU": VALUES,
    "npu/npu/Push": {**VALUES, **REGISTRY},
    "release/publish/Install requirements and check the release": {
        **VALUES,
        **REGISTRY,
    },
    "release/publish/Build and test": {**VALUES, **REGISTRY},
    "release/publish/Publish": {**VALUES, **REGISTRY},
    "update/update/Install requirements": {},
    "update/update/Look for what is new": {"OPTIONS": "--new --table=t.md"},
    "update/update/Lock": {},
    "update/scan/Install requirements": {},
    "update/scan/Scan": REGISTRY,
    "gitlab/check/script": {},
    "gitlab/suite/script": {},
    "gitlab/npu/script": {"CANNERY_ARTIFACTS": "vendor"},
    "gitlab/publish/script": {"CANNERY_ARTIFACTS": "vendor", **REGISTRY},
    "gitlab/publish/after_script": {},
    "gitlab/scan/script": REGISTRY,
    "gitlab/scan/after_script": {},
    "child/.build/script": {"TARGETS": MAIN, "CANNERY_CACHE_TO": "registry.example.com/cache"},
}
PROGRAMS = ("bash", "docker", "git", "ls", "npu-smi", "sudo")
DOCKER = {("login",), ("buildx", "create")}


def test_every_script_is_tried_in_one_way() -> None:
    assert STEPS.keys() | CHILD.keys() == READ.keys() | DONE.keys()
    assert not READ.keys() & DONE.keys()


def accept(words: Sequence[str]) -> int:
    """Have the real parsers look at a command; return how many of build.py's it held."""
    match words:
        case ["sudo", *rest]:
            return accept([word for word in rest if not word.startswith("--preserve-env=")])
        case ["bash", "setup.sh", *rest]:
            return accept(
                [word for word in rest if word not in ("--venv", "--tests", "--tests=full")]
            )
        case ["nox", "-s", *sessions]:
            assert sessions
            assert {*sessions} <= SESSIONS.keys()
        case ["nox", "-t", tag]:
            assert tag in TAGS
        case ["python", ".ci/summary.py", "images", _, *_] | [
            "python",
            ".ci/summary.py",
            "records",
        ]:
            pass
        case ["python", "build.py", *rest]:
            parse(rest)
            return 1
        case ["docker", *rest]:
            assert any(tuple(rest[: len(known)]) == known for known in DOCKER), rest
        case [] | ["ls", "-l", _] | ["npu-smi", "info"]:
            pass
        case ["git", "diff" | "status" | "worktree", *_]:
            pass
        case _:
            pytest.fail(f"what is {words}?")
    return 0


def _kinds(job: str) -> list[dict[str, str]]:
    found: list[dict[str, str]] = WORKFLOWS["update"]["jobs"][job]["strategy"]["matrix"]["include"]
    return found


@pytest.mark.parametrize("kind", _kinds("update"), ids=lambda kind: kind["kind"])
def test_update_knows_how_to_look_for_each_kind(kind: dict[str, str]) -> None:
    parse(["update", *kind["options"].partition("${{")[0].split(), "--write"])


def test_each_kind_of_news_has_a_pull_request_of_its_own() -> None:
    looked, proposed = ([each["kind"] for each in _kinds(job)] for job in ("update", "propose"))
    assert looked == proposed
    assert len({each["title"] for each in _kinds("propose")}) == len(proposed)


@pytest.mark.parametrize("name", [*STEPS, *CHILD])
def test_shellcheck_finds_nothing_in_a_script(name: str) -> None:
    argv = ["shellcheck", "--shell=bash", "-"]
    script = {**STEPS, **CHILD}[name].script
    done = subprocess.run(argv, input=script, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("name", READ)
def test_a_script_uses_existing_commands(name: str, tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    (checkout / ".venv" / "bin").mkdir(parents=True)
    machine = Machine(tmp_path, checkout)
    machine.fake(*PROGRAMS, "python")
    (checkout / ".venv" / "bin" / "python").symlink_to(machine.fakes / "python")
    step = {**STEPS, **CHILD}[name]
    done = machine.run(step, READ[name])
    assert done.code == 0, done.said
    found = sum(accept(words) for words in done.commands)
    assert found == step.script.count("build.py "), done.commands


@pytest.mark.parametrize(("job", "code"), [("npu", 0), ("publish", 1)])
def test_a_job_of_gitlab_without_targets_runs_no_command(
    job: str, code: int, tmp_path: Path
) -> None:
    """Without any --target, build.py would take all targets."""
    machine = Machine(tmp_path, tmp_path)
    machine.fake(*PROGRAMS)
    (machine.fakes / "bash").write_text("#!/bin/sh\n", encoding="utf-8")
    name = f"gitlab/{job}/script"
    done = machine.run(STEPS[name], READ[name])
    assert done.code == code, done.said
    assert "no target's files are in vendor" in done.said
