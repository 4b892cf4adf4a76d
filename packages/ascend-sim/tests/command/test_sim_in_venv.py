# SPDX-License-Identifier: Apache-2.0
"""The real wheel in a virtual environment; 'nox -s wheel-check' makes it.

With CANNERY_SIM_VENV, the folder of one that has torch, torch_npu, pytest and ascend-sim.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

VENV = os.environ.get("CANNERY_SIM_VENV")
EXAMPLE = Path(__file__).parents[2] / "examples"
BANNER = "ascend-sim: SIMULATED "
COUNT = "import torch, torch_npu; print(torch.npu.device_count(), torch.npu.get_device_name(0))"
MEMORY = """
import torch, torch_npu
free, total = torch.npu.mem_get_info()
print(total >> 20)
try:
    torch.empty(1 << 30, dtype=torch.uint8, device="npu")
except RuntimeError as error:
    print("out of memory" in str(error).lower())
"""
pytestmark = pytest.mark.skipif(VENV is None, reason="CANNERY_SIM_VENV is not set")


def in_venv(command: str, *arguments: str, home: Path) -> subprocess.CompletedProcess[str]:
    assert VENV is not None
    kept = {name: os.environ[name] for name in ("LANG", "TMPDIR") if name in os.environ}
    settings = {**kept, "PATH": f"{VENV}/bin:/usr/bin:/bin", "HOME": str(home)}
    return subprocess.run(
        [f"{VENV}/bin/{command}", *arguments],
        cwd=EXAMPLE,
        env=settings,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def simulated(options: str, *program: str, home: Path) -> str:
    done = in_venv("ascend-sim", "run", *options.split(), "--", *program, home=home)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr.startswith(BANNER)
    return done.stdout


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--cards 2", "2 Ascend910B3\n"),
        ("--cards 4 --chip a3", "4 Ascend910_9392\n"),
        ("--cards 1 --cann 8.5.0", "1 Ascend910B3\n"),
    ],
)
def test_torch_counts_the_cards(options: str, said: str, tmp_path: Path) -> None:
    assert simulated(options, "python", "-c", COUNT, home=tmp_path) == said


def test_a_cann_that_is_too_old_lacks_symbols(tmp_path: Path) -> None:
    options = ("--cann", "8.0.RC2", "--", "python", "-c", COUNT)
    done = in_venv("ascend-sim", "run", *options, home=tmp_path)
    assert done.returncode != 0
    assert "libtorch_npu.so: undefined symbol: " in done.stderr


def test_the_tests_of_a_project_pass(tmp_path: Path) -> None:
    command = ("pytest", "-q", "-p", "no:cacheprovider", "tests")
    assert "3 passed" in simulated("--cards 2", *command, home=tmp_path)


def test_the_memory_of_a_card_ends(tmp_path: Path) -> None:
    assert simulated("--memory 512M", "python", "-c", MEMORY, home=tmp_path) == "512\nTrue\n"


def test_npu_smi_shows_the_cards(tmp_path: Path) -> None:
    shown = simulated("--cards 3 --driver 25.5.1", "npu-smi", "info", home=tmp_path)
    assert "| npu-smi 25.5.1-sim " in shown
    assert shown.count("910B3") == 3


def test_without_ascend_sim_there_is_no_npu(tmp_path: Path) -> None:
    done = in_venv("python", "-c", COUNT, home=tmp_path)
    assert done.returncode != 0
    assert "libhccl.so" in done.stderr
