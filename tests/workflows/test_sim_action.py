# SPDX-License-Identifier: Apache-2.0
"""The action and the component that test a project on simulated NPUs: their scripts are run."""

from __future__ import annotations

import hashlib
import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
import yaml

from tests.workflows.components import Component, inputs_that_reach_a_script, require_job_of_gitlab
from tests.workflows.steps import ROOT, Machine, Step

PACKAGE = ROOT / "packages" / "ascend-sim"
UNDERSTAND = """
import json, sys
from dataclasses import asdict
from ascend_sim.command.facts import facts_from
from ascend_sim.command.options import parse
from tools.archive import known
own = {"version": "1", "architecture": "x86_64", "content": "", "links": {}}
print(json.dumps(asdict(parse(sys.argv[1:], facts_from({**own, **known("x86_64")}), ""))))
"""
ACTION = yaml.safe_load((PACKAGE / "action.yml").read_text(encoding="utf-8"))
COMPONENT = Component("ascend-sim")
EXAMPLES = PACKAGE / "examples"
COMMAND = "pytest -k 'a b' |\n  tee log"
EMPTY = dict.fromkeys(("CARDS", "CHIP", "CANN", "DRIVER", "MEMORY"), "")


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    (tmp_path / "checkout").mkdir()
    machine = Machine(tmp_path, tmp_path / "checkout")
    machine.fake("python", "ascend-sim")
    return machine


