# SPDX-License-Identifier: Apache-2.0
"""A good host of 8 cards passes, and each fault on it is found, and nothing else."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ascend_doctor.host import Output, Space, Status
from tests.hosts import DRIVER, SimulatedHost

SMI = "npu-smi info"
CONF = "/etc/hccn.conf"
STATUS = "/proc/self/status"
VERSION = "/usr/local/Ascend/driver/version.info"
MOUNTS = "/proc/mounts"
PATTERN = "/proc/sys/kernel/core_pattern"

FAULTS: dict[str, tuple[str, Callable[[SimulatedHost], object]]] = {}


def fault(finding: str) -> Callable[[Callable[[SimulatedHost], object]], None]:
    def add(plant: Callable[[SimulatedHost], object]) -> None:
        FAULTS[plant.__name__] = finding, plant

    return add


def variable(finding: str, name: str, value: str) -> None:
    FAULTS[f"{name}={value}"] = finding, lambda host: host.environment.update({name: value})


def edit(finding: str, path: str, old: str, new: str) -> None:
    FAULTS[f"{path}: {new}"] = finding, lambda host: host.edit(path, old, new)


@fault("device-missing")
def a_management_device_is_missing(host: SimulatedHost) -> object:
    return host.devices.pop("/dev/hisi_hdc")


@fault("device-not-device")
def docker_made_a_folder_of_a_device(host: SimulatedHost) -> None:
    host.devices["/dev/devmm_svm"] = Status("folder", 0, 0, 0o755)


@fault("device-closed")
def a_user_is_not_in_the_group(host: SimulatedHost) -> None:
    host.edit(STATUS, "\t0\t0\t0\t0", "\t2000\t2000\t2000\t2000")
    host.edit(STATUS, "000001ffffffffff", "0000000000000000")


@fault("device-capability")
def root_lacks_a_capability(host: SimulatedHost) -> None:
    host.edit(STATUS, "000001ffffffffff", "00000000a80425f9")


@fault("cards-differ")
def a_card_fell_off_the_bus(host: SimulatedHost) -> None:
    host.devices["/dev/davinci8"] = Status("device", 1000, 1000, 0o660)
    host.files[CONF] += "address_8=10.0.0.90\n"
    host.outputs["hccn_tool -i 8 -link -g"] = Output("ok", "link status: UP\n")


@fault("driver-missing")
def the_driver_s_libraries_are_missing(host: SimulatedHost) -> object:
    return host.files.pop("/usr/local/Ascend/driver/lib64/driver/libascend_hal.so")


@fault("driver-version-missing")
def the_driver_s_version_is_missing(host: SimulatedHost) -> None:
    host.files.pop(VERSION)
    host.files.pop("/etc/ascend_install.info")


@fault("dcmi-missing")
def the_management_library_is_missing(host: SimulatedHost) -> object:
    return host.files.pop("/usr/local/dcmi/libdcmi.so")


@fault("driver-old")
def the_driver_is_too_old(host: SimulatedHost) -> None:
    host.edit(VERSION, DRIVER, "23.0.rc2.b090")
    host.edit(SMI, DRIVER, "23.0.rc2.b090")


@fault("smi-hangs")
def npu_smi_hangs(host: SimulatedHost) -> None:
    host.outputs[SMI] = Output("hung", "")


@fault("smi-missing")
def there_is_no_npu_smi(host: SimulatedHost) -> object:
    return host.outputs.pop(SMI)


@fault("smi-form")
def npu_smi_prints_something_else(host: SimulatedHost) -> None:
    host.outputs[SMI] = Output("ok", "NPU 0: fine\nNPU 1: fine\n")


@fault("dcmi-8005")
def npu_smi_may_not_start(host: SimulatedHost) -> None:
    host.outputs[SMI] = Output("failed", "dcmi module initialize failed. ret is -8005\n")


@fault("dcmi-8020")
def another_container_has_the_card(host: SimulatedHost) -> None:
    said = "DrvMngGetConsoleLogLevel failed. (g_conLogLevel=3)\ndcmi model initialized failed, "
    host.outputs[SMI] = Output("failed", said + "because the device is used. ret is -8020\n")


@fault("dcmi-9005")
def npu_smi_cannot_read_the_board(host: SimulatedHost) -> None:
    host.outputs[SMI] = Output("failed", "npu get board type failed. ret is -9005\n")


PROCESS = (
    "| NPU     Chip          | Process id    | Process name         | Process memory(MB) |\n"
    "| 3       0             | 2441447       | python               | 59618              |\n"
)


@fault("process-here")
def a_killed_run_left_a_process(host: SimulatedHost) -> None:
    host.outputs[SMI] = Output("ok", host.outputs[SMI].text + PROCESS)
    host.open_by(2441447, 3)


@fault("process-elsewhere")
def a_process_of_another_container(host: SimulatedHost) -> None:
    host.outputs[SMI] = Output("ok", host.outputs[SMI].text + PROCESS)


@fault("shm-default")
def shared_memory_is_docker_s_default(host: SimulatedHost) -> None:
    host.in_container()
    host.shm = Space(64 << 20, 64 << 20)


@fault("shm-small")
def shared_memory_is_small(host: SimulatedHost) -> None:
    host.shm = Space(4 << 30, 4 << 30)


@fault("shm-full")
def shared_memory_is_full(host: SimulatedHost) -> None:
    host.shm = Space(500 << 30, 1 << 30)


@fault("hccn-missing")
def there_is_no_hccn_conf(host: SimulatedHost) -> object:
    return host.files.pop(CONF)


@fault("link-down")
def a_link_is_down(host: SimulatedHost) -> None:
    host.edit("hccn_tool -i 5 -link -g", "UP", "DOWN")


@fault("udp-same")
def all_cards_send_from_one_port(host: SimulatedHost) -> None:
    for card in range(1, 8):
        host.edit(f"hccn_tool -i {card} -udp -g", str(4791 + card), "4791")


@fault("hccn-hangs")
def hccn_tool_hangs(host: SimulatedHost) -> None:
    host.outputs["hccn_tool -i 2 -link -g"] = Output("hung", "")


@fault("hccl-ports-used")
def another_run_listens(host: SimulatedHost) -> None:
    host.files["/proc/net/tcp6"] = "sl\n 0: " + "0" * 32 + ":EA61 " + "0" * 32 + ":0000 0A 0\n"


@fault("stub-first")
def the_stub_comes_before_the_driver(host: SimulatedHost) -> None:
    toolkit = "/usr/local/Ascend/ascend-toolkit/latest/aarch64-linux/devlib"
    host.environment["LD_LIBRARY_PATH"] = f"{toolkit}:/usr/local/Ascend/driver/lib64/driver"


@fault("cann-unset")
def the_variables_are_in_bashrc_only(host: SimulatedHost) -> None:
    host.in_container()
    del host.environment["ASCEND_HOME_PATH"]


@fault("rank-table")
def the_rank_table_is_half_there(host: SimulatedHost) -> None:
    host.environment["RANK_TABLE_FILE"] = "/data/hccl.json"
    host.files["/data/hccl.json"] = '{"version": "1.0", "server_list": [{"server_id"'


edit(
    "card-health",
    SMI,
    "| 6     910B3               | OK    ",
    "| 6     910B3               | Alarm ",
)
edit("memory-held", SMI, "3318 / 65536", "60318/ 65536")
edit("driver-differs", SMI, DRIVER, "24.1.rc2")
edit("install-info-stale", "/etc/ascend_install.info", "/usr/local/Ascend", "/opt/Ascend")
edit("hccn-address-twice", CONF, "address_4=10.0.0.40", "address_4=10.0.0.36")
edit("hccn-address-missing", CONF, "address_4=10.0.0.40\n", "")
edit("hccn-address-invalid", CONF, "address_4=10.0.0.40", "address_4=10.0.0.400")
edit("hccn-netmask", CONF, "netmask_4=255.255.255.0", "netmask_4=255.255.0.0")
edit("hccn-gateway", CONF, "gateway_4=10.0.0.1", "gateway_4=10.9.0.1")
edit("hccn-line", CONF, "netdetect_4", "netdetect 4 is gone\nnetdetect_4")
edit("hccl-ports-open", "/proc/sys/net/ipv4/ip_local_reserved_ports", "60000-60031", "60000-60015")
edit(
    "open-files",
    "/proc/self/limits",
    "1048576              1048576",
    "1024                 4096   ",
)
edit(
    "core-off",
    "/proc/self/limits",
    "unlimited            unlimited",
    "0                    unlimited",
)
edit(
    "core-folder",
    "/proc/sys/kernel/core_pattern",
    "|/usr/lib/systemd/systemd-coredump",
    "/crash/core",
)
edit("core-relative", "/proc/sys/kernel/core_pattern", "|/usr/lib/systemd/systemd-coredump", "core")
edit("memory-low", "/proc/meminfo", "MemAvailable:  1500000000", "MemAvailable:  15000000")
edit("cpu-far", STATUS, "0-191", "0-119")
edit("numa-memory", STATUS, "Mems_allowed_list:\t0-7", "Mems_allowed_list:\t0-1")
edit("nfs-v3", MOUNTS, "tmpfs /dev", "nas:/d /data nfs rw,vers=3,addr=10.1.1.1 0 0\ntmpfs /dev")
edit("nfs-data", MOUNTS, "tmpfs /dev", "nas:/d /data nfs4 rw,vers=4.1 0 0\ntmpfs /dev")
variable("visible-missing", "ASCEND_RT_VISIBLE_DEVICES", "6,9")
variable("visible-unreadable", "ASCEND_RT_VISIBLE_DEVICES", "npu:0")
variable("cuda-visible", "CUDA_VISIBLE_DEVICES", "0,1")
variable("hccl-timeout-range", "HCCL_CONNECT_TIMEOUT", "72000")
variable("hccl-timeout-range", "HCCL_CONNECT_TIMEOUT", "2h")
variable("hccl-if-ip", "HCCL_IF_IP", "90.90.3.12")
variable("hccl-ifname", "HCCL_SOCKET_IFNAME", "enp189s0f0")
variable("cann-missing", "ASCEND_HOME_PATH", "/usr/local/Ascend/cann-9.9")
variable("launch-blocking", "ASCEND_LAUNCH_BLOCKING", "1")
variable("proxy", "https_proxy", "proxy.example.com:3128")


def test_a_good_host_passes(host: SimulatedHost) -> None:
    assert host.findings() == []


def test_a_good_container_passes(host: SimulatedHost) -> None:
    host.in_container()
    assert host.findings() == []


def test_there_are_many_faults() -> None:
    assert len({finding for finding, _ in FAULTS.values()}) >= 25


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found_and_nothing_else(host: SimulatedHost, name: str) -> None:
    finding, plant = FAULTS[name]
    plant(host)
    assert host.ids() == {finding}
