# SPDX-License-Identifier: Apache-2.0
"""A known cause is told with the numbers and names that the lines around it have."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.test_evidence import SITE, frame, reported, traceback
from tests.test_log_reader import judged

OOM = (
    "RuntimeError: NPU out of memory. Tried to allocate 512.00 MiB (NPU 3; 29.50 GiB "
    "total capacity; 28.11 GiB already allocated; 28.11 GiB current active; 10.00 MiB "
    "free; 28.90 GiB reserved)"
)
REFINED = [
    (
        (
            "RuntimeError: SetDevice, error code is 107001\nEE1001: Set device failed, "
            "invalid device, set device=3, valid device range is [0, 2)\n"
        ),
        "Card 3 was asked for, and this process sees 2",
        "--tensor-parallel-size 2",
    ),
    (
        (
            "EE1001: The argument is invalid.Reason: set ASCEND_RT_VISIBLE_DEVICES:5,6 "
            "error, input data rang[0-2)\n"
        ),
        "5,6",
        "numbers below 2",
    ),
    (
        (
            "RuntimeError: NPU out of memory. Tried to allocate 512.00 MiB (NPU 3; "
            "29.50 GiB total capacity; 28.11 GiB already allocated; 28.11 GiB current "
            "active; 10.00 MiB free; 28.90 GiB reserved)"
        ),
        "28.11 GiB of 29.50 GiB",
        "per_device_train_batch_size",
    ),
    (
        (
            "Loading checkpoint shards:  10%|#\nRuntimeError: NPU out of memory. Tried "
            "to allocate 512.00 MiB (NPU 3; 29.50 GiB total capacity; 28.11 GiB "
            "already allocated; 28.11 GiB current active; 10.00 MiB free; 28.90 GiB "
            "reserved)"
        ),
        "does not fit on card 3",
        "ZeRO-3",
    ),
    (
        (
            "ValueError: Free memory on device (20.1/60.9 GiB) on startup is less than "
            "desired GPU memory utilization (0.9, 54.8 GiB)."
        ),
        "20.1 of 60.9 GiB",
        "below 20.1 / 60.9",
    ),
    (
        (
            "ValueError: The model's max seq len (32768) is larger than the maximum "
            "number of tokens that can be stored in KV cache (9344). Try increasing it."
        ),
        "room for 9344 tokens",
        "--max-model-len 9344",
    ),
    (
        ("    Min Available:  3\n        huawei.com/Ascend910:  8\n    Phase:  Pending\n"),
        "3 pod(s) with 8 huawei.com/Ascend910",
        "kubectl describe node",
    ),
    (
        (
            'Warning  FailedMount  kubelet  MountVolume.SetUp failed for volume "a" : '
            "hostPath type check failed: /var/log/plug is not a directory"
        ),
        "/var/log/plug",
        "mkdir -p /var/log/plug",
    ),
    (
        ("serve: error: argument --mode/-m: invalid choice: 'fast9' (choose from 'a', 'b')"),
        "'fast9' for --mode/-m",
        "newer release",
    ),
    (
        "serve: error: unrecognized arguments: --fast-9",
        "--fast-9",
        "--help",
    ),
    (
        (
            "RuntimeError: call aclnnMul failed, detail:EZ1001: x cannot "
            "broadcast.\n        the size of tensor self [4,96] must match the size of "
            "tensor src [4,8,12].\n"
        ),
        "[4,96] and [4,8,12]",
        "newer release",
    ),
    (
        (
            "RuntimeError: aclnnX failed: binary_info_config.json of socVersion "
            "[ascend310b] does not support opType [GatedTopNine]"
        ),
        "no kernel of GatedTopNine for ascend310b",
        "float16",
    ),
    (
        "KeyError: 'model.layers.1.mlp.w9_weight_scale_inv'",
        "FP8",
        "BF16",
    ),
    (
        "KeyError: 'model.layers.1.mlp.w9.deq_scale'",
        "quantised",
        "--quantization ascend",
    ),
    (
        "a.cpp:9:1: fatal error: 'kernel_nine.h' file not found",
        "kernel_nine.h",
        "CANN",
    ),
    (
        "/usr/bin/ld: liba.so: undefined reference to `aclnnNine'",
        "libopapi.so",
        "-lopapi",
    ),
    (
        (
            "/usr/bin/ld: warning: libnine.so, needed by /u/libruntime.so, not found "
            "(try -rpath)\n/u/libruntime.so: undefined reference to `drvNine'"
        ),
        "libnine.so, which libruntime.so needs",
        "-rpath-link",
    ),
    (
        (
            "AssertionError: Current device type: Kind._910_93 does not match the "
            "installed version's device type: Kind._310P, x"
        ),
        "built for 310P, and the card is 910_93",
        "-a3",
    ),
    (
        "ValueError: NINE_BACKEND is set to FLASH9, but it is not here.",
        "FLASH9",
        "unset NINE_BACKEND",
    ),
    (
        ("subprocess.CalledProcessError: Command '['a', '-b']' returned non-zero exit status 9."),
        "ended with 9",
        "Run",
    ),
    (
        "RuntimeError: failed, error code is 100002",
        "initialised twice",
        "set_device",
    ),
    (
        ("EE9999: event wait timeout occurred during task execution, event_id=9, timeout=60s."),
        "60 s in vain for event 9",
        "--enforce-eager",
    ),
    (
        "RuntimeError: aclInit, error code is 507033\nE30003: full\n",
        "Too many processes",
        "npu-smi",
    ),
    (
        "RuntimeError: HCCL function error: x, error code is 5",
        "HCCL:5",
        "HCCL_SOCKET_IFNAME",
    ),
    (
        "RuntimeError: OPS function error: Nine, error code is 500002",
        "graph engine",
        "jit_compile",
    ),
    (
        "RuntimeError: x, error code is 207000",
        "207000",
        "driver",
    ),
]


@pytest.mark.parametrize(("log", "what", "mend"), REFINED)
def test_a_cause_is_told_with_the_values_of_the_log(
    log: str, what: str, mend: str, tmp_path: Path
) -> None:
    found = reported(tmp_path, log)
    assert what in found["what"]
    assert mend in found["mend"]


@pytest.mark.parametrize(
    ("path", "off"),
    [
        ("vllm/spec_decode/a.py", "--speculative-config"),
        ("vllm/v1/structured_output/a.py", "guided-decoding-backend"),
        ("vllm/lora/a.py", "--enable-lora"),
        ("vllm_ascend/compilation/acl_graph.py", "--enforce-eager"),
        ("mindspore/common/_graph_executor.py", "PYNATIVE_MODE"),
    ],
)
def test_a_part_that_can_be_left_out_is_named(path: str, off: str, tmp_path: Path) -> None:
    found = reported(tmp_path, traceback(frame(f"{SITE}/{path}"), error="ValueError: nine"))
    assert off in found["mend"]


def test_a_package_and_its_plugin_are_compared(tmp_path: Path) -> None:
    found = reported(tmp_path, traceback(frame(f"{SITE}/vllm/a.py"), error="KeyError: 'nine'"))
    assert "vllm and vllm_ascend" in found["what"]
    assert "pip show vllm vllm_ascend" in found["mend"]


def test_a_missing_operator_is_explained_by_the_extension_that_did_not_load(tmp_path: Path) -> None:
    found = reported(
        tmp_path,
        "WARNING 01-01 10:00:00 [a.py:1] Failed to import nine_C:/lib/libc.so.6: version"
        " `GLIBC_2.99' not found (required by /s/nine_C.so). It will be disabled.\n"
        "AttributeError: '_OpNamespace' '_C' object has no attribute 'nine'\n",
    )
    assert found["id"] == "glibc-old"
    assert "GLIBC_2.99" in found["what"]


def test_a_failure_in_a_log_of_pytest_is_read_with_its_place(tmp_path: Path) -> None:
    found = reported(
        tmp_path,
        ">       raise RuntimeError(\n"
        "E       RuntimeError: Prefix cache is currently not supported.\n"
        "\n../vllm_ascend/a.py:780: RuntimeError\n=== 1 failed, 3 passed in 2.00s ===\n",
    )
    assert "Prefix cache is currently not supported" in found["what"]
    assert "--no-enable-prefix-caching" in found["mend"]


def test_a_service_that_goes_on_after_an_optional_part_failed_is_healthy(tmp_path: Path) -> None:
    error = "[ERROR] 2026/01/01 10:00:00.000001 1 ping/a.go:68 new manager failed, err: none\n"
    good = "[INFO] 2026/01/01 10:00:01.000001 1 config/b.go:98 update fault config success\n"
    assert judged(tmp_path / "a.log", error)["logs"]["failed"]
    assert not judged(tmp_path / "b.log", error + good)["logs"]["failed"]