def understood(call: list[str]) -> dict[str, Any]:
    """What the command ascend-sim makes of a call; fails where it would refuse it."""
    assert call[0] == "ascend-sim"
    done = subprocess.run(
        [sys.executable, "-c", UNDERSTAND, *call[1:]],
        cwd=PACKAGE,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _step(number: int) -> Step:
    step = ACTION["runs"]["steps"][number]
    return Step(name=step["name"], script=step["run"], env=step["env"])


def _wheel(folder: Path) -> tuple[Path, str]:
    """A wheel of that name which is empty, and its hash."""
    info = "ascend_sim-1.dist-info"
    path = folder / "ascend_sim-1-py3-none-any.whl"
    folder.mkdir(parents=True, exist_ok=True)
    with ZipFile(path, "w") as file:
        file.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: ascend-sim\nVersion: 1\n")
        file.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        file.writestr(f"{info}/RECORD", "")
    return path, hashlib.sha256(path.read_bytes()).hexdigest()


def _installing(machine: Machine) -> dict[str, Step]:
    """The scripts that install ascend-sim, which pip itself runs, by what they belong to."""
    _, job = COMPONENT.job(run="true", packages="", wheel="", sha256="")
    # A link would be the system's Python to Debian's, which has no pip.
    python = machine.fakes / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n', encoding="utf-8")
    lines = [line for line in job["script"] if "packages" not in line]
    return {"action": _step(0), "component": Step(name="x", script="\n".join(lines), env=SILENT)}


SILENT = {"OPTIONS": "", "RUN": "true", "TORCH": ""}


@pytest.mark.parametrize("owner", ["action", "component"])
def test_a_wheel_is_installed_by_its_hash_only(machine: Machine, owner: str) -> None:
    step = _installing(machine)[owner]
    place, digest = _wheel(machine.checkout / "a folder")
    target = machine.folder / "installed"
    own = {"PIP_TARGET": str(target), "CANNERY": "", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    for wheel, sha256 in (
        ("ascend-sim", digest),  # nobody owns that name in an index
        (f"a folder/{place.name}", "0" * 64),
        (f"a folder/{place.name}", ""),
        ("http://127.0.0.1:9/ascend_sim-1-py3-none-any.whl", digest),
    ):
        done = machine.run(step, {**own, "WHEEL": wheel, "SHA256": sha256})
        assert done.code != 0, wheel
        assert "ascend-sim" not in str(done.commands), wheel
        assert not target.exists()
    done = machine.run(step, {**own, "WHEEL": f"a folder/{place.name}", "SHA256": digest})
    assert done.code == 0, done.said
    assert (target / "ascend_sim-1.dist-info").is_dir()


def test_without_a_wheel_the_action_builds_that_of_its_own_commit(machine: Machine) -> None:
    place, digest = _wheel(machine.folder / "made")
    cannery = machine.folder / "cannery"
    cannery.mkdir()
    (cannery / "setup.sh").write_text(
        f'echo "$@" >{machine.folder}/asked\nwhile [ $# -gt 1 ]; do shift; done\ncp {place} "$1"\n',
        encoding="utf-8",
    )
    done = machine.run(_step(0), {"WHEEL": "", "SHA256": "", "CANNERY": str(cannery)})
    assert done.code == 0, done.said
    asked = (machine.folder / "asked").read_text(encoding="utf-8").split()
    assert " ".join(asked).startswith(
        "--venv env PYTHONPATH=packages/ascend-sim python -m tools.wheel --machine "
    )
    install = next(call for call in done.commands if "install" in call)
    [line] = Path(install[-1]).read_text(encoding="utf-8").splitlines()
    assert line.endswith(f" --hash=sha256:{digest}")


def test_the_action_runs_the_command(machine: Machine) -> None:
    values = {"CARDS": "2", "CHIP": "a3", "CANN": "9.1.0", "DRIVER": "26.1.0", "MEMORY": "32G"}
    done = machine.run(_step(2), {**values, "RUN": COMMAND})
    assert done.code == 0, done.said
    request = understood(done.commands[0])
    chosen = request["machine"]
    assert (chosen["cards"], chosen["chip"], chosen["release"]["version"]) == (2, "a3", "9.1.0")
    assert (chosen["driver"], chosen["memory_mb"]) == ("26.1.0", 32 << 10)
    assert request["program"] == ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", COMMAND]


@pytest.mark.parametrize("torch_npu", ["", "2.9.0.post2"])
def test_the_action_installs_torch(machine: Machine, torch_npu: str) -> None:
    done = machine.run(_step(1), {"TORCH": "2.9.0", "TORCH_NPU": torch_npu})
    assert done.code == 0, done.said
    asked = understood(done.commands[0])
    assert (asked["torch"], asked["torch_npu"]) == ("2.9.0", torch_npu)


def test_the_action_fails_if_the_command_does(machine: Machine) -> None:
    (machine.fakes / "ascend-sim").write_text("#!/bin/sh\nexit 5\n", encoding="utf-8")
    assert machine.run(_step(2), {**EMPTY, "RUN": "false"}).code == 5


def test_every_input_of_the_action_reaches_a_script() -> None:
    assert inputs_that_reach_a_script(ACTION) == {*ACTION["inputs"]}


def test_the_component_is_a_job_of_gitlab() -> None:
    require_job_of_gitlab(
        *COMPONENT.job(run="pytest", packages="torch", wheel="x", sha256="0", tags=["linux"])
    )


def test_the_component(machine: Machine) -> None:
    wheel = {"wheel": "https://example.com/a.whl", "sha256": "0" * 64}
    given = {
        "torch": "2.9.0",
        "packages": "pytest numpy",
        "options": "--cards 2 --chip a3",
        **wheel,
    }
    _, job = COMPONENT.job(run=COMMAND, **given)
    script = Step(name="x", script="\n".join(job["script"]), env=job["variables"])
    done = machine.run(script, {})
    assert done.code == 0, done.said
    own, torch, packages, run = done.commands
    asked = understood(torch)
    assert (asked["torch"], asked["torch_npu"]) == ("2.9.0", "")
    assert shlex.join(own).startswith(
        "python -m pip install --no-deps --no-index --require-hashes -r /"
    )
    assert shlex.join(packages) == "python -m pip install pytest numpy"
    request = understood(run)
    assert (request["machine"]["cards"], request["machine"]["chip"]) == (2, "a3")
    assert request["program"][-1] == COMMAND


def test_the_examples_use_existing_inputs() -> None:
    workflow = yaml.safe_load((EXAMPLES / "github.yml").read_text(encoding="utf-8"))
    used = [each for each in workflow["jobs"]["test"]["steps"] if "ascend-sim" in json.dumps(each)]
    assert {*used[0]["with"]} <= {*ACTION["inputs"]}
    pipeline = yaml.safe_load((EXAMPLES / "gitlab.yml").read_text(encoding="utf-8"))
    [include] = pipeline["include"]
    required = {name for name, each in COMPONENT.inputs.items() if "default" not in each}
    assert required <= {*include["inputs"]} <= {*COMPONENT.inputs}
