# SPDX-License-Identifier: Apache-2.0
"""What several checks need to know of a host, each read once."""

from __future__ import annotations

import json
import re
from typing import Any, Mapping, NamedTuple

from .driver_version import version_in
from .hccn_conf import HccnConf, read_hccn_conf
from .host import Host, Output
from .lazy import Lazy
from .npu_smi import Process, Smi, read_info

DRIVER = "/usr/local/Ascend/driver"
FIRMWARE = "/usr/local/Ascend/firmware"
MANAGEMENT_DEVICES = ("/dev/davinci_manager", "/dev/devmm_svm", "/dev/hisi_hdc")
CANN_FOLDERS = (
    "/usr/local/Ascend/cann",
    "/usr/local/Ascend/ascend-toolkit/latest",
    "/usr/local/Ascend/ascend-toolkit",
)
SMI_SECONDS = 10
IMAGE = "/usr/local/share/cannery/target.json"
"""What an image of cannery says of itself."""

_SMI_PATHS = ("npu-smi", "/usr/local/bin/npu-smi", "/usr/local/sbin/npu-smi")
_CARD = re.compile(r"davinci(\d{1,4})$", re.ASCII)
_VERSION = re.compile(r"(?m)^\s*version\s*=\s*(\S+)", re.IGNORECASE)
_OCTAL = re.compile(r"\\([0-7]{3})")


class Mount(NamedTuple):
    """A line of /proc/mounts. ``options`` maps names to values, which can be empty."""

    point: str
    kind: str
    options: dict[str, str]


class Machine:
    """A host with what was read of it.

    ``facts`` are what was known when the doctor was packed (see docs/usage.md), ``cann`` is the
    CANN to judge the driver for, where it was named.
    """

    def __init__(self, host: Host, facts: Mapping[str, Any], cann: str = "") -> None:
        self.host = host
        self.facts = facts
        self._cann = cann

    @Lazy
    def cards(self) -> list[int]:
        """The numbers of the cards, from the names of their devices."""
        matches = [_CARD.match(name) for name in self.host.names("/dev")]
        return sorted(int(match[1]) for match in matches if match)

    @Lazy
    def image(self) -> dict[str, Any]:
        """The record of the image that this is a container of; empty if it has none."""
        try:
            found = json.loads(self.host.text(IMAGE) or "{}")
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}

    @Lazy
    def in_container(self) -> bool:
        """Whether this is a container."""
        if self.host.exists("/.dockerenv") or self.host.exists("/run/.containerenv"):
            return True
        if "KUBERNETES_SERVICE_HOST" in self.host.environment:
            return True
        if any((mount.point, mount.kind) == ("/", "overlay") for mount in self.mounts):
            return True
        groups = self.host.text("/proc/1/cgroup") or ""
        return any(word in groups for word in ("/docker", "/kubepods", "/containerd"))

    @Lazy
    def smi_output(self) -> Output:
        """What ``npu-smi info`` printed."""
        for path in _SMI_PATHS:
            output = self.host.run(path, "info", timeout=SMI_SECONDS)
            if output.state != "missing":
                return output
        return Output("missing", "")

    @Lazy
    def smi(self) -> Smi:
        """The chips and processes that npu-smi shows."""
        return read_info(self.smi_output.text)

    @Lazy
    def driver_version(self) -> str:
        """The version of the driver's files; empty if unknown."""
        return version_in(self.host.text(DRIVER + "/version.info") or "")

    @Lazy
    def firmware_version(self) -> str:
        """The version of the firmware; empty if unknown."""
        return version_in(self.host.text(FIRMWARE + "/version.info") or "")

    @Lazy
    def cann_folder(self) -> str:
        """The folder of the CANN that is installed; empty if there is none."""
        own = self.host.environment.get("ASCEND_HOME_PATH", "")
        folders = [own, *CANN_FOLDERS] if own else list(CANN_FOLDERS)
        return next((path for path in folders if self.host.is_folder(path)), "")

    @Lazy
    def cann(self) -> str:
        """The version of CANN: the one that was named, or that is installed."""
        return self._cann or self._installed_cann()

    def _installed_cann(self) -> str:
        if not self.cann_folder:
            return ""
        for folder in sorted(self.host.names(self.cann_folder), reverse=True):
            if folder.endswith("-linux"):
                name = f"{self.cann_folder}/{folder}/ascend_toolkit_install.info"
                match = _VERSION.search(self.host.text(name) or "")
                if match:
                    return match[1]
        return ""

    @Lazy
    def mounts(self) -> list[Mount]:
        """The file systems that are mounted."""
        return read_mounts(self.host.text("/proc/mounts") or "")

    @Lazy
    def process_status(self) -> dict[str, str]:
        """/proc/self/status: name to value."""
        lines = (self.host.text("/proc/self/status") or "").splitlines()
        pairs = (line.partition(":") for line in lines)
        return {name: value.strip() for name, _, value in pairs}

    @Lazy
    def hccn(self) -> HccnConf | None:
        """The settings of /etc/hccn.conf; None if there is no such file."""
        text = self.host.text("/etc/hccn.conf")
        return None if text is None else read_hccn_conf(text)

    def number_here(self, process: Process) -> int:
        """The number of a process on a card in this container, or on this host; 0 if not here."""
        for number in filter(None, (process.inner, process.pid)):
            links = self.host.links(f"/proc/{number}/fd")
            if links and any(link.startswith("/dev/davinci") for link in links):
                return number
        return 0

    def limit(self, name: str) -> float | None:
        """The soft limit ``name`` of /proc/self/limits; None if unknown."""
        for line in (self.host.text("/proc/self/limits") or "").splitlines():
            if line.startswith(name):
                word = line[len(name) :].split()[:1]
                if word == ["unlimited"]:
                    return float("inf")
                return float(word[0]) if word and word[0].isdigit() else None
        return None

    def numbers(self, name: str) -> tuple[int, ...]:
        """The numbers of the line ``name`` of /proc/self/status."""
        words = self.process_status.get(name, "").split()
        return tuple(int(word) for word in words if word.isdigit())


def read_mounts(text: str) -> list[Mount]:
    """The lines of /proc/mounts."""
    found = []
    for line in text.splitlines():
        words = line.split(" ")
        if len(words) >= 4:
            pairs = (option.partition("=") for option in words[3].split(","))
            point = _OCTAL.sub(lambda match: chr(int(match[1], 8)), words[1])
            found.append(Mount(point, words[2], {name: value for name, _, value in pairs}))
    return found
