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


INFERENCE = """\
| npu-smi 25.5.1                                   Version: 25.5.1                                       |
| 1       310P3                 | OK              | NA           49                0     / 0             |
| 0       0                     | 0000:01:00.0    | 0            1448 / 44278                            |
| 1       310P3                 | OK              | NA           45                0     / 0             |
| 1       1                     | 0000:01:00.0    | 0            1511 / 43693                            |
| 1       0                     | 4242            | python3                  | 100                       |
"""  # noqa: E501  # as driver 25.5.1 writes it
LATEST = """\
| npu-smi 25.7.rc1.6                               Version: 25.7.rc1.6                            |
| 0      | Ascend950PR      | OK            | 195.6       56                0     / 0             |
|        |                  | 0000:61:00.0  | 0           0    / 0          5239  / 131072        |
| 0                         | 123           | VLLM                     | 100                      |
"""


@pytest.mark.parametrize(
    ("said", "found"),
    [
        (INFERENCE, "2 x 310P3, driver 25.5.1"),
        (LATEST, "1 x Ascend950PR, driver 25.7.rc1.6"),
    ],
)
def test_the_tables_of_other_chips(said: str, found: str) -> None:
    assert containers.npus(said) == found


def test_what_npu_smi_does_not_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    assert npus("dcmi containers initialize failed. ret is -8005") == "NPU of unknown kind"

    def missing(*_: object, **__: object) -> tuple[int, str]:
        raise EngineError("npu-smi is not installed.")

    monkeypatch.setattr(containers, "run", missing)
    assert hardware(DeviceKind.NPU, "x").endswith(", NPU of unknown kind")
