# SPDX-License-Identifier: Apache-2.0
"""Why a run failed, by its logs: one judgement over all of them, whatever their size and form."""

from __future__ import annotations

import io
import json
import os
import random
import sys
import time
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from ascend_doctor import log_files
from ascend_doctor.command import main
from ascend_doctor.log_report import examine_logs
from ascend_doctor.packed import LogError
from tests.log_cases import case_log

GOOD = "2026-03-01 10:00:00 [INFO] step 1 of 2000, loss 2.3\n"
OOM = "RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB (NPU 3; 60.96 GiB total)\n"
TOGGLED = "ImportError: FlashAttention2 has been toggled on, but it cannot be used\n"
WAITED = (
    "EI0002: [PID: 7] 2026-03-01-10:30:00.1 The wait execution of the Notify register times out\n"
)


def judged(path: Path, text: str, *more: str) -> dict[str, Any]:
    path.write_text(text, encoding="utf-8")
    return examine_logs([str(path), *more])


def root(document: dict[str, Any]) -> dict[str, Any]:
    [found] = [each for each in document["findings"] if each["role"] == "root"]
    assert isinstance(found, dict)
    return found


def test_a_log_without_failure(tmp_path: Path) -> None:
    document = judged(tmp_path / "a.log", GOOD * 100)
    assert document["findings"] == []
    assert document["logs"]["failed"] is False
    assert document["logs"]["size"] == 100 * len(GOOD)


def test_steps_numbered_like_codes_are_not_codes(tmp_path: Path) -> None:
    lines = [f"step 507{n:03} of 507999: loss 1.207001, code 5 507018 tokens\n" for n in range(999)]
    assert judged(tmp_path / "a.log", "".join(lines))["findings"] == []


def test_the_place_of_the_root(tmp_path: Path) -> None:
    found = root(judged(tmp_path / "a.log", GOOD * 40_000 + OOM + "x\n" + OOM))
    assert (found["id"], found["line"], found["count"]) == ("card-memory", 40_001, 2)
    assert found["text"].startswith("RuntimeError: NPU out of memory")
    assert found["severity"] == "error"


def test_after_a_failure_the_run_went_on(tmp_path: Path) -> None:
    document = judged(tmp_path / "a.log", OOM + GOOD)
    assert document["logs"]["failed"] is False
    assert [(each["id"], each["role"]) for each in document["findings"]] == [
        ("card-memory", "note")
    ]


def test_the_last_of_many_failures_decides_if_the_run_failed(tmp_path: Path) -> None:
    assert judged(tmp_path / "a.log", (OOM + GOOD) * 9)["logs"]["failed"] is False
    assert judged(tmp_path / "a.log", (OOM + GOOD) * 9 + OOM)["logs"]["failed"] is True


def test_several_logs_are_one_judgement(tmp_path: Path) -> None:
    """The rank that waited wrote the first log, the one that failed first the second."""
    said = "[ERROR] 2026-03-01-10:{} (PID:{}, Device:{}, RankID:{}) ERR00100 PTA call acl api\n"
    first, second = tmp_path / "rank0.log", tmp_path / "rank3.log"
    second.write_text(GOOD + OOM + said.format("00:00", 9, 3, 3), encoding="utf-8")
    document = judged(first, GOOD + said.format("30:00", 7, 0, 0) + WAITED, str(second))
    found = root(document)
    assert (found["id"], found["rank"], found["file"]) == ("card-memory", 3, str(second))
    assert [each["id"] for each in document["findings"] if each["role"] == "follows"] == [
        "hccl-timeout"
    ], document
    folder = examine_logs([str(tmp_path)])
    assert root(folder) == found


def test_a_folder_of_plogs_and_standard_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "ascend" / "log" / "debug" / "plog"
    folder.mkdir(parents=True)
    (folder / "plog-7_2026.log").write_text(WAITED, encoding="utf-8")
    (folder / "core.bin").write_bytes(b"EJ0001")
    document = examine_logs([str(tmp_path / "ascend")])
    assert document["logs"]["paths"] == [str(folder / "plog-7_2026.log")]
    assert root(document)["id"] == "hccl-timeout"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(OOM.encode())))
    assert main(["--log", "-", "--log", str(folder), "--json"]) == 8
    document = json.loads(capsys.readouterr().out)
    assert root(document)["file"] == "-"


