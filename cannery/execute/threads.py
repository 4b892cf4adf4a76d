# SPDX-License-Identifier: Apache-2.0
"""Does several things at once that mostly wait for other programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from typing import TypeVar

from cannery.execute.process import stopping

T = TypeVar("T")
R = TypeVar("R")

_SECONDS = 0.2
"""After which an interrupt is noticed at the latest."""


def each_in_thread(work: Callable[[T], R], items: Sequence[T], threads: int) -> list[R]:
    """What ``work`` makes of each of ``items``, in their order, ``threads`` of them at a time.

    Whatever the first one raises is raised, after every program that the others run was stopped.
    """
    if threads == 1 or len(items) == 1:
        return [work(item) for item in items]
    with ThreadPoolExecutor(threads) as pool:
        try:
            running = [pool.submit(work, item) for item in items]
            left = {*running}
            while left:
                # A signal that another thread has taken wakes nobody who waits for a lock.
                done, left = wait(left, timeout=_SECONDS, return_when=FIRST_COMPLETED)
                for each in done:
                    each.result()
        except BaseException:
            with stopping():
                pool.shutdown(cancel_futures=True)
            raise
    return [each.result() for each in running]
