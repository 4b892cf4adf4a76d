# SPDX-License-Identifier: Apache-2.0
"""Messages of installers, containers, launchers and settings, with their own names and numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.test_evidence import SITE, frame, reported, traceback

REFINED = [
    (
        (
            "ERROR: Could not find a version that satisfies the requirement nine==9 "
            "(from versions: 7, 8)"
        ),
        "no nine==9",
        "one of those versions",
    ),
    (
        "a.cpp:1:2: fatal error: torch_npu/nine.h: No such file",
        "torch_npu/nine.h",
        "torch_npu.__file__",
    ),
    ("AssertionError: size nine (8) must divide number ten (28)", "(28) cannot be", "divides 28"),
    ("ModuleNotFoundError: No module named 'transformers.nine'", "nine", "pip show transformers"),
    (
        "[ERROR] runtime: ERROR: owner not right /opt/nine 1001",
        "/opt/nine",
        "chown root:root /opt/nine",
    ),
    (
        "ValueError: Unknown engine: nine. Must be one of ['a', 'b'].",
        "'nine' as engine",
        "newest pair",
    ),
    ("[ERROR] no cards: /dev/davinci_manager not exist", "/dev/davinci_manager", "--device /dev"),
    (
        "ImportError: libmindspore_nine.so: cannot open shared object file",
        "_nine.so",
        "find / -name",
    ),
    (
        "RuntimeError: E40024: Failed call Python Func [nine], Reason[x]",
        "Func [nine]",
        "import tbe",
    ),
    ("panic: runtime error: index out of range [9]", "index out of range [9]", "CRDs"),
    (
        'level=error msg="failed to open nine: x is not supported"',
        "nine",
        "switch that feature off",
    ),
    (
        'Warning  FailedX  3s  kubelet  no runtime for "ascend" is configured',
        "ascend",
        "containerd",
    ),
    (
        "RuntimeError: Could not run 'torchvision::nine' with arguments from the 'NPU' backend.",
        "::nine",
        "torchvision_npu",
    ),
    (
        'CMake Error at a:2:\n  Could not find a package configuration file provided by\n "Nine"',
        "Nine",
        "-DNine_DIR",
    ),
    (
        "E10016: Opname [nine] specified in [--input_shape] is not found in the model.",
        "no input nine",
        "NAME:1",
    ),
    (
        "E19010: No parser is registered for Op [/m/Nine, optype [ai.onnx::13::Nine]].",
        "operator Nine",
        "opset_version=11",
    ),
    (
        "[ERROR] load model from file failed, model file is a.om, errorCode is 500002",
        ".om model",
        "--soc_version=",
    ),
    (
        "[ERROR] input size mismatch: model input size is 602112, but the given is 150528",
        "602112 and 150528",
        "AIPP",
    ),
    (
        "ValueError: The environment variable NINE_FILE is not set",
        "NINE_FILE is not set",
        "export NINE_FILE",
    ),
    (
        "RuntimeError: NINE_TIMEOUT value [9] is invalid, it should be in range [120, 7200]",
        "[120, 7200]",
        "export NINE",
    ),
    ("PermissionError: [Errno 13] Permission denied: '/opt/nine'", "/opt/nine", "chown -R"),
    (
        "E1: error\nthe current working operator name is NineOperation",
        "NineOperation of ATB",
        "ATB_LOG_TO_STDOUT",
    ),
    (
        "[ERROR] TBE(1,python3): Unsupported soc version Ascend910_9",
        "Ascend910_9",
        "SOC_VERSION=Ascend910_9",
    ),
    (
        (
            "AssertionError: Check batch related parameters. train_batch_size is not "
            "equal to a * b * c 32 != 4 * 1 * 2"
        ),
        "32, and must be 4 * 1 * 2",
        'write "auto"',
    ),
    (
        "ValueError: max_model_len (9000) is greater than the derived max_model_len (x=8000)",
        "8000",
        "Set max_model_len to 8000",
    ),
    (
        (
            "subprocess.CalledProcessError: Command '['/usr/bin/gcc']' returned 1\n"
            "a.c:2:10: fatal error: Python.h: No such file or directory"
        ),
        "Python.h",
        "python3-dev",
    ),
    (
        (
            "make: relocation error: /usr/lib64/libnine.so.2: symbol nine version N_7 not defined "
            "in file libten.so.7 with link time reference"
        ),
        "another libten.so.7",
        "env -u LD_LIBRARY_PATH make",
    ),
    (
        "OSError: libatb.so: cannot open shared object file: No such file",
        "NNAL",
        "Ascend-cann-nnal",
    ),
    ("Failed to load the libascendcl.so dynamic library.", "libascendcl.so", "set_env.sh"),
    (
        "pip install .\nModuleNotFoundError: No module named 'mindspore'",
        "does not see mindspore",
        "--no-build-isolation",
    ),
    ('#error "We need GCC 9 or later."', "GCC 9 or newer", "CC=... CXX=..."),
    (
        "E10001: Value [-1] for parameter [nine] is invalid",
        "input nine",
        '--input_shape="nine:1,3,224,224"',
    ),
    (
        "E16005: The model has [2] [--domain_version] fields, but only one is allowed.",
        "2 sets of operators",
        "opset_import.remove",
    ),
    (
        "EK0001: Path [/a/中] for [p] is invalid. The Path name can only contain A-Za-z0-9-_.",
        "/a/中",
        "mkdir -p",
    ),
    (
        (
            "call aclnnNine failed, The binary_info_config.json of socVersion [ascend910_93] does "
            "not support opType [NineCustom]."
        ),
        "NineCustom for ascend910_93",
        'AddConfig("ascend910_93")',
    ),
    (
        "EZ1001: tensor 0 not implemented for DT_UINT64, should be in dtype support list [DT_INT8]",
        "DT_UINT64",
        ".to(torch.int64)",
    ),
    (
        "EZ9903: Interface aclnnNine\nversions V1 to V4 are no longer supported.",
        "aclnnNine",
        "ls $A",
    ),
    (
        "  Value error, Invalid value '' for VLLM_NINE_BACKEND. Valid options: ['A'].",
        "VLLM_NINE_BACKEND is ''",
        "unset VLLM_NINE_BACKEND",
    ),
    ("a.sh:行100: pip3: 未找到命令", "pip3", "python3-pip"),
    ("KeyError: 'nine'", "'nine'", "grep -rn nine"),
    (
        "OSError: /s/torchaudio/lib/a.so: undefined symbol: torch_library_impl",
        "torchaudio was built for another torch",
        "pip install --no-deps torchaudio==",
    ),
    (
        "F0228 07:57:06.699025 1 main.go:133] can not find vnpu config for chip 910B4-1",
        "910B4-1",
        "chipName: 910B4-1",
    ),
    (
        "Warning  FilteringFailed  2m  hami-scheduler  1 CardTypeMismatch(node-1)",
        "CardTypeMismatch",
        "hami.io",
    ),
    ("ERROR: nine (1).whl is not a valid wheel filename.", "nine", "pip download"),
    (
        (
            "[AscTools] [2026-08-03 07:36:44] [ERROR]: ERR_NO:0x0001;ERR_DES: The architecture of "
            "the run package (x86_64) is inconsistent with that of the environment (aarch64)."
        ),
        "for x86_64",
        "$(uname -m).run",
    ),
    (
        (
            "2026-01-01 10:00:00 - [ERROR] The path nine.json should not be written by user group "
            "or others"
        ),
        "nine.json",
        "chmod go-w nine.json",
    ),
    (
        "AssertionError: Failed to apply prompt replacement for mm_items['image'][0]",
        "no place for its images",
        "apply_chat_template",
    ),
    (
        "RuntimeError: The total number of timed out node is 1. Timed out node list is: {0}",
        "cluster",
        "MS_NODE_TIMEOUT=600",
    ),
    ("Could not run 'aten::_nine' with arguments from the 'NPU' backend.", "aten::_nine", "fused="),
    ("RuntimeError: derivative for aten::nine is not implemented", "aten::nine", '"eager"'),
    ("gcc: fatal error: cannot execute 'cc1plus'\nerror: command 'gcc' failed", "C++", "g++ cmake"),
    ("[ERROR] open input data file failed, path=../data/nine.jpg", "../data/nine.jpg", "ls -l"),
    (
        (
            "[ERROR] HCCL(9,python): Heartbeat Lost Occurred, Cluster Exception Location[IP/ID]:"
            "[192.0.2.41/5], Arrival Time:[x]"
        ),
        "heartbeat of card 5 on 192.0.2.41",
        "card 5 on 192.0.2.41 (192.0.2.41/5) first",
    ),
    (
        (
            "there is an exception of aicore error\nerrorStr: The address is out of range.\n"
            "fault kernel_name=NineMul_0123456789abcdef01, program id=1\n"
        ),
        "The operator NineMul crashed on the card: The address is out of range",
        "ASCEND_LAUNCH_BLOCKING=1",
    ),
    (
        "E0101 10:00:01.000000 1 a.go:330] error retrieving resource lock a/b: Unauthorized",
        "Unauthorized",
        "kubeadm certs",
    ),
    ("[ERROR] HwHiAiUser not exists!", "HwHiAiUser", "useradd -g HwHiAiUser"),
    (
        ("ERROR: Package 'nine' requires a different Python: 3.12.3 not in '<3.12,>=3.9'"),
        "nine is for Python <3.12,>=3.9",
        "uv venv",
    ),
    (
        (
            "ERROR: Could not find a version that satisfies the requirement nine==9 "
            "(from versions: none)"
        ),
        "has nine==9",
        "--extra-index-url",
    ),
    (
        (
            "  x No solution found when resolving dependencies:\n  Because nine==9 "
            "depends on torch==1 and ten==10 depends on torch==2, we can conclude "
            "that\n"
        ),
        "nine==9 depends on torch==1",
        "belong together",
    ),
    (
        "ERROR: a-1.0-cp39-cp39-linux_x86_64.whl is not a supported wheel",
        "cp39",
        "uname -m",
    ),
    (
        (
            "DistNetworkError: The client socket has timed out after 60s while trying "
            "to connect to (192.0.2.9, 29555)."
        ),
        "192.0.2.9, port 29555",
        "nc -vz 192.0.2.9 29555",
    ),
    (
        (
            "Warning  FailedScheduling  1s  default-scheduler  0/3 nodes are "
            "available: 3 node(s) had untolerated taint {a: b}."
        ),
        "untolerated taint",
        "tolerate",
    ),
    (
        (
            "docker: Error response from daemon: error gathering device information "
            'while adding custom device "/dev/davinci9": no such file or directory.'
        ),
        "/dev/davinci9",
        "ls -ld /dev/davinci9",
    ),
    (
        "KeyError: 'qwen9_next'",
        "qwen9_next",
        "pip install -U transformers",
    ),
    (
        ("Exception: data did not match any variant of untagged enum ModelWrapper at line 9"),
        "tokenizers",
        "pip install -U tokenizers",
    ),
    (
        "No module named 'vllm.nine.ten'",
        "vllm.nine.ten",
        "table of versions",
    ),
    (
        "RuntimeError: DataLoader worker (pid(s) 99) exited unexpectedly",
        "99",
        "--shm-size",
    ),
    (
        "ValueError: Attention backend FLASH_NINE is not supported.",
        "FLASH_NINE",
        "unset VLLM",
    ),
    (
        "RuntimeError: Unable to JIT load the nine op due to it",
        "operator nine",
        "ds_report",
    ),
    (
        "AssertionError: Default process group is not initialized",
        "group of processes",
        "torchrun",
    ),
    (
        "exec /usr/bin/nine.sh: no such file or directory",
        "/usr/bin/nine.sh",
        "sed -i",
    ),
    (
        ('failed to solve: process "/bin/sh -c nine" did not complete successfully: exit code: 9'),
        "/bin/sh -c nine",
        "--progress=plain",
    ),
    (
        "ninja: error: '/a/libnine.so', needed by 'b.so', missing and no known rule",
        "libnine.so",
        "ls -l",
    ),
    (
        "RuntimeError: param is different: rank 0 has 9 but rank 1 has 8",
        "rank 0 has 9",
        "DETAIL",
    ),
    (
        "EZ9999: When PA enabled, blockSize(9) must be multiple of 128",
        "128",
        "--block-size 128",
    ),
    (
        ("AssertionError: num_heads (27) must be divisible by tensor_parallel_size (8)"),
        "num_heads (27) cannot be divided by tensor_parallel_size (8)",
        "divides 27",
    ),
    (
        ("E10001: Value [Nine9] for parameter [--soc_version] is invalid. Reason: unknown chip"),
        "Nine9",
        "npu-smi info",
    ),
    (
        "[ERROR] The list of missing packages: [DKMS, gcc].",
        "DKMS",
        "apt-get install -y dkms",
    ),
    (
        ("Memory not enough: current free memory size[9] is smaller than required size[99]"),
        "99 are asked for",
        "batch_size",
    ),
    (
        "NotImplementedError: Cannot copy out of meta tensor; no data!",
        "meta tensor",
        "device_map",
    ),
    (
        "RuntimeError: Ascend kernel runtime initialization failed.",
        "MindSpore",
        "run_check",
    ),
    (
        "RuntimeError: HCCL communicator init failed",
        "communication between",
        "HCCL_SOCKET_IFNAME",
    ),
    (
        ("EE1001: Set visible device failed, invalid device=9, input visible devices:9"),
        "names card 9",
        "ls /dev/davinci",
    ),
]


@pytest.mark.parametrize(("log", "what", "mend"), REFINED)
def test_a_message_is_told_with_its_own_names(
    log: str, what: str, mend: str, tmp_path: Path
) -> None:
    found = reported(tmp_path, log)
    assert what in found["what"]
    assert mend in found["mend"]


def test_versions_and_settings_of_the_log_are_beside_the_cause(tmp_path: Path) -> None:
    log = (
        "INFO Initializing a V1 LLM engine (v0.9.1) with config: model='a', dtype=torch.float16,"
        " tensor_parallel_size=2, enforce_eager=True\nKeyError: 'nine'\n"
    )
    found = reported(tmp_path, log)
    assert found["here"] == "vllm 0.9.1, tensor_parallel_size 2, dtype float16, enforce_eager True"


@pytest.mark.parametrize(("eager", "advised"), [("True", False), ("False", True)])
def test_what_is_off_already_is_not_advised(eager: str, advised: bool, tmp_path: Path) -> None:
    head = f"config: enforce_eager={eager}\n"
    path = f"{SITE}/vllm_ascend/compilation/acl_graph.py"
    found = reported(tmp_path, head + traceback(frame(path), error="ValueError: nine"))
    assert ("--enforce-eager" in found["mend"]) == advised


def test_an_unsupported_feature_is_told_where_a_package_refuses_it(tmp_path: Path) -> None:
    error = "ValueError: Nine tails are not supported yet on this platform."
    found = reported(tmp_path, traceback(frame(f"{SITE}/vllm/a.py"), error=error))
    assert found["what"].startswith("This release does not support it: Nine tails")
    assert "switch that feature off" in found["mend"]


def test_advice_of_a_warning_beside_it_is_not_that_of_a_failure(tmp_path: Path) -> None:
    warning = "WARNING 01-01 10:00:00 [a.py:1] Please use NINE_IP instead of the old variable.\n"
    assert "NINE_IP" not in reported(tmp_path, f"{warning}KeyError: 'labels'\n")["mend"]


def test_advice_for_other_devices_is_not_repeated(tmp_path: Path) -> None:
    log = "ImportError: the package flash_attn is not installed. Please install flash_attn.\n"
    found = reported(tmp_path, log + "No module named 'flash_attn'\n")
    assert "Please install" not in found["mend"]


def test_the_headline_of_a_broad_cause_has_the_reason(tmp_path: Path) -> None:
    found = reported(tmp_path, "EZ1001: the axis nine must be ten.\nerror code is 161002\n")
    assert "the axis nine must be ten" in found["what"]


@pytest.mark.parametrize(
    "line",
    [
        "INFO config: block_size=16, num_gpu_blocks=1024 (port 8000 in use by us)",
        "INFO rank 0: tensor sizes [4, 8] and [4, 9] were seen",
    ],
)
def test_settings_beside_an_exception_do_not_explain_it(line: str, tmp_path: Path) -> None:
    found = reported(tmp_path, f"{line}\nKeyError: 'labels'\n")
    assert found["what"].startswith("The key 'labels' is not there")
