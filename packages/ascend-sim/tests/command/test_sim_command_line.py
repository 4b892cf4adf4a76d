# SPDX-License-Identifier: Apache-2.0
"""ascend-sim with wrong options, on the wrong machine and in the wrong Python."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from .conftest import MACHINE, Python

OTHER = {"aarch64": "x86_64", "x86_64": "aarch64"}[MACHINE]
WRONG = {
    "": "the following arguments are required: COMMAND",
    "rnu -- true": "unknown command 'rnu'. Did you mean 'run'?",
    "run": "the program is missing",
    "run --": "the program is missing",
    "run --card 2 -- true": "unknown option '--card'. Did you mean '--cards'?",
    "run --cards": "expected one argument",
    "run --cards 0 -- true": "--cards '0' is not a number from 1 to 64",
    "run --cards 65 -- true": "--cards '65' is not a number from 1 to 64",
    "run --cards two -- true": "--cards 'two' is not a number",
    "run --chip 910c -- true": "--chip '910c' is not simulated. Did you mean '910'?",
    "run --chip A3 -- true": "Did you mean 'a3'?",
    "run --memory 64 -- true": "--memory '64' is not a size",
    "run --memory 100000G -- true": "--memory '100000G' is not a size",
    "run --memory 0G -- true": "--memory '0G' is not a size",
    "run --cann 9.1.l -- true": "--cann '9.1.l' is not known. Did you mean '9.1.1'?",
    "run --cann x -- true": "--cann 'x' is not known. Known: ",
    "run --cann 8.0.RC2 --chip a3 -- true": "for a3: the newest that has them is --cann ",
    "run --driver 25;ls -- true": "--driver '25;ls' is not a version",
    "env extra": "unexpected argument 'extra'",
    "instal --torch 2.9.0": "unknown command 'instal'. Did you mean 'install'?",
    "install": "the following arguments are required: --torch",
    "install --torch 2.9": "--torch '2.9' is not a version. Did you mean '2.9.1'?",
    "install --torch 2.9.0 --cards 2": "unknown option '--cards'. Known: --torch,",
    "install --torch 2.9.0 --torch-npu 2.9.0.pos2": "Did you mean '2.9.0.post2'?",
    "install --torch 2.9.0 --torch-npu 2.10.0": "torch_npu 2.10.0 is not for torch 2.9.0.",
    "install --torch 2.9.0 --wheels /none": "'/none' is neither a folder nor the address of",
}


@pytest.mark.parametrize("line", WRONG)
def test_a_mistake_is_named_and_nothing_is_made(python: Python, line: str) -> None:
    done = python.call(*line.split())
    assert done.returncode == 2
    assert WRONG[line] in done.stderr
    assert all(each.startswith("ascend-sim: ") for each in done.stderr.splitlines())
    assert done.stdout == ""
    assert python.hosts() == []


def test_all_mistakes_are_named_at_once(python: Python) -> None:
    line = "run --cards 0 --chip x --memory y --cann z --driver . --foldr d -- true"
    done = python.call(*line.split())
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 6


def test_options_after_the_program_belong_to_the_program(python: Python) -> None:
    done = python.call("run", "--cards", "2", "--", "echo", "--cards", "--", "--help")
    assert done.stdout == "--cards -- --help\n"
    assert python.call("run", "echo", "--chip", "x").stdout == "--chip x\n"


@pytest.mark.parametrize("missing", ["torch", "torch_npu"])
def test_a_python_without_torch_npu_is_refused(bare: Python, missing: str) -> None:
    [other] = {"torch", "torch_npu"} - {missing}
    bare.install(other, "2.9.0")
    done = bare.call("run", "--", "true")
    assert done.returncode == 6
    assert f"has no {missing}: install both with 'ascend-sim install" in done.stderr
    assert bare.hosts() == []


def test_a_program_runs_without_torch_npu_on_request(bare: Python) -> None:
    done = bare.call("run", "--no-torch-npu", "--", "echo", "here")
    assert (done.returncode, done.stdout) == (0, "here\n")


def test_the_wheel_of_another_machine_says_so(python: Python) -> None:
    path = python.site / "ascend_sim" / "facts.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "architecture": OTHER}))
    done = python.call("run", "--", "true")
    assert done.returncode == 6
    assert f"for Linux on {OTHER}, and this is Linux on {MACHINE}" in done.stderr
    assert python.hosts() == []


def script(python: Python, name: str, first_lines: str) -> Path:
    """A program in the first folder of PATH."""
    path = python.home / "bin" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"{first_lines}\necho of the first folder\n")
    path.chmod(0o755)
    python.variables["PATH"] = f"{path.parent}:{os.environ['PATH']}"
    return path


OF_ANOTHER = (
    "#!/opt/other/bin/python3.9",
    "#!/bin/sh\n'''exec' \"/opt/other/bin/python3\" \"$0\" \"$@\"\n' '''",
)


@pytest.mark.parametrize("first_lines", OF_ANOTHER)
def test_a_script_of_another_python_gives_way_to_its_own(python: Python, first_lines: str) -> None:
    script(python, "pytest", first_lines)
    done = python.call("run", "--", "pytest", "--version")
    assert done.returncode == 0
    assert "pytest" in done.stdout + done.stderr


@pytest.mark.parametrize("first_lines", OF_ANOTHER)
def test_a_script_that_only_another_python_has_is_refused(python: Python, first_lines: str) -> None:
    path = script(python, "trainer", first_lines)
    done = python.call("run", "--", "trainer")
    assert done.returncode == 6
    assert f"{path} is a program of /opt/other/bin/python3" in done.stderr
    assert f"'{sys.executable} -m pip install trainer'" in done.stderr


def test_a_program_that_is_no_script_of_python_is_left_alone(python: Python) -> None:
    script(python, "pytest", "#!/bin/sh")
    assert python.call("run", "--", "pytest").stdout == "of the first folder\n"


def test_a_missing_program_is_reported(python: Python) -> None:
    done = python.call("run", "--", "npu-sim")
    assert done.returncode == 127
    assert "there is no program 'npu-sim'. Did you mean 'npu-smi'?" in done.stderr
    assert "there is no program './x'.\n" in python.call("run", "--", "./x").stderr


def test_a_program_failing_to_start_is_reported(python: Python) -> None:
    (python.home / "text").write_text("no program")
    (python.home / "text").chmod(0o755)
    for name, reason in (("./text", "exec format error"), (".", "permission denied")):
        done = python.call("run", "--", name)
        assert done.returncode == 126
        assert f"{name!r} cannot be started: {reason}." in done.stderr


def test_the_program_s_exit_code_and_output_are_the_command_s(python: Python) -> None:
    done = python.call("run", "--cards", "2", "--", "sh", "-c", "echo out; echo err >&2; exit 7")
    assert (done.returncode, done.stdout) == (7, "out\n")
    first, second = done.stderr.splitlines()
    assert first.startswith("ascend-sim: SIMULATED 2 cards of Ascend910B3, CANN 9.0.0, driver ")
    assert first.endswith("-sim; results say nothing about an NPU")
    assert second == "err"


@pytest.mark.parametrize("variables", [{}, {"NPUSIM_LENIENT": "1"}])
def test_lenient_mode_is_requested_and_reported(python: Python, variables: dict[str, str]) -> None:
    said = "; --lenient: data types that an NPU refuses are taken\n"
    python.variables.update(variables)
    options = [] if variables else ["--lenient"]
    assert python.inside(*options)["NPUSIM_LENIENT"] == "1"
    assert python.call("run", *options, "--", "true").stderr.endswith(said)
    done = python.call("env", *options)
    assert done.stderr.endswith(said)
    assert ("export NPUSIM_LENIENT=1\n" in done.stdout) != bool(variables)


def test_types_are_refused_by_default(python: Python) -> None:
    assert "NPUSIM_LENIENT" not in python.inside()
    assert "lenient" not in python.call("run", "--", "true").stderr


def test_a_folder_with_other_files_is_left_alone(python: Python, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "work").write_text("x")
    done = python.call("run", "--folder", str(mine), "--", "true")
    assert done.returncode == 6
    assert f"{mine} has other files: remove it, or choose another folder" in done.stderr
    assert [*mine.iterdir()] == [mine / "work"]


@pytest.mark.parametrize("folder", ["/proc/no/such", "/dev/null/x"])
def test_an_unwritable_folder_is_refused(python: Python, folder: str) -> None:
    done = python.call("run", "--folder", folder, "--", "true")
    assert done.returncode == 6
    assert f"cannot write {folder}: " in done.stderr
    assert "Choose another folder with --folder" in done.stderr


@pytest.mark.parametrize("name", ["it's", "a:b", "$HOME", "a\nb"])
def test_a_folder_name_unsafe_in_scripts_is_refused(python: Python, name: str) -> None:
    done = python.call("run", "--folder", name, "--", "true")
    assert done.returncode == 6
    assert "cannot have" in done.stderr
    python.home = python.home / name
    python.home.mkdir()
    assert python.call("run", "--", "true").returncode == 6
    assert python.hosts() == []


def test_help_and_version(python: Python) -> None:
    assert "eval" in python.call("--help").stdout
    assert "--memory SIZE" in python.call("run", "--help").stdout
    assert python.call("--version").stdout.startswith("ascend-sim ")
