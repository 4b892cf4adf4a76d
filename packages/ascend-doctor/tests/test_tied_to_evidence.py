# SPDX-License-Identifier: Apache-2.0
"""Causes that a log has to give evidence of, and whose code a failure is."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_doctor.log_report import examine_logs
from ascend_doctor.report import log_text
from tests.test_evidence import reported

HCCL = "[ERROR] HCCL({0},test):2025-10-24-11:18:29.5 [a.cc:9] [{0}]{1}\n"
CALLED = "Task run failed, base information is streamID:[2], taskID[21], tag[{}_127.1.1.1%e], x"
RANKED = "Task run failed, groupRank information is group:[g], rankSize[2], rankId[{}]."


def _ranks(*calls: str) -> str:
    return "".join(
        HCCL.format(900 + rank, CALLED.format(call)) + HCCL.format(900 + rank, RANKED.format(rank))
        for rank, call in enumerate(calls)
    )


CASES = [
    ("RuntimeError: Compile op Nine failed", "operator for the card", "Triton"),
    ("MLIRCompilationError: ub overflow, requires 9 bits", "Triton kernel", "310P"),
    (
        (
            "RuntimeError: ({'errCode': 'E80000', 'op_name': 'nine', 'param_name': 'strides[0]', "
            "'excepted_value': '1', 'real_value': '2'}, 'x')"
        ),
        "nine takes 1 as strides[0], and got 2",
        "Triton",
    ),
    ("RopeOperation setup failed!", "RopeOperation setup failed", "310P"),
    (
        ".[rank0]:[E903 07:21:23.263967696 compiler_depend.ts:429] RopeOperation setup failed!",
        "RopeOperation setup failed",
        "NNAL of exactly",
    ),
    ("INFO chip Ascend310P3\nRuntimeError: NineOperation setup failed!", "Ascend310P3", "older"),
    (
        "ImportError: /x/nine.so: undefined symbol: _ZN6nine_t3runEbRKN2at6TensorE",
        "its own class nine_t",
        "torch was replaced",
    ),
    (
        "ImportError: /x/nine.so: undefined symbol: _ZN2at4nineERKNS_6TensorE",
        "torch was replaced",
        "own class",
    ),
    (
        "OSError: /opt/nnal/atb/libtbe_adapter.so: \nundefined symbol: _ZN3Mki2DlC1Ev",
        "NNAL are mixed",
        "too old",
    ),
    (
        "NameError: The name 'nine' is not defined, or not supported in graph mode.",
        "'nine' where it is not defined",
        "does not support it",
    ),
    (
        "check aicore num failed, phy_id:0, core_need:4, used:6, total:8 Failed to create vdev",
        "needs 4 AI cores of card 0",
        "docker was told",
    ),
    ("/opt/set_env.sh: line 31: NINE: unbound variable", "uses NINE", "no cause"),
    (
        (
            "(EI0001): Value 1000 for environment variable HCCL_NINE is invalid. "
            "Expected value : range[0, 7]."
        ),
        "HCCL_NINE is 1000, and must be in [0, 7]",
        "is is",
    ),
    (_ranks("AllReduce", "AllGather"), "Rank 0 waits in AllReduce and rank 1 in AllGather", "slow"),
    (
        "[ERROR] AMCT(1,t):nca load model from file failed, ret = 254.",
        "usually this card has no capability group",
        ".om model",
    ),
    (
        HCCL.format(
            9, "set ifname to [nine] by HCCL_SOCKET_IFNAME, but not found in the environment"
        )
        + HCCL.format(9, "get host ip fail by socket Ifname. name[lo] ip[1.1.1.1%lo]"),
        "network card 'nine'",
        "name[lo]",
    ),
    (
        (
            "[ERROR] LITE(9,x,c):2023-11-10-03:19:29.5 Failed to find input x in "
            "input_shape args0:1,3\n"
            "[ERROR] LITE(9,x,c):2023-11-10-03:19:29.6 Convert graph  to om failed."
        ),
        "input is x, and input_shape names args0",
        "could not compile",
    ),
]


@pytest.mark.parametrize(("text", "said", "not_said"), CASES)
def test_cause_has_its_evidence_in_the_log(
    tmp_path: Path, text: str, said: str, not_said: str
) -> None:
    """The headline has the log's own names; no product is named of which the log says nothing."""
    root = reported(tmp_path, text)

    assert said in root["what"]
    assert not_said not in root["what"] + root["why"] + root["mend"]


def test_ranks_in_one_collective_do_not_differ(tmp_path: Path) -> None:
    """The same operation on all ranks is no difference."""
    assert "different" not in reported(tmp_path, _ranks("AllReduce", "AllReduce"))["what"]


def test_remedy_is_not_followed_by_an_all_clear(tmp_path: Path) -> None:
    """What pip leaves in conflict is told, without the sentence that nothing was found."""
    log = tmp_path / "a.log"
    log.write_text("nine 0.6 requires ten~=2.0, but you have ten 1.0 which is incompatible.\n")

    said = log_text(examine_logs([str(log)]))

    assert 'pip install "ten~=2.0" -c' in said
    assert "no failure" not in said


def test_remedy_has_nothing_for_pytorch_in_a_log_of_another_framework(tmp_path: Path) -> None:
    """What MindSpore's program cannot do is left out; in a log of PyTorch it stays."""
    line = "RuntimeError: Malloc device memory failed, nine"

    assert "--gpu-memory" in reported(tmp_path, "import torch\n" + line)["mend"]
    mend = reported(tmp_path, "import mindspore\n" + line)["mend"]
    assert "--gpu-memory" not in mend
    assert "PYTORCH" not in mend
    assert "npu-smi info" in mend


LONG = "INFO step 1\n" * 9
OTHERS = [
    ("RuntimeError: setup failed!", "ATB"),
    ("RuntimeError: Failed to register the compute graph node", "MindSpore"),
    ("RuntimeError: create session fail", "CANN"),
    ("RuntimeError: load model from file fail", ".om"),
    ("ERROR: backend init failed", "MindIE"),
    ("AttributeError: module 'triton.language' has no attribute 'nine'", "replaced"),
    ("ConversionError: converter not found for op nine", "torchair"),
    ("SystemError: PY_SSIZE_T_CLEAN macro must be defined for '#' formats", "option"),
]


@pytest.mark.parametrize(("line", "product"), OTHERS)
def test_log_of_another_program_is_not_explained_with_this_product(
    tmp_path: Path, line: str, product: str
) -> None:
    """A log that never speaks of a product gets no cause of that product."""
    root = reported(tmp_path, LONG + line)

    assert product not in root["what"] + root["why"]


def test_library_of_cann_without_a_symbol_of_cann_shows_two_releases(tmp_path: Path) -> None:
    """torch_npu has no part in it: the library that asks is of CANN as well."""
    root = reported(tmp_path, "/x/lib64/libgraph_base.so: undefined symbol: _ZN2ge4nineEv")

    assert root["id"] == "cann-mixed"
    assert "torch_npu" not in root["mend"]
