# SPDX-License-Identifier: Apache-2.0
"""A simulated CANN believes only the simulated driver of its own version, and says what it is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from .hosts import Host

DRIVER_ERROR = 507899
HCCL_DRIVER_ERROR = 16
NOTICE = "cannery: simulated Ascend device; results say nothing about an NPU\n"
REAL = """
#include <stdint.h>
#include <stdio.h>
#include <string.h>
int drvGetDevNum(uint32_t* count) { return *count = 2, 0; }
int halGetChipInfo(uint32_t device, char info[3][32]) {
  strcpy(info[0], "Ascend");
  strcpy(info[1], "910B2");
  return 0;
}
int halMemGetInfo(uint32_t device, uint32_t type, uint64_t info[2]) {
  return info[0] = info[1] = (uint64_t)64 << 30, 0;
}
"""
STALE = REAL + "uint32_t npusim_driver_protocol(void) { return 0; }\n"


def replace_driver(host: Host, source: str) -> Path:
    """Put a driver compiled from ``source`` in the place of the simulated one."""
    code = host.driver.parent / "driver.c"
    code.write_text(source)
    library = host.driver_library / "libascend_hal.so"
    library.unlink()
    argv = [sys.executable, "-m", "ziglang", "cc", "-shared", "-o", str(library), str(code)]
    subprocess.run(argv, check=True)
    return library


@pytest.fixture(params=["real", "stale"])
def refusal(request: pytest.FixtureRequest, host: Host) -> str:
    """The sentence with which the driver that ``host`` has is refused."""
    if request.param == "real":
        library = replace_driver(host, REAL)
        return (
            f"cannery: {library} is not the simulated driver, and this CANN is simulated: it"
            " cannot use an NPU, and does not compute on the CPU in its place. Mount the simulated"
            " driver (build.py run --simulate), or use an image with the vendor's CANN."
        )
    library = replace_driver(host, STALE)
    return (
        f"cannery: {library} is a simulated driver of protocol 0, and this CANN needs protocol 3."
        " Make both with one version of cannery (build.py --simulate)."
    )


def test_another_driver_has_no_devices_and_is_an_error(host: Host, refusal: str) -> None:
    found, said = host.run("refused")
    assert found["count"] == [DRIVER_ERROR, 0]
    assert found["soc"] is None
    assert found["set"] == DRIVER_ERROR
    assert refusal.removeprefix("cannery: ") in found["message"]
    assert said == refusal + "\n"


def test_another_driver_leads_to_no_computing(host: Host, refusal: str) -> None:
    found, said = host.run("matmul", "float")
    assert found["code"] == DRIVER_ERROR
    assert said == refusal + "\n"


def test_another_driver_leads_to_no_operator(host: Host, refusal: str) -> None:
    assert refusal
    (host.opp / "built-in/op_impl/ai_core/tbe/kernel/unknown-soc").mkdir()
    assert host.ask("operator_without_device")["code"] == DRIVER_ERROR


def test_another_driver_leads_to_no_collectives(host: Host, refusal: str) -> None:
    assert refusal
    assert host.ask("join_alone") == HCCL_DRIVER_ERROR


def test_npu_smi_shows_nothing_of_another_driver(host: Host, refusal: str) -> None:
    shown = host.npu_smi("info")
    assert shown.returncode == 255
    assert shown.stdout == "dcmi module initialize failed. ret is -8005\n"
    assert shown.stderr == refusal.replace("this CANN", "this npu-smi") + "\n"


@pytest.mark.parametrize("probe", ["devices", "devices_in_two_processes"])
def test_the_simulation_notice_is_shown_once(host: Host, probe: str) -> None:
    _, said = host.run(probe, NPUSIM_LENIENT=None)
    assert said == NOTICE


@pytest.mark.parametrize(
    "changes", [{"LD_LIBRARY_PATH": None}, {"NPUSIM_FAULT": "devices=0"}], ids=["driver", "device"]
)
def test_nothing_is_said_where_there_is_no_device(
    host: Host, changes: dict[str, str | None]
) -> None:
    _, said = host.run("devices", **changes)
    assert said == ""


def test_no_variable_silences_it(host: Host) -> None:
    quiet = ("CANNERY_SIMULATED", "CANNERY_QUIET", "NPUSIM_QUIET", "ASCEND_GLOBAL_LOG_LEVEL")
    _, said = host.run("devices", NPUSIM_LENIENT=None, **dict.fromkeys(quiet, "0"))
    assert said == NOTICE
