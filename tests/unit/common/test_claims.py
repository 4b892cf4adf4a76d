# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cannery.common.claims import Claims
from cannery.common.errors import FileError

HOLD = """\
import sys
from pathlib import Path
from cannery.common.claims import Claims
with Claims(Path(sys.argv[1])) as claims:
    print(claims.take(sys.argv[2]) or "ours", flush=True)
    sys.stdin.read()
"""


@contextmanager
def other_process(folder: Path, name: str) -> Iterator[subprocess.Popen[str]]:
    """Another process that claims ``name``, until its input ends."""
    argv = [sys.executable, "-c", HOLD, str(folder), name]
    with subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == "ours\n"
        yield process


def test_a_claim_names_its_process(tmp_path: Path) -> None:
    with other_process(tmp_path, "one") as process, Claims(tmp_path) as claims:
        assert claims.take("one").startswith(f"process {process.pid} on ")
        assert claims.holder("one").startswith(f"process {process.pid} on ")
        assert not claims.take("two")
        assert not claims.holder("two")


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_the_claim_of_a_dead_process_is_free(tmp_path: Path, how: signal.Signals) -> None:
    with other_process(tmp_path, "one") as process:
        process.send_signal(how)
        process.wait()
    assert [each.name for each in tmp_path.iterdir()] == ["one.claim"]
    with Claims(tmp_path) as claims:
        assert not claims.holder("one")
        assert not claims.take("one")
        assert f"process {os.getpid()} on " in (tmp_path / "one.claim").read_text()
    assert not [*tmp_path.iterdir()]


def test_a_claim_ends_with_its_block(tmp_path: Path) -> None:
    with Claims(tmp_path) as first, Claims(tmp_path) as second:
        assert not first.take("one")
        assert second.take("one")
    with Claims(tmp_path) as third:
        assert not third.take("one")


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with Claims(tmp_path / "file") as claims, pytest.raises(FileError, match="one"):
        claims.take("one")
