# SPDX-License-Identifier: Apache-2.0
"""The errors that people met are found in logs, whatever else is in these."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

import pytest

from ascend_doctor import logs
from ascend_doctor.logs import LogError, search_log
from ascend_doctor.table import load_table

TABLE = load_table()

ERRORS = [
    # LLaMA-Factory's documentation for NPUs
    (
        "RuntimeError: ACL stream synchronize failed, error code:507018",
        {"acl-507018"},
        "do_sample to false",
    ),
    (
        "NotImplementedError: Unknown device for graph fuser",
        {"graph-fuser"},
        "remove the decorators of torch.jit",
    ),
    (
        (
            "RuntimeError: [ERROR] HCCL error in: torch_npu/csrc/ProcessGroupHCCL.cpp:64\n"
            "[ERROR] 2024-05-21-11:57:54 (PID:927000, Device:3, RankID:3) ERR02200 DIST call"
            " hccl api failed.\nEJ0001: 2024-05-21-11:57:54.167.645 Failed to initialize the HCCP"
            " process. Reason: Maybe the last training process is running."
        ),
        {"ej0001"},
        "Kill all processes on the cards, wait 10 seconds",
    ),
    (
        "AssertionError: Torch not compiled with CUDA enabled",
        {"cuda-code"},
        "Replace .cuda() by .npu()",
    ),
    (
        (
            'RuntimeError: t == c10::DeviceType::PrivateUse1 INTERNAL ASSERT FAILED at "Mul.cpp"'
            ":26, please report a bug to PyTorch. DeviceType must be NPU. Actual DeviceType is: cpu"
        ),
        {"tensor-on-cpu"},
        "Move all inputs",
    ),
    ("ModuleNotFoundError: No module named 'torch_npu'", {"torch-npu-missing"}, "[torch-npu"),
    # The team's notes on the 910B
    (
        "RuntimeError: HCCL function error: connect timeout of rank 3",
        {"hccl-timeout"},
        "HCCL_CONNECT_TIMEOUT=7200 HCCL_EXEC_TIMEOUT=7200",
    ),
    (
        "EI0006: 2024-11-08 Getting socket times out. Reason: ...",
        {"hccl-timeout"},
        "HCCL_EXEC_TIMEOUT=7200",
    ),
    (
        (
            "ImportError: accelerate>=0.34.0 is required for a normal functioning\n"
            "ImportError: cannot import name 'x' from 'accelerate.utils'"
        ),
        {"accelerate-old"},
        "accelerate>=0.34.0",
    ),
    # The article on MindSpeed-LLM
    ("ModuleNotFoundError: No module named 'apex'", {"apex-missing"}, "image with apex"),
    (
        "ImportError: libhccl.so: cannot open shared object file: No such file or directory",
        {"cann-library"},
        "set_env.sh",
    ),
    # npu-smi, the runtime and HCCL
    ("dcmi module initialize failed. ret is -8005", {"dcmi-8005"}, "Stop the other container"),
    ("the device is used. ret is -8020", {"dcmi-8020"}, "another card"),
    ("npu get board type failed. ret is -9005", {"dcmi-9005"}, "devices and mounts"),
    ("rtSetDevice failed, drvRetCode=87, ErrCode=507899", {"acl-507899"}, "on the card"),
    ("error code is 507033\nE30006: Failed to verify the OPP", {"acl-507033"}, "kernels"),
    ("EI0008: The CANN versions are inconsistent", {"ei0008"}, "same image"),
    ("(EI0013): error cqe status: 0x15", {"ei0013"}, "hccn_tool"),
    ("Bind_Failed(EJ0003): Failed to bind the IP port.", {"ei0019"}, "Reserve the ports"),
    ("libascend_hal.so: cannot open shared object file", {"hal-missing"}, "Mount"),
    ("undefined symbol: _ZN3c109Allocator21is_simple_data_ptr", {"undefined-symbol"}, "Do not"),
    ("RuntimeError: NPU out of memory. Tried to allocate 2 GiB", {"acl-207001"}, "batch"),
    ("ERROR: Unexpected bus error: Bus error (core dumped)", {"bus-error"}, "--shm-size"),
    ("No module named 'decorator'", {"decorator-missing"}, "pip install decorator"),
]


def hits(path: Path) -> list[str]:
    return [hit.id for hit in search_log(str(path), TABLE).hits]


@pytest.mark.parametrize(("text", "ids", "advice"), ERRORS)
def test_an_error_is_found_with_the_advice_for_it(
    tmp_path: Path, text: str, ids: set[str], advice: str
) -> None:
    log = tmp_path / "train.log"
    log.write_text(f"step 1 loss 2.3\n{text}\nstep 2\n", encoding="utf-8")
    assert set(hits(log)) == ids
    assert advice in TABLE[ids.copy().pop()].mend


def test_a_good_log_has_no_known_error(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    lines = [
        f"2023-08-07 17:27:21,717 - mindformers - INFO - step:[ {n}/ 812], loss:[0.7/0.7], "
        f"time:{27421 + n}.790 ms, lr:[1.2624264e-09], overflow cond: False, loss_scale: {n}.0"
        for n in range(500000, 508000)
    ]
    lines += ["step 507899 of 507901: loss 1.207001, code 5 507018 tokens"]
    log.write_text("\n".join(lines), encoding="utf-8")
    assert hits(log) == []


def test_the_first_error_comes_first_and_all_are_counted(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text("x\nEJ0001: a\nEI0006: b\nEJ0001: c\n", encoding="utf-8")
    found = search_log(str(log), TABLE).hits
    assert [(h.id, h.times, h.offset, h.line) for h in found] == [
        ("ej0001", 2, 2, "EJ0001: a"),
        ("hccl-timeout", 1, 12, "EI0006: b"),
    ]


@pytest.mark.parametrize("distance", [*range(-8, 9)])
def test_an_error_on_the_edge_of_a_piece_is_found_once(
    tmp_path: Path, distance: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "_CHUNK", 1 << 14)
    edge = (1 << 14) - (1 << 12)
    for place in (edge + distance, (1 << 14) + distance, 2 * edge + distance):
        log = tmp_path / "train.log"
        log.write_bytes(b"\0" * place + b"EJ0001" + b"\xff" * 50000)
        found = search_log(str(log), TABLE)
        assert [(h.id, h.times, h.offset) for h in found.hits] == [("ej0001", 1, place)]
        assert found.read == found.size == place + 6 + 50000


def test_a_binary_log_of_5_gb_is_read_at_both_ends_only(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    size = 5 << 30
    noise = random.Random(5).randbytes(1 << 20)
    with log.open("wb") as file:
        file.write(noise + b"\nEJ0001: at the beginning\n")
        file.seek(size // 2)
        file.write(b"\nEI0008: in the middle\n")
        file.truncate(size)
        file.seek(size - 5000)
        file.write(b"\nerror code is 507899\n")
    before = time.process_time()
    report = search_log(str(log), TABLE)
    assert [hit.id for hit in report.hits] == ["ej0001", "acl-507899"]
    assert report.size == size
    assert report.read == logs.HEAD + logs.TAIL
    assert report.hits[1].offset > size - 5000
    assert time.process_time() - before < 30


def test_a_line_can_be_shown_whatever_is_in_it(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_bytes(b"\x1b[2J\xff\xfe\0" * 400 + b" EJ0001 \x07" + b"y" * 5000)
    [hit] = search_log(str(log), TABLE).hits
    assert hit.line.isprintable()
    assert len(hit.line) <= 300


def test_files_that_are_no_logs_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, reason in (
        (tmp_path / "nothing", "No such file"),
        (tmp_path, "not a regular file"),
        (tmp_path / "pipe", "not a regular file"),
        (Path("/dev/zero"), "not a regular file"),
    ):
        with pytest.raises(LogError, match=reason):
            search_log(str(path), TABLE)
    empty = tmp_path / "empty"
    empty.touch()
    assert search_log(str(empty), TABLE) == ((), 0, 0)
