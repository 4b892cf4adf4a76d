# SPDX-License-Identifier: Apache-2.0
"""A target is built by one run at a time."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cannery.cli.cmd_build import locked
from cannery.common.errors import FileError

HOLD = """\
import sys
from pathlib import Path
from cannery.cli.cmd_build import locked
with locked({"one": Path(sys.argv[1])}) as busy:
    print(busy or "locked", flush=True)
    sys.stdin.read()
"""


@contextmanager
def other_process(file: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that has locked ``file``, until its input ends."""
    argv = [sys.executable, "-c", HOLD, str(file)]
    with subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == "locked\n"
        yield process


def test_the_error_names_the_process_and_the_file(tmp_path: Path) -> None:
    file = tmp_path / "locks" / "one.lock"
    with other_process(file) as process:
        with locked({"one": file, "two": tmp_path / "locks" / "two.lock"}) as busy:
            text = str(busy.pop("one"))
            assert not busy
        assert f"another run builds this target: process {process.pid} on " in text
        assert f" has locked {file}. Wait until it has ended, or stop it." in text
    with locked({"one": file}) as busy:
        assert not busy


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_process_has_no_lock(tmp_path: Path, how: signal.Signals) -> None:
    file = tmp_path / "one.lock"
    with other_process(file) as process:
        process.send_signal(how)
        process.wait()
    with locked({"one": file}) as busy:
        assert not busy


def test_an_invalid_lock_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(FileError, match=r"one\.lock"),
        locked({"one": tmp_path / "file" / "one.lock"}),
    ):
        pass
