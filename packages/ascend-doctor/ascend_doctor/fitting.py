# SPDX-License-Identifier: Apache-2.0
"""Leaves out of a remedy what is for PyTorch, where the log is of a program without it."""

from __future__ import annotations

import re

from .signs import pattern

_FOR_TORCH, _OF_TORCH, _OF_OTHERS = (
    pattern("fitting-" + name) for name in ("for-torch", "of-torch", "of-others")
)
_BRACKETS = re.compile(r"(\s*\()([^()]+)(\))")
_PARTS = re.compile(r"(?<=[.;\u3002])(?=\s+\S|[\u4e00-\u9fff]|\w+:)\s*")
"""Where sentences and parts of them end, in both languages."""
_LEAST = 40
"""How long what is left must be, to say something."""


def fitting(mend: str, log: str) -> str:
    """``mend`` without the parts for PyTorch and its engines, if ``log`` speaks of others only."""
    if _OF_TORCH.search(log) or not _OF_OTHERS.search(log):
        return mend
    parts = _kept(_BRACKETS.sub(_bracket, mend))
    text = " ".join(parts)
    if text.endswith(";"):
        text = text[:-1] + "."
    if not mend.startswith(text[:9]):
        text = text[:1].upper() + text[1:]
    return text if len(text) >= _LEAST else mend


def _bracket(match: re.Match[str]) -> str:
    inner = " ".join(_kept(match[2])).rstrip(";")
    return match[1] + inner + match[3] if inner else ""


def _kept(text: str) -> list[str]:
    """The parts that are not for PyTorch alone; a command in quotes is not taken apart."""
    parts: list[str] = []
    for part in filter(None, _PARTS.split(text)):
        if parts and parts[-1].count('"') % 2:
            parts[-1] += " " + part
        else:
            parts.append(part)
    return [part for part in parts if not _FOR_TORCH.search(part) or _OF_OTHERS.search(part)]
