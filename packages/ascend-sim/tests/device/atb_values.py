# SPDX-License-Identifier: Apache-2.0
"""NNAL's operators by torch_npu, against torch on the CPU in float64.

Prints the largest error of each case that the command line names.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import torch
import torch_npu

TOKENS, HEADS, KEY_HEADS, SIZE = 5, 4, 2, 8
BLOCKS, BLOCK = 6, 4
SCALE = SIZE**-0.5


def error(device: Any, expected: Any) -> float:
    """The largest difference, of which NaN is the largest."""
    return float((device.cpu().double() - expected).abs().nan_to_num(torch.inf).max())


def attention(query: Any, keys: Any, values: Any, mask: Any = 0.0) -> Any:
    """Of [tokens, heads, size], with fewer heads of keys than of queries."""
    keys, values = (x.repeat_interleave(HEADS // KEY_HEADS, 1) for x in (keys, values))
    scores = torch.einsum("qhd,khd->hqk", query, keys) * SCALE + mask
    return torch.einsum("hqk,khd->qhd", scores.softmax(-1), values)


def rotary(*, neighbours: bool) -> float:
    """Of halves of a head, or of neighbours in it; the result takes the place of the input."""
    query, key = torch.randn(TOKENS, HEADS * SIZE), torch.randn(TOKENS, KEY_HEADS * SIZE)
    angles = torch.outer(torch.arange(16.0), torch.rand(SIZE // 2))
    positions = torch.tensor([3, 0, 15, 7, 7])
    cos, sin = (f(angles)[positions].double()[:, None] for f in (torch.cos, torch.sin))
    expected = []
    for each in (query, key):
        x = each.double().view(TOKENS, -1, SIZE)
        half = SIZE // 2
        a, b = (x[..., ::2], x[..., 1::2]) if neighbours else (x[..., :half], x[..., half:])
        parts = a * cos - b * sin, b * cos + a * sin
        joined = torch.stack(parts, -1).flatten(-2) if neighbours else torch.cat(parts, -1)
        expected.append(joined.reshape(each.shape))
    query, key = query.npu(), key.npu()
    cache = torch.cat((angles.cos(), angles.sin()), -1).npu()
    torch_npu._npu_rotary_embedding(positions.npu(), query, key, SIZE, cache, not neighbours)
    return max(error(query, expected[0]), error(key, expected[1]))


def cache() -> float:
    """Tokens go where their slots say; a negative slot is left out."""
    shape = (BLOCKS, BLOCK, KEY_HEADS, SIZE)
    caches = [torch.randn(shape).half().npu() for _ in range(2)]
    tokens = [torch.randn(TOKENS, KEY_HEADS, SIZE).half() for _ in range(2)]
    slots = torch.tensor([7, -1, 0, 23, 12], dtype=torch.int32)
    expected = [each.cpu().double() for each in caches]
    for each, new in zip(expected, tokens, strict=True):
        kept = slots >= 0
        each.view(-1, KEY_HEADS, SIZE)[slots[kept].long()] = new[kept].double()
    torch_npu._npu_reshape_and_cache(*(each.npu() for each in tokens), *caches, slots.npu())
    return max(error(a, b) for a, b in zip(caches, expected, strict=True))


def paged() -> float:
    """Two tokens, each with its own context in blocks in any order."""
    keys, values = (torch.randn(BLOCKS, BLOCK, KEY_HEADS, SIZE) for _ in range(2))
    table = torch.tensor([[5, 0], [2, 3]], dtype=torch.int32)
    lengths = torch.tensor([7, 1], dtype=torch.int32)
    query = torch.randn(2, HEADS, SIZE)
    expected = []
    for token, length in enumerate(lengths):
        own = [x.double()[table[token].long()].flatten(0, 1)[:length] for x in (keys, values)]
        expected.append(attention(query[token : token + 1].double(), *own))
    out = torch.empty_like(query).npu()
    where = table.npu(), lengths
    torch_npu._npu_paged_attention(
        query.npu(), keys.npu(), values.npu(), KEY_HEADS, HEADS, SCALE, *where, out
    )
    return error(out, torch.cat(expected))


def linear() -> float:
    """The product is added to what is there."""
    x, weight = torch.randn(7, 3).bfloat16(), torch.randn(7, 5).bfloat16()
    total = torch.randn(3, 5)
    expected = total.double() + x.double().T @ weight.double()
    out = total.npu()
    torch_npu._npu_matmul_add_fp32(x.npu(), weight.npu(), out)
    return error(out, expected)


def prompts(*, masked: bool) -> float:
    """Two prompts, one after the other, without a mask and with a causal one."""
    lengths = torch.tensor([2, 3], dtype=torch.int32)
    query = torch.randn(TOKENS, HEADS, SIZE)
    keys, values = (torch.randn(TOKENS, KEY_HEADS, SIZE) for _ in range(2))
    mask = torch.full((3, 3), -1e4).triu(1)
    expected = [
        attention(q, k, v, mask[: len(q), : len(q)].double() if masked else 0.0)
        for q, k, v in zip(*(x.double().split([2, 3]) for x in (query, keys, values)), strict=True)
    ]
    out = torch.empty_like(query).npu()
    inputs, rest = (query.npu(), keys.npu(), values.npu()), (SCALE, HEADS, KEY_HEADS, out)
    if masked:
        torch_npu._npu_flash_attention(*inputs, mask.npu(), lengths, *rest)
    else:
        torch_npu._npu_flash_attention_unpad(*inputs, lengths, *rest)
    return error(out, torch.cat(expected))


def replayed() -> float:
    """A captured graph stores the tokens of its inputs as they are at each replay."""
    shape = (BLOCKS, BLOCK, KEY_HEADS, SIZE)
    caches = [torch.zeros(shape).npu() for _ in range(2)]
    tokens = [torch.zeros(1, KEY_HEADS, SIZE).npu() for _ in range(2)]
    slot = torch.zeros(1, dtype=torch.int32).npu()
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        torch_npu._npu_reshape_and_cache(*tokens, *caches, slot)
    expected = torch.zeros(shape, dtype=torch.float64)
    for place in (3, 17):
        new = torch.randn(1, KEY_HEADS, SIZE)
        expected.view(-1, KEY_HEADS, SIZE)[place] = new[0].double()
        for each in tokens:
            each.copy_(new)
        slot.fill_(place)
        graph.replay()
    return max(error(each, expected) for each in caches)


CASES: dict[str, Callable[[], float]] = {
    # torch_npu keeps the first table of angles: one of these two in a process.
    "rotary, halves": lambda: rotary(neighbours=False),
    "rotary, neighbours": lambda: rotary(neighbours=True),
    "cache": cache,
    "paged attention": paged,
    "linear": linear,
    "prompts": lambda: prompts(masked=False),
    "prompts, masked": lambda: prompts(masked=True),
    "cache in a graph": replayed,
}

if __name__ == "__main__":
    torch.manual_seed(0)
    print(json.dumps({name: CASES[name]() for name in sys.argv[1:]}))
