# SPDX-License-Identifier: Apache-2.0
"""Reads the losses of a training run from a log of any size."""

from __future__ import annotations

import stat
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Iterator, Mapping

from ascend_doctor.packed import LogError, opened
from ascend_doctor.prefix import plain
from ascend_doctor.problems import FileError, Problem, counted, file_error

from .json_members import JsonMembers
from .log_lines import Entry, bar_in, entry_in, of_mapping, rank_of

_LONGEST = 2**20
"""Bytes of a line that are read at once."""
_LONGEST_BAR = 4096
_MOST = 1_000_000
"""How many losses of a log are kept."""
_HEAD = 2**16
_HISTORY = "log_history"

KNOWN = (
    "logs of HF Trainer, MindSpore, MindFormers, Megatron and verl, trainer_state.json, "
    "trainer_log.jsonl, logging.jsonl"
)


@dataclass(frozen=True)
class Loss:
    """The loss at a step, which is the mean since the step before ``width`` steps."""

    step: int
    width: int
    entry: Entry


@dataclass(frozen=True)
class LossLog:
    """The losses of a run, by step.

    Attributes:
        form: the program that wrote it.
        numbered: the log has the steps; otherwise its losses are counted.
        notes: what a reader should know about the log, in sentences.
    """

    path: Path
    form: str
    losses: tuple[Loss, ...]
    numbered: bool
    notes: tuple[str, ...]


def read_loss_log(path: Path) -> LossLog:
    """The losses in the log or trainer_state.json at ``path``."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            fix = "Name the log itself, or trainer_state.json of a checkpoint."
            raise FileError(Problem(what=f"{path} is not a regular file.", fix=fix))
        with opened(str(path)) as stream:
            head = stream.read(_HEAD)
        with opened(str(path)) as stream:
            is_state = head.lstrip().startswith(b"{") and f'"{_HISTORY}"'.encode() in head
            log = _Curve() if is_state else _of_lines(stream)
        if is_state:
            log = _of_state(path)
    except OSError as error:
        raise file_error("read", path, error) from error
    except LogError as error:
        raise FileError(Problem(str(error), f"Known are {KNOWN}.")) from error
    if not log.entries:
        fix = f"Known are {KNOWN}. Megatron prints losses on the last rank only."
        raise FileError(Problem(what=f"{path} has no training loss.", fix=fix))
    return log.finished(path)


def _of_state(path: Path) -> _Curve:
    curve = _Curve()
    with path.open(encoding="utf-8-sig", errors="replace") as text:
        members = JsonMembers(text, _HISTORY)
        for _, value in members:
            entry = of_mapping(_numbers(value)) if isinstance(value, dict) else None
            if entry:
                curve.add(entry, len(curve.entries) + 1)
    if members.problem:
        curve.notes.append(f"Only a part of it was read: {members.problem}.")
    return curve


def _numbers(value: Mapping[str, Any]) -> dict[str, float]:
    return {
        name: float(number)
        for name, number in value.items()
        if isinstance(number, float) or (type(number) is int and abs(number) < 10**15)
    }


def _of_lines(stream: BinaryIO) -> _Curve:
    """The losses of one rank: of the first that has any, if lines have ranks before them."""
    curves: dict[str, _Curve] = {}
    bar: int | None = None
    for number, line in _lines(stream):
        # Most of a large file is neither a loss nor, being short, a progress bar.
        may_have_loss = b"loss" in line
        if not may_have_loss and (len(line) > _LONGEST_BAR or b"<" not in line):
            continue
        text = plain(line.decode("utf-8", "replace"))
        bar = bar_in(text) or bar
        entry = entry_in(text, bar) if may_have_loss else None
        if entry:
            curves.setdefault(rank_of(text), _Curve()).add(entry, number)
    if not curves:
        return _Curve()
    rank, curve = next(iter(curves.items()))
    if len(curves) > 1:
        named = f"rank {rank}" if rank else "lines without a rank"
        curve.notes.append(f"It has losses of {len(curves)} ranks; those of {named} are used.")
    return curve


def _lines(stream: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Number and text of each line; a carriage return, as of a progress bar, also ends one."""
    number = 1
    rest = b""
    for raw in iter(lambda: stream.readline(_LONGEST), b""):
        whole = raw.endswith(b"\n")
        if len(raw) == _LONGEST and not whole and b"\r" not in raw:
            # No line of a log is so long; gigabytes of a binary file are passed over quickly.
            rest = b""
            continue
        *lines, last = (rest + raw).split(b"\r")
        for line in lines:
            yield number, line
        rest = b""
        if whole:
            yield number, last
            number += 1
        elif len(last) < _LONGEST:
            rest = last
    if rest:
        yield number, rest


