# SPDX-License-Identifier: Apache-2.0
"""A pytest plugin for checks of a running container: its device, and a report as JSON.

The image tests need it, and the testinfra files of users are run with it, too. testinfra's way into
the container tries again if the host cannot start a process.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from testinfra.backend import BACKENDS
from testinfra.backend.base import CommandResult
from testinfra.backend.docker import DockerBackend

from cannery.common.model import DeviceKind
from cannery.common.process import MOST_OUTPUT, allowed_env, pieces
from cannery.engine.containers import NOT_STARTED, is_not_started, shell_not_started
from cannery.verify.verification import PROGRESS, LeftOut

TRIES = 3
"""How often the host may fail to start the shell of a command, before the checks end."""

SECONDS = 3600.0
"""The time limit of one command in the container."""


class CheckedContainer(DockerBackend):  # type: ignore[misc]  # testinfra has no types
    """Runs commands in a container, and ends pytest if the host cannot start one.

    After a command that takes too long or prints without end, no other one is run.
    """

    exceeded = ""

    # testinfra would start the container's Python to ask for it.
    encoding = "UTF-8"

    def run(self, command: str, *args: str, **kwargs: Any) -> CommandResult:
        """Run a command of a check, and again if the host could not start its shell."""
        why = ""
        for _ in range(TRIES):
            try:
                result = super().run(command, *args, **kwargs)
            except OSError as error:  # the shell that calls docker
                why = str(error)
                continue
            output = (result.stdout_bytes + result.stderr_bytes).decode(errors="replace")
            if not is_not_started(result.rc, output):
                return result
            why = output.strip()
            if not shell_not_started(output):  # a part of the command may have run
                break
        pytest.exit(why, returncode=NOT_STARTED)

    def run_local(self, command: str, *args: str) -> CommandResult:
        """Run a command of the host, which is docker, within the limits of time and output."""
        if self.exceeded:
            pytest.fail(self.exceeded, pytrace=False)
        line = self.quote(command, *args)
        output = {1: bytearray(), 2: bytearray()}
        with subprocess.Popen(
            shlex.split(line),
            env=allowed_env("docker"),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:
            try:
                for stream, piece in pieces(process, SECONDS):
                    output[stream] += piece
                    if sum(map(len, output.values())) > MOST_OUTPUT:
                        self.exceeded = f"it printed more than {MOST_OUTPUT >> 20} MB"
                        break
            except TimeoutError:
                self.exceeded = f"it took more than {SECONDS:.0f} s"
            finally:
                if process.poll() is None and (self.exceeded or sys.exc_info()[0]):
                    process.kill()
        if self.exceeded:
            self.exceeded = f"A program of the image was stopped, because {self.exceeded}: {line}"
            pytest.fail(self.exceeded, pytrace=False)
        return self.result(process.returncode, self.encode(line), *map(bytes, output.values()))


_OURS = "tests/image/"
_CONTAINER = re.compile(r"\[(?:docker://[0-9a-z]+|local)-?")
"""What testinfra puts into the names of tests that use its ``host``."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options that name the device and the report."""
    group = parser.getgroup("cannery")
    kinds = [str(kind) for kind in DeviceKind]
    group.addoption("--device", choices=kinds, required=True, help="what the container has")
    group.addoption("--report", type=Path, required=True, help="where the JSON report goes")


def pytest_configure(config: pytest.Config) -> None:
    """Add the marker of checks that need a device, the way into the container, and the report."""
    config.addinivalue_line("markers", "device: needs a device")
    config.addinivalue_line("markers", "left_out(kind): why it is not begun, a LeftOut")
    BACKENDS["docker"] = f"{CheckedContainer.__module__}.{CheckedContainer.__name__}"
    config.pluginmanager.register(Report(config.getoption("--report")), "cannery-report")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Run each check once: with a device if it needs one, else in the container without one."""
    has_device = config.getoption("--device") != str(DeviceKind.NONE)
    for item in items:
        if item.get_closest_marker("device") and not has_device:
            leave_out(item, LeftOut.WAITS, "needs a device, and this run has none")
        elif has_device and not item.get_closest_marker("device"):
            leave_out(item, LeftOut.ELSEWHERE, "is checked in a container without a device")


def leave_out(item: pytest.Item, kind: LeftOut, why: str) -> None:
    """Do not begin this check; the first reason stands."""
    if not item.get_closest_marker("left_out"):
        item.add_marker(pytest.mark.left_out(kind))
        item.add_marker(pytest.mark.skip(reason=why))


class Report:
    """Writes what became of every check, or why the checks were ended."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.checks: dict[str, dict[str, str]] = {}
        self.ended = ""
        self.waiting: list[str] = []
        self.count = 0

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note which checks will be begun."""
        items = session.items
        self.waiting = [each.nodeid for each in items if not each.get_closest_marker("left_out")]
        self.count = len(self.waiting)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Write which check of how many begins; a disk without room is no reason to end."""
        if nodeid in self.waiting:
            self.waiting.remove(nodeid)
            number = self.count - len(self.waiting)
            with suppress(OSError):
                self.path.with_suffix(PROGRESS).write_text(
                    f"check {number} of {self.count}, {_name(nodeid)}", encoding="utf-8"
                )

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Iterator[None]:
        """Note the outcome of one check."""
        outcome = yield
        result: pytest.TestReport = outcome.get_result()  # type: ignore[attr-defined]
        if result.when != "call" and result.passed:
            return
        doc = (getattr(item, "obj", None).__doc__ or item.name).strip().splitlines()[0]
        left_out = item.get_closest_marker("left_out")
        kind = str(left_out.args[0]) if left_out else ""
        check = {"title": doc, "outcome": result.outcome, "why": "", "left_out": kind}
        if result.skipped and isinstance(result.longrepr, tuple):
            check |= {"outcome": "not run", "why": result.longrepr[2].removeprefix("Skipped: ")}
        elif result.failed:
            check["why"] = result.longreprtext
        self.checks[_name(item.nodeid)] = check

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Note why the checks were ended; pytest calls this for ``pytest.exit``, too."""
        self.ended = str(excinfo.value)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the report; where that fails, so does the run."""
        text = self.ended or json.dumps(self.checks, indent=1)
        try:
            self.path.write_text(text, encoding="utf-8")
        except OSError as error:
            print(f"\nthe report {self.path} cannot be written: {error.strerror}", file=sys.stderr)
            session.exitstatus = pytest.ExitCode.INTERNAL_ERROR


def _name(nodeid: str) -> str:
    """The name of a check in the report."""
    return _CONTAINER.sub("[", nodeid.rsplit(_OURS, maxsplit=1)[-1]).replace("[]", "")
