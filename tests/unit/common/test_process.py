# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import signal
import sys
import threading
import time
import tracemalloc
from contextlib import suppress
from pathlib import Path

import pytest

from cannery.common import process
from cannery.common.errors import CanneryError, EngineError
from cannery.common.process import (
    OutputError,
    Stopped,
    allowed_env,
    each_in_thread,
    run,
    run_within,
    stream,
    workers,
)
from cannery.publish import cosign

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
    assert run([sys.executable, "-c", program]) == (3, "out\nerr\n")


def test_a_slow_program_calls_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_NOTICE_AFTER", 0.05)
    waited: list[int] = []
    program = "import time; print('a', flush=True); time.sleep(0.4); print('b')"
    argv = [sys.executable, "-c", program]
    assert run(argv, waiting=lambda: waited.append(1)) == (0, "a\nb\n")
    assert len(waited) >= 2


def test_lines_sent_in_pieces_are_joined() -> None:
    program = "import sys, time\nfor piece in (b'o', b'n\\xc3', b'\\xb6\\ntwo\\nth', b'ree'):\n"
    program += "    sys.stdout.buffer.write(piece); sys.stdout.flush(); time.sleep(0.05)"
    heard: list[str] = []
    assert stream([sys.executable, "-c", program], heard.append) == 0
    assert heard == ["onö\n", "two\n", "three"]


ENDLESS = [sys.executable, "-c", "import os\nwhile True: os.write(1, b'y' * 65536)"]


def test_output_without_end_stops_the_program_and_is_not_kept() -> None:
    """Of an image under test, whose programs print as they like."""
    tracemalloc.start()
    with pytest.raises(OutputError, match="printed more than 64 MB"):
        run(ENDLESS)
    with pytest.raises(OutputError, match="printed more than 64 MB"):
        run_within(ENDLESS, 60)
    assert tracemalloc.get_traced_memory()[1] < 4 * process.MOST_OUTPUT
    tracemalloc.stop()
    assert not process._running


def test_a_line_without_end_stops_the_program() -> None:
    with pytest.raises(OutputError, match="one line of more than 16 MB"):
        stream(ENDLESS, lambda _: None)
    assert not process._running


def test_a_missing_program_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    said = "^no-such-program is not installed. 'bash setup.sh' installs it.$"
    with pytest.raises(EngineError, match=said):
        run(["no-such-program"])
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
def test_an_interrupt_stops_every_started_process(tmp_path: Path, *, streaming: bool) -> None:
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
            run(argv)
    thread.join()
    pids = [int(pid) for pid in note.read_text(encoding="utf-8").split()]
    assert len(pids) == 2
    assert wait_until_gone(pids) == []


def test_a_failed_listener_stops_the_program(tmp_path: Path) -> None:
    note = tmp_path / "pids"

    def fail(_line: str) -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        stream([sys.executable, "-c", FAMILY, str(note)], fail)
    assert wait_until_gone([int(pid) for pid in note.read_text(encoding="utf-8").split()]) == []


