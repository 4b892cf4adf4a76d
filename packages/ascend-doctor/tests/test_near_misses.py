# SPDX-License-Identifier: Apache-2.0
"""Lines that look alike and have different causes, or none."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_doctor.causes import causes, causes_in
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
        ("ModuleNotFoundError: No module named 'mmcv._ext'", "package-range"),
        ("ModuleNotFoundError: No module named 'mmcv'", "python-package-missing"),
        ("ModuleNotFoundError: No module named 'google.protobuf'", "python-package-missing"),
        ("ModuleNotFoundError: No module named 'utils'", None),
        ("ModuleNotFoundError: No module named 'models.common'", None),
        ("ModuleNotFoundError: No module named 'x.y'; 'x' is not a package", "source-shadow"),
        ("ImportError: libatb_speed.so: cannot open shared object file", "mindie-environment"),
        ("/s/flash_attn_2_cuda.so: undefined symbol: _ZN3c104cuda9SetDeviceEi", "cuda-package"),
        ("/s/torch_npu/lib/libtorch_npu.so: undefined symbol: _ZN3c1010X", "torch-replaced"),
        ("AttributeError: module 'numpy' has no attribute 'float'", "package-gone"),
        ("AttributeError: module 'numpy' has no attribute 'float_'", "numpy-2"),
        ("ImportError: x, please pip install -U transformers", "package-range"),
        ("ImportError: x, please pip install timm", "python-package-missing"),
        ("The server socket has failed to listen on any local network address: -99", None),
        ("code: -98, name: EADDRINUSE", "port-in-use"),
        ("code: -99, name: EADDRNOTAVAIL", "rendezvous"),
        ("RuntimeError: copy_d2d:x.cpp:1 NPU error, error code is 507001", "expandable-segments"),
        ("RuntimeError: synchronize:x.cpp:1 NPU error, error code is 507001", None),
        ("E89999: Inner Error!", None),
        ("E69999: Inner Error!", None),
        ("E80012: x", "operator-compile"),
        ("E61001: x", "operator-arguments"),
        ("E50012: x", "operator-arguments"),
        ("E52012: x", "operator-compile"),
        ("AttributeError: module 'triton.language' has no attribute 'extract'", "triton"),
        ("src/norm.cce:31:9: error: unknown type name 'halff'", "build-failed"),
        ("(worker pid=7) error: cannot initialize a variable of type 'int'", "build-failed"),
        ("fatal error: 'acl/acl.h' file not found", "header-missing"),
        ("RuntimeError: this operator does not support BFLOAT16 here", "bf16-unsupported"),
        ("EZ9999: input x of DT_BF16 is not supported", "bf16-unsupported"),
        ("the cache does not support bfloat16, float16 is taken", None),
        ("[ERROR] DRV(1,python3):x.c:3 query failed, drvRetCode=87", "card-in-use"),
        ("[ERROR] PROFILING(1,python3):x.cpp:3 query failed, drvRetCode=87", "driver-internal"),
        ("dcmi_get_device_health failed, ret code: -8010", "dcmi"),
        ("the device is used. ret is -8020", "card-in-use"),
        ("fatal: unable to access 'https://h/x.git/': Could not resolve host: h", "network"),
        ("KeyError: 'model.layers.0.mlp.gate_proj.weight_scale'", "model-files"),
        ("KeyError: 'weight'", None),
        ("errorStr: Illegal instruction, which is usually caused by unaligned UUB", None),
        ("Illegal instruction (core dumped)", "native-crash"),
        ("ValueError: Bfloat16 is not supported on this device", "bf16-unsupported"),
        ("Error response from daemon: manifest for q/x:v9 not found", "image-missing"),
        ("no matching manifest for linux/amd64 in the manifest list entries", "wrong-architecture"),
        ("Cannot connect to the Docker daemon at unix:///var/run/docker.sock", "docker-daemon"),
        ("bash: vllm: command not found", "command-missing"),
        ("python: can't open file '/w/a.py': [Errno 2] No such file", "command-missing"),
        ("OSError: You are trying to access a gated repo.", "model-files"),
        ("TypeError: f() got an unexpected keyword argument 'x'", None),
        (
            'OCI runtime create failed: exec: "x": executable file not found in $PATH',
            "command-missing",
        ),
        ("OCI runtime create failed: error running prestart hook #0", "container-runtime"),
        ("host='127.0.0.1', port=8000): Failed to establish a new connection", None),
        ("host='index.example', port=443): Failed to establish a new connection", "network"),
        ("libx.so.1: cannot open shared object file: Permission denied", "workdir-not-writable"),
        ("task failed, retcode: 507011", None),
        ("there is a fftsplus sdma error, retcode: 507049", None),
        ("'_OpNamespace' 'npu' object has no attribute 'x'", "package-range"),
        ("'_OpNamespace' '_C_ascend' object has no attribute 'x'", "vllm-ascend-kernels"),
        ("device error, retcode: 507901", None),
        # 561103 is a null pointer: of an operator that takes anything, its kernel is missing.
        ("call aclnnInplaceZero failed, error code is 561103", "kernels-missing"),
        ("call aclnnMoeInitRoutingV3 failed, error code is 561103", None),
        ("EZ9999: x should be 128.[FUNC:Check][FILE:a_tiling.cpp][LINE:131]", "operator-arguments"),
        ("CalledProcessError: Command '['cmake', '--build', '.']' returned", "build-failed"),
        ("CalledProcessError: Command '['guidellm', 'run']' returned", None),
        ("x: Failed to connect to h.example port 443", "network"),
        ("x: Failed to connect to localhost port 8000", None),
        ("ImportError: Please install datasets", "python-package-missing"),
        ("ImportError: Please install transformers>=4.50", None),
        ("Could not run 'npu::npu_x' with arguments from the 'CPU' backend", "tensor-on-cpu"),
        ("Could not run 'aten::x' with arguments from the 'CPU' backend", "operator-unsupported"),
        ("ValueError: x is not supported", None),
        ("groups: cannot find name for user ID 1000", None),
        ("libtorch_npu.so: undefined symbol: _ZN12ErrorManager3xEv", "cann-torch-npu"),
        ("lib.so: undefined symbol: _ZN12ErrorManager3xEv", "symbol-missing"),
        ("undefined symbol: _ZN12ErrorManager3xEv", "cann-torch-npu"),
        (
            "mindie/d_: error while loading shared libraries: l.so: cannot open shared object file",
            "mindie-environment",
        ),
    ],
)
def test_the_cause_of_a_line(line: str, cause: str | None) -> None:
    assert [each.cause.id for each in causes_in(line)][:1] == ([cause] if cause else [])


@pytest.mark.parametrize(
    ("before", "causes"),
    [((SITE,), ["package-range"]), ((SITE, OWN), []), ((OWN, SITE), ["package-range"]), ((), [])],
    ids=["installed", "own program", "own program calls installed", "no frames"],
)
def test_a_wrong_call_blames_the_caller(before: tuple[str, ...], causes: list[str]) -> None:
    assert [each.cause.id for each in causes_in(CALL, lambda: before)] == causes


def test_a_crash_does_not_hide_the_exception_before_it(tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    log.write_text("ModuleNotFoundError: No module named 'acl'\nSegmentation fault (core dumped)\n")
    root = judge_logs([str(log)]).root
    assert root
    assert root.cause.id == "tbe-missing"


FRAME = '  File "/usr/lib/python3/site-packages/{}", line 3, in <module>'


@pytest.mark.parametrize(
    ("frame", "line", "cause"),
    [
        ("tbe/tvm/target.py", "No module named 'scipy'", "decorator-missing"),
        ("sklearn/base.py", "No module named 'scipy'", "python-package-missing"),
        ("bitsandbytes/triton/q.py", "No module named 'triton.ops'", "cuda-package"),
        ("torch_npu/_inductor/a.py", "No module named 'triton.ops'", "triton-ascend-version"),
        ("transformers/models/auto/configuration_auto.py", "KeyError: 'qwen9'", "package-range"),
        ("mine/table.py", "KeyError: 'qwen9'", None),
        ("vllm/a.py", "TypeError: f() got multiple values for argument 'x'", "package-range"),
        ("vllm/a.py", "AttributeError: 'NPUWorker' object has no attribute 'x'", "package-range"),
        ("vllm_ascend/a.py", "AttributeError: 'NPUWorker' object has no attribute 'x'", None),
        ("vllm/a.py", "AttributeError: 'NoneType' object has no attribute 'x'", None),
        ("vllm/config/model.py", "ValueError: x cannot be other than 1", "application-config"),
        ("vllm/engine/arg_utils.py", "AssertionError: x", "application-config"),
        ("vllm/engine/core.py", "ValueError: x cannot be other than 1", None),
        ("vllm/config/model.py", "KeyError: 'x'", None),
    ],
)
def test_who_asked_tells_the_cause(frame: str, line: str, cause: str | None) -> None:
    found = [each.cause.id for each in causes_in(line, lambda: (FRAME.format(frame), "    x = y"))]
    assert found[:1] == ([cause] if cause else [])


def root(tmp_path: Path, *lines: str) -> str:
    log = tmp_path / "run.log"
    log.write_text("\n".join(lines) + "\n")
    found = judge_logs([str(log)]).root
    return found.cause.id if found else ""


KILLED = (
    "[2026-01-01 10:00:01,000] [ERROR] [launch.py:325:x] ['python'] exits with return code = -9"
)
OPERATOR = "RuntimeError: call aclnnAdd failed, error code is 161002"
CRASH = "RuntimeError: x, error code is 507015"
LATER = ("INFO 03-01 10:00:00 [a.py:1] waiting",) * 45
WRAPPER = "  error: subprocess-exited-with-error"


@pytest.mark.parametrize(
    ("lines", "cause"),
    [
        # A signal 9 says nothing of memory where an exception came before it.
        ((KILLED,), "host-memory"),
        (("KeyError: 'config'", KILLED), "exception"),
        (("KeyError: 'config'", "Memory cgroup out of memory: Killed process 7"), "host-memory"),
        (("[ERROR] Cannot open the thing at all", "Segmentation fault"), "error-line"),
        (("Segmentation fault", "[ERROR] Cannot open the thing at all"), "native-crash"),
        # Who waits, waits for the rank that has an exception.
        (("[rank3]: KeyError: 'x'", "[rank0]: EI0002: Notify register times out"), "exception"),
        (("[rank3]: KeyError: 'x'", "[rank3]: EI0002: Notify register times out"), "hccl-timeout"),
        # What wraps a reason is not the reason.
        ((WRAPPER, "      ModuleNotFoundError: No module named 'torch'"), "python-package-missing"),
        ((WRAPPER,), "build-failed"),
        ((OPERATOR, "RuntimeError: x, error code is 107027"), "operator-arguments"),
        (("RuntimeError: x, error code is 107027",), "graph-capture"),
        ((OPERATOR, "EI0015: Failed to collect cluster information"), "operator-arguments"),
        # A package for CUDA that a program tries and does without is no cause.
        (
            ("WARNING: libcudart.so.12: cannot open shared object file", "ValueError: x"),
            "exception",
        ),
        # No reason is known, and that is said.
        (("CANN error: E89999: Inner Error!",), "inner"),
        (("EZ9999: Inner Error!", "RuntimeError: x, error code is 507013"), "code"),
        (("[ERROR] main(7,x):2026-01-01-10:00:00.1 Cannot open the thing at all",), "error-line"),
        (("[ERROR] Cannot open the thing at all", "KeyError: 'x'"), "exception"),
        (("[ERROR] Cannot open the thing at all", "[INFO] {'loss': 1.2}"), ""),
        (("what():  x", "Aborted (core dumped)"), "exception"),
        (("[ERROR] Cannot open the thing at all", "Aborted (core dumped)"), "error-line"),
        (("Exception: x", "[ERROR] Cannot open the thing at all"), "exception"),
        # A list of what can have happened says nothing of what did.
        (("/w/a.cpp:7: CANN error",), "error-line"),
        (("/w/a.cpp:7: CANN error", "EL0003: The argument is invalid"), "code"),
        (("x did not run successfully.", "  error: subprocess-exited-with-error"), "build-failed"),
        (("ERROR: Could not find a version that satisfies the requirement x",), "dev-wheel-index"),
        # What is told long after a crash follows from it.
        ((CRASH, *LATER, "OSError: [Errno 98] Address already in use"), "operator-crash"),
        ((CRASH, "EL0004: Failed to allocate memory"), "card-memory"),
        # A run that went on has a reason of its own for its end.
        (("OSError: [Errno 98] x", "{'loss': 1.2}", "KeyError: 'x'"), "exception"),
        (("WARNING x: OSError: [Errno 98] x", "KeyError: 'x'"), "exception"),
        (("run.sh: line 9: syntax error near unexpected token",), "error-line"),
        (("KeyError: 'x'", "Potential root causes: (1) SIGSEGV or others"), "exception"),
        (("KeyError: 'x'", "The context is gone: rtGetDevMsg execute failed, 107002"), "exception"),
        (("/w/a.cpp:7: GGML_ASSERT(n == m) failed",), "exception"),
        # A program that does without a package says so and starts.
        (("import error: No module named 'triton'", "Running with torchrun..."), ""),
        (
            ("Retrying after connection broken by NewConnectionError", "Successfully installed x"),
            "",
        ),
    ],
)
def test_the_root_cause_of_lines(lines: tuple[str, ...], cause: str, tmp_path: Path) -> None:
    assert root(tmp_path, *lines) == cause


BESIDE = (Path(__file__).parent / "near_misses.txt").read_text(encoding="utf-8")
BESIDE_EACH = [block.split("\n", 1) for block in BESIDE.split("\n=== ")[1:]]
"""The first line, "cause: what is right", and a log."""


@pytest.mark.parametrize(("head", "log"), BESIDE_EACH, ids=[head for head, _ in BESIDE_EACH])
def test_a_pattern_beside_the_reason(head: str, log: str, tmp_path: Path) -> None:
    assert root(tmp_path, log.rstrip("\n")) == head.partition(":")[2].strip()


def test_every_cause_has_a_log_in_which_it_is_not_the_reason() -> None:
    named = {head.partition(":")[0] for head, _ in BESIDE_EACH}
    harmless = {"note", "bare", "question"}
    assert named == {each.id for each in causes().values() if each.kind not in harmless}


def test_a_vague_code_gets_no_line_of_its_own_beside_a_reason(tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    log.write_text("EZ9999: Inner Error!\nRuntimeError: x, error code is 507015\n")
    outcome = judge_logs([str(log)])
    assert outcome.root
    assert outcome.root.cause.id == "operator-crash"
    assert outcome.follows == ()
