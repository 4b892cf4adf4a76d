# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from .conftest import Host

NO_DRIVER = "dcmi module initialize failed. ret is -8005\n"


def test_info_shows_a_row_pair_for_each_device(host: Host) -> None:
    shown = host.npu_smi("info")
    lines = shown.stdout.splitlines()
    assert shown.returncode == 0
    assert {len(line) for line in lines} == {98}
    assert lines[1].split() == ["|", "npu-smi", "24.1.rc3-sim", "Version:", "24.1.rc3-sim", "|"]
    for device in range(8):
        assert any(line.startswith(f"| {device}     910B3 ") for line in lines)
    assert sum("/ 65536 " in line for line in lines) == 8


def test_the_version_is_always_marked_as_simulated(host: Host) -> None:
    (host.driver / "version.info").write_text("Version=24.1.rc3\n")
    assert "npu-smi 24.1.rc3-sim " in host.npu_smi("info").stdout


def test_list_and_topology(host: Host) -> None:
    (host.driver / "simulated_devices.conf").write_text("count=2\nname=910B3\nhbm_mb=65536\n")
    ids = [line for line in host.npu_smi("info", "-l").stdout.splitlines() if "NPU ID" in line]
    assert [line.split()[-1] for line in ids] == ["0", "1"]
    rows = host.npu_smi("info", "-t", "topo").stdout.splitlines()
    assert [row.split() for row in rows[1:3]] == [
        ["NPU0", "X", "HCCS", "NA"],
        ["NPU1", "HCCS", "X", "NA"],
    ]


@pytest.mark.parametrize("library", [None, "devlib"])
def test_without_a_driver_it_fails_as_the_vendor_s(host: Host, library: str | None) -> None:
    path = str(host.built / "toolkit" / library) if library else None
    shown = host.npu_smi("info", LD_LIBRARY_PATH=path)
    assert (shown.returncode, shown.stdout) == (255, NO_DRIVER)


@pytest.mark.parametrize("arguments", [[], ["info", "-x"], ["reset"], ["info", "-t"]])
def test_wrong_arguments_are_an_error(host: Host, arguments: list[str]) -> None:
    shown = host.npu_smi(*arguments)
    assert (shown.returncode, shown.stdout) == (1, "")
    assert "Usage: npu-smi info" in shown.stderr
