# SPDX-License-Identifier: Apache-2.0
"""A simulated host with 8 cards: a folder of files, and recorded outputs of programs."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from ascend_doctor.command import main
from ascend_doctor.examine import examine
from ascend_doctor.host import Access, Host, Output, Space, Status
from ascend_doctor.machine import Machine
from ascend_doctor.table import Found

RECORDED = Path(__file__).parent / "recorded"
CARDS = 8
DRIVER = "24.1.rc1.b030"
FACTS = {
    "nearest_public": {"8.0.T39": "8.0.RC1"},
    "drivers": [
        {"cann": "8.0.RC1", "minimum": "24.1.RC1", "maximum": "", "source": "MindCluster notes"},
        {"cann": "8.5.0", "minimum": "25.5.0", "maximum": "", "source": "deployer"},
        {"cann": "8.5.0", "minimum": "25.0", "maximum": "", "source": "CANN notes"},
        {"cann": "7.0.0", "minimum": "23.0", "maximum": "23.0.3", "source": "CANN notes"},
    ],
}
_STATUS = """Name:\tpython3
Uid:\t0\t0\t0\t0
Gid:\t0\t0\t0\t0
Groups:\t0
CapEff:\t000001ffffffffff
Cpus_allowed_list:\t0-191
Mems_allowed_list:\t0-7
"""
_LIMITS = """Limit                     Soft Limit           Hard Limit           Units
Max core file size        unlimited            unlimited            bytes
Max open files            1048576              1048576              files
"""
_FIB = """Local:
  +-- 0.0.0.0/0 3 0 5
     |-- 127.0.0.1
        /32 host LOCAL
     |-- 90.90.3.11
        /32 host LOCAL
     |-- 90.90.3.255
        /32 link BROADCAST
"""
_TCP = """  sl  local_address rem_address   st tx_queue rx_queue
   0: 00000000:0016 00000000:0000 0A 00000000:00000000
