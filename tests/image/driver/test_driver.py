# SPDX-License-Identifier: Apache-2.0
"""The contract between host and image: the driver is mounted, and never in the image."""

from __future__ import annotations

import json
from typing import Any

import pytest
from testinfra.backend.base import CommandResult
from testinfra.host import Host

Facts = dict[str, Any]


@pytest.mark.inherited
def test_mount_points(facts: Facts) -> None:
    """The places where the host's driver goes exist and are empty."""
    assert facts["mount_points"] == {
        "/usr/local/Ascend/driver": [True, 0],
        "/usr/local/dcmi": [True, 0],
    }
    assert not facts["npu_smi"]


@pytest.mark.inherited
@pytest.mark.device
def test_npu_smi(host: Host, record: Facts) -> None:
    """The host's ``npu-smi info`` works inside and lists the devices."""
    result = host.run("npu-smi info")
    assert result.rc == 0, result.stderr
    # npu-smi names the card of an A3, whose kernels are ascend910_93, Ascend910.
    chip = record["operators"].removeprefix("ascend").partition("_")[0].upper()
    assert "OK" in result.stdout and chip in result.stdout, result.stdout


@pytest.mark.any_image
@pytest.mark.device
def test_driver_is_of_the_kind(host: Host, device: str) -> None:
    """The mounted driver is a stand-in on the simulated device, and on no other."""
    marker = host.run("test -e /usr/local/Ascend/driver/SIMULATED")
    assert (marker.rc == 0) == (device == "simulated")


@pytest.mark.any_image
@pytest.mark.device
@pytest.mark.torch
def test_driver_is_the_mounted_one(on_device: Any) -> None:
    """The driver library that a process loads is the mounted one, no stand-in of the toolkit."""
    loaded = [path for path in on_device("device")["libraries"] if "/libascend_hal.so" in path]
    assert loaded and all(path.startswith("/usr/local/Ascend/driver/") for path in loaded), loaded


@pytest.mark.runs(command="ascend-doctor --json")
def test_the_doctor(ran: CommandResult, device: str, record: Facts) -> None:
    """``ascend-doctor`` examines this container, and knows its CANN."""
    assert ran.rc in (0, 1, 8), ran.stderr
    document = json.loads(ran.stdout)
    assert not ran.stderr
    found = {finding["id"]: finding for finding in document["findings"]}
    assert "check-failed" not in found, found
    assert document["host"]["cann"] == record["components"]["toolkit"]
    assert document["host"]["container"]
    assert ("driver-simulated" in found) == (device == "simulated")


@pytest.mark.runs(command="ascend-doctor --explain EJ0001")
def test_the_doctor_explains(ran: CommandResult) -> None:
    """``ascend-doctor`` explains errors."""
    assert ran.rc == 0, ran.stderr
