# SPDX-License-Identifier: Apache-2.0
"""Cases that cannot be as on the CPU, and why: the reason is not the device's."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Explanation:
    """Cases by operator, by their name and by what was found; each a regular expression."""

    operator: str
    case: str
    found: str
    reason: str

    def fits(self, operator: str, case: str, found: str) -> bool:
        return bool(
            re.fullmatch(self.operator, operator)
            and re.search(self.case, case)
            and re.search(self.found, found)
        )


NN = r"nn\.functional\."
EXPLANATIONS = (
    Explanation(
        rf"{NN}max_pool[12]d",
        "",
        "torch.int8",
        "torch_npu returns the hardware's mask of bits in place of indices",
    ),
    Explanation(
        rf"{NN}gelu",
        r"\[1\]",
        "wrong",
        "torch_npu calls aclnnGelu whatever `approximate` is",
    ),
    Explanation(
        r"topk|kthvalue|sort|argsort|msort",
        "",
        "wrong.*torch.int64",
        "equal elements may come in any order",
    ),
    Explanation(
        r"vdot|cov|corrcoef|linalg\.vecdot",
        "complex",
        "wrong",
        "torch_npu hands over conjugated views as they are in memory",
    ),
    Explanation(
        r"addmv|addbmm|baddbmm|addmm.*|addr",
        "int64",
        "wrong",
        "fractions as alpha and beta of integers: PyTorch cuts them off first, the device does not",
    ),
    Explanation(
        rf"{NN}avg_pool.*",
        "int64",
        "wrong",
        "means of integers, which the hardware does not compute, are cut off otherwise",
    ),
    Explanation(
        r"(_)?native_batch_norm(_legit)?",
        r"\[1\]",
        "wrong",
        "torch_npu returns saved statistics in evaluation too",
    ),
    Explanation(
        r"expm1|.*",
        "complex64",
        "wrong: .*float32.* not .*complex64",
        "torch_npu returns real numbers",
    ),
)


def explanation(operator: str, case: str, found: str) -> str | None:
    """Why a case is not as on the CPU, where that is known."""
    reasons = (e.reason for e in EXPLANATIONS if e.fits(operator, case, found))
    return next(reasons, None)
