# SPDX-License-Identifier: Apache-2.0
"""The files that say what the targets are, and how those of data become part of matrix.yaml."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from cannery.common.documents import Map, load_yaml, read_text
from cannery.common.errors import FileError, Problem, did_you_mean

MATRIX = "matrix.yaml"
FACTS = "cannery/data/compat.yaml"
"""Below the folder of MATRIX, whose targets are judged by it."""

SETTINGS = "cannery.toml"

DATA: Mapping[str, tuple[str, ...]] = {
    f"cannery/data/{name}.yaml": keys
    for name, keys in {
        "bases": ("bases",),
        "pythons": ("pythons",),
        "cann": ("downloads", "cann_layouts", "cann"),
        "wheels": (
            *("apex", "torch_wheels", "torch_npu_wheels", "torch_indexes"),
            *("triton_ascend_wheels", "deepspeed_wheels", "deepspeed_plugins"),
        ),
        "applications": ("applications",),
        "leave-out": ("leave_out",),
        "recommended": ("recommended",),
    }.items()
}
"""The files that say what targets can have, below the folder of MATRIX, and the keys of each."""

Data = Mapping[str, str]
"""The texts of such files, and of FACTS, by name."""


def is_source(path: str) -> bool:
    """Whether what the targets are is read from the file ``path`` of a checkout."""
    return path in (MATRIX, FACTS) or path in DATA


def read_data(root: Path) -> dict[str, str]:
    """The files of DATA that are below ``root``.

    Raises:
        FileError: one cannot be read.
        MatrixError: one is not UTF-8 text.
    """
    return {name: read_text(root / name, name) for name in DATA if os.path.lexists(root / name)}


def load_with_data(text: str, name: str, data: Data, problems: list[Problem]) -> Map:
    """The matrix.yaml ``text`` with the definitions of ``data``; one of its own wins.

    Raises:
        MatrixError: a file is not YAML, or no mapping.
    """
    top = load_yaml(text, name, problems)
    for path, keys in DATA.items():
        if path not in data:
            continue
        definitions = load_yaml(data[path], path, problems)
        for key, value in definitions.items():
            marks = definitions.marks[key]
            if key not in keys:
                what, hint = f"unknown key {key!r} in {path}.", did_you_mean(key, keys)
                problems.append(Problem(what=what, fix=hint, where=definitions.place_of_key(key)))
            elif key not in top:
                top.put(key, value, marks)
            elif isinstance(value, Map) and isinstance(local := top[key], Map):
                both = Map(local.mark)
                for names in (value, local):
                    for each in names:
                        if names is local or each not in local:
                            both.put(each, names[each], names.marks[each])
                top.put(key, both, top.marks[key])
    return top


def read_facts(matrix: Path) -> str:
    """The text of compat.yaml below the folder of ``matrix``, even where ``matrix`` is a link.

    Raises:
        FileError: there is none, or it cannot be read.
        MatrixError: it is not UTF-8 text.
    """
    path = matrix.parent / FACTS
    if not path.exists():
        what = f"cannot read {path}: no such file or directory."
        fix = f"{matrix.name} is judged by the {FACTS} beside it. Put it there."
        raise FileError(Problem(what=what, fix=fix))
    return read_text(path, FACTS)
