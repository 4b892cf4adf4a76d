# SPDX-License-Identifier: Apache-2.0
"""The stacks of the processes of a training run, as py-spy takes them."""

from __future__ import annotations

from dataclasses import dataclass

from ascend_doctor.plain_text import TextEnum


class State(TextEnum):
    """What a process does."""

    COLLECTIVE = "collective"
    DATA = "data"
    COMPILE = "compile"
    DEVICE = "device"
    WORKS = "works"
    IDLE = "idle"


@dataclass(frozen=True)
class Frame:
    """A call: the function, its file as far as it is known, and the line; 0 if unknown."""

    function: str
    file: str
    line: int

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{self.function} ({place})" if place else self.function


@dataclass(frozen=True)
class Thread:
    """A thread of Python; ``frames`` begin with the innermost call."""

    name: str
    is_main: bool
    frames: tuple[Frame, ...]


@dataclass(frozen=True)
class Process:
    """A process and its threads.

    ``rank`` is None if it is unknown. ``moved`` says whether the main thread stood elsewhere in a
    second sample; None if there was none. ``in_kernel`` says that it could not be stopped for the
    sample, because it waits in the kernel. ``source`` is the file that it was read from, if any.
    """

    pid: int
    rank: int | None
    threads: tuple[Thread, ...]
    moved: bool | None = None
    in_kernel: bool = False
    source: str = ""

    @property
    def label(self) -> str:
        """How reports name it."""
        name = f"process {self.pid}" if self.rank is None else f"rank {self.rank}"
        return f"{self.source}: {name}" if self.source and self.rank is None else name

    @property
    def main(self) -> Thread:
        """Its main thread; the first one if none is known to be it."""
        return next((each for each in self.threads if each.is_main), self.threads[0])


@dataclass(frozen=True)
class Missing:
    """A process that could not be sampled, and why."""

    pid: int
    rank: int | None
    why: str
