# SPDX-License-Identifier: Apache-2.0
"""Proposals of new targets, of rows of compat.yaml and of removals, as text."""

from __future__ import annotations

from collections.abc import Iterable

from cannery.common.columns import fold
from cannery.compat.makers_table import TableRow
from cannery.matrix.ended import Ended
from cannery.matrix.propose_pairs import Proposed

_WIDTH = 100


def proposals(
    rows: Iterable[TableRow], proposed: Iterable[Proposed], ended: Iterable[Ended]
) -> str:
    """All of them, in paragraphs; empty if there is none."""
    blocks = [_rows([*rows]), *map(_proposed, proposed), *map(_ended, ended)]
    return "\n\n".join("\n".join(fold(block, _WIDTH)) for block in blocks if block)


def _rows(rows: list[TableRow]) -> list[str]:
    if not rows:
        return []
    pairs = (
        f"    torch_npu {each.torch_npu} for CANN {each.cann} {each.app}".rstrip() for each in rows
    )
    return ["The table has rows that compat.yaml lacks:", *pairs]


def _proposed(each: Proposed) -> list[str]:
    addition = each.addition
    lines = [each.what, *(f"    {target}" for target in addition.targets)]
    lines += [f"    not {target}: {why}" for target, why in addition.refused.items()]
    if each.problem:
        lines.append(f"  -> {each.problem}")
    elif addition.targets:
        lines.append("  -> With --write these targets are added.")
    else:
        lines.append("  -> Nothing is written for it. It needs rows in compat.yaml, or other pins.")
    return lines


def _ended(each: Ended) -> list[str]:
    targets = (f"    {target}" for target in each.targets)
    return ["Proposed for removal:", *targets, *(f"  -> {part}" for part in each.parts)]
