# SPDX-License-Identifier: Apache-2.0
"""Where inf and NaN are normal."""

from __future__ import annotations

from dataclasses import dataclass

from .operators import Level, Operator, Tensor

TEAM = "910B team notes, 2024-11-10"
RULES = "mindstudio-probe 26.2.0, core/overflow_check/ignore_rules.yaml"
IGNORED = "mindstudio-probe 26.2.0, pytorch/dump/api_dump/builtin_ignore_ops.yaml"
FILL = "mindstudio-probe 8.3.0, nan_analyze/utils.py"


@dataclass(frozen=True)
class Reason:
    """Why it is normal, and who says so."""

    text: str
    source: str


_EMPTY = Reason("the memory is not initialized", f"{TEAM}; {RULES}")
_FILLED = Reason("the program writes this value", f"{TEAM}; {FILL}")
_BUFFER = Reason("the buffer is overwritten with what arrives", f"{RULES}; {IGNORED}")
_MASKED = Reason("the masked values are replaced", RULES)
_UNUSED = Reason("this output is not part of the result", IGNORED)

_INITIALIZE = {"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided"}
_PLACES: dict[str, tuple[Reason, tuple[str, ...]]] = {
    "distributed.recv": (_BUFFER, ("input_args[0]", "input_kwargs.tensor")),
    "distributed.irecv": (_BUFFER, ("input_args[0]", "input_kwargs.tensor")),
    "distributed.all_gather": (_BUFFER, ("input_args[0]", "input_kwargs.tensor_list")),
    "distributed.gather": (_BUFFER, ("input_args[1]", "input_kwargs.gather_list")),
    "distributed.scatter": (_BUFFER, ("input_args[0]", "input_kwargs.tensor")),
    "distributed.all_to_all": (_BUFFER, ("input_args[0]", "input_kwargs.output_tensor_list")),
    **{
        f"distributed.{name}": (_BUFFER, ("input_args[0]", "input_kwargs.output"))
        for name in ("reduce_scatter", "_reduce_scatter_base", "reduce_scatter_tensor")
    },
    **{
        f"distributed.{name}": (
            _BUFFER,
            ("input_args[0]", "input_kwargs.output", "input_kwargs.output_tensor"),
        )
        for name in ("all_to_all_single", "all_gather_into_tensor", "_all_gather_base")
    },
    "distributed.isend": (_UNUSED, ("output[0]", "output")),
    "npu.npu_fusion_attention": (_UNUSED, ("output[4]", "output[5]")),
    "tensor.masked_fill_": (_MASKED, ("input_args[0]",)),
}
"""API to the places of its tensors that do not count."""


def harmless(operator: Operator, tensor: Tensor) -> Reason | None:
    """Why it does not matter that ``tensor`` of ``operator`` is not finite; None if it does."""
    if tensor.place.startswith("output") and not operator.is_module:
        if operator.api.partition(".")[2] in _INITIALIZE:
            return _EMPTY
        if tensor.level <= _written(operator):
            return _FILLED
    reason, places = _PLACES.get(operator.api, (None, ()))
    return reason if any(_is_at(tensor.place, place) for place in places) else None


def _written(operator: Operator) -> Level:
    """The highest level of the numbers that the program has passed to ``operator``."""
    levels = (tensor.level for tensor in operator.inputs if tensor.scalar)
    return max(levels, default=Level.FINITE)


def _is_at(place: str, parent: str) -> bool:
    return place == parent or place.startswith((parent + "[", parent + "."))
