# SPDX-License-Identifier: Apache-2.0
"""Proposes targets for the pairs of torch and CANN that compat.yaml has and no target has. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from packaging.version import Version

from cannery.common.cann_version import CannVersion
from cannery.common.errors import MatrixError
from cannery.common.model import EXTRAS, PAIRED, USUAL_CHIP
from cannery.compat.facts import Compat, Pairing
from cannery.compat.file_names import judged_as
from cannery.compat.nearest import Combination, is_published, pinned_beside
from cannery.matrix.files import Data
from cannery.matrix.matrix import Matrix
from cannery.matrix.text import Entry, MatrixText
from cannery.update.choice import Choice, NewOptions, layout_of
from cannery.update.propose import cann_of
from cannery.update.siblings import (
    Addition,
    AxisValue,
    Change,
    Known,
    NewValue,
    axis_values,
    with_value,
)

_KEYS = {"summary", "cann", "chip", "torch", "torch_npu", *EXTRAS}
"""What a value has that is a pair and nothing else."""

_NO_FAMILY = "No family has pairs as the values of an axis: 'build.py new' adds a single target."


class Kind(StrEnum):
    """What is new in a proposal; each can be reviewed and merged without the others."""

    TORCH_NPU = "torch_npu"
    """A pair on a CANN that a target has."""
    CANN = "cann"
    """A pair on another CANN."""
    APPLICATIONS = "applications"


@dataclass(frozen=True, kw_only=True)
class Proposed:
    """A proposal: ``what`` says it, and ``problem`` why nothing can be written for it, or ""."""

    what: str
    addition: Addition
    problem: str = ""


def kind_of(cann: CannVersion, matrix: Matrix) -> Kind:
    """The kind of a pair on ``cann``."""
    known = {judged_as(target.cann) for target in matrix.targets.values()}
    return Kind.TORCH_NPU if cann in known else Kind.CANN


def propose_pairs(
    files: Data, matrix: Matrix, known: Known, today: str, kinds: Collection[Kind] = (*Kind,)
) -> Iterator[Proposed]:
    """One proposal for each new pair, each for the ``files`` of the one before it.

    A pair is new if its CANN is newer than that of every target with its torch, or its torch than
    all; of each series of CANN, as 9.1.X, the newest is proposed. A torch whose maintenance ended
    before ``today`` is left out, as is what is not of ``kinds``.
    """
    compat = known.compat
    ended = {
        row.version for row in compat.lifetimes if row.component == "torch_npu" and row.ends < today
    } - {row.version for row in compat.lifetimes if not row.ends}
    for found in _new(matrix, compat):
        if found.torch in ended or kind_of(found.cann, matrix) not in kinds:
            continue
        pair = f"PyTorch {found.torch} with torch_npu {found.torch_npu} on CANN {found.cann}"
        like = _like(files, found)
        nothing = Addition(files=files, targets=(), refused={})
        if like is None:
            yield Proposed(what=f"{pair}.", addition=nothing, problem=_NO_FAMILY)
            continue
        what = f"{pair}, as {like.name} of family {like.family}."
        try:
            addition = _added(files, like, found, known)
        except MatrixError as error:
            yield Proposed(what=what, addition=nothing, problem=str(error))
            continue
        files = addition.files
        yield Proposed(what=what, addition=addition)


def _new(matrix: Matrix, compat: Compat) -> list[Combination]:
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
            best[series] = max(row, best.get(series, row), key=_age)
    return [
        Combination(python="", torch=row.torch, torch_npu=row.torch_npu, cann=row.cann, row=row)
        for row in sorted(best.values(), key=lambda row: (Version(row.torch), row.cann))
        if (row.cann > max(used[row.torch]) if row.torch in used else Version(row.torch) > last)
    ]


def _age(row: Pairing) -> tuple[CannVersion, Version]:
    return row.cann, Version(row.torch_npu)


def _like(files: Data, found: Combination) -> AxisValue | None:
    """The value most like the new pair: one of the same torch, else of the newest; newest CANN."""
    pairs = [
        value
        for value in axis_values(files)
        if {"cann", "torch", "torch_npu"} <= _keys(value) <= _KEYS
        and _chip(value) == USUAL_CHIP
        and "flavour" not in MatrixText(files).keys("families", value.family, "common")
    ]
    return max(
        pairs,
        key=lambda value: (
            value.get("torch") == found.torch,
            CannVersion.parse(_cann(value)),
            Version(value.get("torch")),
            len(_keys(value)),
        ),
        default=None,
    )


def _cann(value: AxisValue) -> str:
    return value.get("cann") or value.get("cann", "toolkit")


def _chip(value: AxisValue) -> str:
    return value.get("chip") or value.get("cann", "chip") or USUAL_CHIP


def _keys(value: AxisValue) -> set[str]:
    return {str(key.value) for key, _ in value.node.value}


def _added(files: Data, like: AxisValue, found: Combination, known: Known) -> Addition:
    """``files`` with the pair ``found`` beside the value ``like``.

    Raises:
        MatrixError: it cannot be written.
    """
    compat, matrix, chip = known.compat, MatrixText(files), _chip(like)
    choice = Choice(
        combination=found, layout=layout_of(found.cann, compat), deepspeed="", apex="", notes=()
    )
    options = NewOptions(python=found.python, cann=str(found.cann), chip=chip)
    cann, entries = cann_of(choice, options, compat, matrix)
    wheel = _torch_wheel(matrix, like.get("torch"), found.torch)
    new = NewValue(
        name=_name(like, found.torch, cann),
        value=like.changed(_change(like, found, cann, compat)),
        like=like,
        also=[*entries, *wheel],
    )
    return with_value(files, new, known)


def _name(like: AxisValue, torch: str, cann: str) -> str:
    """The name of ``like`` with the new versions, as torch290-cann911."""
    old = {"torch": like.get("torch"), "cann": _cann(like)}
    name = like.name
    for key, version in (("torch", torch), ("cann", cann)):
        name = name.replace(key + _short(old[key]), key + _short(version))
    return name


def _short(version: str) -> str:
    return re.sub(r"[^a-z0-9]", "", re.sub(r"\.0\.(?=RC|T)", "", version).lower())


def _change(like: AxisValue, found: Combination, cann: str, compat: Compat) -> Change:
    old_torch, old_cann = like.get("torch"), _cann(like)
    new = {"torch": found.torch, "torch_npu": found.torch_npu}

    def change(place: tuple[str, ...], text: str) -> str:
        key = place[-1]
        if place[0] == "cann":
            return text if key == "chip" else cann
        if key == "summary":
            return text.replace(old_torch, found.torch).replace(old_cann, cann)
        if key in EXTRAS and old_torch != found.torch:
            return text if text == PAIRED else pinned_beside(EXTRAS[key], found.torch, compat)
        return new.get(key, text)

    return change


def _torch_wheel(matrix: MatrixText, old: str, new: str) -> Iterable[Entry]:
    """The wheel of the new torch, where the old one is in no index."""
    declared: Mapping[str, str] = {
        key: matrix.value("torch_wheels", old, key).replace(old, new) for key in ("file", "origin")
    }
    if not declared["file"] or new in matrix.keys("torch_wheels"):
        return []
    needs = ", ".join(matrix.items("torch_wheels", old, "requirements"))
    lines = [f"{new}:", *(f'  {key}: "{text}"' for key, text in declared.items())]
    return [(("torch_wheels",), (*lines, f"  requirements: [{needs}]"))]