"""


def recorded(name: str) -> str:
    """The output of a program that was recorded as ``name``."""
    return (RECORDED / f"{name}.txt").read_text(encoding="utf-8")


def hccn_conf(first: int = 36) -> str:
    """The settings of 8 cards, in the order in which hccn_tool writes them."""
    lines = []
    for card in range(CARDS):
        lines += [f"address_{card}=10.0.0.{first + card}", f"netmask_{card}=255.255.255.0"]
        lines += [f"netdetect_{card}=10.0.0.1", f"gateway_{card}=10.0.0.1"]
    return "\n".join([*lines, ""])


@dataclass
class SimulatedHost:
    """A host in good order, which a test changes before it writes it below ``root``.

    ``devices`` maps paths to statuses, ``outputs`` words of a command to its output.
    """

    root: Path
    files: dict[str, str] = field(default_factory=dict)
    devices: dict[str, Status] = field(default_factory=dict)
    outputs: dict[str, Output] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    shm: Space = field(default_factory=lambda: Space(500 << 30, 499 << 30))
    asked: list[str] = field(default_factory=list)

    def edit(self, path: str, old: str, new: str) -> None:
        """Replace a text that is in a file, or in the output of a command."""
        if path in self.outputs:
            assert old in self.outputs[path].text
            self.outputs[path] = Output("ok", self.outputs[path].text.replace(old, new))
        else:
            assert old in self.files[path]
            self.files[path] = self.files[path].replace(old, new)

    def write(self) -> Host:
        """The host, whose files are written."""
        for path, text in {**self.files, **dict.fromkeys(self.devices, "")}.items():
            place = self.root / path.lstrip("/")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8")
        access = Access(self._run, self._status, lambda _: self.shm, lambda: 1_700_000_000.0)
        return Host(str(self.root), self.environment, access)

    def machine(self, cann: str = "") -> Machine:
        return Machine(self.write(), FACTS, cann)

    def findings(self, cann: str = "") -> list[Found]:
        return examine(self.machine(cann))

    def ids(self) -> set[str]:
        return {each.id for each in self.findings()}

    def open_by(self, pid: int, card: int) -> None:
        """Let a process of this host have a card open."""
        folder = self.root / f"proc/{pid}/fd"
        folder.mkdir(parents=True)
        (folder / "5").symlink_to(f"/dev/davinci{card}")

    def in_container(self) -> None:
        self.files["/.dockerenv"] = ""
        self.environment["LD_LIBRARY_PATH"] = "/usr/local/Ascend/driver/lib64/driver"
        self.environment["ASCEND_HOME_PATH"] = "/usr/local/Ascend/ascend-toolkit/latest"

    def _run(self, argv: tuple[str, ...], _timeout: float) -> Output:
        command = " ".join(argv)
        self.asked.append(command)
        return self.outputs.get(command, Output("missing", ""))

    def _status(self, path: str) -> Status | None:
        name = "/" + str(Path(path).relative_to(self.root))
        return self.devices.get(name) if Path(path).exists() else None


def good_host(root: Path) -> SimulatedHost:
    """A host of which the doctor has nothing to say."""
    cards = [f"/dev/davinci{card}" for card in range(CARDS)]
    management = ["/dev/davinci_manager", "/dev/devmm_svm", "/dev/hisi_hdc"]
    home = "/usr/local/Ascend/ascend-toolkit/latest/aarch64-linux/ascend_toolkit_install.info"
    host = SimulatedHost(
        root,
        files={
            "/proc/self/status": _STATUS,
            "/proc/self/limits": _LIMITS,
            "/proc/meminfo": "MemTotal:  1583000000 kB\nMemAvailable:  1500000000 kB\n",
            "/proc/mounts": "/dev/sda2 / ext4 rw 0 0\ntmpfs /dev/shm tmpfs rw 0 0\n",
            "/proc/net/fib_trie": _FIB,
            "/proc/net/if_inet6": "fe80000000000000024211fffe1ab2c3 02 40 20 80 eth0\n",
            "/proc/net/tcp": _TCP,
            "/proc/sys/kernel/hostname": "node-1\n",
            "/proc/sys/kernel/core_pattern": "|/usr/lib/systemd/systemd-coredump %P\n",
            "/proc/sys/net/ipv4/ip_local_port_range": "32768\t60999\n",
            "/proc/sys/net/ipv4/ip_local_reserved_ports": "8080,60000-60031\n",
            "/sys/devices/system/node/online": "0-7\n",
            "/sys/class/net/eth0/mtu": "1500\n",
            "/sys/class/net/lo/mtu": "65536\n",
            "/usr/local/Ascend/driver/version.info": f"Version={DRIVER}\n",
            "/usr/local/Ascend/driver/lib64/driver/libascend_hal.so": "",
            "/usr/local/Ascend/firmware/version.info": "Version=7.1.0.5.220\n",
            "/usr/local/dcmi/libdcmi.so": "",
            "/etc/ascend_install.info": "Driver_Install_Path_Param=/usr/local/Ascend\n",
            "/etc/hccn.conf": hccn_conf(),
            home: "package_name=Ascend-cann-toolkit\nversion=8.0.RC1\n",
        },
        devices=dict.fromkeys([*cards, *management], Status("device", 1000, 1000, 0o660)),
        outputs={
            "npu-smi info": Output("ok", recorded("npu-smi-24.1.rc1-910b3")),
            "npu-smi info -t topo": Output("ok", recorded("npu-smi-topo-910b3")),
        },
        environment={"HCCL_CONNECT_TIMEOUT": "7200", "HCCL_EXEC_TIMEOUT": "7200"},
    )
    for card in range(CARDS):
        host.outputs[f"hccn_tool -i {card} -link -g"] = Output("ok", "link status: UP\n")
        port = f"udp_port:{4791 + card}\n"
        host.outputs[f"hccn_tool -i {card} -udp -g"] = Output("ok", port)
    return host


def run_doctor(host: SimulatedHost, *argv: str) -> int:
    """The exit code of the doctor with these words on ``host``."""
    return main(argv, host.write(), FACTS)
