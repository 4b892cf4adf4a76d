# SPDX-License-Identifier: Apache-2.0
"""Lines that look alike and have different causes, or none."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_doctor.causes import causes_in
from ascend_doctor.judge import judge_logs

SITE = '  File "/usr/lib/python3/dist-packages/vllm/worker.py", line 3, in load'
OWN = '  File "/home/user/train.py", line 3, in <module>'
CALL = "TypeError: forward() takes 2 positional arguments but 3 were given"


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("OSError: [Errno 28] No space left on device: '/data/ckpt/model.pt'", "disk-full"),
        ("OSError: [Errno 28] No space left on device: '/dev/shm/torch_12'", "shm"),
        ("RuntimeError: unable to write to file </torch_5_1>: No space left on device", "shm"),
        ("ImportError: libGL.so.1: cannot open shared object file", "library-missing"),
        ("ImportError: libtorch_npu.so: cannot open shared object file", "torch-library"),
        ("ImportError: libc10.so: cannot open shared object file", "torch-library"),
        ("ImportError: libc10_cuda.so: cannot open shared object file", "cuda-package"),
        ("ImportError: libtorch_cuda.so: cannot open shared object file", "cuda-package"),
        ("ModuleNotFoundError: No module named 'sklearn'", "python-package-missing"),
        ("ModuleNotFoundError: No module named 'acl'", "tbe-missing"),
        ("ModuleNotFoundError: No module named 'atb_llm'", "mindie-environment"),
        ("ModuleNotFoundError: No module named '_ctypes'", "python-incomplete"),
        ("exec /usr/bin/bash: exec format error", "wrong-architecture"),
        ("torch.cuda.OutOfMemoryError: CUDA out of memory.", "card-memory"),
        ("bash: npu-smi: command not found", "npu-smi-missing"),
        ("OSError: [Errno 24] Too many open files", "process-limits"),
        ("exitcode  : -11 (pid: 2345)", "native-crash"),
    ],
)
def test_the_cause_of_a_line(line: str, cause: str) -> None:
    assert [each.cause.id for each in causes_in(line)][:1] == [cause]


@pytest.mark.parametrize(
    ("before", "causes"),
    [((SITE,), ["package-range"]), ((SITE, OWN), []), ((OWN, SITE), ["package-range"]), ((), [])],
    ids=["installed", "own program", "own program calls installed", "no frames"],
)
def test_a_call_that_does_not_fit(before: tuple[str, ...], causes: list[str]) -> None:
    assert [each.cause.id for each in causes_in(CALL, before)] == causes


def test_a_crash_does_not_hide_the_exception_before_it(tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    log.write_text("ModuleNotFoundError: No module named 'acl'\nSegmentation fault (core dumped)\n")
    root = judge_logs([str(log)]).root
    assert root
    assert root.cause.id == "tbe-missing"