@pytest.mark.parametrize("distance", [*range(-6, 7)])
def test_a_line_on_the_edge_of_a_block_is_found_once(
    tmp_path: Path, distance: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_files, "_BLOCK", 1 << 12)
    fill = "x" * 63 + "\n"
    text = fill * 63 + "y" * (58 + distance) + "\n" + OOM + fill * 200
    found = root(judged(tmp_path / "a.log", text))
    assert (found["line"], found["count"]) == (65, 1)


def test_a_big_healthy_log_is_read_fast_and_in_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "big.log"
    with path.open("w", encoding="utf-8") as file:
        for n in range(250_000):
            file.write(
                f"[2026-06-02 10:00:{n % 60:02d},000] [INFO] [logging.py:96] step={n}, lr=[2e-05]\n"
            )
            file.write(
                f"{{'loss': {1 / (n + 1):.4f}, 'grad_norm': 0.7{n}, 'learning_rate': 1e-05}}\n"
            )
            file.write(
                f" iteration {n}/ 250000 | consumed samples: {n * 64} | lm loss: 1.17{n}E+01 |\n"
            )
    size = path.stat().st_size
    before = time.process_time()
    assert examine_logs([str(path)])["logs"]["failed"] is False
    used = time.process_time() - before
    assert size / used > 100e6, f"{size / used / 1e6:.0f} MB/s"
    tracemalloc.start()
    examine_logs([str(path)])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 32 << 20


def test_a_plog_with_addresses_and_results_is_read_fast(tmp_path: Path) -> None:
    path = tmp_path / "plog.log"
    numbers = random.Random(5)
    with path.open("w", encoding="utf-8") as file:
        for n in range(100_000):
            file.write(
                f"[INFO] RUNTIME(860,python3):2025-12-31-07:42:50.{n % 1000:03d} [a.cc:{n % 99}] "
                f"error check of stream {n} at 0x{numbers.getrandbits(48):x}: return 0\n"
            )
    before = time.process_time()
    assert examine_logs([str(path)])["logs"]["failed"] is False
    used = time.process_time() - before
    assert path.stat().st_size / used > 50e6


def test_a_big_log_of_failures_is_read_in_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "big.log"
    path.write_text((OOM + WAITED + "EJ0001: x\n") * 4000, encoding="utf-8")
    tracemalloc.start()
    found = root(examine_logs([str(path)]))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found["count"] == 4000
    assert peak < 32 << 20


LOUD = (
    "[ERROR] HCCL({p},x):2026-03-01-10:00:{s:02}.1 [a.cc:1][{n}] failed, return[4], userRank[{r}]",
    "[rank{r}]:[ERROR] 2026-03-01-10:00:{s:02} (PID:{p}, Device:{r}, RankID:{r}) ERR02200 DIST x",
    "[rank{r}]: RuntimeError: stream {n} of context {n} is wrong",
    "(Worker_TP{r} pid={p}) ERROR 03-01 10:00:{s:02} [a.py:654] ValueError: request {n} failed",
)


def test_a_log_of_many_errors_is_read_fast_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "errors.log"
    with path.open("w", encoding="utf-8") as file:
        for n in range(100_000):
            for form in LOUD:
                file.write(form.format(n=n, s=n % 60, r=n % 8, p=900 + n % 8) + "\n")
            if n == 70_001:
                file.write("[rank1]: RuntimeError: stream 1 of context 1, error code is 507018\n")
    before = time.process_time()
    document = examine_logs([str(path)])
    used = time.process_time() - before
    assert path.stat().st_size / used > 40e6
    found = {each["id"]: each for each in document["findings"]}
    assert found["aicpu-failed"]["line"] == 70_002 * 4 + 1
    assert root(document)["id"] == "aicpu-failed"
    assert found["exception"]["count"] == 200_000


def test_a_number_at_another_place_in_a_line_of_the_same_length(tmp_path: Path) -> None:
    usual = "[ERROR] HCCL(123,p): sent 123456 of 9 retries, retCode is 1 after 100200 ms\n"
    other = "[ERROR] HCCL(123,p): sent 1 of 9 retries, retCode is 507015 after 100200 ms\n"
    assert len(usual) == len(other)
    found = root(judged(tmp_path / "a.log", usual * 50 + other + usual * 50))
    assert (found["id"], found["line"]) == ("operator-crash", 51)


