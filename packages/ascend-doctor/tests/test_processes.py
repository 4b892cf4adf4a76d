# SPDX-License-Identifier: Apache-2.0
"""Failures and good lines belong to processes: one does not undo the crash of another."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from ascend_doctor.log_report import examine_logs
from ascend_doctor.prefix import process_of
from tests.test_log_reader import judged, root

CRASH = "RuntimeError: NPU function error: aclrtSynchronizeStream, error code is 507035\n"
ENGINE = "(EngineCore_DP1 pid=701) "
SERVER = "(APIServer pid=568) "

HARMLESS = {
    "a script that saves its log": (CRASH, "Training log saved to ./logs/a.log\n"),
    "an installer": (CRASH, "Successfully installed numpy-1.26.4\n"),
    "a message of success": (CRASH, "Environment checked successfully!\n"),
    "requests of the server": (
        ENGINE + CRASH,
        SERVER + 'INFO:     192.0.2.4:1 - "POST /v1/completions HTTP/1.1" 200 OK\n',
    ),
    "steps of another rank": ("[rank3]: " + CRASH, "[rank0]: step 3 loss 1.9\n"),
    "steps of another container": ("node-1  | " + CRASH, "node-2  | step 3 loss 1.9\n"),
}


@pytest.mark.parametrize("what", HARMLESS)
def test_a_crash_is_not_undone_by(what: str, tmp_path: Path) -> None:
    crash, good = HARMLESS[what]
    found = root(judged(tmp_path / "a.log", crash + good * 3))
    assert found["id"] == "operator-crash"


GOES_ON = {
    "its own steps": (CRASH, "step 3 loss 1.9\n"),
    "steps of the same rank": ("[rank3]: " + CRASH, "[rank3]: step 3 loss 1.9\n"),
    "requests of the same process": (
        SERVER + "ERROR ValueError: prompt is too long\n",
        SERVER + 'INFO:     192.0.2.4:1 - "POST /v1/completions HTTP/1.1" 200 OK\n',
    ),
}


@pytest.mark.parametrize("what", GOES_ON)
def test_a_failure_is_undone_by(what: str, tmp_path: Path) -> None:
    failure, good = GOES_ON[what]
    assert judged(tmp_path / "a.log", failure + good)["logs"]["failed"] is False


@pytest.mark.parametrize(
    ("line", "process"),
    [
        ("(EngineCore_DP0 pid=123) ERROR x", "123"),
        ("(RayWorkerWrapper pid=11394, ip=10.0.1.4) x", "11394"),
        ("[rank3]: Traceback", "3"),
        ("[default0]:x", "0"),
        ("vllm-1  | (Worker_TP0 pid=7) x", "7"),
        ("train-1  | x", "train-1"),
        ("[2025-08-03 03:28:14 TP1] x", "TP1"),
        ("ERROR    | x", ""),
        ("RayTaskError: ray::Runner.run() (pid=26591, ip=192.0.2.1)", ""),
        ("plain text", ""),
    ],
)
def test_the_process_that_a_line_is_of(line: str, process: str) -> None:
    assert process_of(line) == process


PLAIN = {
    "exit status": "runc did not terminate successfully: exit status 1",
    "symbol lookup": "python3: symbol lookup error: /x/libfoo.so: undefined symbol: of_nobody",
    "relocation": "./a.out: relocation error: /x/libfoo.so: symbol of_nobody version X not defined",
    "glog": "E20260123 16:34:16.117308   546 channel.cpp:46] Hello request failed: 112",
    "glog's fatal": "F0123 16:34:16.117308   546 main.cpp:46] Check failed: n > 0 (0 vs 0)",
    "make": "make: *** [Makefile:10: all] Error 2",
    "linker": "/usr/bin/ld: cannot find -lfoo",
    "a level in brackets": "[error] cannot open the device file",
    "CRITICAL": "CRITICAL cannot write the checkpoint",
    "kubectl": 'Error from server (NotFound): namespaces "x" not found',
    "an installer": "[some-service] [20240426-15:25:45] [ERROR] Install failed, nothing is there",
    "no space after the name": "NameError:name 'x' is not defined",
    "Chinese": "错误:加载模型失败,找不到文件",
    "Chinese, in brackets": "【错误】初始化失败,无法打开设备",
    "Chinese, at its end": "初始化通信域失败!",
    "kubelet": "Aug 17 16:50:48 node kubelet[17]: E0817 16:50:48.351330  176281 log.go:32] "
    '"StartContainer failed" err="failed to create task"',
}


@pytest.mark.parametrize("what", PLAIN)
def test_a_plain_error_line_is_a_failure(what: str, tmp_path: Path) -> None:
    assert judged(tmp_path / "a.log", PLAIN[what] + "\n")["logs"]["failed"] is True


def test_the_all_clear_names_the_last_line_that_looks_like_a_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "step 1 is done\nthe cache was not found, it is made\nall is well\n"
    document = judged(tmp_path / "a.log", text)
    assert document["logs"]["failed"] is False
    assert document["logs"]["suspect"]["line"] == 2


def used(path: Path) -> float:
    before = time.process_time()
    document: dict[str, Any] = examine_logs([str(path)])
    assert root(document)["count"] >= 5000
    return time.process_time() - before


def test_the_lines_of_20000_ranks_are_judged_in_two_seconds(tmp_path: Path) -> None:
    path = tmp_path / "ranks.log"
    path.write_text("".join(f"[rank{n}]: {CRASH}" for n in range(20_000)), encoding="utf-8")
    # Twice, as other programs on the machine make one of them slow.
    assert min(used(path), used(path)) < 2
