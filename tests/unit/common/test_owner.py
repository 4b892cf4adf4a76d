# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from cannery.common.files import is_gone, own_mark, temporary_folder

ROOT = Path(__file__).resolve().parents[3]
PLACE = own_mark().rsplit(":", 2)[0]


def test_a_process_that_has_ended_is_gone() -> None:
    code = "from cannery.common.files import own_mark; print(own_mark())"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert is_gone(done.stdout.strip())


def test_a_container_with_the_machine_s_network_leaves_the_machine_s_processes_alone() -> None:
    """It has the name of the machine, and cannot see whether they run."""
    host, _, namespace = PLACE.rpartition("-")
    assert host == socket.gethostname()
    assert not is_gone(f"{host}-{int(namespace) + 1}:{os.getpid()}:1")


@pytest.mark.parametrize("mark", ["", "1", "::", "x:1", f"{PLACE}:x:1", "other:1:1"])
def test_what_is_not_known_is_left_alone(mark: str) -> None:
    assert not is_gone(mark)


def test_temporary_folders_of_killed_runs_are_removed(tmp_path: Path) -> None:
    parent = tmp_path / "parent"
    with temporary_folder(parent) as other:
        (parent / f".making-{PLACE}:{os.getpid()}:1:x").mkdir()
        (parent / "of-somebody-else").mkdir()
        with temporary_folder(parent) as own:
            assert {*parent.iterdir()} == {own, other, parent / "of-somebody-else"}
    assert [*parent.iterdir()] == [parent / "of-somebody-else"]
