# SPDX-License-Identifier: Apache-2.0
"""A throw-away copy of the checkout, and what a run of build.py on it did."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from hashlib import sha256
from io import BytesIO, TextIOWrapper
from pathlib import Path
from unittest.mock import patch

from cannery.cli import main
from cannery.compat import Compat
from cannery.engine import builder, client
from cannery.matrix.matrix import Matrix
from cannery.matrix.project import Project
from cannery.matrix.schema import parse_matrix

CAN_MOUNT = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]
"""Begins a command that may mount what only it and its children see."""


@dataclass(frozen=True, kw_only=True)
class Result:
    code: int
    out: str
    err: str

    @property
    def messages(self) -> list[str]:
        """What was said of what is wrong, without the progress before it."""
        before, *found = ("\n" + self.err).split("\nbuild.py: ")
        assert "Traceback" not in before, self.err
        return [text.rstrip("\n") for text in found]

    def refused(self, code: int, *said: str) -> None:
        """Assert that it ended with ``code`` and one message for each of ``said``, in order."""
        assert "Traceback" not in self.err, self.err
        assert self.code == code, self.err
        assert self.out == ""
        assert len(self.messages) == len(said), self.err
        for message, part in zip(self.messages, said, strict=True):
            assert part in message

    def accepted(self, *said: str) -> None:
        """Assert that it ended well and said every one of ``said`` on stderr."""
        assert (self.code, self.messages) == (0, []), self.err
        for part in said:
            assert part in self.err


@dataclass(frozen=True, kw_only=True)
class Checkout:
    root: Path

    def argv(self, *arguments: str) -> list[str]:
        return [sys.executable, str(self.root / "build.py"), *arguments]

    def environ(self, env: Mapping[str, str] | None = None) -> dict[str, str]:
        """This environment, in which no engine can be reached."""
        others = ("NO_COLOR", "FORCE_COLOR")
        own = {
            name: value
            for name, value in os.environ.items()
            if name[:6] != "PYTHON" and name not in others
        }
        return {**own, "DOCKER_HOST": "unix:///nonexistent/docker.sock", **(env or {})}

    @property
    def project(self) -> Project:
        return Project(root=self.root)

    def run(
        self, *arguments: str, cwd: Path | None = None, env: Mapping[str, str] | None = None
    ) -> Result:
        """What build.py does with ``arguments``, found out without another process."""
        # As Python opens them for a process whose output is read by a program.
        out = TextIOWrapper(BytesIO(), encoding="utf-8")
        err = TextIOWrapper(BytesIO(), encoding="utf-8", errors="backslashreplace")
        with (
            chdir(cwd or self.root),
            patch.dict(os.environ, self.environ(env), clear=True),
            _like_a_process(),
            redirect_stdout(out),
            redirect_stderr(err),
        ):
            code = main(arguments, self.root)
        return Result(code=code, out=_text(out), err=_text(err))

    def start(
        self,
        *arguments: str,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        before: Sequence[str] = (),
    ) -> Result:
        """Run the build.py of this copy; ``before`` are words that go before the command."""
        done = subprocess.run(
            [*before, *self.argv(*arguments)],
            cwd=cwd or self.root,
            env=self.environ(env),
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        return Result(code=done.returncode, out=done.stdout, err=done.stderr)

    def holder(self, text: str) -> str:
        """matrix.yaml, or the file of data that has ``text``."""
        data = sorted(
            f"cannery/data/{path.name}" for path in (self.root / "cannery/data").iterdir()
        )
        names = ["matrix.yaml", *data]
        return next(n for n in names if text in (self.root / n).read_text(encoding="utf-8"))

    def edit(self, old: str, new: str, name: str = "") -> None:
        """Replace the first ``old`` in a file; without ``name`` in the one that has it."""
        path = self.root / (name or self.holder(old))
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new, 1), encoding="utf-8")

    def place(self, text: str) -> str:
        """Where ``text`` first is in the matrix, as a message says it."""
        name = self.holder(text)
        before = (self.root / name).read_text(encoding="utf-8").partition(text)[0]
        return f"{name}:{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}: "

    def state(self) -> dict[str, str]:
        """Every file that says something, with its mode and a hash of its content."""
        unsaid = tuple(f".cannery/{n}" for n in ("editing.lock", "locks/", "cache/", "templates/"))
        found = {}
        for folder, folders, names in os.walk(self.root):
            folders[:] = [name for name in folders if name != "__pycache__"]
            for name in names:
                path = os.path.join(folder, name)  # noqa: PTH118 - a Path takes twice as long
                said = path[len(str(self.root)) + 1 :]
                if not said.startswith(unsaid):
                    found[said] = _state(path)
        return found


def _state(path: str) -> str:
    with open(path, "rb") as stream:  # noqa: PTH123
        digest = sha256(stream.read()).hexdigest()
    return f"{os.stat(path).st_mode:o} {digest}"  # noqa: PTH116


def _parsed_once(
    text: str, name: str, compat: Compat | None = None, data: Mapping[str, str] | None = None
) -> Matrix:
    """``parse_matrix``, which takes most of the time of a command, once for equal arguments.

    Nothing can change a matrix. What is wrong with one is found again each time.
    """
    key = (text, name, id(compat), tuple((data or {}).items()))
    if key not in _PARSED:
        # With the facts, so that no others get their id.
        _PARSED[key] = parse_matrix(text, name, compat, data), compat
    return _PARSED[key][0]


_PARSED: dict[tuple[object, ...], tuple[Matrix, Compat | None]] = {}


@contextmanager
def _like_a_process() -> Iterator[None]:
    """Leave nothing behind that the end of a process would have taken with it."""
    handlers = {each: signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGALRM)}
    hook = sys.unraisablehook
    replaced = AssertionError("docker would replace pytest here: use Checkout.start")
    client.connect.cache_clear()
    builder.node_platforms.cache_clear()
    try:
        with (
            patch("os.execvpe", side_effect=replaced),
            patch("cannery.matrix.schema.parse_matrix", _parsed_once),
        ):
            yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        sys.unraisablehook = hook
        asked = client.connect.cache_info()
        if asked.currsize:
            client.connect().close()
        client.connect.cache_clear()
        if asked.misses:
            # The SDK leaves the socket of an engine that does not answer to the collector.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ResourceWarning)
                gc.collect()


def _text(stream: TextIOWrapper) -> str:
    stream.flush()
    written = stream.detach()
    assert isinstance(written, BytesIO)
    return written.getvalue().decode()
