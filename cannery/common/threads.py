# SPDX-License-Identifier: Apache-2.0
"""Runs several functions in parallel that mostly wait for other programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, nullcontext
from typing import Any, TypeVar

from cannery.common.process import Stopped, stopping

T = TypeVar("T")
R = TypeVar("R")

_SECONDS = 0.2
"""The maximum delay until an interrupt is handled, in seconds."""


@contextmanager
def workers(count: int) -> Iterator[Callable[[Callable[[T], R], T], Future[R]]]:
    """A function that gives work to ``count`` threads; the end of the block waits for all work.

    The first error of the work or of the block is raised at the end; work that has not begun by
    then is dropped. An interrupt stops all programs that the work runs.
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
    """Wait for the work ``given``, or raise the first error in ``failed``."""
    left = {*given}
    while left and not failed:
        # A signal that another thread has received does not wake a thread that waits for a lock.
        _, left = wait(left, timeout=_SECONDS, return_when=FIRST_COMPLETED)
    if failed:
        raise failed[0]


def each_in_thread(work: Callable[[T], R], items: Sequence[T]) -> list[R]:
    """The results of ``work`` for each of ``items``, in their order, each in its own thread.

    Raises: as ``workers``.
    """
    if len(items) < 2:
        return [work(item) for item in items]
    with workers(len(items)) as give:
        made = [give(work, item) for item in items]
    return [each.result() for each in made]