class _Curve:
    """Collects the losses of one rank, and forgets those of steps that are done again."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.notes: list[str] = []
        self._restarts: list[tuple[int, str]] = []
        self._several = 0
        self._full = False

    def add(self, entry: Entry, line: int) -> None:
        last = self.entries[-1] if self.entries else None
        if last and entry.step is not None and last.step is not None:
            if entry.step <= last.step:
                self._forget(entry, line, "step")
        # Epochs are rounded, so that those of neighbouring steps may be equal.
        elif last and entry.epoch is not None and entry.epoch < (last.epoch or 0):
            self._forget(entry, line, "epoch")
        if len(self.entries) < _MOST:
            self.entries.append(entry)
        else:
            self._full = True

    def _forget(self, entry: Entry, line: int, by: str) -> None:
        """Drop what a run that was started again, as from a checkpoint, does once more."""
        place = getattr(entry, by) or 0
        dropped: list[Entry] = []
        while self.entries and (getattr(self.entries[-1], by) or 0) >= place:
            dropped.append(self.entries.pop())
        if by == "step" and len(dropped) == 1 and dropped[0].step == entry.step:
            self._several += dropped[0].loss != entry.loss
        else:
            self._restarts.append((line, f"{by} {place:g}"))

    def finished(self, path: Path) -> LossLog:
        """The log that this curve is of."""
        steps, numbered = self._steps()
        notes = list(self.notes)
        if not numbered:
            notes.append("It has no step numbers; its losses are counted from 1.")
        if self._restarts:
            line, at = self._restarts[-1]
            times = counted(len(self._restarts), "time")
            notes.append(
                f"The run starts again {times}, last at {at} (line {line:,}); "
                "what was done again replaces what was there."
            )
        if self._several:
            notes.append(
                f"{counted(self._several, 'step')} with several losses, as of several ranks; "
                "the last one of each is used."
            )
        if self._full:
            notes.append(f"Only the first {_MOST:,} losses are used.")
        losses = _with_widths(steps, self.entries)
        form = self.entries[0].form
        return LossLog(path=path, form=form, losses=losses, numbered=numbered, notes=tuple(notes))

    def _steps(self) -> tuple[list[int], bool]:
        """The steps of the entries: their own, those of progress bars, or else their places."""
        for steps in (
            [entry.step for entry in self.entries],
            [entry.bar for entry in self.entries],
        ):
            known = [step for step in steps if step is not None]
            rising = all(before < after for before, after in zip(known, known[1:]))
            if len(known) == len(steps) and rising:
                return known, True
        return [*range(1, len(self.entries) + 1)], False


def _with_widths(steps: list[int], entries: list[Entry]) -> tuple[Loss, ...]:
    """Each loss with the steps that it is the mean of, as HF Trainer and Megatron log it."""
    gaps = [after - before for before, after in zip(steps, steps[1:])]
    usual = Counter(gaps).most_common(1)[0][0] if gaps else steps[0]
    widths = [max(1, min(usual, steps[0])), *gaps]
    return tuple(
        Loss(step=step, width=width, entry=entry)
        for step, width, entry in zip(steps, widths, entries)
    )
