# SPDX-License-Identifier: Apache-2.0
"""Describes the hardware on which this machine runs an image."""

from __future__ import annotations

import platform
import re
from collections import Counter

from cannery.common.errors import CanneryError
from cannery.common.model import DeviceKind
from cannery.common.process import run

# As in "| 0     910B3               | OK            |"; the second row of a device has no name.
_NPU = re.compile(r"^\| *[0-9]+ +(\S+) *\| *\S+ *\|", re.MULTILINE)
_DRIVER = re.compile(r"npu-smi .*Version: *(\S+)")

_UNKNOWN_NPU = "NPU of unknown kind"


def hardware(kind: DeviceKind, machine: str) -> str:
    """The hardware of a container for ``machine``, which is uname's name.

    As in ``qemu-aarch64 on x86_64, no NPU`` or ``aarch64, 8 x 910B3, driver 24.1.rc3``.
    """
    own = platform.machine()
    processor = own if own == machine else f"qemu-{machine} on {own}"
    if kind is DeviceKind.NPU:
        return f"{processor}, {_npus()}"
    return f"{processor}, {'simulated NPU' if kind is DeviceKind.SIMULATED else 'no NPU'}"


def _npus() -> str:
    try:
        code, said = run(["npu-smi", "info"], capture=True)
    except CanneryError:
        code, said = 1, ""
    return _UNKNOWN_NPU if code else npus(said)


def npus(said: str) -> str:
    """The chips and the driver in the output of ``npu-smi info``."""
    names = Counter(_NPU.findall(said))
    found = [f"{count} x {name}" for name, count in sorted(names.items())]
    driver = _DRIVER.search(said)
    found += [f"driver {driver[1]}"] if driver else []
    return ", ".join(found) if names else _UNKNOWN_NPU