def test_error_codes_are_read_in_every_line(tmp_path: Path) -> None:
    lines = [f"[ERROR] a(7,x):2026-03-01-10:00:00.1 task {n} failed, ret is 0\n" for n in range(99)]
    late = "[ERROR] a(7,x):2026-03-01-10:00:00.1 task 5 failed, ret is 507015\n"
    found = root(judged(tmp_path / "a.log", "".join([*lines, late, *lines])))
    assert (found["id"], found["line"]) == ("operator-crash", 100)


@pytest.mark.parametrize("text", ["x", "1", "a.", "E", "(", "Aa_", "[ERROR] ", "ret:", "-", "/a"])
def test_no_line_takes_long(text: str, tmp_path: Path) -> None:
    """A pattern that tries every place again would need minutes for a log of such lines."""
    line = f"error failed {text * 4096}"[:4000]
    before = time.process_time()
    judged(tmp_path / "a.log", f"{line}\n" * 20)
    assert time.process_time() - before < 3


def test_a_binary_log_and_a_line_without_an_end(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    noise = random.Random(5).randbytes(1 << 20).replace(b"\n", b"\0")
    path.write_bytes(noise * 9 + b"\nEJ0001: at the end \x1b[2J\xff")
    found = root(examine_logs([str(path)]))
    assert found["id"] == "hccp-start"
    assert found["text"].isprintable()
    assert len(found["text"]) <= 300


def test_a_path_without_a_log_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "empty-folder").mkdir()
    for path, reason in (
        ("nothing", "No such file"),
        ("pipe", "is not a regular file"),
        ("empty-folder", "has no logs"),
        ("/dev/zero", "is not a regular file"),
    ):
        with pytest.raises(LogError, match=reason):
            examine_logs([str(tmp_path / path)])
    (tmp_path / "empty").touch()
    with pytest.raises(LogError, match="is empty"):
        examine_logs([str(tmp_path / "empty")])


def test_the_versions_of_the_image_are_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "target.json"
    parts = {"toolkit": "8.5.0", "torch": "2.8.0", "torch_npu": "2.8.0.post2"}
    document = {"components": parts, "chip": "910b", "wheels": {"numpy": "2.0.1"}}
    target.write_text(json.dumps(document), encoding="utf-8")
    log = case_log("shared", "04-msprof-symbol", tmp_path)
    assert main(["--log", log, "--target", str(target)]) == 8
    said = "here: toolkit 8.5.0, torch 2.8.0, torch_npu 2.8.0.post2, numpy 2.0.1; chip 910b"
    assert said in " ".join(capsys.readouterr().out.split())
    target.write_text("{", encoding="utf-8")
    assert main(["--log", log, "--target", str(target)]) == 8


def test_the_text_report_of_a_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--log", case_log("own", "ranks-03", tmp_path)]) == 8
    said = capsys.readouterr().out
    assert said.startswith(
        "error: The key 'messages' is not there, which the program reads (data.py:58)"
    )
    assert "  log:    rank 1, " in said
    assert "Follows from it:" in said
    assert main(["--log", case_log("own", "own-ok-caught-retry", tmp_path)]) == 0
    assert "ascend-doctor: no failure that is known was found." in capsys.readouterr().out


