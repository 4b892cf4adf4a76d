# SPDX-License-Identifier: Apache-2.0
"""The files that say what the targets are, and how those of data become part of matrix.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import yaml

from cannery.common.errors import FileError, Problem, did_you_mean
from cannery.common.yaml_limits import read_limited
from cannery.common.yaml_reader import Problems, compose

MATRIX = "matrix.yaml"
FACTS = "compat.yaml"
"""In the folder of MATRIX, whose targets are judged by it."""

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
        MatrixError: one is too large, or is not UTF-8 text.
    """
    return {name: read_limited(root / name, name) for name in DATA if (root / name).exists()}


def with_data(top: yaml.Node, data: Data, problems: Problems) -> yaml.Node:
    """The matrix.yaml ``top`` with what ``data`` defines; a definition of its own wins.

    Raises:
        MatrixError: a file of ``data`` is not YAML, or exceeds a limit.
    """
    if not isinstance(top, yaml.MappingNode):
        return top
    pairs = [*top.value]
    for name, keys in DATA.items():
        node = compose(data[name], name) if name in data else None
        if node is not None and not isinstance(node, yaml.MappingNode):
            problems.add(node, f"{name} must be a mapping of keys to values.")
            continue
        for key, value in node.value if node else ():
            if not isinstance(key, yaml.ScalarNode) or key.value not in keys:
                hint = did_you_mean(str(key.value), keys)
                problems.add(key, f"unknown key {str(key.value)!r} in {name}.", hint)
                continue
            own = next((i for i, (k, _) in enumerate(pairs) if k.value == key.value), None)
            if own is None:
                pairs.append((key, value))
            else:
                pairs[own] = (pairs[own][0], _joined(value, pairs[own][1]))
    return yaml.MappingNode(top.tag, pairs, top.start_mark, top.end_mark)


def _joined(known: yaml.Node, own: yaml.Node) -> yaml.Node:
    """What is ``known``, with the definitions of ``own`` in place of those of the same names."""
    if not isinstance(known, yaml.MappingNode) or not isinstance(own, yaml.MappingNode):
        return own
    names = {key.value for key, _ in own.value if isinstance(key, yaml.ScalarNode)}
    kept = [(key, value) for key, value in known.value if key.value not in names]
    return yaml.MappingNode(own.tag, [*kept, *own.value], own.start_mark, own.end_mark)


def read_facts(matrix: Path) -> str:
    """The text of compat.yaml in the folder of ``matrix``, even where ``matrix`` is a link.

    Raises:
        FileError: there is none, or it cannot be read.
        MatrixError: it is too large, or is not UTF-8 text.
    """
    path = matrix.parent / FACTS
    if not path.exists():
        what = f"cannot read {path}: no such file or directory."
        fix = f"{matrix.name} is judged by the {FACTS} in the same folder. Put it there."
        raise FileError(Problem(what=what, fix=fix))
    return read_limited(path, FACTS)
