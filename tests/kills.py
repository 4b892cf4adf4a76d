# SPDX-License-Identifier: Apache-2.0
"""Kills a run of build.py at one of its writes, as a machine that loses its power does.

A write goes through points: a temporary file has been made, it is about to be flushed to the disk,
and about to be moved, linked or removed; a request is about to change a registry or the engine.
``arm`` counts them and kills the process at one of them. Nothing of this is in the program itself.

``python -m tests.kills ROOT NUMBER LOG WORD...`` does so to a run of tests.faults.child.
"""

from __future__ import annotations

import http.client
import os
import re
import runpy
import signal
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

_MOVES = ("replace", "rename", "link")
_UNIQUE = ((re.compile(r"\.[^/]*\.cannery-new$|\.making-[^/]*|tmp[a-z0-9_]{8}"), "TEMPORARY"),)
_ADDRESS = re.compile(r"/v[0-9.]+/")
"""Begins the path of what is asked of a registry or of an engine."""

_HEX = re.compile(r"[0-9a-f]{12,}|[0-9a-f-]{36}|:[0-9]+:[0-9]+")


@dataclass(frozen=True, kw_only=True)
class Point:
    """One point: its number in the run, counted from 1, and what is about to happen."""

    number: int
    what: str

    @property
    def kind(self) -> str:
        """``what``, without what differs between files of a kind."""
        text = self.what
        for pattern, word in _UNIQUE:
            text = pattern.sub(word, text)
        return _HEX.sub("*", text)


@dataclass(kw_only=True)
class _Count:
    """The points of this process below ``root``, of which it is killed at the one ``number``."""

    root: Path
    number: int
    log: TextIO
    count: int = 0

    def reached(self, what: str) -> None:
        self.count += 1
        print(what, file=self.log)
        if self.count == self.number:
            os.kill(os.getpid(), signal.SIGKILL)

    def at(self, what: str, path: Any) -> None:
        place = os.path.abspath(os.fsdecode(path))  # noqa: PTH100 - links stay as they are
        if place.startswith(f"{self.root}/"):
            self.reached(f"{what} {place[len(str(self.root)) + 1 :]}")


def arm(root: Path, number: int, log: Path) -> None:
    """Write every point below ``root`` of this process into ``log``, and kill it at ``number``.

    0 is no point, so that the run goes on to its end.
    """
    points = _Count(root=root, number=number, log=log.open("w", encoding="utf-8", buffering=1))
    unlink, fsync, mkstemp = os.unlink, os.fsync, tempfile.mkstemp
    putrequest = http.client.HTTPConnection.putrequest

    def before_move(name: str) -> Callable[..., Any]:
        real = getattr(os, name)

        def moved(source: Any, to: Any, **more: Any) -> Any:
            points.at(name, to)
            return real(source, to, **more)

        return moved

    def before_unlink(path: Any, **more: Any) -> None:
        points.at("unlink", path)
        unlink(path, **more)

    def before_fsync(file: Any) -> None:
        points.at("fsync", Path(f"/proc/self/fd/{file}").readlink())
        fsync(file)

    def after_mkstemp(*given: Any, **more: Any) -> tuple[int, str]:
        made: tuple[int, str] = mkstemp(*given, **more)
        points.at("mkstemp", made[1])
        return made

    def before_request(self: Any, method: str, url: str, *given: Any, **more: Any) -> None:
        if _ADDRESS.match(url) and method not in ("GET", "HEAD"):
            points.reached(f"{method} {url.partition('?')[0]}")
        putrequest(self, method, url, *given, **more)

    for name in _MOVES:
        setattr(os, name, before_move(name))
    for place, name, function in (
        (os, "unlink", before_unlink),
        (os, "remove", before_unlink),
        (os, "fsync", before_fsync),
        (tempfile, "mkstemp", after_mkstemp),
        (http.client.HTTPConnection, "putrequest", before_request),
    ):
        setattr(place, name, function)


def points_in(log: Path) -> list[Point]:
    """The points of a run, in their order."""
    lines = log.read_text(encoding="utf-8").splitlines()
    return [Point(number=number, what=what) for number, what in enumerate(lines, 1)]


def one_of_each(points: list[Point]) -> list[Point]:
    """The last point of each kind, in their order."""
    return sorted({each.kind: each for each in points}.values(), key=lambda each: each.number)


def in_child(action: Callable[[], int], root: Path, number: int, log: Path) -> int:
    """Carry out ``action`` in a fork of this process, armed as by ``arm``; how it ends.

    That is its result, or the negative number of the signal that has killed it.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if not child:
        code = 1
        try:
            arm(root, number, log)
            code = action()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


if __name__ == "__main__":
    folder, place, file, *words = sys.argv[1:]
    arm(Path(folder), int(place), Path(file))
    sys.argv = ["tests.faults.child", folder, *words]
    runpy.run_module("tests.faults.child", run_name="__main__")
