# SPDX-License-Identifier: Apache-2.0
"""Says, in apex's own way, that the fused kernels are not there."""

from __future__ import annotations

from typing import Any


class MultiTensorApply:
    available = False
    import_err = ImportError("this apex is a stand-in of cannery's simulator: no fused kernels")

    def __init__(self, chunk_size: int) -> None:
        self.chunk_size = chunk_size

    def __call__(self, op: Any, noop_flag: Any, tensor_lists: Any, *arguments: Any) -> Any:
        raise self.import_err


multi_tensor_applier = MultiTensorApply(2048 * 32)

__all__ = ["MultiTensorApply", "multi_tensor_applier"]
