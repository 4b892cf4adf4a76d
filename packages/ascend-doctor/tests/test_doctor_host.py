# SPDX-License-Identifier: Apache-2.0
"""Programs that hang, flood or are missing, and files that may not be read."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from ascend_doctor.host import Host, read_status, run_program
from tests.hosts import good_host


def program(folder: Path, text: str) -> str:
    path = folder / "npu-smi"
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def test_a_hanging_program_is_stopped(tmp_path: Path) -> None:
    before = time.monotonic()
    output = run_program((program(tmp_path, "echo begun; sleep 60"),), 2.0)
    assert (output.state, output.text) == ("hung", "begun\n")
    assert time.monotonic() - before < 30


def test_a_program_whose_child_keeps_the_output_is_stopped(tmp_path: Path) -> None:
    assert run_program((program(tmp_path, "sleep 60 &"),), 0.3).state == "hung"


def test_a_flood_is_cut(tmp_path: Path) -> None:
    output = run_program((program(tmp_path, "yes"),), 30)
    assert output.state == "hung"
    assert len(output.text) < 2 << 20


def test_the_output_of_a_program_is_kept(tmp_path: Path) -> None:
    assert run_program((program(tmp_path, "echo a; echo b >&2"),), 5) == ("ok", "a\nb\n")
    assert run_program((program(tmp_path, "echo no; exit 255"),), 5) == ("failed", "no\n")
    assert run_program((program(tmp_path, "printf '\\377\\0'"),), 5).text == "\ufffd\0"


def test_a_missing_program_and_one_without_permission(tmp_path: Path) -> None:
    assert run_program((str(tmp_path / "nothing"),), 5).state == "missing"
    path = program(tmp_path, "exit 0")
    Path(path).chmod(0o644)
    assert run_program((path,), 5).state == "missing"


def test_a_status(tmp_path: Path) -> None:
    assert read_status("/dev/null").kind == "device"  # type: ignore[union-attr]
    assert read_status(str(tmp_path)).kind == "folder"  # type: ignore[union-attr]
    assert read_status(str(tmp_path / "nothing")) is None


class Refusing(Host):
    """A host on which some files may not be read, as for a user without rights."""

    def text(self, path: str) -> str | None:
        if path in ("/etc/hccn.conf", "/proc/meminfo"):
            self.unreadable.append(path)
            return None
        return super().text(path)


def test_files_without_permission_are_named(tmp_path: Path) -> None:
    host = good_host(tmp_path)
    machine = host.machine()
    refusing = Refusing(str(host.root), host.environment, machine.host._access)
    machine.host = refusing
    from ascend_doctor.examine import examine

    found = examine(machine)
    assert {each.id for each in found} == {"unreadable"}
    assert [each.values["path"] for each in found] == ["/proc/meminfo", "/etc/hccn.conf"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_an_unreadable_file_is_noted(tmp_path: Path) -> None:
    path = tmp_path / "etc/hccn.conf"
    path.parent.mkdir()
    path.write_text("address_0=10.0.0.1", encoding="utf-8")
    path.chmod(0)
    host = Host(str(tmp_path), {})
    assert host.text("/etc/hccn.conf") is None
    assert host.unreadable == ["/etc/hccn.conf"]
