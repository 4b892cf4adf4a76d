# SPDX-License-Identifier: Apache-2.0
"""Runs worker.py over OpInfo's list in processes of their own, so that each may crash or hang."""

from __future__ import annotations

import json
import os
import random
import re
import select
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from ascend_sim.command.errors import UsageError

ROOT = Path(__file__).parents[2]
WORKER: tuple[str, ...] = ("-m", "conformance.operators.worker")
POISONED = 75
CHUNK = 40
HANG = 300
"""Seconds in which a worker must say something; on a busy machine, importing torch takes 100."""

Cases = dict[str, str]
Results = dict[str, Cases]


@dataclass(frozen=True)
class Programs:
    """The Python with torch and torch_npu, and the environment in which it finds the device."""

    python: str
    environment: Mapping[str, str]
    seed: str = ""
    """What draws the cases of an operator."""

    def names(self) -> list[str]:
        """OpInfo's operators, in its order."""
        done = subprocess.run(
            [self.python, *WORKER, "list"],
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise UsageError(f"{self.python} cannot list torch's OpInfo:\n{done.stderr[-1000:]}")
        return list(json.loads(done.stdout.splitlines()[-1]))

    def worker(self, way: str) -> subprocess.Popen[bytes]:
        """A worker, which leads a session of its own."""
        return subprocess.Popen(
            [self.python, "-W", "ignore", *WORKER, "run", way, self.seed],
            cwd=ROOT,
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )


@dataclass
class Progress:
    """How far a chunk of operators is, as its workers say."""

    names: Sequence[str]
    at: int
    done: int = 0
    current: tuple[str, str] | None = None
    found: Results = field(default_factory=dict)

    def take(self, line: Mapping[str, Any]) -> None:
        """Note one line of a worker."""
        if "case" in line:
            self.current = (line["operator"], line["case"])
        elif "finished" in line:
            self.at, self.done = self.at + 1, 0
        elif "result" in line and self.current:
            if line["result"] is not None:
                self.note(*self.current, line["result"])
            self.current, self.done = None, self.done + 1

    def note(self, operator: str, case: str, result: str) -> None:
        self.found.setdefault(operator, {})[case] = result

    def lost(self, why: str) -> None:
        """The worker ended in the middle of a case, or between two."""
        if self.current is None:
            self.note(self.names[self.at], "process", why)
            self.at, self.done = self.at + 1, 0
        else:
            self.note(*self.current, why)
            self.current, self.done = None, self.done + 1


@dataclass
class Worker:
    """A process that carries out operators in its children, started when it is needed."""

    programs: Programs
    way: str
    process: subprocess.Popen[bytes] | None = None

    def run(self, progress: Progress, last: int) -> int | None:
        """Go on with the operators before ``last``: the exit code, or None for a hang."""
        process = self.process = self.process or self.programs.worker(self.way)
        assert process.stdin is not None
        process.stdin.write(f"{progress.at} {last} {progress.done}\n".encode())
        process.stdin.flush()
        for line in lines(process):
            if line is None:
                break
            if "ended" in line:
                return int(line["ended"])
            progress.take(line)
        else:
            process.communicate()
            self.process = None
            return process.returncode
        self.stop()
        return None

    def stop(self) -> None:
        """End it, and its child."""
        if self.process is not None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.communicate()
        self.process = None


def lines(process: subprocess.Popen[bytes]) -> Iterator[Any]:
    """What a worker says as JSON; None once when it says nothing for HANG seconds."""
    assert process.stdout is not None
    rest = b""
    while select.select([process.stdout], [], [], HANG)[0]:
        data = os.read(process.stdout.fileno(), 1 << 16)
        if not data:
            return
        *whole, rest = (rest + data).split(b"\n")
        for line in whole:
            if line.startswith(b"{"):
                yield json.loads(line)
    yield None


def chunk(worker: Worker, names: Sequence[str], first: int, last: int) -> Results:
    """Results of the operators first to last - 1, by as many children as that takes."""
    progress = Progress(names, first)
    while progress.at < last:
        code = worker.run(progress, last)
        if progress.at < last and code != POISONED:
            progress.lost("hang" if code is None else f"crash: exit {code}")
    return progress.found


def drawn(names: Sequence[str], count: int, seed: str) -> str:
    """A regular expression of that many names, which the seed chooses."""
    known = sorted(set(names))
    chosen = random.Random(seed).sample(known, min(count, len(known)))  # noqa: S311
    return f"^({'|'.join(map(re.escape, sorted(chosen)))})$"


def wanted(names: Sequence[str], only: str | None) -> list[tuple[int, int]]:
    """Runs of indexes of the operators whose name matches, each at most CHUNK long."""
    chosen = [i for i, name in enumerate(names) if only is None or re.search(only, name)]
    runs: list[tuple[int, int]] = []
    for index in chosen:
        if runs and runs[-1][1] == index and index - runs[-1][0] < CHUNK:
            runs[-1] = (runs[-1][0], index + 1)
        else:
            runs.append((index, index + 1))
    return runs


def measure(
    programs: Programs, way: str, only: str | None, jobs: int, say: Callable[[str], None]
) -> Results:
    """Each operator's cases and what became of them."""
    names = programs.names()
    runs = wanted(names, only)
    found: Results = {}
    idle: SimpleQueue[Worker] = SimpleQueue()
    workers = [Worker(programs, way) for _ in range(jobs)]
    for worker in workers:
        idle.put(worker)

    def results(group: tuple[int, int]) -> Results:
        worker = idle.get()
        try:
            return chunk(worker, names, *group)
        finally:
            idle.put(worker)

    try:
        with ThreadPoolExecutor(jobs) as pool:
            for number, more in enumerate(pool.map(results, runs), 1):
                found.update(more)
                say(f"{way}: {number} of {len(runs)} groups, {len(found)} operators")
    finally:
        for worker in workers:
            worker.stop()
    return found
