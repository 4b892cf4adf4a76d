# SPDX-License-Identifier: Apache-2.0
"""The action and the component that test an image in other projects: their scripts are run."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from cannery.cli.parser import parse
from tests.unit.changes import commit, git
from tests.workflows.components import Component, inputs_that_reach_a_script, require_job_of_gitlab
from tests.workflows.steps import ROOT, Done, Machine, Step

ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
COMPONENT = Component("test-image")
INPUTS = {
    "IMAGE": "mine:1",
    "PROFILES": "kubernetes merlin",
    "CHECKS": "my checks",
    "CHIP": "910b",
    "SIMULATE": "true",
    "STRICT": "true",
}
NOTHING = {**INPUTS, "PROFILES": "", "CHECKS": "", "CHIP": "", "SIMULATE": "false", "STRICT": "no"}


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    return Machine(tmp_path, checkout)


def _action(machine: Machine, values: Mapping[str, str], sudo: str = "") -> Done:
    """Run the action's script; ``sudo`` is the text of a program in the place of sudo."""
    [step] = [each for each in ACTION["runs"]["steps"] if each.get("id") == "test"]
    machine.fake("sudo")
    if sudo:
        (machine.fakes / "sudo").write_text(sudo, encoding="utf-8")
    made = Step(name="test", script=step["run"], env=step["env"])
    return machine.run(made, {**values, "CANNERY": "/cannery"})


def _words(call: list[str]) -> list[str]:
    """The words after build.py in a command."""
    [at] = [number for number, word in enumerate(call) if word.endswith("/build.py")]
    return call[at + 1 :]


def test_the_action(machine: Machine) -> None:
    done = _action(machine, INPUTS)
    assert done.code == 0, done.said
    command, given = parse(_words(done.commands[0]))
    assert command.name == "test"
    assert given["image"] == "mine:1"
    assert [*given["profiles"]] == ["kubernetes", "merlin"]
    assert (given["chip"], given["simulate"], given["strict"]) == ("910b", True, True)
    assert given["checks"].name == "my checks"
    outputs = dict(line.split("=") for line in done.output.splitlines())
    assert {*outputs} == {*ACTION["outputs"]}
    assert Path(outputs["junit"]).name == "report.xml"
    assert str(given["junit"]) == outputs["junit"]


def test_the_report_cannot_leave_its_block_in_the_summary(machine: Machine) -> None:
    report = "an image\n```\n<h1>fine</h1>\n"
    done = _action(machine, NOTHING, f"#!/bin/sh\n[ $1 = chown ] || printf '{report}'\n")
    lines = done.summary.splitlines()
    assert [line for line in lines if line and not line.startswith("    ")] == []
    assert "    <h1>fine</h1>" in lines


def test_the_action_fails_if_the_image_does(machine: Machine) -> None:
    done = _action(machine, NOTHING, '#!/bin/sh\necho bad image; [ "$1" = chown ] || exit 8\n')
    assert done.code == 8
    assert "bad image" in done.summary


TESTER = """#!/usr/bin/env python3
import pathlib, sys
words = sys.argv[1:]
for name in ("--junit", "--json") if words[0] != "chown" else ():
    pathlib.Path(words[words.index(name) + 1]).write_text(words[words.index("--image") + 1])
"""
"""Writes the name of the image into each report."""


def test_two_uses_of_the_action_in_one_job_keep_both_reports(machine: Machine) -> None:
    outputs = {}
    for image in ("first:1", "second:1"):
        done = _action(machine, {**NOTHING, "IMAGE": image}, TESTER)
        assert done.code == 0, done.said
        outputs[image] = dict(line.split("=") for line in done.output.splitlines())
    for image, paths in outputs.items():
        texts = {name: Path(path).read_text(encoding="utf-8") for name, path in paths.items()}
        assert texts == dict.fromkeys(ACTION["outputs"], image)


def test_every_input_of_the_action_reaches_its_script() -> None:
    assert inputs_that_reach_a_script(ACTION) == {*ACTION["inputs"]}


def test_the_component_is_a_job_of_gitlab() -> None:
    require_job_of_gitlab(
        *COMPONENT.job(image="mine:1", cannery="https://x", ref="main", tags=["docker"])
    )


