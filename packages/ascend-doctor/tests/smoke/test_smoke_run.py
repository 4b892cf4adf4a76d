# SPDX-License-Identifier: Apache-2.0
"""The smoke test from its script to its document; tests/smoke/test_on_cards.py has the script."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from ascend_doctor.host import Host, Output
from ascend_doctor.machine import IMAGE, Machine
from ascend_doctor.problems import FileError, UsageError
from ascend_doctor.smoke import run
from ascend_doctor.smoke.model import Document
from tests.hosts import SimulatedHost
from tests.smoke.smokes import good_items, printed


class Cards:
    """What the script printed, and with what it was started."""

    said = printed(good_items())
    state = "ok"
    settings: dict[str, Any]

    def run(self, argv: tuple[str, ...], timeout: float, _most: int) -> Output:
        assert argv[:2] == ("python3", "-c")
        self.settings = json.loads(argv[3])
        assert timeout > self.settings["simulated_seconds"]
        return Output(self.state, self.said)


@pytest.fixture
def cards(monkeypatch: pytest.MonkeyPatch) -> Cards:
    made = Cards()
    monkeypatch.setattr(run, "run_program", made.run)
    return made


def smoke(machine: Machine, *, wanted: int = 0, seconds: int = 0) -> Document:
    return run.smoke(machine, "node1", "python3", wanted, seconds)


def test_a_container_of_an_image(cards: Cards, host: SimulatedHost) -> None:
    host.files[IMAGE] = json.dumps({"id": "py311-torch210"})
    found = smoke(host.machine(), wanted=4)
    assert cards.settings == {"cards": 4, "seconds": 60, "simulated_seconds": 600}
    assert (found.host, found.where, found.failures) == ("node1", "py311-torch210", ())
    assert " x 910B" in found.hardware
    assert ", driver " in found.hardware


def test_the_user_sets_the_time_limit(cards: Cards, host: SimulatedHost) -> None:
    smoke(host.machine(), seconds=30)
    assert cards.settings == {"cards": 0, "seconds": 30, "simulated_seconds": 30}


def test_the_notice_marks_a_device_as_simulated(cards: Cards, host: SimulatedHost) -> None:
    cards.said += "cannery: simulated Ascend device; results say nothing about an NPU\n"
    found = smoke(host.machine())
    assert found.device.simulated
    assert found.hardware.endswith(", simulated NPU")


def test_too_many_cards(cards: Cards, host: SimulatedHost) -> None:
    with pytest.raises(UsageError, match="--cards 9 is more than there are, 8"):
        smoke(host.machine(), wanted=9)


def test_no_result(cards: Cards, host: SimulatedHost) -> None:
    cards.said = "Segmentation fault\ncannery-other: 1\n"
    with pytest.raises(FileError) as caught:
        smoke(host.machine())
    assert str(caught.value) == (
        "no card could be used: the script ended without a word. Its last lines:\n"
        "Segmentation fault\n Check the devices with 'ascend-doctor', and name a Python with "
        "torch_npu with --python."
    )
    cards.state = "missing"
    with pytest.raises(FileError, match="there is no Python python3"):
        smoke(host.machine())


def test_without_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the real script, and a torch in the working directory that is not imported."""
    (tmp_path / "torch.py").write_text("raise SystemExit(77)")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileError, match="no card could be used: ModuleNotFoundError"):
        run.smoke(Machine(Host(), {}), "node1", sys.executable, 0, 20)
