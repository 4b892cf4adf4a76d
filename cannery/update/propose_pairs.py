# SPDX-License-Identifier: Apache-2.0
"""Proposes targets for the pairs of torch and CANN that compat.yaml has and no target has."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from enum import StrEnum
from functools import partial

from packaging.version import Version

from cannery.common.cann_version import CannVersion
from cannery.common.errors import MatrixError
from cannery.common.model import EXTRAS, PAIRED, USUAL_CHIP
from cannery.compat.facts import Compat, Pairing
from cannery.compat.files import judged_as
from cannery.compat.nearest import is_published, pinned_beside
from cannery.matrix.files import Data
from cannery.matrix.matrix import Matrix
from cannery.matrix.text import Entry, MatrixText
from cannery.update.choice import NewOptions
from cannery.update.propose import cann_of, short
from cannery.update.siblings import AxisValue, Known, NewValue, Proposed, axis_values, with_value

_KEYS = {"summary", "cann", "chip", "torch", "torch_npu", *EXTRAS}
"""The keys of a value that is a pair and nothing else."""

_NO_FAMILY = "No family has pairs as the values of an axis: 'build.py new' adds a single target."


class Kind(StrEnum):
    """What is new in a proposal; each can be reviewed and merged without the others."""

    TORCH_NPU = "torch_npu"
    """A pair on a CANN that a target has."""
    CANN = "cann"
    """A pair on another CANN."""
    APPLICATIONS = "applications"


def kind_of(cann: CannVersion, matrix: Matrix) -> Kind:
    """The kind of a pair on ``cann``."""
    known = {judged_as(target.cann) for target in matrix.targets.values()}
    return Kind.TORCH_NPU if cann in known else Kind.CANN


def propose_pairs(
    files: Data,
    matrix: Matrix,
    known: Known,
    today: str,
    kinds: Collection[Kind] = (*Kind,),
) -> Iterator[Proposed]:
    """One proposal for each new pair, each for the ``files`` of the one before it.

    A pair is new if its CANN is newer than that of every target with its torch, or its torch than
    all; of each series of CANN, as 9.1.X, the newest is proposed. A torch whose maintenance ended
    before ``today`` is left out, as is what is not of ``kinds``.
    """
    compat = known.compat
    lifetimes = [row for row in compat.lifetimes if row.component == "torch_npu"]
    ended = {row.version for row in lifetimes if row.ends < today}
    ended -= {row.version for row in compat.lifetimes if not row.ends}
    for row in _new(matrix, compat):
        if row.torch in ended or kind_of(row.cann, matrix) not in kinds:
            continue
        what = f"PyTorch {row.torch} with torch_npu {row.torch_npu} on CANN {row.cann}"
        proposed = with_value(files, what, partial(_value, row=row, compat=compat), known)
        files = proposed.files
        yield proposed


def _new(matrix: Matrix, compat: Compat) -> list[Pairing]:
    """The newest new pair of each torch and series of CANN, oldest torch first."""
    used: dict[str, set[CannVersion]] = {}
    for target in matrix.targets.values():
        if target.torch:
            used.setdefault(target.torch, set()).add(judged_as(target.cann))
    last = max(map(Version, used), default=Version("0"))
    best: dict[tuple[str, tuple[int, int]], Pairing] = {}
    for row in compat.pairings:
        if row.is_makers and is_published(row) and not row.cann.is_preview:
            series = row.torch, row.cann.train
            newest = best.get(series, row)
            best[series] = max(row, newest, key=lambda row: (row.cann, Version(row.torch_npu)))
    return [
        row
        for row in sorted(best.values(), key=lambda row: (Version(row.torch), row.cann))
        if (row.cann > max(used[row.torch]) if row.torch in used else Version(row.torch) > last)
    ]


def _cann(value: AxisValue) -> str:
    return value.get("cann") or value.get("cann", "toolkit")


def _chip(value: AxisValue) -> str:
    return value.get("chip") or value.get("cann", "chip") or USUAL_CHIP


def _value(files: Data, row: Pairing, compat: Compat) -> NewValue:
    """The pair ``row`` beside the most similar value.

    That is one of the same torch, else of the newest; with the newest CANN.
    """
    matrix = MatrixText(files)
    pairs = [
        value
        for value in axis_values(files)
        if {"cann", "torch", "torch_npu"} <= value.keys() <= _KEYS
        and _chip(value) == USUAL_CHIP
        and "flavour" not in matrix.keys("families", value.family, "common")
    ]
    if not pairs:
        raise MatrixError(_NO_FAMILY)
    like = max(
        pairs,
        key=lambda value: (
            value.get("torch") == row.torch,
            CannVersion.parse(_cann(value)),
            Version(value.get("torch")),
            len(value.keys()),
        ),
    )
    cann, also = cann_of(row.cann, NewOptions(python=""), compat, matrix)
    old_torch, old_cann = like.get("torch"), _cann(like)
    new = {"torch": row.torch, "torch_npu": row.torch_npu}

    def change(place: tuple[str, ...], text: str) -> str:
        key = place[-1]
        if place[0] == "cann":
            return text if key == "chip" else cann
        if key == "summary":
            return text.replace(old_torch, row.torch).replace(old_cann, cann)
        if key in EXTRAS and old_torch != row.torch and text != PAIRED:
            return pinned_beside(EXTRAS[key], row.torch, compat)
        return new.get(key, text)

    # As torch290-cann911.
    name = like.name.replace(f"torch{short(old_torch)}", f"torch{short(row.torch)}")
    name = name.replace(f"cann{short(old_cann)}", f"cann{short(cann)}")
    also = [*also, *_torch_wheel(matrix, old_torch, row.torch)]
    return NewValue(name=name, like=like, change=change, also=also)


def _torch_wheel(matrix: MatrixText, old: str, new: str) -> list[Entry]:
    """The wheel of the new torch, where the old one is in no index."""
    place = ("torch_wheels", old)
    if old not in matrix.keys("torch_wheels") or new in matrix.keys("torch_wheels"):
        return []
    keys = ("file", "origin")
    lines = [f'  {key}: "{matrix.value(*place, key).replace(old, new)}"' for key in keys]
    needs = ", ".join(matrix.items(*place, "requirements"))
    return [(("torch_wheels",), (f"{new}:", *lines, f"  requirements: [{needs}]"))]
