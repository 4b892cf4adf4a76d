# SPDX-License-Identifier: Apache-2.0
"""Does several things at once that mostly wait for other programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, nullcontext
from typing import Any, TypeVar

from cannery.execute.process import Stopped, stopping

T = TypeVar("T")
R = TypeVar("R")

_SECONDS = 0.2
"""After which an interrupt is noticed at the latest."""


@contextmanager
def workers(count: int) -> Iterator[Callable[[Callable[[T], R], T], Future[R]]]:
    """What hands work to ``count`` threads while the block goes on; its end waits for all of it.

    Whatever fails first, of the work or in the block, is raised at its end; what had not begun by
    then is not done. An interrupt stops every program that the work runs.
    """
    given: list[Future[Any]] = []
    failed: list[BaseException] = []

    def begin(work: Callable[[T], R], item: T) -> R:
        if failed:
            raise Stopped
        try:
            return work(item)
        except BaseException as error:
            failed.append(error)
            raise

    with ThreadPoolExecutor(count) as pool:

        def give(work: Callable[[T], R], item: T) -> Future[R]:
            given.append(pool.submit(begin, work, item))
            return given[-1]

        try:
            yield give
            _wait(given, failed)
        except BaseException as error:
            with nullcontext() if isinstance(error, Exception) else stopping():
                pool.shutdown(cancel_futures=True)
            raise


def _wait(given: Sequence[Future[Any]], failed: Sequence[BaseException]) -> None:
    """Wait for what was ``given``, or raise what it ``failed`` with first."""
    left = {*given}
    while left and not failed:
        # A signal that another thread has taken wakes nobody who waits for a lock.
        _, left = wait(left, timeout=_SECONDS, return_when=FIRST_COMPLETED)
    if failed:
        raise failed[0]


def each_in_thread(work: Callable[[T], R], items: Sequence[T]) -> list[R]:
    """What ``work`` makes of each of ``items``, in their order, each in a thread of its own.

    Raises: as ``workers``.
    """
    if len(items) < 2:
        return [work(item) for item in items]
    with workers(len(items)) as give:
        made = [give(work, item) for item in items]
    return [each.result() for each in made]
