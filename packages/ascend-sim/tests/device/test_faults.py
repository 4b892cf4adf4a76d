# SPDX-License-Identifier: Apache-2.0
"""Faults on demand, as those who meet them see them."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from .hosts import Host
from .test_collectives import new_name, run_ranks

DRIVER_ERROR, LOST_HEARTBEAT, RUNTIME_ERROR, TIMEOUT = 507899, 507010, 15, 9


@pytest.mark.parametrize("fault", ["driver-too-old", "dcmi=-8005", "dcmi=-8020"])
def test_an_unusable_driver_is_an_error(host: Host, fault: str) -> None:
    found, said = host.run("refused", NPUSIM_FAULT=fault)
    assert found["count"] == [DRIVER_ERROR, 0]
    assert found["set"] == DRIVER_ERROR
    assert "drvRetCode=87" in found["message"]
    assert "npusim: NPUSIM_FAULT: EL0003" in said


@pytest.mark.parametrize(
    ("fault", "shown"),
    [
        ("dcmi=-8005", "dcmi module initialize failed. ret is -8005\n"),
        (
            "dcmi=-8020",
            "dcmi model initialized failed, because the device is used. ret is -8020\n",
        ),
    ],
)
def test_npu_smi_fails_if_the_card_cannot_be_opened(host: Host, fault: str, shown: str) -> None:
    answer = host.npu_smi("info", NPUSIM_FAULT=fault)
    assert (answer.returncode, answer.stdout) == (255, shown)


def test_leftover_processes_are_an_error(host: Host) -> None:
    failure = host.ask("communicate", new_name(), "0", NPUSIM_FAULT="processes-left")
    assert failure["code"] == RUNTIME_ERROR
    assert "EJ0001: Failed to initialize the HCCP process." in failure["message"]


def test_a_card_is_lost_at_any_time(host: Host, tmp_path: Path) -> None:
    file = tmp_path / "faults"
    found = host.ask("work_while_a_card_is_lost", str(file), NPUSIM_FAULT_FILE=str(file))
    assert found["codes"] == [0, 0, LOST_HEARTBEAT]
    assert "the heartbeat of device 0 is lost" in found["message"]


def test_a_card_is_lost_by_its_id_on_the_host(host: Host) -> None:
    failure = host.ask("products", "1", NPUSIM_FAULT="lost-card=5", ASCEND_RT_VISIBLE_DEVICES="5")
    assert failure["code"] == LOST_HEARTBEAT


def test_memory_ends_where_it_is_asked_for(host: Host) -> None:
    size = str(3 << 20)
    failure = host.ask("free_memory_after_allocating", size, NPUSIM_FAULT="oom-mb=2")
    assert failure["code"] == 207001
    assert "EL0004: Failed to allocate memory" in failure["message"]
    free, total = host.ask("free_memory_after_allocating", size, NPUSIM_FAULT="oom-mb=4")
    assert (free, total) == (1 << 20, 4 << 20)


def test_one_product_is_nan(host: Host) -> None:
    assert host.ask("products", "3", NPUSIM_FAULT="nan=2") == ["6.0", "nan", "6.0"]


def test_the_next_product_is_nan(host: Host, tmp_path: Path) -> None:
    file = tmp_path / "faults"
    seen = host.ask("products_around_a_fault", str(file), NPUSIM_FAULT_FILE=str(file))
    assert seen == ["6.0", "6.0", "nan", "6.0", "6.0", "6.0", "nan", "6.0"]


def test_a_slow_rank_delays_the_others(host: Host) -> None:
    start = time.monotonic()
    assert (
        run_ranks(host, 2, "sum_in_a_graph", NPUSIM_FAULT="slow-rank=1:700")
        == [[[0], [4], [6]]] * 2
    )
    assert time.monotonic() - start > 1.4


def test_a_link_flap_beyond_the_timeout_is_an_error(host: Host) -> None:
    name = new_name()
    flapping = host.start("work_until_an_error", name, "1", "2", NPUSIM_FAULT="link-flap=3:30")
    failure = host.ask("work_until_an_error", name, "0", "2", HCCL_EXEC_TIMEOUT="1")
    flapping.kill()
    _, said = flapping.communicate()
    assert failure["code"] == TIMEOUT
    assert "the link of rank 1 is down for 30 s" in said


def test_several_faults_and_a_wrong_one(host: Host) -> None:
    products, said = host.run("products", "1", NPUSIM_FAULT="matmul,slow-rank=1,nan=9")
    assert products != ["6.0"]
    assert "NPUSIM_FAULT=slow-rank=1 is ignored: use matmul, devices=0" in said
