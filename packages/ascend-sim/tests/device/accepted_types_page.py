# SPDX-License-Identifier: Apache-2.0
"""Writes docs/accepted-types.md: python -m tests.device.accepted_types_page."""

from __future__ import annotations

from pathlib import Path

from device.gen_types import parse
from tests.fuzz.operators import c_function, own_operators, torch_operators

FOLDER = Path(__file__).parents[2]
TABLE = FOLDER / "device" / "aclnn" / "accepted_types_910b.txt"
PAGE = FOLDER / "docs" / "accepted-types.md"
HEADING = """\
# Operators whose data types are known

`python -m tests.device.accepted_types_page` wrote this page. With `--chip 910b`, the operators of
the table refuse the types that their document denies for the Atlas A2 series;
[accepted_types_910b.txt](../device/aclnn/accepted_types_910b.txt) has the types of each parameter,
and the commits of the repositories (https://github.com/hicann) that have the documents. Tensors
without elements and parameters that the file lacks are taken with any type, and so are all tensors
with another chip or with `--lenient`.

"""


def page() -> str:
    """The text of the page."""
    documents: dict[str, list[str]] = {}
    known: dict[str, int] = {}
    for each in parse(TABLE.read_text(encoding="utf-8").splitlines()):
        known[each.operator] = known.get(each.operator, 0) + 1
        names = documents.setdefault(each.document, [])
        if each.operator not in names:
            names.append(each.operator)
    operators = {*own_operators(), *torch_operators()}
    unknown = sorted(c_function(name) for name in operators - {*known})
    rows = [f"| {', '.join(names)} | {path} |\n" for path, names in sorted(documents.items())]
    return "".join(
        [
            f"{HEADING}## Known: {len(known)} operators\n\n",
            "| operators (`aclnn…`) | document |\n| -- | -- |\n",
            *rows,
            f"\n## Unknown: {len(unknown)} operators\n\n",
            "The device computes them with every type that it can; a card may refuse some.\n\n",
            f"{', '.join(unknown)}\n",
        ]
    )


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
