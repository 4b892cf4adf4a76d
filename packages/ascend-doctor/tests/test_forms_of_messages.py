# SPDX-License-Identifier: Apache-2.0
"""A message whose cause has no rule is explained by its form, with its own names and numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.test_evidence import SITE, frame, reported, traceback

FORMS = [
    ("RuntimeError: cannot pin memory of the buffer", "host", "ulimit -l"),
    (
        'Error from server (Forbidden): no: User "system:node:a" cannot list resource "pods"',
        "system:node:a may not list pods",
        "admin.conf",
    ),
    (
        'Error from server (NotFound): error when creating "a.yaml": namespaces "train" not found',
        "namespace train",
        "kubectl create namespace train",
    ),
    (
        'Error from server (NotFound): configmaps "rings" not found',
        "no configmaps with the name rings",
        "kubectl get configmaps -A",
    ),
    ("ValueError: max_tokens (4096) exceeds the room of the cache (2048).", "4096", "to 2048"),
    ("TypeError: 'NoneType' object is not subscriptable", "subscriptable", "Failed to import"),
    ("NameError:name 'folder' is not defined", "'folder'", "newer release"),
    ("RuntimeError: this package requires Python >=3.11", "Python >=3.11", "python3 --version"),
    ("RuntimeError: Not enough NPUs, 4 asked", "4 asked", "ray start"),
    ("NotImplementedError: no scheme for W2A16", "W2A16", "W8A8"),
    ("RuntimeError: Missing key(s) in state_dict: 'a.b'", "state_dict", "config.json"),
    ("UnicodeDecodeError: 'utf-8' codec can't decode byte 0xff", "utf-8", "iconv"),
    ("OSError: We couldn't connect to 'https://hub.test' to load it", "hub.test", "HF_ENDPOINT"),
    ("HTTPError: 403 Client Error: Forbidden", "403", "HF_TOKEN"),
    (
        "ValueError: model type `new9` but Transformers does not recognize this architecture",
        "new9",
        "pip install -U transformers",
    ),
    ("terminate called after throwing an instance of 'std::length_error'", "length_error", "torch"),
    ("ModuleNotFoundError: No module named 'xformers.a'; 'xformers' is not a package", "", "GPUs"),
    ("ImportError: cannot import name 'a' from 'tbe.dsl' (unknown location)", "tbe.dsl", "set_env"),
    ("ModuleNotFoundError: No module named 'cv2'", "cv2", "install opencv-python-headless"),
    ("a.c:1:9: fatal error: numa.h: No such file or directory", "numa.h", "libnuma-dev; dnf"),
    ("/usr/bin/ld: cannot find -lopenblas", "libopenblas", "dnf install openblas-devel"),
    ("a.cpp:3:1: error: use of undeclared identifier 'abc'", "uses abc", "release notes"),
    ("CMake Error at a.cmake:3 (message):\n  no version in ROOT\n", "no version in ROOT", "-D"),
    ("Warning  BackOff  kubelet  Back-off restarting failed container", "Back-off", "--previous"),
    ("MEM: [ERROR] Open device 3 failed.", "card 3", "set_env.sh"),
    ("ValueError: block_size must be multiple of 128", "block_size must", "feature off"),
    ("NotImplementedError: Could not run '_C::awq_gemm' here", "awq", "msModelSlim"),
    ("ValueError: gptq quantization is currently not supported in npu.", "gptq", "W8A8"),
    (
        "ValueError: Model architectures ['NewLM'] are not supported for now.",
        "NewLM",
        "vllm-ascend",
    ),
    ("ValueError: The model type new_next is not supported in swift", "new_next", "list of models"),
    ("ValueError: Template new_nothink does not exist.", "new_nothink", "--help"),
    ("OSError: AF_UNIX path length cannot exceed 107 bytes: '/a'", "107", "--temp-dir"),
    ("UnpicklingError: Weights only load failed. This file", "torch.load", "weights_only=False"),
    ("torch._dynamo.exc.Unsupported: call_function x", "torch.compile", "TORCHDYNAMO_DISABLE=1"),
    (
        "OnnxError: Exporting the operator 'aten::a' to ONNX opset version 11 is not supported.",
        "aten::a cannot be exported to opset 11",
        "opset_version=17",
    ),
    (
        "FileNotFoundError: [Errno 2] No such file or directory: '/root/.triton/cache/a/b.so'",
        "kernel cache",
        "TRITON_CACHE_DIR",
    ),
    (
        "E0101 10:00:00.000000 1 main.go:33] failed: dial unix /a/kubelet.sock: no such file",
        "kubelet.sock",
        "systemctl status kubelet",
    ),
    ("[ERROR] load model failed, file model.om does not exist", "model.om", "ls -l model.om"),
    ("RuntimeError: [ERROR] Profiling is started already", "no cause", "search the message"),
    ("hi_mpi_vpc_resize failed, ret = 0xa0078003", "no cause", "issues"),
    ('time=2025-01-01T10:00:00Z level=ERROR msg="runner ended: exit status 2"', "error", "issues"),
    ("Error! Bad return status for module build on kernel: 5.15.0-1", "5.15.0-1", "uname -r"),
    ("IndexError: index 9 is out of bounds for dimension 0 with size 8", "index 9", "resize_token"),
    ("TemplateError: Conversation roles must alternate", "roles must", "--chat-template"),
    ("Error: maximum context length is 8192 tokens. You sent 9000 tokens", "8192", "to 8192"),
    ("RuntimeError: Could not determine value of SOC_VERSION", "SOC_VERSION", "Ascend910B1"),
    ("EOFError: Ran out of input", "Ran out of input", "delete it"),
    ("fatal: detected dubious ownership in repository at '/w/a'", "/w/a", "safe.directory"),
    ("LookupError: setuptools-scm was unable to detect version for /w.", "version", "PRETEND"),
    ("error: externally-managed-environment", "takes no packages", "venv"),
    ("E: Unable to locate package python3.19", "python3.19", "apt-get update"),
    ("[ERROR] npu_gating: Unsupported expert count 384", "Unsupported expert", "feature off"),
    ("AssertionError: kv_connector Shared is not registered", "Shared", "plugin"),
    ("Allocate failed due to no healthy devices present", "unhealthy", "npu-smi info"),
]


@pytest.mark.parametrize(("log", "what", "mend"), FORMS)
def test_a_message_is_explained_by_its_form(log: str, what: str, mend: str, tmp_path: Path) -> None:
    found = reported(tmp_path, log)
    assert what in found["what"]
    assert mend in found["mend"]


def test_advice_of_the_log_is_the_answer_where_no_cause_is_known(tmp_path: Path) -> None:
    log = "ERROR: task failed: No engine here. Please give one, e.g. mount /run/engine.sock"
    found = reported(tmp_path, log)
    assert "No engine here" in found["what"]
    assert "/run/engine.sock" in found["mend"]


def test_a_failed_fall_back_names_the_operator_of_the_warning_before_it(tmp_path: Path) -> None:
    warning = (
        "[W] The operator 'aten::lu' is not currently supported on the NPU backend and"
        " will fall back to run on the CPU\n"
    )
    end = "RuntimeError: a INTERNAL ASSERT FAILED at b.h:1\nAllocator for npu is none\n"
    assert "aten::lu" in reported(tmp_path, warning + end)["what"]
    assert "aten::lu" not in reported(tmp_path, warning + "KeyError: 'labels'\n")["what"]


def test_a_traceback_that_ends_in_a_python_package_of_cann(tmp_path: Path) -> None:
    text = traceback(frame(f"{SITE}/te_fusion/a.py"), error="KeyError: 'folder'")
    assert "te_fusion" in reported(tmp_path, text)["what"]


def test_a_version_that_a_warning_calls_wrong_explains_a_crash_after_it(tmp_path: Path) -> None:
    warning = (
        "[WARNING] ME(1:2,Main):2024-12-06-12:23:11.1 [a.py:3] MindSpore version 2.3.1 and Ascend"
        " AI software package (A)version 7.5 does not match, the version of software package"
        " expect one of ['7.2']\n"
    )
    assert reported(tmp_path, warning + "Segmentation fault\n")["id"] == "mindspore-cann"


def test_a_symbol_of_cann_that_another_program_misses_is_not_blamed_on_torch_npu(
    tmp_path: Path,
) -> None:
    log = "ImportError: /opt/a/libmine.so: undefined symbol: _ZN2ge8OperatorC1Ev"
    found = reported(tmp_path, log)
    assert "libmine.so" in found["what"]
    assert "torch_npu" not in found["mend"]
