# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from cannery.common import process
from cannery.common.errors import EngineError
from cannery.common.process import run, stream

# Starts a child that outlives it, writes down both, and waits.
FAMILY = """
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
with open(sys.argv[1] + ".new", "w") as file:
    file.write(f"{os.getpid()} {child.pid}")
os.rename(sys.argv[1] + ".new", sys.argv[1])
print("started", flush=True)
time.sleep(60)
with open(sys.argv[1], "a") as file:
    file.write(" ended")
"""


def test_output_and_code() -> None:
    program = "import sys; print('out', flush=True); print('err', file=sys.stderr); sys.exit(3)"
    assert run([sys.executable, "-c", program], capture=True) == (3, "out\nerr\n")


def test_output_without_capture_is_not_on_stdout(capfd: pytest.CaptureFixture[str]) -> None:
    assert run([sys.executable, "-c", "print('hello')"]) == (0, "")
    assert capfd.readouterr() == ("", "hello\n")


def test_where_it_runs_and_what_it_is_told(tmp_path: Path) -> None:
    program = "import os; print(os.getcwd(), os.environ['ADDED'], 'PATH' in os.environ)"
    argv = [sys.executable, "-c", program]
    _, said = run(argv, cwd=tmp_path, capture=True, env={"ADDED": "1"})
    assert said == f"{tmp_path} 1 True\n"


def test_a_program_that_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_NOTICE_AFTER", 0.05)
    waited: list[int] = []
    program = "import time; print('a', flush=True); time.sleep(0.4); print('b')"
    argv = [sys.executable, "-c", program]
    assert run(argv, capture=True, waiting=lambda: waited.append(1)) == (0, "a\nb\n")
    assert len(waited) >= 2


def test_lines_that_come_in_pieces() -> None:
    program = "import sys, time\nfor piece in (b'o', b'n\\xc3', b'\\xb6\\ntwo\\nth', b'ree'):\n"
    program += "    sys.stdout.buffer.write(piece); sys.stdout.flush(); time.sleep(0.05)"
    heard: list[str] = []
    assert stream([sys.executable, "-c", program], heard.append) == 0
    assert heard == ["onö\n", "two\n", "three"]


def test_a_program_that_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    said = "^no-such-program is not installed. 'bash setup.sh' installs it.$"
    with pytest.raises(EngineError, match=said):
        run(["no-such-program"], capture=True)
    with pytest.raises(EngineError, match=said):
        stream(["no-such-program", "-x"], print)


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def wait_until_gone(pids: list[int]) -> list[int]:
    """The processes that are still there after a while."""
    for _ in range(1500):
        pids = [pid for pid in pids if is_running(pid)]
        if not pids:
            break
        time.sleep(0.02)
    return pids


@pytest.mark.parametrize("streaming", [False, True])
def test_an_interrupt_stops_all_that_was_started(tmp_path: Path, *, streaming: bool) -> None:
    note = tmp_path / "pids"

    def interrupt() -> None:
        for _ in range(1500):
            if note.exists():
                break
            time.sleep(0.02)
        # The kernel chooses the thread of a process, and it may be another than the main one.
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    argv = [sys.executable, "-c", FAMILY, str(note)]
    with pytest.raises(KeyboardInterrupt):
        if streaming:
            stream(argv, lambda _: None)
        else:
            run(argv, capture=True)
    thread.join()
    pids = [int(pid) for pid in note.read_text(encoding="utf-8").split()]
    assert len(pids) == 2
    assert wait_until_gone(pids) == []


def test_a_listener_that_fails_stops_the_program(tmp_path: Path) -> None:
    note = tmp_path / "pids"

    def fail(_line: str) -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        stream([sys.executable, "-c", FAMILY, str(note)], fail)
    assert wait_until_gone([int(pid) for pid in note.read_text(encoding="utf-8").split()]) == []
