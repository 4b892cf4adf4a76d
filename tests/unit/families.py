# SPDX-License-Identifier: Apache-2.0
"""A small family, and what a matrix with it is refused for."""

from __future__ import annotations

from pathlib import Path

from tests.unit import matrices
from tests.unit.matrices import MATRIX

HEAD = MATRIX.partition("targets:")[0]
TARGETS = "targets:" + MATRIX.partition("targets:")[2]

FAMILY = """\
families:
  many:
    id: "{python}-{pair}"
    axes:
      python:
        own: {base: debian-11, python: own-python}
        base: {base: debian-11, python: base-python}
      pair:
        new: {torch: 2.3.1, torch_npu: 2.3.1.post2, deepspeed: 0.15.0}
        old:
          torch: 2.1.0
          torch_npu: 2.1.0.post6
          requirements: [tqdm, einops]
    common:
      summary: one of many
      platform: linux/arm64
      cann: {toolkit: 8.0.RC2, kernels: 8.0.RC2, chip: 910b}
"""


def refused(folder: Path, text: str) -> list[str]:
    """Each problem that ``text`` has, after the matrix's other parts."""
    return matrices.refused(folder, HEAD + text)


def place(text: str, anchor: str) -> str:
    """Where the only ``anchor`` begins, as a problem says it."""
    assert text.count(anchor) == 1, f"{anchor!r} is {text.count(anchor)} times in the text"
    return matrices.place(HEAD + text, anchor, len(HEAD))
