# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from .hosts import Host

NOTHING = {"init": 0, "count": 0, "soc": None, "set": 107001}


def test_the_driver_s_devices_are_found(host: Host) -> None:
    assert host.ask("devices") == {"init": 0, "count": 8, "soc": "Ascend910B3", "set": 0}


def test_the_description_decides(host: Host) -> None:
    conf = host.driver / "simulated_devices.conf"
    conf.write_text("# two old ones\ncount=2\nname=310P3\nhbm_mb=21534\n")
    assert host.ask("devices") == {"init": 0, "count": 2, "soc": "Ascend310P3", "set": 0}


def test_without_a_driver_there_is_no_device_and_no_error(host: Host) -> None:
    assert host.ask("devices", LD_LIBRARY_PATH=None) == NOTHING


def test_the_link_time_stub_has_no_device(host: Host) -> None:
    assert host.ask("devices", LD_LIBRARY_PATH=str(host.built / "toolkit/devlib")) == NOTHING


def test_a_missing_description_is_told(host: Host) -> None:
    (host.driver / "simulated_devices.conf").unlink()
    found, said = host.run("devices")
    assert found == NOTHING
    assert "simulated_devices.conf cannot be read: no devices" in said


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("count=eight\nname=910B3\nhbm_mb=1\n", "count=eight is not a whole number"),
        ("count=-1\nname=910B3\nhbm_mb=1\n", "count=-1 is not a whole number"),
        ("count=65\nname=910B3\nhbm_mb=1\n", "count is above 64"),
        ("name=910B3\nhbm_mb=1\n", "has no line 'count='"),
        ("count=1\nname=\nhbm_mb=1\n", "cannot use 'name='"),
        ("count=1\nname=910B3\nhbm_mb=1\nspeed=9\n", "cannot use 'speed=9'"),
        ("eight\n", "'eight' is not key=value"),
    ],
)
def test_a_bad_description_is_told(host: Host, text: str, complaint: str) -> None:
    (host.driver / "simulated_devices.conf").write_text(text)
    found, said = host.run("devices")
    assert found == NOTHING
    assert complaint in said


@pytest.mark.parametrize(
    ("visible", "count"),
    [
        *(("0", 1), ("1,3", 2), ("1,9,2", 1), ("0,", 1), ("0 ,1", 1), ("no", 0), ("", 0)),
        *(("7,0,5", 0), ("0,0", 0)),
    ],
)
def test_visible_devices_are_counted_anew(host: Host, visible: str, count: int) -> None:
    assert host.ask("devices", ASCEND_RT_VISIBLE_DEVICES=visible)["count"] == count


def test_a_visible_device_that_is_not_there_is_told_once(host: Host) -> None:
    _, said = host.run("devices", ASCEND_RT_VISIBLE_DEVICES="9")
    assert said.count("ASCEND_RT_VISIBLE_DEVICES=9: no device '9'") == 1
    assert said.count("ASCEND_RT_VISIBLE_DEVICES") == 1


def test_devices_can_be_hidden_on_purpose(host: Host) -> None:
    assert host.ask("devices", NPUSIM_FAULT="devices=0") == NOTHING


def test_an_unknown_fault_is_told_and_ignored(host: Host) -> None:
    found, said = host.run("devices", NPUSIM_FAULT="everything")
    assert found["count"] == 8
    assert "NPUSIM_FAULT=everything is ignored" in said


def test_attributes_of_a_device(host: Host) -> None:
    not_simulated = 207000
    cores, memory, chip, architecture = ["101", "102", "201"], "301", "402", "601"
    found = host.ask(
        "device_info", "1", *cores, memory, chip, architecture, "1", ASCEND_RT_VISIBLE_DEVICES="0,5"
    )
    values = [24, 24, 48, 65536 << 20, 5, 2201]
    assert found == [*([0, value] for value in values), [not_simulated, -1]]


def test_attributes_of_no_device(host: Host) -> None:
    assert host.ask("device_info", "8", "301") == [[107001, -1]]


def test_the_memory_that_a_fault_leaves(host: Host) -> None:
    assert host.ask("device_info", "0", "301", NPUSIM_FAULT="oom-mb=1024") == [[0, 1 << 30]]
