# SPDX-License-Identifier: Apache-2.0
"""Files that make a package as large as the vendor's: equal arguments give equal bytes.

They compress to about half, as binaries do.
"""

from __future__ import annotations

import io
import itertools
import random
from functools import cache, partial

from .tree import Stream, Tree

_WORD = 16
_WORDS = 2500
"""So many words of ``_WORD`` bytes make gzip find about every second one in its window."""

_POOL = 16 * 1024**2
_IN_A_FOLDER = 100


def add_padding(tree: Tree, folder: str, seed: str, files: int, size: int) -> None:
    """Add so many files, of so many bytes in all, below ``folder``."""
    seeded = random.Random(seed)  # noqa: S311 - equal bytes each time, and no secret
    for number, each in enumerate(sizes(files, size, seeded)):
        path = f"{folder}/{number // _IN_A_FOLDER:04}/{number:06}.bin"
        tree.add_directory(path.rpartition("/")[0])
        tree.streams[path] = Stream(each, 0o440, partial(_cut, seeded.randrange(_POOL), each))


def sizes(files: int, size: int, seeded: random.Random) -> list[int]:
    """The sizes of the added files: many small ones and a few large ones, with the right sum."""
    weights = [seeded.expovariate(1.0) for _ in range(files)]
    sums = [0.0, *itertools.accumulate(weights)]
    ends = [round(each * size / sums[-1]) if sums[-1] else 0 for each in sums]
    return [after - before for before, after in itertools.pairwise(ends)]


@cache
def _pool() -> bytes:
    seeded = random.Random("pool")  # noqa: S311
    words = [seeded.randbytes(_WORD) for _ in range(_WORDS)]
    return b"".join(seeded.choices(words, k=_POOL // _WORD))


def _cut(start: int, size: int) -> io.BytesIO:
    """``size`` bytes of the endless repetition of the pool, from ``start`` on."""
    times = -(-(start + size) // _POOL)
    return io.BytesIO((_pool() * times)[start : start + size])
