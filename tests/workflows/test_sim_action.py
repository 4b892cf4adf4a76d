# SPDX-License-Identifier: Apache-2.0
"""The action and the component that test a project on simulated NPUs: their scripts are run."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from cannery.matrix.project import Project
from cannery.simulator.command.facts import Facts, Release
from cannery.simulator.command.options import Request, parse
from cannery.simulator.wheel.facts import facts_of
from tests.workflows.components import Component, inputs_that_reach_a_script, require_job_of_gitlab
from tests.workflows.steps import ROOT, Machine, Step

ACTION = yaml.safe_load((ROOT / "ascend-sim" / "action.yml").read_text(encoding="utf-8"))
COMPONENT = Component("ascend-sim")
EXAMPLES = ROOT / "examples" / "ascend-sim"
COMMAND = "pytest -k 'a b' |\n  tee log"
EMPTY = dict.fromkeys(("CARDS", "CHIP", "CANN", "DRIVER", "MEMORY"), "")


@pytest.fixture(scope="module")
def facts() -> Facts:
    values = facts_of(Project(root=ROOT).compat(), "x86_64")
    releases = {each["version"]: Release(**each) for each in values.pop("releases")}
    own: dict[str, Any] = {"version": "1", "architecture": "x86_64", "content": "", "links": {}}
    return Facts(**own, **values, releases=releases)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    (tmp_path / "checkout").mkdir()
    machine = Machine(tmp_path, tmp_path / "checkout")
    machine.fake("python", "ascend-sim")
    return machine


def understood(call: list[str], facts: Facts) -> Request:
    """What ascend-sim makes of a call; fails where it would refuse it."""
    assert call[0] == "ascend-sim"
    return parse(call[1:], facts, "")


def _step(number: int) -> Step:
    step = ACTION["runs"]["steps"][number]
    return Step(name=step["name"], script=step["run"], env=step["env"])


def test_the_action_installs(machine: Machine) -> None:
    done = machine.run(_step(0), {"WHEEL": "a folder/x.whl"})
    assert done.commands == [["python", "-m", "pip", "install", "a folder/x.whl"]]


def test_the_action_runs_the_command(machine: Machine, facts: Facts) -> None:
    values = {"CARDS": "2", "CHIP": "a3", "CANN": "9.1.0", "DRIVER": "26.1.0", "MEMORY": "32G"}
    done = machine.run(_step(1), {**values, "RUN": COMMAND})
    assert done.code == 0, done.said
    request = understood(done.commands[0], facts)
    chosen = request.machine
    assert (chosen.cards, chosen.chip, chosen.release.version) == (2, "a3", "9.1.0")
    assert (chosen.driver, chosen.memory_mb) == ("26.1.0", 32 << 10)
    assert request.program == ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", COMMAND]


def test_the_action_without_options(machine: Machine, facts: Facts) -> None:
    done = machine.run(_step(1), {**EMPTY, "RUN": "true"})
    assert understood(done.commands[0], facts).machine.cards == facts.cards


def test_the_action_fails_if_the_command_does(machine: Machine) -> None:
    (machine.fakes / "ascend-sim").write_text("#!/bin/sh\nexit 5\n", encoding="utf-8")
    assert machine.run(_step(1), {**EMPTY, "RUN": "false"}).code == 5


def test_every_input_of_the_action_reaches_a_script() -> None:
    assert inputs_that_reach_a_script(ACTION) == {*ACTION["inputs"]}


def test_the_component_is_a_job_of_gitlab() -> None:
    require_job_of_gitlab(*COMPONENT.job(run="pytest", packages="torch", tags=["linux"]))


def test_the_component(machine: Machine, facts: Facts) -> None:
    given = {"packages": "torch==2.9.0 pytest", "options": "--cards 2 --chip a3"}
    _, job = COMPONENT.job(run=COMMAND, **given)
    script = Step(name="x", script="\n".join(job["script"]), env=job["variables"])
    done = machine.run(script, {})
    assert done.code == 0, done.said
    install, run = done.commands
    assert shlex.join(install) == "python -m pip install ascend-sim torch==2.9.0 pytest"
    request = understood(run, facts)
    assert (request.machine.cards, request.machine.chip) == (2, "a3")
    assert request.program[-1] == COMMAND


def test_the_examples_use_inputs_that_exist() -> None:
    workflow = yaml.safe_load((EXAMPLES / "github.yml").read_text(encoding="utf-8"))
    used = [each for each in workflow["jobs"]["test"]["steps"] if "ascend-sim" in json.dumps(each)]
    assert {*used[0]["with"]} <= {*ACTION["inputs"]}
    pipeline = yaml.safe_load((EXAMPLES / "gitlab.yml").read_text(encoding="utf-8"))
    [include] = pipeline["include"]
    assert {*include["inputs"]} <= {*COMPONENT.inputs}
