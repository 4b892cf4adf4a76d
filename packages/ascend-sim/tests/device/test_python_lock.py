# SPDX-License-Identifier: Apache-2.0
"""No operator waits for Python's lock, whoever holds it: threads, FSDP2, checkpoints, forks.

With CANNERY_TORCH_PYTHON, the path of a Python that has torch and torch_npu; 'nox -s operators'.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from conformance.operators.host import environment

from .hosts import FOLDER
from .test_torch_npu_on_device import PYTHON, require_torch_npu, run

SECONDS = 240
"""In which a program must end; idle, the slowest takes 20."""
PROGRAMS = Path(__file__).with_name("lock_programs.py")
FORKED = """
import os, sys, torch, torch_npu
ones = torch.ones(64).npu()
assert float((ones + 1).sum()) == 128
calls = {
    "operator": lambda: ones + 1,
    "copy": ones.cpu,
    "new": lambda: torch.ones(2).npu(),
    "wait": torch.npu.synchronize,
}
for name, call in calls.items():
    if os.fork() == 0:
        try:
            call()
        except RuntimeError as error:
            print(f"{name}: " + str(error).splitlines()[-1], flush=True)
        os._exit(0)
    os.wait()
assert float((ones + 1).sum()) == 128
"""
CALLS = ("operator", "copy", "new", "wait")
ABOUT_FORKS = "forked from one that has used it (re-initialisation)"


@pytest.fixture(autouse=True, scope="module")
def _has_torch_npu() -> None:
    require_torch_npu()


@pytest.mark.parametrize("queue", ["1", "2"])
@pytest.mark.parametrize("program", ["autograd", "loader", "queue", "threads", "sharded"])
def test_a_program_that_holds_the_lock_goes_on(
    built: Path, tmp_path: Path, program: str, queue: str
) -> None:
    """With both kinds of torch_npu's queue: the second plans operators on the queue's thread."""
    settings = {
        **environment(built, tmp_path),
        "PYTHONPATH": str(FOLDER),
        "TASK_QUEUE_ENABLE": queue,
        "ASCEND_RT_VISIBLE_DEVICES": "0,1",
    }
    assert PYTHON is not None
    done = subprocess.run(
        [PYTHON, "-W", "ignore", str(PROGRAMS), program],
        env=settings,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.stdout.splitlines()[-1:] == ["done"], done.stderr[-3000:]


def test_a_forked_process_is_refused_the_device(built: Path, tmp_path: Path) -> None:
    lines = run(built, tmp_path, FORKED).stdout.splitlines()
    said = dict(line.split(": ", 1) for line in lines if line.split(": ")[0] in CALLS)
    assert {*said} == {*CALLS}
    for text in said.values():
        assert ABOUT_FORKS in text or "Cannot re-initialize NPU in forked subprocess" in text
