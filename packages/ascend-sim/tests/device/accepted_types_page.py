# SPDX-License-Identifier: Apache-2.0
"""Writes docs/accepted-types.md: python -m tests.device.accepted_types_page."""

from __future__ import annotations

from pathlib import Path

from ascend_sim.packages.packer.chips import accepted_types, load_chip, names
from tests.fuzz.operators import c_function, own_operators, torch_operators

PAGE = Path(__file__).parents[2] / "docs" / "accepted-types.md"
HEADING = """\
# Operators whose data types are known

`python -m tests.device.accepted_types_page` wrote this page. Operators refuse the types that their
document denies for the chip; [the folder of the chips](../ascend_sim/packages/chips) has a file of
each with the types of each parameter, and the commits of the repositories
(https://github.com/hicann) that have the documents. Tensors without elements, parameters that the
file lacks, and operators without a mark below are taken with any type, as all are with `--lenient`.

"""


def page() -> str:
    """The text of the page."""
    known = {chip: {each.operator for each in accepted_types(chip)} for chip in names()}
    documents: dict[str, set[str]] = {}
    for chip in names():
        for each in accepted_types(chip):
            documents.setdefault(each.document, set()).add(each.operator)
    operators = {*own_operators(), *torch_operators()}
    unknown = sorted(c_function(name) for name in operators - set().union(*known.values()))
    counts = ", ".join(
        f"{len(known[chip])} with {chip} (Ascend{load_chip(chip).name})" for chip in names()
    )
    return "".join(
        [
            f"{HEADING}## Known: {counts}\n\n",
            f"| operators (`aclnn…`) | {' | '.join(names())} | document |\n",
            f"| -- |{' -- |' * len(names())} -- |\n",
            *(row for path in sorted(documents) for row in _rows(path, documents[path], known)),
            f"\n## Unknown with each of them: {len(unknown)} operators\n\n",
            "The device computes them with every type that it can; a card may refuse some.\n\n",
            f"{', '.join(unknown)}\n",
        ]
    )


def _rows(path: str, operators: set[str], known: dict[str, set[str]]) -> list[str]:
    """Operators of a document that are known for the same chips have a row together."""
    together: dict[str, list[str]] = {}
    for name in sorted(operators):
        marks = " | ".join("x" if name in known[chip] else "" for chip in known)
        together.setdefault(marks, []).append(name)
    return [f"| {', '.join(each)} | {marks} | {path} |\n" for marks, each in together.items()]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