def test_the_component(machine: Machine) -> None:
    given = {
        "ref": "main",
        "profiles": "docker merlin",
        "options": "--simulate --strict --checks mine",
    }
    _, job = COMPONENT.job(image="mine:1", cannery="https://x", **given)
    machine.fake("git", "docker")
    lines = [line for line in job["script"] if "setup.sh" not in line]
    script = "\n".join(lines).replace(".cannery-tool/.venv/bin/python", "python-of-venv")
    machine.fake("python-of-venv")
    done = machine.run(Step(name="x", script=script, env=job["variables"]), {})
    assert done.code == 0, done.said
    _, parsed = parse(_words(done.commands[-1]))
    assert [*parsed["profiles"]] == ["docker", "merlin"]
    assert (parsed["strict"], parsed["junit"].name) == (True, "cannery.xml")


DOCKER = """#!/bin/sh
case "$1" in
pull) [ -e "{folder}/registry" ] || {{ echo "not in the registry" >&2; exit 1; }}
  cp "{folder}/registry" "{folder}/engine" ;;
image) [ -e "{folder}/engine" ] || {{ echo "No such image" >&2; exit 1; }}
  cat "{folder}/engine" ;;
esac
"""
"""An engine, which has an image if the file 'engine' has its id, and a registry likewise."""


@pytest.mark.parametrize(
    ("registry", "engine", "pull", "tested"),
    [
        ("new", "stale", True, "new"),
        ("new", "", True, "new"),
        ("", "built here", True, "built here"),
        ("", "", True, ""),
        ("stranger", "built here", False, "built here"),
        ("stranger", "", False, ""),
    ],
)
def test_the_image_tested_by_the_component(
    machine: Machine, *, registry: str, engine: str, pull: bool, tested: str
) -> None:
    machine.fake("git", "python-of-venv")
    for name, image in (("registry", registry), ("engine", engine)):
        if image:
            (machine.folder / name).write_text(image, encoding="utf-8")
    docker = machine.fakes / "docker"
    docker.write_text(DOCKER.format(folder=machine.folder), encoding="utf-8")
    docker.chmod(0o755)
    _, job = COMPONENT.job(image="mine:1", cannery="https://x", ref="main", pull=str(pull).lower())
    lines = [line for line in job["script"] if "setup.sh" not in line]
    script = "\n".join(lines).replace(".cannery-tool/.venv/bin/python", "python-of-venv")
    done = machine.run(Step(name="x", script=script, env=job["variables"]), {})
    ran = "python-of-venv" in [words[0] for words in done.commands]
    assert (done.code == 0, ran) == (bool(tested), bool(tested)), done.said
    if tested:
        assert f"test-image: mine:1 is {tested}" in done.said
    assert ("tests the one that the runner's engine has" in done.said) == (pull and not registry)


@pytest.mark.parametrize("kind", ["commit", "branch", "tag"])
def test_the_component_takes_cannery_at_a_commit_a_branch_or_a_tag(
    machine: Machine, kind: str
) -> None:
    server = machine.folder / "server"
    server.mkdir()
    git(server, "init", "--quiet", "--initial-branch", "main")
    (server / "a").touch()
    commit(server)
    first = git(server, "rev-parse", "HEAD").strip()
    git(server, "tag", "v1")
    git(server, "branch", "old")
    (server / "b").touch()
    commit(server)
    ref = {"commit": first, "branch": "old", "tag": "v1"}[kind]
    _, job = COMPONENT.job(image="mine:1", cannery=server.as_uri(), ref=ref)
    lines = job["script"][: next(n for n, line in enumerate(job["script"]) if "setup.sh" in line)]
    done = machine.run(Step(name="x", script="\n".join(lines), env=job["variables"]), {})
    assert done.code == 0, done.said
    tool = machine.checkout / ".cannery-tool"
    assert git(tool, "rev-parse", "HEAD").strip() == first
    assert [each.name for each in tool.iterdir() if each.name != ".git"] == ["a"]


def test_the_examples_use_existing_inputs() -> None:
    folder = ROOT / "examples" / "test-image"
    workflow = yaml.safe_load((folder / "github.yml").read_text(encoding="utf-8"))
    [step] = [
        each
        for each in workflow["jobs"]["test"]["steps"]
        if str(each.get("uses", "")).startswith("example/cannery@")
    ]
    assert {*step["with"]} <= {*ACTION["inputs"]}
    pipeline = yaml.safe_load((folder / "gitlab.yml").read_text(encoding="utf-8"))
    for each in pipeline["include"]:
        required = {name for name, made in COMPONENT.inputs.items() if "default" not in made}
        assert required <= {*each["inputs"]} <= {*COMPONENT.inputs}
        options = shlex.split(each["inputs"]["options"])
        assert parse(["test", "--image", "x", *options])
