# SPDX-License-Identifier: Apache-2.0
"""The wheel in bare virtual environments, one for each documented way to install torch.

'nox -s wheel-check' gives its path in CANNERY_SIM_WHEEL. CANNERY_CPU_WHEELS is a folder with
torch's wheels for the CPU, where PyTorch's own index cannot be reached; CANNERY_SIM_INSTALL has
other options of 'ascend-sim install' than the documented ones.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from .documented import install_lines

WHEEL = os.environ.get("CANNERY_SIM_WHEEL")
LINES = [each for each in [os.environ.get("CANNERY_SIM_INSTALL")] if each] or install_lines()
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
pytestmark = pytest.mark.skipif(WHEEL is None, reason="CANNERY_SIM_WHEEL is not set")


@pytest.fixture(scope="module", params=LINES)
def venv(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made as the README says."""
    folder = tmp_path_factory.mktemp("venv")
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    assert WHEEL
    subprocess.run([f"{folder}/bin/pip", "install", "--quiet", WHEEL, "pytest"], check=True)
    wheels = os.environ.get("CANNERY_CPU_WHEELS")
    options = [*request.param.split(), *(["--wheels", wheels] if wheels else [])]
    subprocess.run([f"{folder}/bin/ascend-sim", "install", *options], check=True)
    return folder


@dataclass
class Here:
    """A user with this environment, and a home folder of their own."""

    venv: Path
    home: Path

    def call(self, command: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        kept = {name: os.environ[name] for name in ("LANG", "TMPDIR") if name in os.environ}
        settings = {**kept, "PATH": f"{self.venv}/bin:/usr/bin:/bin", "HOME": str(self.home)}
        return subprocess.run(
            [f"{self.venv}/bin/{command}", *arguments],
            cwd=EXAMPLE,
            env=settings,
            capture_output=True,
            text=True,
            timeout=1200,
            check=False,
        )

    def simulated(self, options: str, *program: str) -> str:
        done = self.call("ascend-sim", "run", *options.split(), "--", *program)
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stderr.startswith(BANNER)
        return done.stdout


@pytest.fixture
def here(venv: Path, tmp_path: Path) -> Here:
    return Here(venv, tmp_path)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--cards 2", "2 Ascend910B3\n"),
        ("--cards 4 --chip a3", "4 Ascend910_9392\n"),
        ("--cards 1 --cann 8.5.0", "1 Ascend910B3\n"),
    ],
)
def test_torch_counts_the_cards(options: str, said: str, here: Here) -> None:
    assert here.simulated(options, "python", "-c", COUNT) == said


def test_a_too_old_cann_lacks_symbols(here: Here) -> None:
    options = ("--cann", "8.0.RC2", "--", "python", "-c", COUNT)
    done = here.call("ascend-sim", "run", *options)
    assert done.returncode != 0
    assert "libtorch_npu.so: undefined symbol: " in done.stderr


def test_the_tests_of_a_project_pass(here: Here) -> None:
    said = here.simulated("--cards 2", "pytest", "-q", "tests")
    assert re.search(r"\b\d\d passed", said)
    assert "skipped" not in said


def test_the_memory_of_a_card_ends(here: Here) -> None:
    assert here.simulated("--memory 512M", "python", "-c", MEMORY) == "512\nTrue\n"


def test_npu_smi_shows_the_cards(here: Here) -> None:
    shown = here.simulated("--cards 3 --driver 25.5.1", "npu-smi", "info")
    assert "| npu-smi 25.5.1-sim " in shown
    assert shown.count("910B3") == 3


def test_without_ascend_sim_there_is_no_npu(here: Here) -> None:
    done = here.call("python", "-c", COUNT)
    assert done.returncode != 0
    assert "libhccl.so" in done.stderr
