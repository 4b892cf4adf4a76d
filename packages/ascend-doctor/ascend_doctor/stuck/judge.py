# SPDX-License-Identifier: Apache-2.0
"""Judges stacks: what each rank does, which of them stand together, and what the run waits for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Iterable, Sequence

from .model import Frame, Process, State, Thread
from .rules import BACKWARD, RULES, Rule


@dataclass(frozen=True)
class Standing:
    """What a stack says. ``frame`` is the one that ``rule`` fits; both are None if none does.

    ``frames`` is the stack that was judged, the innermost call first.
    """

    state: State
    rule: Rule | None
    frame: Frame | None
    frames: tuple[Frame, ...]

    @property
    def about(self) -> str:
        """What the process does, in words."""
        return self.rule.about if self.rule else "runs other code"


@dataclass(frozen=True)
class Group:
    """Processes whose stacks are equal."""

    standing: Standing
    processes: tuple[Process, ...]

    @property
    def label(self) -> str:
        """The names of its processes."""
        return labels(self.processes)


@dataclass(frozen=True)
class Verdict:
    """What the run waits for, why that is the conclusion, and what to do next."""

    state: State
    what: str
    advice: str


_ADVICE = {
    State.DATA: "Look at the stacks of the data loader's workers: ascend-doctor stuck WORKER_PID. "
    "Check that the AI cores are idle (npu-smi info), copy data and models from a network drive to "
    "a local disk, and tokenize once before the run.",
    State.COMPILE: "The first steps compile and are slow; wait for 10 to 20 steps. If it does not "
    "end, look for a compiler that is left (ps -ef) and for a lock file of an earlier run.",
    State.COLLECTIVE: "All of them are there, so look at the device side: 'ascend-doctor' checks "
    "links, addresses and ports, 'ascend-doctor --log FILE' finds EI0002 and the like in the "
    "log of each rank. Sample the ranks of all nodes together with --json and --dump.",
    State.DEVICE: "Sample again with --native, and look at 'npu-smi info': with idle AI cores the "
    "device waits for another rank, whose stack may be on another node.",
    State.IDLE: "No process works: the engine has no request, or what hands them out is in "
    "another process; take the stacks of the engine and of the server too.",
    State.WORKS: "If it does not move for minutes, sample again, with --native where it is offered."
    " The first steps of the backward pass are slow.",
}


def judge_process(process: Process) -> Standing:
    """What ``process`` does, by the stack of its main thread.

    In the backward pass, another thread runs the hooks, and their collectives decide.
    """
    own = judge_thread(process.main)
    if own.rule is BACKWARD:
        others = [judge_thread(each) for each in process.threads if each is not process.main]
        return next((each for each in others if each.state is State.COLLECTIVE), own)
    return own


def judge_thread(thread: Thread) -> Standing:
    """What ``thread`` does."""
    for frame in thread.frames:
        for rule in RULES:
            if rule.fits(frame):
                return Standing(state=rule.state, rule=rule, frame=frame, frames=thread.frames)
    return Standing(state=State.WORKS, rule=None, frame=None, frames=thread.frames)


def group_processes(processes: Iterable[Process]) -> tuple[Group, ...]:
    """The processes with equal stacks together, the largest group first."""
    found: dict[tuple[Frame, ...], tuple[Standing, list[Process]]] = {}
    for process in processes:
        standing = judge_process(process)
        found.setdefault(standing.frames, (standing, []))[1].append(process)
    groups = [Group(standing=own, processes=tuple(each)) for own, each in found.values()]
    return tuple(sorted(groups, key=lambda each: -len(each.processes)))


def judge_run(groups: Sequence[Group]) -> Verdict:
    """What the run waits for: the ranks that are not in a collective keep those that are waiting.

    ``groups`` are those of all its processes, at least one.
    """
    waiting = [each for each in groups if each.standing.state is State.COLLECTIVE]
    others = [each for each in groups if each.standing.state is not State.COLLECTIVE]
    if waiting and others and _foremost(others).state is not State.IDLE:
        own = _foremost(others)
        late = [each for each in others if each.standing.about == own.about]
        what = (
            f"{_names(waiting)}: in a collective, waiting for {_labels(others)}. "
            f"{_names(late)}: {own.about}."
        )
        return Verdict(state=own.state, what=what, advice=_ADVICE[own.state])
    if waiting:
        calls = {_call(each.standing) for each in waiting}
        if len(calls) > 1:
            parts = [f"{_call(each.standing)} ({each.label})" for each in waiting]
            what = f"The ranks are in different collectives: {', '.join(parts)}."
            advice = (
                "Every rank must call the same collectives in the same order: look for code that "
                "runs on some ranks only, and for ranks with fewer batches. Different process "
                "groups are also a reason."
            )
            return Verdict(state=State.COLLECTIVE, what=what, advice=advice)
        what = f"{_names(waiting)}: all are in {calls.pop()}."
        return Verdict(state=State.COLLECTIVE, what=what, advice=_ADVICE[State.COLLECTIVE])
    own = _foremost(groups)
    moving = [each for group in groups for each in group.processes if each.moved]
    of_state = [each for each in groups if each.standing.state is own.state]
    rest = [each for each in groups if each.standing.state is State.IDLE and each not in of_state]
    what = f"{_names(groups if not rest else of_state)}: {own.about}."
    if rest:
        what += f" {_names(rest)}: {rest[0].standing.about}."
    if own.state is State.WORKS and moving:
        what = f"The run works: {labels(moving)} moved between two samples."
    return Verdict(state=own.state, what=what, advice=_ADVICE[own.state])


def labels(processes: Sequence[Process]) -> str:
    """The names of ``processes``, with ranges of ranks, as in "ranks 0-2, 5"."""
    ranks = sorted({each.rank for each in processes if each.rank is not None})
    names = [each.label for each in processes if each.rank is None]
    if ranks:
        names.insert(0, f"rank{'s' * (len(ranks) > 1)} {', '.join(_ranges(ranks))}")
    return ", ".join(names)


def _labels(groups: Iterable[Group]) -> str:
    return labels([each for group in groups for each in group.processes])


def _names(groups: Iterable[Group]) -> str:
    """The names of the processes of ``groups``, for the beginning of a sentence."""
    text = _labels(groups)
    return text[:1].upper() + text[1:]


def _ranges(numbers: Sequence[int]) -> list[str]:
    found: list[list[int]] = []
    for number in numbers:
        if found and number == found[-1][-1] + 1:
            found[-1].append(number)
        else:
            found.append([number])
    return [str(each[0]) if len(each) == 1 else f"{each[0]}-{each[-1]}" for each in found]


def _call(standing: Standing) -> str:
    """The collective in which a stack stands: the outermost call of a function of its library."""
    calls = [frame for frame in standing.frames if standing.rule and standing.rule.fits(frame)]
    return calls[-1].function if calls else ""


def _foremost(groups: Sequence[Group]) -> Standing:
    """What most processes do; a wait is worth more than work."""
    counts: dict[State, int] = {}
    for each in groups:
        counts[each.standing.state] = counts.get(each.standing.state, 0) + len(each.processes)
    for idle in (State.IDLE, State.WORKS):
        if len(counts) > 1:
            counts.pop(idle, None)
    state = max(counts, key=lambda each: counts[each])
    return next(each.standing for each in groups if each.standing.state is state)
