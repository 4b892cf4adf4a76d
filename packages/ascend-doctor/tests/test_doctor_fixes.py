# SPDX-License-Identifier: Apache-2.0
"""What the doctor changes on a host, and only when it is asked to."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from ascend_doctor import command
from ascend_doctor.fixes import stop_process
from ascend_doctor.host import Output, Space
from tests.hosts import SimulatedHost, run_doctor

RESERVED = "/proc/sys/net/ipv4/ip_local_reserved_ports"


def test_a_fix_is_shown_and_changes_nothing_without_consent(
    host: SimulatedHost, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "_confirmed", lambda: False)
    host.files[RESERVED] = "8080"
    assert run_doctor(host, "--fix", "reserve-ports") == 1
    assert "write 8080,60000-60031 to " + RESERVED in capsys.readouterr().out
    assert (host.root / RESERVED[1:]).read_text(encoding="utf-8") == "8080"


def test_a_fix_keeps_reserved_ports(
    host: SimulatedHost, capsys: pytest.CaptureFixture[str]
) -> None:
    host.files[RESERVED] = "8080,60010\n"
    assert run_doctor(host, "--fix", "reserve-ports", "--yes") == 0
    assert (host.root / RESERVED[1:]).read_text(encoding="utf-8") == "8080,60000-60031"
    del host.files[RESERVED]
    assert run_doctor(host, "--fix", "reserve-ports", "--yes") == 0
    assert "nothing to do" in capsys.readouterr().out


def test_shm_is_enlarged_by_mount(host: SimulatedHost, capsys: pytest.CaptureFixture[str]) -> None:
    host.shm = Space(64 << 20, 0)
    mount = f"mount -o remount,size={16 << 30} /dev/shm"
    assert run_doctor(host, "--fix", "shm", "--yes") == 9
    host.outputs[mount] = Output("ok", "")
    assert run_doctor(host, "--fix", "shm", "--yes") == 0
    assert host.asked == [mount, mount]


def test_only_processes_with_a_card_open_are_stopped(
    host: SimulatedHost, capsys: pytest.CaptureFixture[str]
) -> None:
    with subprocess.Popen(["sleep", "60"]) as mine, subprocess.Popen(["sleep", "60"]) as other:
        rows = "".join(f"| 0  0 | {p.pid} | python | 5 |\n" for p in (mine, other))
        host.edit("npu-smi info", "\n+", "\n+")
        table = "| NPU Chip | Process id | Process name | Process memory(MB) |\n"
        host.outputs["npu-smi info"] = Output(
            "ok", host.outputs["npu-smi info"].text + table + rows
        )
        host.open_by(mine.pid, 0)
        assert run_doctor(host, "--fix", "stop-processes", "--yes") == 0
        assert mine.wait(timeout=60) == -signal.SIGTERM
        assert other.poll() is None
        assert str(other.pid) not in capsys.readouterr().out
        other.kill()


def test_a_process_ignoring_sigterm_is_killed() -> None:
    program = "import signal, time; signal.signal(15, signal.SIG_IGN); print(flush=True)"
    argv = [sys.executable, "-c", f"{program}; time.sleep(60)"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()
        stop_process(process.pid, grace=0.2)
        assert process.wait(timeout=60) == -signal.SIGKILL
