# SPDX-License-Identifier: Apache-2.0
"""Runs files of tests with pytest, each in a process of its own; needs pytest, torch and torch_npu.

    python worker.py warm|cold

Reads one file a line from its input, as JSON, and prints lines of JSON: the process of the file, a
line before a case and one after it, and how the process ended. A warm worker has imported torch and
torch_npu before it forks; a cold one leaves that to the file, which may set variables first. A
process in which the device does not compute any more ends with POISONED after the case that made it
so, because no later result of that process means anything.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

POISONED = 75
LONGEST = 4000
"""Characters of a message that are kept."""

Line = dict[str, Any]


class Speaker:
    """Prints lines of JSON on a copy of the standard output, which tests cannot reach."""

    def __init__(self) -> None:
        self.place = os.dup(1)

    def say(self, **line: Any) -> None:
        """Print one line at once, since the process may crash next."""
        os.write(self.place, (json.dumps(line) + "\n").encode())


class Cases:
    """A plugin of pytest that tells each case, and leaves out those that an earlier process ran."""

    def __init__(self, speaker: Speaker, done: set[str], log: int) -> None:
        self.speaker = speaker
        self.done = done
        self.log = log
        self.result = ""

    def begin(self, case: str) -> None:
        """Tell a case, and where in the log it begins."""
        self.speaker.say(case=case, log=os.fstat(self.log).st_size)

    def end(self, result: str) -> None:
        """Tell its result, and where in the log it ends."""
        self.speaker.say(result=result, log=os.fstat(self.log).st_size)

    def pytest_collectreport(self, report: Any) -> None:
        """A file that cannot be imported is one case."""
        if not report.passed:
            self.begin("import")
            self.end(f"{'fail' if report.failed else 'skip'}: {message(report)}")

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Leave out what is done."""
        items[:] = [item for item in items if name_of(item.nodeid) not in self.done]
        self.speaker.say(collected=[name_of(item.nodeid) for item in items])

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.result = "pass"
        self.begin(name_of(nodeid))

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Keep the first failure of a case; a part of it (a subtest) can fail too."""
        if self.result.startswith("fail") or report.passed:
            return
        if report.failed:
            self.result = f"fail: {message(report)}"
        elif not hasattr(report, "wasxfail"):
            self.result = f"skip: {message(report)}"

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Iterator[None]:
        """Let the device finish within the case, so that its errors are the case's."""
        yield
        if torch := used():
            torch.npu.synchronize()

    def pytest_runtest_logfinish(self) -> None:
        """Tell the result, and end the process if the device is of no more use."""
        self.end(self.result)
        if not computes():
            os._exit(POISONED)


def name_of(nodeid: str) -> str:
    """A case without its file."""
    return nodeid.partition("::")[2]


def message(report: Any) -> str:
    """Why a case failed or was skipped."""
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is not None:
        text = str(crash.message)
    elif isinstance(report.longrepr, tuple):
        text = str(report.longrepr[2])
    else:
        text = str(report.longrepr)[-LONGEST:]
    return text[:LONGEST]


def used() -> Any:
    """PyTorch where this process uses the device, or None."""
    torch = sys.modules.get("torch")
    found = torch is not None and hasattr(torch, "npu") and torch.npu.is_initialized()
    return torch if found else None


def computes() -> bool:
    """Whether the device still adds, where it is used."""
    torch = used()
    if torch is None:
        return True
    try:
        return bool(torch.ones(3, device="npu").add_(1).cpu().eq(2).all())
    except RuntimeError:
        return False


def run(request: Line, speaker: Speaker) -> int:
    """Run one file in this process, whose output goes to a file of its own."""
    os.chdir(request["folder"])
    log = os.open(request["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (log, 1), (log, 2)):
        os.dup2(source, target)
    sys.argv = [request["file"]]
    # What a case prints must be in the file when the process crashes.
    options = ["-q", "-s", "-c", os.devnull, "--rootdir", ".", "-p", "no:cacheprovider"]
    plugin = Cases(speaker, set(request["done"]), log)
    code = pytest.main([*options, request["file"]], plugins=[plugin])
    speaker.say(finished=int(code))
    return 0


def first_to_end() -> None:
    """Where memory runs out, let the kernel end this process and none of the machine's others."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


def serve(speaker: Speaker, warm: bool) -> int:
    """Run the files that the input names, one after the other."""
    for text in iter(sys.stdin.readline, ""):
        process = os.fork()
        if not process:
            os.setpgid(0, 0)
            first_to_end()
            code = run(json.loads(text), speaker)
            if warm:  # to take down every module costs two seconds a file
                os._exit(code)
            return code
        with contextlib.suppress(OSError):
            os.setpgid(process, process)
        speaker.say(process=process)
        _, status = os.waitpid(process, 0)
        # What a test has started and left behind.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process, signal.SIGKILL)
        speaker.say(ended=os.waitstatus_to_exitcode(status))
    return 0


def main() -> int:
    """Run as a program."""
    del sys.path[0]
    warm = sys.argv[1] == "warm"
    if warm:
        import torch_npu.testing.testcase  # noqa: F401 - for the processes that fork from this one
    return serve(Speaker(), warm)


if __name__ == "__main__":
    sys.exit(main())
