# SPDX-License-Identifier: Apache-2.0
"""The files and variables of the simulated hosts that ascend-sim makes."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ascend_sim.command import host
from ascend_sim.command.environment import environment
from ascend_sim.command.facts import Facts
from ascend_sim.command.options import Machine

from .conftest import CANN, MACHINE, Python

ASCEND = "usr/local/Ascend"


def only_host(python: Python) -> Path:
    [host] = python.hosts()
    return host


def test_the_options_describe_the_host(python: Python) -> None:
    options = ("--cards", "4", "--chip", "a3", "--memory", "512M", "--driver", "25.3.RC1")
    python.inside(*options, "--cann", "8.3.RC1")
    ascend = only_host(python) / ASCEND
    conf = (ascend / "driver/simulated_devices.conf").read_text()
    assert {"count=4", "name=910_9392", "memory_mb=512"} <= set(conf.splitlines())
    assert "Version=25.3.RC1-sim\n" in (ascend / "driver/version.info").read_text()
    latest = ascend / "ascend-toolkit/latest"
    assert (latest / "opp/built-in/op_impl/ai_core/tbe/kernel/ascend910_93").is_dir()
    info = (latest / f"{MACHINE}-linux/ascend_toolkit_install.info").read_text()
    assert "version=8.3.RC1\n" in info
    assert f"path={ascend}/" in info


def test_the_default_is_the_cann_of_the_torch_npu(python: Python) -> None:
    variables = python.inside()
    ascend = only_host(python) / ASCEND
    assert variables["ASCEND_HOME_PATH"] == str(ascend / f"cann-{CANN}")
    assert (ascend / "driver/simulated_devices.conf").read_text().startswith("count=8\nname=910B3")
    assert "Version=26.0.RC1-sim\n" in (ascend / "driver/version.info").read_text()


def test_an_unknown_torch_npu_has_the_newest_cann(bare: Python, facts: dict[str, Any]) -> None:
    bare.install("torch", "99.0.0")
    bare.install("torch_npu", "99.0.0")
    assert bare.inside()["ASCEND_HOME_PATH"].endswith(f"/cann-{facts['newest']}")


def test_the_folders_of_the_variables_are_there(python: Python) -> None:
    python.variables["LD_LIBRARY_PATH"] = "/my/lib:"
    variables = python.inside()
    host = str(only_host(python))
    libraries = variables["LD_LIBRARY_PATH"].split(":")
    assert libraries[0] == f"{host}/{ASCEND}/driver/lib64/driver"
    assert "/my/lib" in libraries
    assert "" not in libraries
    own = [each for each in libraries if each.startswith(host)]
    assert any(Path(each, "libascendcl.so").exists() for each in own)
    assert any(Path(each, "libatb.so").exists() for each in own)
    assert variables["PATH"].split(":")[0] == f"{host}/usr/local/bin"
    for name in ("ASCEND_HOME_PATH", "ASCEND_OPP_PATH", "ATB_HOME_PATH"):
        assert variables[name].startswith(host)
        assert Path(variables[name]).is_dir()
    assert variables["CANNERY_SIMULATED"] == "1"
    assert str(python.site) in variables["PYTHONPATH"].split(":")


def test_other_variables_stay_as_they_are(python: Python) -> None:
    python.variables.update({"a.b": "dots", "LINES": "two\nlines='\"", "ASCEND_HOME_PATH": "/real"})
    variables = python.inside()
    assert variables["a.b"] == "dots"
    assert variables["LINES"] == "two\nlines='\""
    assert variables["ASCEND_HOME_PATH"].startswith(str(python.home))


def test_npu_smi_reports_the_simulation(python: Python) -> None:
    real = python.site / "ascend_sim/device/driver/bin/npu-smi"
    real.write_text('#!/bin/sh\necho "real $*"\n')
    done = python.call("run", "--", "npu-smi", "info", "-t", "a b")
    assert done.stdout == "real info -t a b\n"
    assert "ascend-sim: the NPUs below are simulated\n" in done.stderr


@pytest.mark.parametrize("shell", ["sh", "bash", "zsh"])
def test_a_shell_takes_the_environment(python: Python, shell: str) -> None:
    if not shutil.which(shell):
        pytest.skip(f"there is no {shell}")
    python.home = python.home.parent / "a house ünlike others"
    python.home.mkdir()
    said = python.call("env", "--cards", "3")
    assert "SIMULATED 3 cards" in said.stderr
    script = f'set -eu\n{said.stdout}\necho "$ASCEND_HOME_PATH"\ncommand -v npu-smi'
    done = subprocess.run(
        [shell, "-c", script], env=python.settings(), capture_output=True, text=True, check=True
    )
    host = only_host(python)
    assert done.stdout == f"{host}/{ASCEND}/cann-{CANN}\n{host}/usr/local/bin/npu-smi\n"


def test_the_same_options_have_the_same_host(python: Python) -> None:
    python.inside("--cards", "2")
    before = {path: path.stat().st_mtime_ns for path in only_host(python).rglob("*")}
    python.inside("--cards", "2")
    assert {path: path.stat().st_mtime_ns for path in only_host(python).rglob("*")} == before
    python.inside("--cards", "3")
    assert len(python.hosts()) == 2


def test_another_wheel_makes_another_host(python: Python) -> None:
    python.inside()
    path = python.site / "ascend_sim" / "facts.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "content": "another"}))
    python.inside()
    assert len(python.hosts()) == 2


def test_a_folder_of_one_s_own(python: Python, tmp_path: Path) -> None:
    (tmp_path / "my host").mkdir()
    for _ in range(2):
        variables = python.inside("--folder", "../my host", "--cards", "1")
    home = variables["ASCEND_HOME_PATH"]
    assert os.path.realpath(home).startswith(f"{tmp_path}/my host/")
    done = python.call("run", "--folder", "../my host", "--cards", "2", "--", "true")
    assert done.returncode == 6
    assert "has another simulated host: remove it" in done.stderr


def test_many_at_once_share_one_host(python: Python) -> None:
    started = [python.start("run", "--", "true") for _ in range(6)]
    for process in started:
        _, said = process.communicate(timeout=60)
        assert process.returncode == 0, said
    only_host(python)


def test_a_full_disk_leaves_nothing_behind(python: Python) -> None:
    code = (
        "import errno, pathlib, sys; from ascend_sim.command import program\n"
        "def full(*_, **__): raise OSError(errno.ENOSPC, 'No space left on device')\n"
        "pathlib.Path.write_bytes = full\n"
        "sys.exit(program.main(['run', '--', 'true']))"
    )
    done = subprocess.run(
        ["python3", "-c", code],
        cwd=python.home,
        env=python.settings(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 6
    assert "no space left on device. Choose another folder with --folder." in done.stderr
    assert python.hosts() == []


def test_every_release_and_chip_can_be_simulated(
    monkeypatch: pytest.MonkeyPatch, python: Python, facts: dict[str, Any], tmp_path: Path
) -> None:
    package = python.site / "ascend_sim"
    monkeypatch.setattr(host, "PACKAGE", package)
    known = Facts.read(package)
    names = {(each["version"], chip) for each in facts["releases"] for chip in each["kernels"]}
    assert {("8.0.RC2", "910b"), ("9.1.1", "a3"), ("9.1.1", "910b")} <= names
    for cann, chip in sorted(names):
        machine = Machine(1, chip, known.releases[cann], "1.0", 1024)
        root = host.prepared(machine, known, tmp_path / f"{cann}-{chip}")
        home = Path(environment(root)["ASCEND_HOME_PATH"])
        text = (home / f"{MACHINE}-linux/ascend_toolkit_install.info").read_text()
        assert re.search(rf"^version={re.escape(cann)}$", text, re.MULTILINE)
        assert "@INSTALL_PATH@" not in text
        shutil.rmtree(root)
