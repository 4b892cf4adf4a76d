# SPDX-License-Identifier: Apache-2.0
"""Stand-in for Ascend apex, made by cannery's simulator: it can be imported, not trained with."""

from . import amp, multi_tensor_apply, optimizers

__stand_in__ = True

__all__ = ["amp", "multi_tensor_apply", "optimizers"]
