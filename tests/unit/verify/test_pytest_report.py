# SPDX-License-Identifier: Apache-2.0
"""The pytest plugin of checks in containers, and which image tests fit which images."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cannery.common.model import DeviceKind
from cannery.verify.image_checks import ALWAYS, components, listed, needed
from cannery.verify.run_checks import PLUGIN
from tests.unit.audits import PROJECT, RECORD

pytestmark = pytest.mark.slow

MINE = '''\
import pytest

def test_a(host):
    """It works."""

def test_b():
    assert False, "no"

@pytest.mark.device
def test_c():
    pass
'''


def run(folder: Path, *words: str, device: str) -> tuple[int, dict[str, Any], str]:
    """Exit code, report and output of pytest with the plugin."""
    report = folder / "report.json"
    argv = [sys.executable, "-B", "-m", "pytest", "-p", PLUGIN, *words, "-p", "no:cacheprovider"]
    argv += ["--device", device, "--report", str(report), "--hosts", "local://"]
    done = subprocess.run(argv, cwd=PROJECT.root, capture_output=True, text=True, check=False)
    return done.returncode, json.loads(report.read_text(encoding="utf-8")), done.stdout


@pytest.mark.parametrize(
    ("device", "outcomes"),
    [("none", ["passed", "failed", "not run"]), ("simulated", ["not run", "not run", "passed"])],
)
def test_testinfra_files_of_users(tmp_path: Path, device: str, outcomes: list[str]) -> None:
    path = tmp_path / "mine" / "test_mine.py"
    path.parent.mkdir()
    path.write_text(MINE, encoding="utf-8")
    code, report, said = run(
        tmp_path, str(path.parent), "--rootdir", str(path.parent), device=device
    )
    assert code == int("failed" in outcomes), said
    assert [*report] == [f"test_mine.py::test_{name}" for name in "abc"]
    assert [each["outcome"] for each in report.values()] == outcomes
    assert report["test_mine.py::test_a"]["title"] == "It works."
    assert [each.name for each in path.parent.iterdir()] == ["test_mine.py"]


def test_an_unwritable_report_fails_the_run(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(MINE, encoding="utf-8")
    report = tmp_path / "missing" / "report.json"
    words = f"-B -m pytest -p {PLUGIN} -p no:cacheprovider {tmp_path} --rootdir {tmp_path}"
    words += f" --device simulated --hosts local:// --report {report}"
    argv = [sys.executable, *words.split()]
    done = subprocess.run(argv, cwd=PROJECT.root, capture_output=True, text=True, check=False)
    assert done.returncode == pytest.ExitCode.INTERNAL_ERROR
    assert f"the report {report} cannot be written: No such file or directory" in done.stderr


def collected(tmp_path: Path, origin: str) -> set[str]:
    record = tmp_path / "target.json"
    record.write_text(json.dumps(RECORD), encoding="utf-8")
    words = [str(PROJECT.root / "tests" / "image"), "--collect-only", "--quiet"]
    words += ["--record", str(record), "--origin", origin]
    code, _, said = run(tmp_path, *words, "--rootdir", str(PROJECT.root), device="none")
    assert code == 0, said
    return {line.split("tests/image/")[1] for line in said.splitlines() if "::" in line}


@pytest.mark.parametrize("origin", ["ours", "derived", "foreign"])
def test_a_run_must_report_all_tests_collected_by_pytest(tmp_path: Path, origin: str) -> None:
    every = components(PROJECT)
    must = {
        name
        for kind in (DeviceKind.NONE, DeviceKind.SIMULATED)
        for name in needed(PROJECT, every, kind, origin=origin)
    }
    assert must == {name.partition("[")[0] for name in collected(tmp_path, origin)}
    assert len(must) > 10


def test_the_required_tests_depend_on_the_target_and_the_device() -> None:
    none = needed(PROJECT, {"torch", "torch_npu"}, DeviceKind.NONE)
    card = needed(PROJECT, {"torch", "torch_npu"}, DeviceKind.NPU)
    assert not none & card
    assert "os/test_os.py::test_elf_files" in none
    assert {each.partition("/")[0] for each in none | card} == {*ALWAYS, "torch", "torch_npu"}
    assert needed(PROJECT, {"torch"}, DeviceKind.NONE, only=["torch"]) < none
    assert not needed(PROJECT, {"torch"}, DeviceKind.NONE, only=["nnal"])
    # It looks at what torch loads.
    needs_torch = {name for name, markers in listed(PROJECT).items() if "torch" in markers}
    assert needs_torch
    assert not needs_torch & needed(PROJECT, components(PROJECT)[:0], DeviceKind.NONE)
