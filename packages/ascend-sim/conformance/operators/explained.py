# SPDX-License-Identifier: Apache-2.0
"""Cases that cannot be as on the CPU, and why: the reason is not the device's.

Files of the sources are those of op-plugin, torch_npu's operators.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Explanation:
    """Cases by operator, by their name and by their result; each a regular expression."""

    operator: str
    case: str
    found: str
    reason: str
    source: str

    def fits(self, operator: str, case: str, found: str) -> bool:
        """Whether it explains the result of a case."""
        return bool(
            re.fullmatch(self.operator, operator)
            and re.search(self.case, case)
            and re.search(self.found, found)
        )


FUNCTIONS = "config/op_plugin_functions.yaml"
NN = r"nn\.functional\."
EXPLANATIONS = (
    Explanation(
        "_chunk_cat",
        "",
        "Stride calculation overflowed|integer multiplication overflow",
        "torch_npu does not wrap a negative dimension, and uses places outside of the shapes; "
        "corrected in its source on 2026-06-04",
        "ops/opapi/ChunkCatKernelOpApi.cpp",
    ),
    Explanation(
        rf"{NN}max_pool[12]d",
        "",
        r"torch\.int8",
        "without torch.npu.use_compatible_impl(True), torch_npu returns the mask of "
        "aclnnMaxPool2dWithMask in place of indices",
        "ops/opapi/MaxPool2dWithIndicesKernelNpuOpApi.cpp",
    ),
    Explanation(
        rf"{NN}gelu",
        r"[13579]\]",  # these ask for tanh
        "^wrong: ",
        "without torch.npu.use_compatible_impl(True), torch_npu ignores `approximate`",
        "ops/opapi/GeluOutKernelNpuOpApi.cpp, GeluBackwardKernelNpuOpApi.cpp",
    ),
    Explanation(
        r"vdot|linalg\.vecdot",
        "complex",
        "^wrong: ",
        "torch_npu computes vdot as aclnnDot, which does not conjugate",
        f"{FUNCTIONS}: vdot",
    ),
    Explanation(
        "cov|corrcoef",
        "complex",
        "^wrong: ",
        "PyTorch leaves the conjugation of a product's arguments to the backend, and torch_npu's "
        "product reads conjugated views as they are in memory",
        "ops/opapi/MmKernelNpuOpApi.cpp",
    ),
    Explanation(
        "_?native_batch_norm(_legit)?",
        "",
        r"^wrong: .* not .*'\(0,\) torch\.",
        "torch_npu returns saved statistics in evaluation too; the CPU returns empty ones",
        f"{FUNCTIONS}: native_batch_norm",
    ),
    Explanation(
        "native_layer_norm",
        "",
        r"^wrong: .*'\(0,\) torch\.float32 \[\]'.* not ",
        "of no rows, torch_npu returns statistics without the dimensions of the input",
        "ops/opapi/LayerNormKernelNpuOpApi.cpp",
    ),
    Explanation(
        "stft",
        "",
        "'stft' is not differentiable with respect to argument 'window'",
        "torch_npu declares the window as not differentiable",
        "config/derivatives.yaml: stft",
    ),
    Explanation(
        "expm1",
        "complex64",
        "^wrong: ",
        "torch_npu returns real numbers",
        f"{FUNCTIONS}: expm1",
    ),
    Explanation(
        "logit",
        "int64|bool",
        r"^wrong: .*torch\.(int64|bool).* not .*float",
        "torch_npu returns integers and booleans for integers and booleans",
        "ops/opapi/LogitKernelNpuOpApi.cpp",
    ),
    Explanation(
        rf"{NN}binary_cross_entropy_with_logits",
        "float32",
        "^wrong: ",
        "torch_npu declares the target as not differentiable",
        "config/derivatives.yaml: binary_cross_entropy_with_logits",
    ),
)


def explanation(operator: str, case: str, found: str) -> Explanation | None:
    """Why a case is not as on the CPU, where that is known."""
    return next((e for e in EXPLANATIONS if e.fits(operator, case, found)), None)
