# SPDX-License-Identifier: Apache-2.0
"""Runs files of tests by worker.py, so that a crash or a hang counts for one case only."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from conformance.npu_tests.checkout import File
from conformance.operators.run import Cases, Results

WORKER = Path(__file__).with_name("worker.py")
POISONED = 75
START_LIMIT = 300
"""Seconds in which a process must tell its cases; on a busy machine, importing torch takes 100."""
CASE_LIMIT = 240
FILE_LIMIT = 900
BUSY = 0.05
"""The share of its time that a process computes at least if it is slow and does not hang."""
TOLD = re.compile(r"npusim:|what\(\):|terminate called|Fatal Python error|^  File .* in ")
LINE = 300
LINES = 40
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Programs:
    """The Python with torch and torch_npu, the environment of the device, a folder for logs."""

    python: str
    environment: Mapping[str, str]
    folder: Path

    def worker(self, way: str) -> subprocess.Popen[bytes]:
        """A worker, warm or cold."""
        return subprocess.Popen(
            [self.python, "-W", "ignore", str(WORKER), way],
            env={**self.environment, "PYTHONDONTWRITEBYTECODE": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )


@dataclass
class Progress:
    """How far a file is, as its processes say."""

    found: Cases = field(default_factory=dict)
    waiting: list[str] = field(default_factory=list)
    current: str | None = None
    log: Path | None = None
    begun: int = 0
    """Where in the log the current case begins."""
    finished: bool = False

    def take(self, line: Mapping[str, Any]) -> None:
        """Note one line of a worker."""
        if "collected" in line:
            self.waiting = line["collected"]
        elif "case" in line:
            self.current, self.begun = line["case"], line["log"]
        elif "result" in line and self.current is not None:
            self.note(line["result"], line["log"])
        elif "finished" in line:
            self.finished = True

    def note(self, result: str, end: int | None = None) -> None:
        """The result of the current case; without one it is that of the process.

        The log of the case ends at `end`, or with the process.
        """
        printed = "" if result == "pass" or result.startswith("skip") else self.printed(end)
        self.found[self.current or "process"] = result + printed
        self.current = None

    def printed(self, end: int | None) -> str:
        """What the device and a failing program printed in the current case."""
        if self.log is None or not self.log.exists():
            return ""
        text = self.log.read_bytes()[self.begun : end].decode(errors="replace")
        lines = list(dict.fromkeys(line[:LINE] for line in text.splitlines() if TOLD.search(line)))
        return "".join(f"\n{line}" for line in lines[:LINES])

    def ended(self, code: int, killed: str | None) -> None:
        """A process has ended; what it did not get to is for the next one."""
        if code == POISONED and not self.left:
            self.finished = True
        elif code != POISONED and (killed or code or not self.finished):
            self.finished = self.current is None
            self.note(killed or f"crash: exit {code}")
            self.finished = self.finished or not self.left

    @property
    def left(self) -> list[str]:
        """The cases that have no result yet."""
        return [case for case in self.waiting if case not in self.found]


class Server:
    """A worker that runs one file after the other."""

    def __init__(self, programs: Programs, way: str) -> None:
        self.programs = programs
        self.way = way
        self.process = programs.worker(way)
        self.rest = b""
        self.limit = START_LIMIT

    def alive(self) -> Server:
        """Itself, or another one in place of one that has ended."""
        if self.process.poll() is None:
            return self
        self.close()
        return Server(self.programs, self.way)

    def close(self) -> None:
        """Let the worker end."""
        with self.process as process:
            assert process.stdin is not None
            process.stdin.close()

    def cases(self, file: File) -> Cases:
        """What becomes of each case of a file."""
        progress = Progress(log=self.programs.folder / f"{file.suite}-{file.place.stem}.log")
        begun = time.monotonic()
        while not progress.finished:
            self._attempt(file, progress)
            if not progress.finished and time.monotonic() - begun > FILE_LIMIT:
                for case in progress.left:
                    progress.found[case] = f"not run: the file took more than {FILE_LIMIT} s"
                break
        return progress.found

    def _attempt(self, file: File, progress: Progress) -> None:
        request = {
            "folder": str(file.place.parent),
            "file": file.place.name,
            "done": [*progress.found],
            "log": str(progress.log),
        }
        assert self.process.stdin is not None
        self.process.stdin.write((json.dumps(request) + "\n").encode())
        self.process.stdin.flush()
        process, used, killed, self.limit = 0, 0.0, None, START_LIMIT
        for line in self._lines():
            if line is None:
                killed = _stuck(process or self.process.pid, used, self.limit)
            elif "process" in line:
                process = line["process"]
            elif "ended" in line:
                progress.ended(line["ended"], killed)
                return
            else:
                used, self.limit = _computed(process), CASE_LIMIT
                progress.take(line)
        progress.note("crash: the worker itself ended")
        progress.finished = True

    def _lines(self) -> Iterator[Any]:
        """What the worker says; None whenever it says nothing until the limit."""
        assert self.process.stdout is not None
        while True:
            if not select.select([self.process.stdout], [], [], self.limit)[0]:
                yield None
                continue
            data = os.read(self.process.stdout.fileno(), 1 << 16)
            if not data:
                return
            *whole, self.rest = (self.rest + data).split(b"\n")
            yield from map(json.loads, whole)


class Run:
    """The files in their order, and the cases of those that were begun in time."""

    def __init__(
        self, programs: Programs, files: Sequence[File], minutes: float | None, found: Results
    ) -> None:
        """Files that have results in ``found`` are not run again."""
        self.programs = programs
        self.count = len(files)
        self.end = None if minutes is None else time.monotonic() + 60 * minutes
        self.waiting = SimpleQueue[File]()
        for file in files:
            if file.name not in found:
                self.waiting.put(file)
        self.found = dict(found)

    def progress(self, jobs: int) -> Iterator[str]:
        """Run the files, a number of them at a time; tells of each when it is done."""
        done = SimpleQueue[tuple[str, Cases] | None]()
        with ThreadPoolExecutor(jobs) as pool:
            work = [pool.submit(self._work, done) for _ in range(jobs)]
            running = jobs
            while running:
                result = done.get()
                if result is None:
                    running -= 1
                    continue
                name, cases = result
                self.found[name] = cases
                passed = list(cases.values()).count("pass")
                yield f"{len(self.found)} of {self.count}: {name}: {passed} of {len(cases)} pass"
            for future in work:
                future.result()

    def _work(self, done: SimpleQueue[tuple[str, Cases] | None]) -> None:
        """Run files until there are none or the time is over."""
        warm = Server(self.programs, "warm")
        try:
            while self.end is None or time.monotonic() < self.end:
                file = self.waiting.get(block=False)
                warm = warm.alive()
                cases = self._cold(file) if file.cold else warm.cases(file)
                done.put((file.name, cases))
        except Empty:
            pass
        finally:
            warm.close()
            done.put(None)

    def _cold(self, file: File) -> Cases:
        server = Server(self.programs, "cold")
        try:
            return server.cases(file)
        finally:
            server.close()


def _computed(process: int) -> float:
    """The seconds that a process has computed."""
    try:
        text = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return 0.0
    return sum(map(int, text.rpartition(")")[2].split()[11:13])) / TICKS


def _stuck(process: int, used: float, limit: int) -> str:
    """End a process that says nothing; why it did not."""
    busy = _computed(process) - used > BUSY * limit
    os.killpg(process, signal.SIGKILL)
    return f"slow: more than {limit} s" if busy else "hang"
