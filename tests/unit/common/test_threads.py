# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import signal
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from cannery.common.errors import CanneryError
from cannery.common.process import Stopped, each_in_thread, run, workers


def test_an_error_leaves_what_the_others_run() -> None:
    ended: list[int] = []

    def work(number: int) -> None:
        if number == 1:
            raise ValueError("broken")
        ended.append(run(["sh", "-c", "sleep 0.5; exit 3"])[0])

    with pytest.raises(ValueError, match="broken"):
        each_in_thread(work, [0, 1])
    assert ended == [3]


def test_an_error_in_the_block_keeps_what_has_not_begun_from_it() -> None:
    go_on = threading.Event()
    done: list[int] = []

    def work(number: int) -> None:
        go_on.wait(10)
        done.append(number)

    with pytest.raises(ValueError, match="broken"), workers(1) as give:
        made = [give(work, number) for number in range(3)]
        while not made[0].running():
            time.sleep(0.01)
        threading.Timer(0.2, go_on.set).start()
        raise ValueError("broken")
    assert done == [0]


def test_an_interrupt_stops_the_programs_of_all(tmp_path: Path) -> None:
    """And what they said before is taken for nothing."""
    note = tmp_path / "begun"
    sleeps = "import sys, time; open(sys.argv[1], 'w').close(); time.sleep(60)"
    ended: list[int] = []
    begun = time.monotonic()

    def work(path: str) -> None:
        with suppress(CanneryError):
            ended.append(run([sys.executable, "-c", sleeps, path], capture=True)[0])
            return
        ended.append(-1)

    with pytest.raises(KeyboardInterrupt), workers(1) as give:
        first = give(work, str(note))
        give(work, "never")
        while not note.exists():
            time.sleep(0.01)
        raise KeyboardInterrupt
    assert time.monotonic() - begun < 30
    assert ended == []
    assert isinstance(first.exception(), Stopped)
    assert not Path("never").exists()


def test_an_interrupt_that_another_thread_has_taken_is_noticed() -> None:
    begun = time.monotonic()

    def work(number: int) -> None:
        if number:
            time.sleep(0.3)  # until the main thread waits
            signal.pthread_kill(threading.get_ident(), signal.SIGINT)
        run(["sleep", "20"])

    with pytest.raises(KeyboardInterrupt):
        each_in_thread(work, [0, 1])
    assert time.monotonic() - begun < 15
