# SPDX-License-Identifier: Apache-2.0
"""The names that people and programs have for chips.

Source: npu-smi and CANN's SOC_VERSION (Ascend910B1, Ascend910_9391), and the series of products in
CANN's release notes (A2, A3); vllm-ascend calls the 950 A5.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from cannery.common.errors import some_of
from cannery.common.model import CHIPS

_NAMES = {
    "910b": r"a2|910b[0-9]?",
    "a3": r"a3|910c|910_93([0-9][0-9])?",
    "950": r"a5|950([dp][rt])?(_[0-9]+)?",
    "910": r"910|910(pro)?a",
    "310p": r"310p[0-9]?",
    "310b": r"310b[0-9]?",
}


def chip_named(text: str) -> str:
    """The chip that is called ``text``, as matrix.yaml names it.

    Raises:
        ValueError: there is no such chip.
    """
    name = re.sub(r"^(ascend|atlas)[ _-]?", "", text.strip().lower()).replace("-", "_")
    for chip, pattern in _NAMES.items():
        if re.fullmatch(pattern, name):
            return chip
    raise ValueError(f"unknown chip {text!r}. Known: {some_of(CHIPS, 20)}.")


def chip_hint(text: str, known: Collection[str]) -> str:
    """What to write for the chip ``text``: one of ``known`` that it is another name of, or any."""
    try:
        chip = chip_named(text)
    except ValueError:
        chip = ""
    if chip in known and chip != text:
        return f"Write {chip}."
    return f"Known: {some_of(sorted(known), 20)}." if known else ""
