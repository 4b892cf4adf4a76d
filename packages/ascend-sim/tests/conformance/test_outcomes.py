# SPDX-License-Identifier: Apache-2.0
"""The measurements of operators: kinds of results, figures, and the page."""

from __future__ import annotations

import pytest

from ascend_sim.command.errors import UsageError
from conformance.operators import report
from conformance.operators.__main__ import require_none_failed
from conformance.operators.outcomes import Outcome, count, failures, outcome
from conformance.operators.run import Results

REFUSED = (
    "RuntimeError: svd_npu only supported Float\n[ERROR] 2026 (PID:1) ERR01002 OPS invalid type"
)
MISSING = (
    "NotImplementedError: Could not run 'aten::mm' with arguments from the 'SparseCsrnpu' backend"
)
TYPE = "other type: ['(2,) torch.int32 [1]'] not ['(2,) torch.int64 [1]']"
FROM_CANN = (
    "RuntimeError: call aclnnAbs failed\n[ERROR] 2026 (PID:1) ERR01100 OPS call acl api failed"
)
BY_THE_CARD = (
    "npusim: aclnnMm: out is int64, and Ascend910B3 takes float32, float16 "
    "(ops-nn/matmul/mat_mul_v3/docs/aclnnMm.md). NPUSIM_LENIENT=1 lets it pass here (error 161002)"
)
BY_ITS_SOURCE = BY_THE_CARD.replace("aclnnMm.md", "aclnnMm.md,ops-nn/matmul/op_api/aclnn_mm.cpp")
MASK = "wrong: ['(2,) torch.int8 [1]'] not ['(2,) torch.int64 [1]']"
STATISTICS = "wrong: ['(2,) torch.float32 [1.0, 2.0]', '(1,) torch.float32 [2.0]'] not "
EMPTY = "['(2,) torch.float32 [1.0, 2.0]', '(0,) torch.float32 []']"
NO_ROWS = (
    "wrong: ['(0, 1) torch.bfloat16 []', '(0,) torch.float32 []'] not "
    "['(0, 1) torch.bfloat16 []', '(0, 1) torch.bfloat16 []']"
)
WINDOW = "RuntimeError: The function 'stft' is not differentiable with respect to argument 'window'"
OVERFLOW = "RuntimeError: Stride calculation overflowed"


@pytest.mark.parametrize(
    ("operator", "found", "expected"),
    [
        ("add", "pass", Outcome.PASS),
        ("add", "hang", Outcome.HANG),
        ("add", "crash: exit -6", Outcome.CRASH),
        ("add", "wrong: 1 not 2", Outcome.WRONG),
        ("nn.functional.max_pool2d", MASK, Outcome.EXPLAINED),
        ("add", MASK, Outcome.WRONG),
        ("_chunk_cat", OVERFLOW, Outcome.EXPLAINED),
        ("add", OVERFLOW, Outcome.ERROR),
        ("native_batch_norm", STATISTICS + EMPTY, Outcome.EXPLAINED),
        ("native_batch_norm", STATISTICS + EMPTY.replace("(0,)", "(1,)"), Outcome.WRONG),
        ("native_layer_norm", NO_ROWS, Outcome.EXPLAINED),
        ("native_layer_norm", STATISTICS + EMPTY, Outcome.WRONG),
        ("stft", WINDOW, Outcome.EXPLAINED),
        ("add", TYPE, Outcome.OTHER_TYPE),
        ("svd", REFUSED, Outcome.REFUSED),
        ("mm", MISSING, Outcome.REFUSED),
        ("mm", BY_THE_CARD, Outcome.REFUSED_BY_CARD),
        ("mm", BY_ITS_SOURCE, Outcome.REFUSED_BY_CARD),
        ("abs", FROM_CANN, Outcome.ERROR),
        ("abs", "npusim: ERR no such operator", Outcome.ERROR),
    ],
)
def test_the_kind_of_a_result(operator: str, found: str, expected: Outcome) -> None:
    assert outcome(operator, "float32[0]", found) is expected


def test_an_operator_refused_for_some_types_can_pass_for_others() -> None:
    results: Results = {
        "mm": {"float32[0]": "pass", "int64[0]": BY_THE_CARD},
        "matmul": {"int64[0]": BY_THE_CARD},
        "add": {"float32[0]": TYPE},
        "svd": {"float32[0]": "pass", "complex64[0]": REFUSED},
        "sparse": {"float32[0]": MISSING},
        "abs": {"float32[0]": "pass", "complex64[0]": FROM_CANN},
        "none": {},
    }
    figures = count(results)
    assert (figures.operators, figures.every, figures.none) == (6, 1, 2)
    assert (figures.accepted, figures.every_accepted) == (4, 3)
    assert (figures.cases, figures.outcomes[Outcome.REFUSED]) == (9, 2)
    assert figures.outcomes[Outcome.REFUSED_BY_CARD] == 2


def test_the_reason_leaves_out_details_of_single_cases() -> None:
    results: Results = {
        "add": {"x": "Inner error: npusim: bad handle 0x7f12\nmore", "y": TYPE},
        "mm": {"x": BY_THE_CARD},
        "nn.functional.max_pool2d": {"x": MASK},
    }
    first, types, by_the_card, explained = (failure.reason for failure in failures(results))
    assert first == "npusim: bad handle"
    assert types == "torch_npu returns int32, the CPU int64"
    assert (
        by_the_card == "aclnnMm takes float32, float16 (ops-nn/matmul/mat_mul_v3/docs/aclnnMm.md)"
    )
    assert "use_compatible_impl" in explained
    assert "MaxPool2dWithIndicesKernelNpuOpApi.cpp" in explained


def test_the_page_has_the_figures_and_a_row_for_each_reason() -> None:
    cases = {"float32[0]": "pass", "float32[1]": "E: a|b", "bool[0]": "E: a|b", "bool[2]": "hang"}
    results = {"forward": {"add": {"float32[0]": "pass", "bool[0]": "pass"}, "sub": cases}}
    page = report.page(results, "a machine", "torch 1")
    assert "Measured with torch 1, on a machine." in page
    assert "| forward | 2 | 1 (50.0 %) | 0 | 2 | 1 (50.0 %) |" in page
    assert "| forward | 6 | 3 | 0 | 0 | 0 | 2 | 0 | 0 | 0 | 1 |" in page
    assert r"| sub | float32 1; bool 0 | error | E: a\|b |" in page
    assert "| sub | bool 2 | hang | hang |" in page
    assert "**float32, bool** (1): add" in page


def test_a_draw_in_which_the_device_fails_is_an_error() -> None:
    require_none_failed(
        {
            "forward": {
                "add": {"int64[0]": REFUSED},
                "mm": {"x": BY_THE_CARD},
                "mul": {"bool[0]": TYPE},
            }
        }
    )
    with pytest.raises(UsageError, match=r"backward add float32\[1\]: hang"):
        require_none_failed({"backward": {"add": {"float32[1]": "hang"}}})
