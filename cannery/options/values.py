# SPDX-License-Identifier: Apache-2.0
"""How the values of options are read, and what is said of a value that cannot be.

Every function raises ValueError with a sentence that names the value and shows how to write one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

_SHARD = re.compile(r"([0-9]{1,4})/([0-9]{1,4})", re.ASCII)
_SIZE = re.compile(r"([1-9][0-9]{0,5})([bkmg]?)", re.ASCII)
_UNITS = {"": 1, "b": 1, "k": 2**10, "m": 2**20, "g": 2**30}


def number(least: int, most: int) -> Callable[[str], int]:
    """A reader of whole numbers from ``least`` to ``most``."""

    def read(text: str) -> int:
        if not (text.isascii() and text.isdigit() and least <= int(text) <= most):
            raise ValueError(f"invalid number {text!r}. Use a number from {least} to {most}.")
        return int(text)

    return read


def matching(pattern: str, noun: str, example: str) -> Callable[[str], str]:
    """A reader of texts that ``pattern`` fits; the message calls them ``noun``."""

    def read(text: str) -> str:
        if not re.fullmatch(pattern, text):
            raise ValueError(f"invalid {noun} {text!r}. Write it as in {example}.")
        return text

    return read


def name(text: str) -> str:
    """``text``, which names somebody.

    Raises:
        ValueError: it is empty, or has characters that cannot be shown.
    """
    if not text.strip() or not text.isprintable():
        raise ValueError(f"invalid name {text!r}. Use letters, as in 'Example Ltd'.")
    return text.strip()


@dataclass(frozen=True)
class Shard:
    """The ``index``-th of ``count`` shares of a selection, counted from 1."""

    index: int
    count: int

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"


def parse_shard(text: str) -> Shard:
    """The shard that is written ``I/N``.

    Raises:
        ValueError: it is not one.
    """
    match = _SHARD.fullmatch(text)
    if not match:
        raise ValueError(f"invalid shard {text!r}. Write it as in 1/3, the first of three.")
    index, count = int(match[1]), int(match[2])
    if not count:
        raise ValueError(f"invalid shard {text!r}. There must be at least one, as in 1/1.")
    if not 1 <= index <= count:
        raise ValueError(f"invalid shard {text!r}. Use 1/{count} to {count}/{count}.")
    return Shard(index, count)


@dataclass(frozen=True)
class Size:
    """An amount of memory: a number and its unit, one of b, k, m, g, or nothing for bytes."""

    number: int
    unit: str

    @property
    def bytes(self) -> int:
        return self.number * _UNITS[self.unit]

    def __str__(self) -> str:
        return f"{self.number}{self.unit}"


def parse_size(text: str) -> Size:
    """The size that is written as docker takes it, as in ``16g``.

    Raises:
        ValueError: it is not one.
    """
    match = _SIZE.fullmatch(text.lower())
    if not match:
        raise ValueError(f"invalid size {text!r}. Write it as in 16g or 512m.")
    return Size(int(match[1]), match[2])


def size(text: str) -> str:
    """``text``, which is a size.

    Raises:
        ValueError: it is not one.
    """
    parse_size(text)
    return text
