# SPDX-License-Identifier: Apache-2.0
"""Containers of checks, and the hardware that a report names."""

from __future__ import annotations

import os
import platform
import tarfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from types import SimpleNamespace
from typing import IO

import docker.errors
import pytest

from cannery.common.errors import EngineError, FileError
from cannery.common.files import own_mark
from cannery.common.model import DeviceKind
from cannery.deploy.run_spec import DRIVER_MOUNTS, no_device, npus, simulated_device
from cannery.deploy.user_options import TRUSTED
from cannery.engine import client, containers
from cannery.engine.containers import hardware

ENDED = own_mark().replace(f":{os.getpid()}:", ":1:")
"""The mark of a process with the number of one that started at another time."""


class Engine:
    """An engine with a container of a killed run, and one of this run."""

    def __init__(self) -> None:
        self.removed: list[str] = []
        self.copied: list[str] = []
        self.options: dict[str, object] = {}
        self.containers = self
        self.api = self

    def list(self, *, ignore_removed: bool = False, **_: object) -> list[SimpleNamespace]:
        # Another run removes one of its own meanwhile.
        if not ignore_removed:
            raise docker.errors.NotFound("No such container: other")
        marks = {"killed": ENDED, "own": own_mark()}
        return [
            SimpleNamespace(id=name, labels={containers.LABEL_TEST: mark})
            for name, mark in marks.items()
        ]

    def info(self) -> dict[str, int]:
        return {"MemTotal": 8 << 30}

    def create(self, *_: object, **options: object) -> SimpleNamespace:
        self.options = options
        return SimpleNamespace(id="new", start=lambda: None, put_archive=self.put_archive)

    def put_archive(self, top: str, archive: IO[bytes]) -> None:
        assert top == "/"
        with tarfile.open(fileobj=archive) as packed:
            self.copied = packed.getnames()

    def remove_container(self, container: str, **_: object) -> None:
        self.removed.append(container)


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    found = Engine()
    monkeypatch.setattr(client, "connect", lambda: found)
    containers.remove_abandoned.cache_clear()
    yield found
    containers.remove_abandoned.cache_clear()


MADE: dict[str, Callable[[], AbstractContextManager[object]]] = {
    "running": lambda: containers.container("image", "linux/amd64", no_device(), Path(__file__)),
    "not started": lambda: containers.unstarted("image", "linux/amd64"),
}


@pytest.mark.parametrize("made", MADE.values(), ids=MADE)
def test_a_container_removes_those_of_killed_runs(
    engine: Engine, made: Callable[[], AbstractContextManager[object]]
) -> None:
    with made():
        assert engine.removed == ["killed"]
    with made():
        assert engine.removed.count("killed") == 1
    assert len(engine.removed) == 3


def test_simulated_drivers_are_copied_but_not_real_ones(engine: Engine, tmp_path: Path) -> None:
    """A simulated driver is made on this machine, and a real one is on the engine's."""
    for path in DRIVER_MOUNTS:
        (tmp_path / path.lstrip("/")).mkdir(parents=True)
    with containers.container("image", "linux/amd64", simulated_device(tmp_path), None):
        assert engine.copied == [path.lstrip("/") for path in DRIVER_MOUNTS]
    engine.copied = []
    with containers.container("image", "linux/amd64", npus([0]), Path(__file__)):
        assert engine.copied == [TRUSTED.lstrip("/")]


def test_programs_of_an_image_under_test_are_limited(engine: Engine) -> None:
    with containers.container("image", "linux/amd64", no_device(), None, "none"):
        options = engine.options
    assert options["network_mode"] == "none"
    assert options["mem_limit"] == options["memswap_limit"] == 6 << 30
    assert options["pids_limit"] == 16384
    assert options["cap_drop"] == ["ALL"]
    assert options["security_opt"] == ["no-new-privileges"]


@pytest.mark.parametrize("written", [0, 20 << 30, (20 << 30) + 1])
def test_what_programs_write_to_the_engine_s_disk_is_limited(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, written: int
) -> None:
    def sizes(**_: object) -> list[dict[str, int]]:
        return [{"SizeRw": written}]

    monkeypatch.setattr(engine, "api", SimpleNamespace(containers=sizes))
    if written <= containers.MOST_WRITTEN:
        containers.require_room("c1")
        return
    with pytest.raises(EngineError, match="have written 21,474,836,481 bytes to the engine's disk"):
        containers.require_room("c1")


def test_a_missing_file_removes_the_container(engine: Engine, tmp_path: Path) -> None:
    with (
        pytest.raises(FileError, match=f"{tmp_path}/ca"),
        containers.container("image", "linux/amd64", no_device(), tmp_path / "ca"),
    ):
        pass
    assert len(engine.removed) == 2


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
    # As on a Mac, where the engine is in a virtual machine.
    monkeypatch.setattr(platform, "machine", lambda: "arm64")
    monkeypatch.setattr(containers, "machine_and_runtimes", lambda: ("x86_64", frozenset()))
    assert hardware(DeviceKind.NONE, "aarch64") == "qemu-aarch64 on x86_64, no NPU"
    assert hardware(DeviceKind.NONE, "x86_64") == "x86_64, no NPU"
    assert hardware(DeviceKind.SIMULATED, "aarch64") == "qemu-aarch64 on x86_64, simulated NPU"


def test_on_npus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(containers, "machine_and_runtimes", lambda: ("aarch64", frozenset()))
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


def test_a_failed_npu_smi_gives_no_npu_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (
        containers.npus("dcmi containers initialize failed. ret is -8005") == "NPU of unknown kind"
    )

    def missing(*_: object, **__: object) -> tuple[int, str]:
        raise EngineError("npu-smi is not installed.")

    monkeypatch.setattr(containers, "run", missing)
    monkeypatch.setattr(containers, "machine_and_runtimes", lambda: ("aarch64", frozenset()))
    assert hardware(DeviceKind.NPU, "x").endswith(", NPU of unknown kind")