def test_the_line_is_shown_also_where_its_path_is_long(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / ("run-" + "x" * 70) / "ascend" / "log"
    folder.mkdir(parents=True)
    (folder / "rank-0.log").write_text("KeyError: 'labels'\n", encoding="utf-8")
    assert main(["--log", str(folder)]) == 8
    said = capsys.readouterr().out
    assert "  log:    …/ascend/log/rank-0.log:1\n          KeyError: 'labels'\n" in said


ADVICE = {
    "NotImplementedError: Unknown device for graph fuser": ("operator-unsupported", "torch.jit"),
    "AssertionError: Torch not compiled with CUDA enabled": ("cuda-code", ".npu()"),
    "DeviceType must be NPU. Actual DeviceType is: cpu": ("tensor-on-cpu", "Move all inputs"),
    "ModuleNotFoundError: No module named 'torch_npu'": (
        "torch-npu-missing",
        "import torch, torch_npu",
    ),
    "EI0006: Getting socket times out. Reason: x": ("hccl-connect", "HCCL_CONNECT_TIMEOUT"),
    "ModuleNotFoundError: No module named 'apex'": ("apex-missing", "image with apex"),
    "ImportError: libhccl.so: cannot open shared object file": ("cann-library", "set_env.sh"),
    "dcmi module initialize failed. ret is -8005": ("dcmi", "mounts of the driver"),
    "the device is used. ret is -8020": ("card-in-use", "another card"),
    "EI0008: The CANN versions are inconsistent": ("cann-versions-differ", "same image"),
    "EI0013: error cqe status: 0x15": ("packet-loss", "hccn_tool"),
    "ImportError: libascend_hal.so: cannot open shared object file": (
        "hal-missing",
        "Start with -v",
    ),
    "EC0010: x [ModuleNotFoundError: No module named 'decorator'.]": (
        "decorator-missing",
        "pip install",
    ),
    "ModuleNotFoundError: No module named 'scipy'": ("python-package-missing", "pip install scipy"),
    "ImportError: accelerate<=0.33.0 is required for a normal functioning of this module, but "
    "found accelerate==0.34.2.": ("accelerate-range", "range that the message names"),
}


@pytest.mark.parametrize("line", ADVICE)
def test_an_error_has_the_advice_for_it(line: str, tmp_path: Path) -> None:
    name, advice = ADVICE[line]
    found = root(judged(tmp_path / "a.log", f"{GOOD}{line}\n"))
    assert found["id"] == name
    assert advice in found["mend"]


NEAR_MISSES = {
    "another card's number": "device 3 used 507 of 61440 MB\n",
    "a caught import": "[WARNING] fused kernels are not available: No module named 'amp_C'\n",
    "a quoted message": "Prompt: 'What is RuntimeError: NPU out of memory?', Generated text: 'x'\n",
    "the fallback to the CPU": "[W VariableFallbackKernel.cpp:51] Warning: CAUTION: The operator "
    "'aten::isin' is not currently supported on the NPU backend and will fall back to run on "
    "the CPU.\n",
    "a plog without an error": "[INFO] HCCL(860,):2025-12-31-07:42:50.708.897 [a.cc:1] socket "
    "timeout EI0006 is set by default\n",
    "a stopped process": GOOD + "Shutting down\nProcessLookupError: [Errno 3] No such process\n",
}


@pytest.mark.parametrize("what", NEAR_MISSES)
def test_a_near_miss_is_not_a_failure(what: str, tmp_path: Path) -> None:
    document = judged(tmp_path / "a.log", NEAR_MISSES[what])
    assert document["logs"]["failed"] is False
    assert [each for each in document["findings"] if each["severity"] != "note"] == []


def test_a_warning_goes_on_in_the_lines_below_it(tmp_path: Path) -> None:
    warning = (
        "/s/fast/attention.py:12: UserWarning: flash_attn is not installed\n"
        "  warnings.warn('flash_attn is not installed')\n"
        "nvcc not found, flash_attn stays off\n"
    )
    assert root(judged(tmp_path / "a.log", warning + GOOD + OOM))["id"] == "card-memory"
    assert judged(tmp_path / "b.log", warning + GOOD)["logs"]["failed"] is False
    failed = judged(tmp_path / "d.log", warning + TOGGLED)
    assert root(failed)["id"] == "cuda-package"
    assert root(failed)["line"] == 4
    alone = root(judged(tmp_path / "c.log", GOOD + "nvcc not found, flash_attn stays off\n"))
    assert alone["id"] == "cuda-package"


def test_an_unknown_code_is_reported_as_unknown(tmp_path: Path) -> None:
    found = root(judged(tmp_path / "a.log", "RuntimeError: x, error code is 507999\n"))
    assert found["id"] == "code-unknown"
    assert "507999" in found["what"]
    assert "internal error" in found["what"]
    assert "507998" not in json.dumps(found)


def test_a_known_code_without_a_known_cause_has_its_meaning(tmp_path: Path) -> None:
    found = root(judged(tmp_path / "a.log", "RuntimeError: x, error code is 507013\n"))
    assert found["id"] == "code"
    assert "507013" in found["what"]
    assert "system DMA" in found["what"]
    assert "rt_error_codes.h" in found["why"]
