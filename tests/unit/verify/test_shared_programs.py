# SPDX-License-Identifier: Apache-2.0
"""What markers of image tests begin before other checks, some of it in copies of one process."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cannery.verify.run_checks import PLUGIN
from tests.unit.audits import PROJECT, RECORD

pytestmark = pytest.mark.slow

IMAGE = PROJECT.root / "tests" / "image"

CHECKS = """\
import pytest

@pytest.mark.any_image
@pytest.mark.runs(command="ascend-doctor --explain EJ0001")
def test_explains(ran):
    assert ran.rc == 0, ran.stderr
    assert "HCCP" in ran.stdout
    assert ran.command == b"ascend-doctor --explain EJ0001"

@pytest.mark.any_image
@pytest.mark.runs(command=lambda record: f"ascend-doctor --no-such-{record['id']}")
def test_is_wrong(ran):
    assert ran.rc == 2
    assert "--no-such-" in ran.stderr

@pytest.mark.any_image
@pytest.mark.runs(command="test -n '' # {devlib} {trust}")
def test_shell(ran):
    assert (ran.rc, ran.stdout) == (1, "")

@pytest.mark.any_image
@pytest.mark.runs(command="ascend-doctor --explain EJ0001")
def test_again(ran, begun):
    assert ran.rc == 0
    assert len(begun) == 5

@pytest.mark.any_image
@pytest.mark.with_torch(program="import sys, torch; torch.used = 1; print(sys.argv, torch.number)")
def test_begins_with_torch(ran):
    assert (ran.rc, ran.stdout) == (0, "['-c'] 7\\n"), ran.stderr

@pytest.mark.any_image
@pytest.mark.with_torch(program="import torch; assert not hasattr(torch, 'used'); exit(3)")
def test_knows_nothing_of_the_other(ran):
    assert ran.rc == 3, ran.stderr
"""

TORCH = """\
with open(__file__ + ".imported", "a") as stream:
    stream.write("x")
number = 7
"""


def test_commands_of_programs_and_of_the_shell(tmp_path: Path) -> None:
    folder = tmp_path / "tests" / "image"
    shutil.copytree(IMAGE / "probes", folder / "probes")
    shutil.copy(IMAGE / "conftest.py", folder)
    (folder / "python").mkdir()
    (folder / "python" / "test_it.py").write_text(CHECKS, encoding="utf-8")
    record = tmp_path / "target.json"
    record.write_text(json.dumps(RECORD), encoding="utf-8")
    report = tmp_path / "report.json"
    argv = [sys.executable, "-B", "-m", "pytest", "-p", PLUGIN, "-p", "no:cacheprovider"]
    argv += [str(folder), "--rootdir", str(tmp_path), "--import-mode=importlib"]
    argv += ["--device", "none", "--hosts", "local://", "--origin", "foreign"]
    argv += ["--record", str(record), "--report", str(report)]
    doctor = tmp_path / "ascend-doctor"
    shutil.copy(PROJECT.root / "cannery" / "image" / "context" / "ascend-doctor", doctor)
    doctor.chmod(0o755)
    (tmp_path / "torch.py").write_text(TORCH, encoding="utf-8")
    environment = {**os.environ, "PATH": f"{tmp_path}:/usr/bin:/bin", "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        argv, cwd=PROJECT.root, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    outcomes = json.loads(report.read_text(encoding="utf-8"))
    assert [each["outcome"] for each in outcomes.values()] == ["passed"] * 6
    assert (tmp_path / "torch.py.imported").read_text(encoding="utf-8") == "x"
