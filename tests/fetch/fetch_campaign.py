# SPDX-License-Identifier: Apache-2.0
"""Faults at random over fetches, each of which must end with the right file or with a reason.

A case is a small file, how it is known (by its hash, in a zip, or not at all), one or two servers,
and what goes wrong. Afterwards the servers are well, and a second fetch must end with the file.
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from random import Random

from cannery.common.bases import File
from cannery.common.errors import CanneryError
from cannery.fetch.fetcher import Terms
from tests.campaigns import FAILURE, CaseVerdict
from tests.fetch.fetches import a_file, digest, fetcher, in_zip, wrong_files, zipped
from tests.fetch.run_files import a_toolkit
from tests.fetch.server import HEADS, Fault, Files

ROOT = Path(__file__).resolve().parents[2]

TRANSFER_FAULTS = (
    *("half", "half without length", "reset", "stall", "slow", "chunked", "long length"),
    *("more without length", "not HTTP", "nothing", "gzip said", "weak tag"),
)
WRONG_CONTENT = (
    *("other bytes", "one bit", "more", "less", "empty file", "login page", "login page as file"),
)
RANGE_FAULTS = ("wrong range", "range without range", "wrong total", "range ignored", "416")
LOCAL_FAULTS = ("kill -9", "full disk", "two at once", "file changes")
UNKNOWABLE = frozenset({"one bit", "wrong total"})
"""What cannot be told of a file whose hash nobody publishes: a bit may be of its header's code."""

KINDS = (*TRANSFER_FAULTS, *WRONG_CONTENT, *RANGE_FAULTS, *LOCAL_FAULTS, *HEADS)
_OFTEN = (*KINDS, *LOCAL_FAULTS * 2)
"""The local faults more often, because they happen at any byte."""


class Outcome(StrEnum):
    """What became of a fetch with faults; of one that was killed, what became of the next one."""

    FETCHED = "fetched"
    RESUMED = "resumed"
    REFUSED = "refused"
    FAILURE = FAILURE


@dataclass(frozen=True, kw_only=True)
class Case:
    """One case; its number and the campaign's seed make it again."""

    number: int
    kind: str
    faults: tuple[Fault, ...]
    content: bytes
    known: str
    mirrors: int

    @property
    def title(self) -> str:
        known = f"{len(self.content)} bytes, known by {self.known}, {self.mirrors} mirrors"
        return f"case {self.number} ({self.kind}; {known})"


def make_case(seed: int, number: int) -> Case:
    """The case ``number``; the same number gives the same case."""
    random = Random(f"{seed}:{number}")
    kind = KINDS[number % len(KINDS)] if number < len(KINDS) else random.choice(_OFTEN)
    content = random.randbytes(random.choice([1, 700, 20_000, 300_000]))
    known = random.choice(["hash", "hash", "zip", "first use"])
    if known == "first use" and kind in UNKNOWABLE:
        known = "hash"
    if known == "first use":
        content = a_toolkit(content)

    def fault(name: str) -> Fault:
        return Fault(kind=name, at=random.randrange(len(content) + 1))

    faults = [fault(kind)] * random.choice([1, 1, 1, 9])
    if kind in RANGE_FAULTS:
        faults = [fault("half"), *faults]
    elif kind in LOCAL_FAULTS:
        whole = Fault(kind="kill", at=len(content) + 1_000)  # of a zip, too
        faults = [random.choice([fault("kill"), whole])] if kind == "kill -9" else []
        faults = [fault("half"), fault("404")] if kind == "file changes" else faults
    return Case(
        number=number,
        kind=kind,
        faults=tuple(faults),
        content=content,
        known=known,
        mirrors=random.choice([1, 1, 2]),
    )


