# SPDX-License-Identifier: Apache-2.0
"""The script of the smoke test where torch is missing, hangs or crashes.

With a real torch on the simulated device: tests/simulated_packages/test_smoke_on_device.py.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = (ROOT / "ascend_doctor/smoke/on_cards.py").read_text(encoding="utf-8")
CARDS = """
class npu:
    device_count = staticmethod(lambda: {count})
    set_device = staticmethod(lambda _: None)
    get_device_name = staticmethod(lambda _: "Ascend910B3")
__version__ = "2.9.0"
def __getattr__(name):
    {then}
"""


def run(
    folder: Path, torch: str, *, cards: int = 0, seconds: int = 60, simulated: bool = False
) -> tuple[dict[str, Any], dict[str, str]]:
    """The items by name, and the errors by step, with ``torch`` as the source of torch."""
    if torch:
        (folder / "torch.py").write_text(torch, encoding="utf-8")
        (folder / "torch_npu.py").write_text("__version__ = '2.9.0.post2'", encoding="utf-8")
    environment = {"PYTHONPATH": str(folder), "CANNERY_SIMULATED": str(int(simulated))}
    settings = {"cards": cards, "seconds": seconds, "simulated_seconds": seconds}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps(settings)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    lines = [line[15:] for line in done.stdout.splitlines() if line.startswith("cannery-smoke: ")]
    items = [json.loads(line) for line in lines]
    errors = {item["step"]: item["why"] for item in items if item["item"] == "error"}
    return {item["item"]: item for item in items}, errors


def test_no_torch(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise ImportError('libhccl.so: not found')")
    items, errors = run(tmp_path, "")
    assert errors == {"device": "ImportError: libhccl.so: not found"}
    assert items["end"]["cards"] == 0


def test_no_card(tmp_path: Path) -> None:
    _, errors = run(tmp_path, CARDS.format(count=0, then="raise AttributeError(name)"))
    assert "torch_npu finds no card" in errors["device"]


def test_every_step_says_how_it_failed(tmp_path: Path) -> None:
    torch = CARDS.format(count=1, then="raise RuntimeError('EZ9999: ' + name)")
    items, errors = run(tmp_path, torch)
    assert items["device"]["name"] == "Ascend910B3"
    assert {*errors} == {"matmul", "memory", "training"}
    assert errors["memory"] == "RuntimeError: EZ9999: arange"


@pytest.mark.parametrize(
    ("then", "why"),
    [
        ("import time; time.sleep(50)", "its time was over"),
        ("import os; os.kill(os.getpid(), 11)", "it was ended by signal 11"),
    ],
)
def test_a_torch_hang_or_crash_is_reported(tmp_path: Path, then: str, why: str) -> None:
    items, errors = run(tmp_path, CARDS.format(count=2, then=then), seconds=2, cards=1)
    assert errors == {"device": why}
    assert items["end"]["cards"] == 1


def test_failed_ranks_are_errors(tmp_path: Path) -> None:
    torch = CARDS.format(count=4, then="raise RuntimeError(name)")
    items, errors = run(tmp_path, torch, simulated=True)
    assert errors["all-reduce"].startswith("RuntimeError: ")
    assert items["device"]["simulated"] is True
    assert items["end"]["cards"] == 2


def test_every_rank_imports_torch_npu(tmp_path: Path) -> None:
    """It gives torch its devices, which the stand-in has only then, as torch before 2.5."""
    package = tmp_path / "torch"
    package.mkdir()
    cards = CARDS.replace("class npu", "class _npu")
    package.joinpath("__init__.py").write_text(
        cards.format(count=2, then="raise AttributeError(name)"), encoding="utf-8"
    )
    joined = "def init_process_group(*_, **__): raise RuntimeError('joined')"
    package.joinpath("distributed.py").write_text(joined, encoding="utf-8")
    torch_npu = "import torch\ntorch.npu = torch._npu\n__version__ = '2.3.1'"
    (tmp_path / "torch_npu.py").write_text(torch_npu, encoding="utf-8")
    _, errors = run(tmp_path, "", cards=2)
    assert errors["all-reduce"] == "RuntimeError: joined"
