# SPDX-License-Identifier: Apache-2.0
"""Tensors over device memory, and results that go back into it."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import torch

from .table import Parameter

# aclDataType's numbers; older releases of torch lack the last ones.
_NAMES = {
    0: "float32",
    1: "float16",
    2: "int8",
    3: "int32",
    4: "uint8",
    6: "int16",
    7: "uint16",
    8: "uint32",
    9: "int64",
    10: "uint64",
    11: "float64",
    12: "bool",
    16: "complex64",
    17: "complex128",
    27: "bfloat16",
    33: "complex32",
    35: "float8_e5m2",
    36: "float8_e4m3fn",
    37: "float8_e8m0fnu",
}
DTYPES = {code: getattr(torch, name) for code, name in _NAMES.items() if hasattr(torch, name)}
# Types that many of torch's operators do not compute with on the CPU, and what stands in for them.
WIDER = {
    getattr(torch, name): wide
    for name, wide in (
        ("float16", torch.float32),
        ("bfloat16", torch.float32),
        ("float8_e5m2", torch.float32),
        ("float8_e4m3fn", torch.float32),
        ("float8_e8m0fnu", torch.float32),
        ("complex32", torch.complex64),
        ("uint16", torch.int32),
        ("uint32", torch.int64),
    )
    if hasattr(torch, name)
}
FILES: dict[int, memoryview] = {}
"""Files that memory is in, by the number that the program knows them by."""


def dtype_of(code: int) -> torch.dtype:
    """The type of an aclDataType; ValueError where this torch has none."""
    dtype = DTYPES.get(code)
    if dtype is None:
        raise ValueError(f"this torch has no data type for aclDataType {code}")
    return dtype


def _flat(place: tuple[int, int, int], dtype: torch.dtype) -> torch.Tensor:
    """The elements from a place on, in one dimension."""
    file, offset, count = place
    return torch.frombuffer(FILES[file], dtype=dtype, count=count, offset=offset)


@lru_cache(4096)
def view(item: Any) -> Any:
    """The tensor over (place, data type, shape, strides); None stays None.

    Programs use the same memory again and again, and no file is ever unmapped.
    """
    if item is None:
        return None
    place, code, shape, strides = item
    dtype = dtype_of(code)
    if place is None:
        return torch.empty(shape, dtype=dtype)
    return _flat(place, dtype).as_strided(shape, strides)


def opened(parameter: Parameter, value: Any) -> Any:
    """An argument as the expression sees it."""
    kind = parameter.kind
    if kind == "t":
        if parameter.optional and not parameter.written and value is not None and value[2] == (0,):
            return None  # op-plugin passes an empty vector where there is none
        return view(value)
    if kind == "n":
        if isinstance(value, tuple) and len(value) == 4 and isinstance(value[2], tuple):
            return view(value).reshape(-1).tolist()  # a tensor; no number is a tuple
        return list(value) if isinstance(value, tuple) else [value]
    if kind == "T":
        return None if value is None else [view(item) for item in value]
    return list(value) if kind in "IFBS" and value is not None else value


def widened(value: Any) -> Any:
    """The argument in a type that every operator computes with."""
    if isinstance(value, torch.Tensor):
        wide = WIDER.get(value.dtype)
        return value if wide is None else value.to(wide)
    if isinstance(value, list):
        return [widened(item) for item in value]
    return value


def put(target: torch.Tensor, result: Any) -> None:
    """Write a result; ValueError where its size is not the output's."""
    value = result if isinstance(result, torch.Tensor) else torch.as_tensor(result)
    if value.shape != target.shape:
        if value.numel() != target.numel():
            raise ValueError(
                f"the result has shape {list(value.shape)}, the output {list(target.shape)}"
            )
        value = value.reshape(target.shape)
    if value.is_complex() and not target.is_complex():
        value = value.real
    target.copy_(value)


def put_resized(item: Any, result: torch.Tensor) -> tuple[int, ...]:
    """Write a result whose shape was unknown to the start of an output; returns that shape."""
    if item[0] is not None and result.numel():
        flat = _flat(item[0], dtype_of(item[1]))
        if flat.numel() < result.numel():
            raise ValueError(f"{result.numel()} results, but room for {flat.numel()} only")
        flat[: result.numel()].copy_(result.reshape(-1))
    return tuple(result.shape)
