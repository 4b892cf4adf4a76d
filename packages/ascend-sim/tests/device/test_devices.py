# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from .hosts import Host

NOTHING = {"init": 0, "count": 0, "soc": None, "set": 107001}


def test_the_driver_s_devices_are_found(host: Host) -> None:
    assert host.ask("devices") == {"init": 0, "count": 8, "soc": "Ascend910B3", "set": 0}


def test_the_description_decides(host: Host) -> None:
    host.describe("310p", count=2)
    host.conf.write_text(f"# two old ones\n{host.conf.read_text()}")
    assert host.ask("devices") == {"init": 0, "count": 2, "soc": "Ascend310P3", "set": 0}


def test_without_a_driver_there_is_no_device_and_no_error(host: Host) -> None:
    assert host.ask("devices", LD_LIBRARY_PATH=None) == NOTHING


def test_the_link_time_stub_has_no_device(host: Host) -> None:
    assert host.ask("devices", LD_LIBRARY_PATH=str(host.built / "toolkit/devlib")) == NOTHING


def test_a_missing_description_is_reported(host: Host) -> None:
    host.conf.unlink()
    found, said = host.run("devices")
    assert found == NOTHING
    assert "simulated_devices.conf cannot be read: no devices" in said


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("count=eight", "count=eight is not a whole number"),
        ("count=-1", "count=-1 is not a whole number"),
        ("count=65", "count is above 64"),
        ("", "has no line 'count='"),
        ("count=1\nname=", "cannot use 'name='"),
        (f"count=1\nlacks={'x' * 256}", "cannot use 'lacks=xx"),
        ("count=1\nspeed=9", "cannot use 'speed=9'"),
        ("eight", "'eight' is not key=value"),
    ],
)
def test_a_bad_description_is_reported(host: Host, text: str, complaint: str) -> None:
    host.conf.write_text(host.conf.read_text().replace("count=8", text))
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


def test_a_missing_visible_device_is_reported_once(host: Host) -> None:
    _, said = host.run("devices", ASCEND_RT_VISIBLE_DEVICES="9")
    assert said.count("ASCEND_RT_VISIBLE_DEVICES=9: no device '9'") == 1
    assert said.count("ASCEND_RT_VISIBLE_DEVICES") == 1


def test_devices_can_be_hidden_on_purpose(host: Host) -> None:
    assert host.ask("devices", NPUSIM_FAULT="devices=0") == NOTHING


def test_an_unknown_fault_is_told_and_ignored(host: Host) -> None:
    found, said = host.run("devices", NPUSIM_FAULT="everything")
    assert found["count"] == 8
    assert "NPUSIM_FAULT=everything is ignored" in said


@pytest.mark.parametrize(
    ("chip", "cores", "memory_mb", "architecture"),
    [
        ("910b", [20, 20, 40], 65536, 2201),
        ("a3", [24, 24, 48], 65536, 2201),
        ("310p", [8, 8, 7], 44280, 2002),
        ("910", [32, 32, 0], 32768, 1001),
        ("950", [28, 28, 56], 131072, 3510),
    ],
)
def test_attributes_of_a_device(
    host: Host, chip: str, cores: list[int], memory_mb: int, architecture: int
) -> None:
    """As CANN's platform_config has them."""
    host.describe(chip)
    not_simulated = 207000
    asked = ["101", "102", "201", "301", "402", "601", "1"]
    found = host.ask("device_info", "1", *asked, ASCEND_RT_VISIBLE_DEVICES="0,5")
    values = [*cores, memory_mb << 20, 5, architecture]
    assert found == [*([0, value] for value in values), [not_simulated, -1]]


def test_attributes_of_no_device(host: Host) -> None:
    assert host.ask("device_info", "8", "301") == [[107001, -1]]


def test_a_fault_limits_the_memory(host: Host) -> None:
    assert host.ask("device_info", "0", "301", NPUSIM_FAULT="oom-mb=1024") == [[0, 1 << 30]]
