# SPDX-License-Identifier: Apache-2.0
"""Judges targets by compat.yaml: what is known to work together, to fail, or not known at all.

load reads compat.yaml into rows; rules turns a target and the rows into findings; refusals says
which findings keep a target from being built; nearest finds known combinations near to one that is
not known.
"""

from __future__ import annotations

from pathlib import Path

from cannery.compat.facts import Compat
from cannery.compat.finding import Finding, Verdict
from cannery.compat.load import load_compat
from cannery.compat.refusals import Refusal, passes, refusals_of
from cannery.compat.rules import judge
from cannery.errors import FileError, Problem

__all__ = [
    "OWN_FACTS",
    "Compat",
    "Finding",
    "Refusal",
    "Verdict",
    "facts_beside",
    "judge",
    "load_compat",
    "passes",
    "refusals_of",
]

OWN_FACTS = Path(__file__).resolve().parents[2] / "compat.yaml"
"""The compat.yaml of the checkout that this code is in."""


def facts_beside(matrix: Path) -> Compat:
    """What the compat.yaml in the folder of ``matrix`` says, even where ``matrix`` is a link.

    Raises:
        FileError: there is none, or it cannot be read.
        MatrixError: it is wrong.
    """
    path = matrix.parent / OWN_FACTS.name
    if not path.exists():
        what = f"cannot read {path}: no such file or directory."
        fix = f"{matrix.name} is judged by the {path.name} in the same folder. Put it there."
        raise FileError(Problem(what=what, fix=fix))
    return load_compat(path)
