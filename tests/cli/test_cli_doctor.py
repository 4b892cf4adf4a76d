# SPDX-License-Identifier: Apache-2.0
"""``build.py doctor``, which runs the program of packages/ascend-doctor."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cannery.cli import main


@pytest.mark.slow
def test_the_doctor_of_build_py(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "argparse.py").write_text("raise SystemExit(77)")
    log = tmp_path / "train.log"
    log.write_bytes(b"\xffEJ0001\n")
    assert main(["doctor", "--log", str(log), "--json"]) == 8
    assert json.loads(capfd.readouterr().out)["findings"]
    assert main(["doctor", "--explain", "-8020"]) == 0
    assert main(["doctor", "--help"]) == 0
    assert "usage: ascend-doctor" in capfd.readouterr().out
    assert main(["doctor", "--explain", "EJ0001", "--fix", "shm"]) == 2
    assert main(["doctor", "--nodes", str(log), str(tmp_path)]) == 9
    assert main(["doctor", "align", str(log), str(log)]) == 9
    assert "has no training loss" in capfd.readouterr().err