class Campaign:
    """Runs cases with the servers ``files``, in stores below ``scratch``."""

    def __init__(self, scratch: Path, files: Files, seed: int) -> None:
        self.seed = seed
        self._scratch = scratch
        self._files = files

    def judge(self, case: Case) -> CaseVerdict:
        """The outcome of ``case``."""
        root = self._scratch / str(case.number)
        try:
            outcome, why = self._judged(case, root, self._served(case))
        except Exception:  # noqa: BLE001 - whatever it is, it is a finding
            outcome, why = Outcome.FAILURE, traceback.format_exc()
        finally:
            shutil.rmtree(root, ignore_errors=True)
        return CaseVerdict(case=case, outcome=outcome, why=why)

    def _judged(self, case: Case, root: Path, file: File) -> tuple[Outcome, str]:
        reason = self._first(case, root, file)
        if wrong := wrong_files(root):
            return Outcome.FAILURE, f"wrong bytes: {wrong}"
        content, is_there = case.content, _path(root, case.content).is_file()
        if not (is_there or reason):
            return Outcome.FAILURE, "neither the file nor a reason"
        if not is_there:
            self._files.faults.clear()
            if case.kind == "file changes" and case.known == "first use":
                content = a_toolkit(digest(content).encode())
                self._files.content = dict.fromkeys(self._files.content, content)
            _fetch(case, root, file)
        if not _path(root, content).is_file() or wrong_files(root):
            why = "a second fetch without faults does not get the file; the first gave: "
            return Outcome.FAILURE, why + reason
        if not is_there and case.kind != "kill -9":
            return Outcome.REFUSED, reason
        is_resumed = any("range" in request.headers for request in self._files.requests)
        return Outcome.RESUMED if is_resumed else Outcome.FETCHED, reason

    def _served(self, case: Case) -> File:
        """The file of ``case``, which the servers have, with its faults on the first one."""
        names = [f"{case.number}/{mirror}/toolkit" for mirror in range(case.mirrors)]
        archive = zipped({"toolkit.run": case.content})
        self._files.requests.clear()
        self._files.content = dict.fromkeys(names, archive if case.known == "zip" else case.content)
        self._files.faults.clear()
        self._files.faults[names[0]] = [*case.faults]
        urls = [self._files.address(name) for name in names]
        if case.known == "zip":
            return in_zip(case.content, archive, urls)
        return a_file(case.content, urls, pinned=case.known == "hash")

    def _first(self, case: Case, root: Path, file: File) -> str:
        """Why the first fetch, during which things go wrong, did not succeed; empty if it did."""
        if case.kind == "kill -9":
            words = [sys.executable, "-m", "tests.fetch.child", str(root), case.known]
            served = file.zip or file
            words += [served.sha256, *(address.url for address in served.addresses)]
            with subprocess.Popen(words, cwd=ROOT, stderr=subprocess.PIPE, text=True) as child:
                self._files.reached = lambda: _kill(child.pid, case.number)
                _, output = child.communicate()
            if "Traceback" in output:
                raise RuntimeError(output)
            return f"exit code {child.returncode}"
        failures: list[str] = []

        def fetch() -> None:
            try:
                _fetch(case, root, file)
            except CanneryError as error:
                failures.append(str(error))

        if case.kind != "two at once":
            with _full_disk(case) if case.kind == "full disk" else nullcontext():
                fetch()
            return "".join(failures)
        threads = [threading.Thread(target=fetch) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        sent = sum(request.sent for request in self._files.requests)
        # Nobody can know that two files without a hash are the same one.
        if case.known != "first use" and sent > max(map(len, self._files.content.values())):
            raise RuntimeError(f"{sent} bytes were sent for one file")
        return "; ".join(failures)


def _kill(process: int, number: int) -> None:
    """Kill ``process`` a little later, when it has written some of what it got, or even all."""
    time.sleep(number % 40 / 1000)
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)


def _path(root: Path, content: bytes) -> Path:
    return root / "sha256" / digest(content)[:2] / digest(content)


def _fetch(case: Case, root: Path, file: File) -> None:
    terms = Terms(accepted_by="Tester", first_use=case.known == "first use")
    fetcher(root, terms=terms).fetch(replace(file, size=0))


@contextmanager
def _full_disk(case: Case) -> Iterator[None]:
    """Let no file grow beyond some byte of the download."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    most = 600 + case.number % len(case.content)  # the notes beside a download fit
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
