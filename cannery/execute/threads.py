# SPDX-License-Identifier: Apache-2.0
"""Does several things at once that mostly wait for other programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TypeVar

from cannery.execute.process import stopping

T = TypeVar("T")
R = TypeVar("R")


def each_in_thread(work: Callable[[T], R], items: Sequence[T], threads: int) -> list[R]:
    """What ``work`` makes of each of ``items``, in their order, ``threads`` of them at a time.

    Whatever the first one raises is raised, after every program that the others run was stopped.
    """
    if threads == 1 or len(items) == 1:
        return [work(item) for item in items]
    with ThreadPoolExecutor(threads) as pool:
        try:
            running = [pool.submit(work, item) for item in items]
            for each in as_completed(running):
                each.result()
        except BaseException:
            with stopping():
                pool.shutdown(cancel_futures=True)
            raise
    return [each.result() for each in running]