def test_an_interrupt_also_stops_a_child_that_ignores_it(tmp_path: Path) -> None:
    """As a shell's background jobs do."""
    note = tmp_path / "pid"
    deaf = "import os, signal, sys, time; signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    deaf += "open(sys.argv[1], 'w').write(str(os.getpid())); print('deaf', flush=True)\n"
    deaf += "time.sleep(60)"
    parent = "import subprocess, sys, time\n"
    parent += "subprocess.Popen([sys.executable, '-c', *sys.argv[1:]]); time.sleep(60)"

    def interrupt(_line: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stream([sys.executable, "-c", parent, deaf, str(note)], interrupt)
    left = wait_until_gone([int(note.read_text(encoding="utf-8"))])
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert not left


def test_a_program_gets_no_keyboard_and_may_print_any_bytes() -> None:
    program = r"import sys; sys.stdout.buffer.write(sys.stdin.buffer.read() + b'\xff\n')"
    assert run([sys.executable, "-c", program]) == (0, "\ufffd\n")


def test_an_error_leaves_programs_of_other_threads() -> None:
    ended: list[int] = []

    def work(number: int) -> None:
        if number == 1:
            raise ValueError("broken")
        ended.append(run(["sh", "-c", "sleep 0.5; exit 3"])[0])

    with pytest.raises(ValueError, match="broken"):
        each_in_thread(work, [0, 1])
    assert ended == [3]


def test_an_error_in_the_block_cancels_waiting_work() -> None:
    go_on = threading.Event()
    done: list[int] = []

    def work(number: int) -> None:
        go_on.wait(10)
        done.append(number)

    with pytest.raises(ValueError, match="broken"), workers(1) as give:
        made = [give(work, number) for number in range(3)]
        while not made[0].running():
            time.sleep(0.01)
        threading.Timer(0.2, go_on.set).start()
        raise ValueError("broken")
    assert done == [0]


def test_an_interrupt_stops_the_programs_of_all(tmp_path: Path) -> None:
    """And what they said before is taken for nothing."""
    note = tmp_path / "begun"
    sleeps = "import sys, time; open(sys.argv[1], 'w').close(); time.sleep(60)"
    ended: list[int] = []
    begun = time.monotonic()

    def work(path: str) -> None:
        with suppress(CanneryError):
            ended.append(run([sys.executable, "-c", sleeps, path])[0])
            return
        ended.append(-1)

    with pytest.raises(KeyboardInterrupt), workers(1) as give:
        first = give(work, str(note))
        give(work, "never")
        while not note.exists():
            time.sleep(0.01)
        raise KeyboardInterrupt
    assert time.monotonic() - begun < 30
    assert ended == []
    assert isinstance(first.exception(), Stopped)
    assert not Path("never").exists()


def test_an_interrupt_taken_by_another_thread_is_noticed() -> None:
    begun = time.monotonic()

    def work(number: int) -> None:
        if number:
            time.sleep(0.3)  # until the main thread waits
            signal.pthread_kill(threading.get_ident(), signal.SIGINT)
        run(["sleep", "20"])

    with pytest.raises(KeyboardInterrupt):
        each_in_thread(work, [0, 1])
    assert time.monotonic() - begun < 15


EVERYWHERE = {"PATH": "/bin", "HOME": "/root", "LC_ALL": "C", "https_proxy": "p", "TMPDIR": "/t"}
DOCKERS = {"DOCKER_HOST": "tcp://h:1", "AWS_PROFILE": "a", "ACTIONS_RUNTIME_TOKEN": "t"}
INDEXES = {"UV_INDEX_OWN_PASSWORD": "p", "UV_CACHE_DIR": "/c", "PIP_INDEX_URL": "i"}
LEAKS = dict.fromkeys(
    (
        *("PYTEST_ADDOPTS", "PYTEST_PLUGINS", "PYTHONPATH", "PYTHONSTARTUP", "PYTHONOPTIMIZE"),
        *("LD_PRELOAD", "SOURCE_DATE_EPOCH", "DOCKER_DEFAULT_PLATFORM", "DOCKER_CONTENT_TRUST"),
        *("UV_CONSTRAINT", "UV_INDEX_STRATEGY", "UV_PRERELEASE", "PIP_CONSTRAINT", "PIP_PRE"),
        *("GIT_DIR", "GIT_INDEX_FILE", "OPENSSL_CONF", "APT_CONFIG", "TRIVY_SEVERITY", "BASH_ENV"),
    ),
    "x",
)


@pytest.mark.parametrize(
    ("program", "more"),
    [
        ("docker", DOCKERS),
        ("pytest", DOCKERS),
        ("uv", {k: v for k, v in INDEXES.items() if k[:2] == "UV"}),
        ("pip", {"PIP_INDEX_URL": "i"}),
        ("cosign", {"AWS_PROFILE": "a"}),
        ("git", {}),
        ("unknown", {}),
    ],
)
def test_a_program_gets_its_declared_variables(program: str, more: dict[str, str]) -> None:
    found = allowed_env(program, {**EVERYWHERE, **DOCKERS, **INDEXES, **LEAKS})
    assert found == {**EVERYWHERE, **more}


@pytest.mark.parametrize("way", ["run", "run_within", "stream"])
def test_no_other_variable_reaches_a_program(monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    for name in LEAKS:
        if name != "LD_PRELOAD":  # which this process would ask for, too
            monkeypatch.setenv(name, "leaked")
    argv = ["sh", "-c", "env"]
    heard: list[str] = []
    match way:
        case "run":
            heard.append(run(argv, env={"GIVEN": "1"})[1])
        case "run_within":
            heard.append(run_within(argv, 60)[1])
        case _:
            stream(argv, heard.append)
    said = "".join(heard)
    assert "leaked" not in said
    assert "PATH=" in said
    assert ("GIVEN=1" in said) is (way == "run")


def test_cosign_gets_the_variable_of_its_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "cosign"
    program.write_text('#!/bin/sh\necho "-----BEGIN PUBLIC KEY $OWN_KEY $OTHER"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setenv("OWN_KEY", "secret")
    monkeypatch.setenv("OTHER", "another")
    assert cosign.public_key("env://OWN_KEY") == "-----BEGIN PUBLIC KEY secret \n"
