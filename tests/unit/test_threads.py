# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cannery.execute.process import run
from cannery.execute.threads import each_in_thread


def test_results_come_in_the_order_of_the_items() -> None:
    together = threading.Barrier(2, timeout=10)

    def work(number: int) -> int:
        together.wait()
        time.sleep(0.1 / number)
        return number * 10

    assert each_in_thread(work, [1, 2], 2) == [10, 20]


@pytest.mark.parametrize(("items", "threads"), [([1, 2], 1), ([1], 8), ([], 3)])
def test_no_thread_is_needed_for_one_at_a_time(items: list[int], threads: int) -> None:
    assert each_in_thread(lambda _: threading.current_thread(), items, threads) == [
        threading.main_thread() for _ in items
    ]


@pytest.mark.parametrize("error", [ValueError("broken"), KeyboardInterrupt()])
def test_what_one_raises_stops_the_programs_of_the_others(error: BaseException) -> None:
    begun = time.monotonic()

    def work(number: int) -> int:
        if number == 1:
            time.sleep(0.2)
            raise error
        return run(["sleep", "60"])[0]

    with pytest.raises(type(error)):
        each_in_thread(work, [0, 1, 2], 2)
    assert time.monotonic() - begun < 30


class _Interrupted(list[str]):
    """Items of which the second never comes: Ctrl-C does."""

    def __iter__(self) -> Iterator[str]:
        yield self[0]
        while not Path(self[0]).exists():
            time.sleep(0.01)
        raise KeyboardInterrupt


def test_an_interrupt_before_all_have_begun_stops_those_that_have(tmp_path: Path) -> None:
    note = tmp_path / "begun"
    sleeps = "import sys, time; open(sys.argv[1], 'w').close(); time.sleep(60)"
    ended: list[int] = []

    def work(path: str) -> None:
        ended.append(run([sys.executable, "-c", sleeps, path], capture=True)[0])

    with pytest.raises(KeyboardInterrupt):
        each_in_thread(work, _Interrupted([str(note), "never"]), 2)
    assert ended == [-signal.SIGINT]


def test_an_interrupt_that_another_thread_has_taken_is_noticed() -> None:
    begun = time.monotonic()

    def work(number: int) -> None:
        if number:
            time.sleep(0.3)  # until the main thread waits
            signal.pthread_kill(threading.get_ident(), signal.SIGINT)
        run(["sleep", "20"])

    with pytest.raises(KeyboardInterrupt):
        each_in_thread(work, [0, 1], 2)
    assert time.monotonic() - begun < 15
