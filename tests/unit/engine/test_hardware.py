# SPDX-License-Identifier: Apache-2.0
"""What a report says of the machine claims no more than is known."""

from __future__ import annotations

import platform

import pytest

from cannery.common.errors import EngineError
from cannery.common.model import DeviceKind
from cannery.engine import containers
from cannery.engine.containers import hardware, npus

# The form of `npu-smi info`, shortened to what is read; facts of a driver 24.1.rc3.
SAID = """\
+-----------------------------------------------------------------------------------+
| npu-smi 24.1.rc3                 Version: 24.1.rc3                                 |
+---------------------------+---------------+---------------------------------------+
| NPU   Name                | Health        | Power(W)    Temp(C)                   |
| Chip                      | Bus-Id        | AICore(%)   Memory-Usage(MB)          |
+===========================+===============+=======================================+
| 0     910B3               | OK            | 90.1        36        0    / 0        |
| 0                         | 0000:C1:00.0  | 0           0    / 0      3356/ 65536 |
+===========================+===============+=======================================+
| 1     910B3               | OK            | 88.4        37        0    / 0        |
| 0                         | 0000:01:00.0  | 0           0    / 0      3355/ 65536 |
+===========================+===============+=======================================+
"""


def test_without_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    assert hardware(DeviceKind.NONE, "aarch64") == "qemu-aarch64 on x86_64, no NPU"
    assert hardware(DeviceKind.NONE, "x86_64") == "x86_64, no NPU"
    assert hardware(DeviceKind.SIMULATED, "aarch64") == "qemu-aarch64 on x86_64, simulated NPU"


def test_on_npus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    monkeypatch.setattr(containers, "run", lambda *_, **__: (0, SAID))
    assert hardware(DeviceKind.NPU, "aarch64") == "aarch64, 2 x 910B3, driver 24.1.rc3"


def test_what_npu_smi_does_not_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    assert npus("dcmi containers initialize failed. ret is -8005") == "NPU of unknown kind"

    def missing(*_: object, **__: object) -> tuple[int, str]:
        raise EngineError("npu-smi is not installed.")

    monkeypatch.setattr(containers, "run", missing)
    assert hardware(DeviceKind.NPU, "x").endswith(", NPU of unknown kind")
