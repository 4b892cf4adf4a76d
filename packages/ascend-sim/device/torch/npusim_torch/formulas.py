# SPDX-License-Identifier: Apache-2.0
"""The functions that expressions can use beside torch's: one namespace out of several modules."""

from __future__ import annotations

from typing import Any

from . import (
    formulas_attention,
    formulas_basic,
    formulas_experts,
    formulas_gated,
    formulas_index,
    formulas_infer,
    formulas_linear,
    formulas_norm,
    formulas_older,
    formulas_quantise,
    formulas_recurrent,
    formulas_rotary,
    formulas_vocabulary,
)

MODULES: tuple[Any, ...] = (
    formulas_attention,
    formulas_basic,
    formulas_experts,
    formulas_gated,
    formulas_index,
    formulas_infer,
    formulas_linear,
    formulas_norm,
    formulas_older,
    formulas_quantise,
    formulas_recurrent,
    formulas_rotary,
    formulas_vocabulary,
)
NAMES = {name: getattr(module, name) for module in MODULES for name in module.__all__}
