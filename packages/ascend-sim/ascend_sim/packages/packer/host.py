# SPDX-License-Identifier: Apache-2.0
"""The simulated host driver: what a host with NPUs has, to be mounted and never installed."""

from __future__ import annotations

from pathlib import Path

from . import marker
from .chips import load_chip
from .spec import DriverSpec
from .tree import Tree

DRIVER = "usr/local/Ascend/driver"


def host_tree(driver: DriverSpec, arch: str, device: Path) -> Tree:
    """The tree, relative to the host's root; PackError when ``device`` lacks the driver."""
    tree = Tree()
    compiled = device / "driver"
    tree.add_copy(compiled / "lib64" / "driver", f"{DRIVER}/lib64/driver", arch)
    tree.add_directory(f"{DRIVER}/lib64/common")
    tree.add_copy(compiled / "bin" / "npu-smi", "usr/local/bin/npu-smi", arch)
    tree.add_file(f"{DRIVER}/version.info", version_info(driver))
    tree.add_file(
        f"{DRIVER}/simulated_devices.conf",
        load_chip(driver.chip).settings(driver.devices, driver.memory_mb),
    )
    tree.add_file(f"{DRIVER}/{marker.FILE}", marker.text("driver"))
    tree.add_file("usr/local/dcmi/README", "Simulated: the device management library is absent.\n")
    tree.add_file(
        "etc/ascend_install.info",
        "UserName=root\n"
        "UserGroup=root\n"
        "Driver_Install_Type=full\n"
        "Driver_Install_Path_Param=/usr/local/Ascend\n"
        "Driver_Install_For_All=yes\n"
        "Driver_Install_Mode=normal\n",
    )
    return tree


def version_info(driver: DriverSpec) -> str:
    """The text of version.info, in which "-sim" keeps the version from passing for a real one."""
    version = f"{driver.version}-sim"
    return f"Version={version}\npackage_version={version}\n"
