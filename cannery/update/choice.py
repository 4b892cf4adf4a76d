# SPDX-License-Identifier: Apache-2.0
"""Chooses torch, torch_npu, CANN and DeepSpeed for a new target: the newest known to fit."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from packaging.version import Version

from cannery.common.cann_version import CannVersion
from cannery.common.errors import MatrixError, Problem, UsageError, did_you_mean
from cannery.common.model import USUAL_CHIP
from cannery.compat.extension_rules import apex_fits, deepspeed_fits
from cannery.compat.facts import Compat
from cannery.compat.nearest import Combination, combinations
from cannery.matrix.text import MatrixText

_APEX = "0.1+ascend"


@dataclass(frozen=True, kw_only=True)
class NewOptions:
    """What a new target has; an empty field is for the newest version that fits.

    ``python`` may have a patch level. ``machine`` is the architecture, as ``uname -m`` names it.
    """

    python: str
    torch: str = ""
    cann: str = ""
    chip: str = USUAL_CHIP
    deepspeed: str = ""
    apex: bool = False
    id: str = ""
    machine: str = "aarch64"

    @property
    def minor(self) -> str:
        """As in ``3.10``."""
        return ".".join(self.python.split(".")[:2])


Options = TypeVar("Options", bound=NewOptions)


@dataclass(frozen=True, kw_only=True)
class Choice:
    """What a target is made from; ``notes`` are for the user."""

    combination: Combination
    deepspeed: str
    apex: str
    notes: tuple[str, ...]


def choose(options: NewOptions, compat: Compat, matrix: MatrixText) -> Choice:
    """The newest of what fits ``options``.

    Raises:
        UsageError: the CANN is an interim build that matrix.yaml lacks.
        MatrixError: nothing that is known fits; it says which option is in the way.
    """
    fits = _fitting(options, compat, matrix) or _compatible(options, compat, matrix)
    if not fits:
        raise _nothing_fits(options, compat, matrix)
    best = min(fits, key=_newest_first)
    notes = []
    if best.cann != best.row.cann:
        known = ", ".join(row.cited for row in compat.compatible if best.cann in row.cann)
        pair = f"torch_npu {best.torch_npu} is paired with CANN {best.row.cann}"
        notes.append(f"{pair}, and compatible with CANN {best.cann}: {known}")
    return Choice(
        combination=best,
        deepspeed=_deepspeed(options, best, compat),
        apex=_apex(matrix) if options.apex else "",
        notes=tuple(notes),
    )


def with_whole_versions(options: Options, compat: Compat, matrix: MatrixText) -> Options:
    """``options`` with the newest torch and CANN that fit in place of a series, as 2.10 and 9.1."""
    canns = {row.cann for row in compat.releases if not row.cann.is_preview}
    torches = {Version(row.torch) for row in compat.pairings}
    tried = [
        replace(options, cann=cann, torch=torch)
        for cann in _of_series(options.cann, map(str, sorted(canns, reverse=True)))
        for torch in _of_series(options.torch, map(str, sorted(torches, reverse=True)))
    ]
    if len(tried) == 1:
        return tried[0]
    return next((other for other in tried if _fitting(other, compat, matrix)), tried[0])


def _of_series(text: str, versions: Iterable[str]) -> list[str]:
    """Those of ``versions`` that ``text`` is the series of; ``text`` itself where it is none."""
    is_series = re.fullmatch(r"[0-9]+\.[0-9]+", text)
    return [v for v in versions if is_series and v.startswith(f"{text}.")] or [text]


def layout_of(cann: CannVersion, compat: Compat) -> str:
    """Where a release installs itself, as matrix.yaml names it; "" where that is not known."""
    return next((row.layout for row in compat.layouts if cann in row.cann), "")


def _apex(matrix: MatrixText) -> str:
    return next(iter(matrix.keys("apex")), _APEX)


def _deepspeed(options: NewOptions, choice: Combination, compat: Compat) -> str:
    """The version that is asked for, or else the newest that a source advises for the torch."""
    if options.deepspeed:
        return options.deepspeed.removeprefix("none")
    advised = [
        version
        for row in compat.deepspeed
        if row.advised
        and (row.torch is None or row.torch.contains(choice.torch, prereleases=True))
        and (not row.pythons or choice.python in row.pythons)
        for version in (max(Version(specifier.version) for specifier in row.version),)
        if deepspeed_fits(compat, str(version), choice.torch, choice.python)
    ]
    return str(max(advised, default=""))


def _newest_first(combination: Combination) -> tuple[Any, ...]:
    """What Huawei pairs itself goes before what others have tried; then the newest."""
    torch_npu = Version(combination.torch_npu)
    return (
        not combination.row.is_makers,
        [-part for part in combination.cann.key],
        [-part for part in Version(combination.torch).release],
        combination.row.rank,
        -1 if torch_npu.pre is None else 0,
        -(torch_npu.post or 0),
        combination.row.line,
    )


def _fitting(options: NewOptions, compat: Compat, matrix: MatrixText) -> list[Combination]:
    cann, apex = _cann(options, matrix), _apex(matrix)
    deepspeed = options.deepspeed.removeprefix("none")
    return [
        known
        for known in combinations(compat, options.chip, previews=cann is not None)
        if known.python == options.minor
        and options.torch in ("", known.torch)
        and cann in (None, known.cann)
        and layout_of(known.cann, compat)
        and (not deepspeed or deepspeed_fits(compat, deepspeed, known.torch, known.python))
        and (not options.apex or apex_fits(compat, apex, known.torch, known.python))
    ]


def _compatible(options: NewOptions, compat: Compat, matrix: MatrixText) -> list[Combination]:
    """What is paired with other releases and compatible with the CANN that is asked for."""
    cann = _cann(options, matrix)
    has_kernels = any(row.cann == cann and options.chip in row.chips for row in compat.releases)
    if cann is None or cann.is_preview or not has_kernels:
        return []
    ranges = [row.cann for row in compat.compatible if cann in row.cann]
    return [
        replace(known, cann=cann)
        for known in _fitting(replace(options, cann=""), compat, matrix)
        if known.row.is_makers and any(known.cann in releases for releases in ranges)
    ]


def _cann(options: NewOptions, matrix: MatrixText) -> CannVersion | None:
    """The CANN that rows are looked up for, if one is asked for.

    Raises:
        UsageError: it is not a version, or an interim build that matrix.yaml lacks.
    """
    if not options.cann:
        return None
    public = matrix.value("cann", options.cann, "nearest_public")
    try:
        cann = CannVersion.parse(public or options.cann)
    except ValueError as error:
        raise UsageError(Problem(what=str(error))) from error
    if cann.is_interim:
        what = f"CANN {options.cann} is an interim build, whose files are not published."
        fix = "Declare it under cann: in matrix.yaml, as 8.0.T39 is, with its nearest_public."
        raise UsageError(Problem(what=what, fix=fix))
    return cann


def _nothing_fits(options: NewOptions, compat: Compat, matrix: MatrixText) -> MatrixError:
    """Says which single option is in the way, with the values that would fit in its place."""
    deepspeed = options.deepspeed.removeprefix("none")
    asked = {
        "python": options.minor,
        "torch": options.torch,
        "cann": options.cann,
        "chip": options.chip,
        "deepspeed": deepspeed,
        "apex": _apex(matrix) if options.apex else "",
    }
    rows = compat.pairings
    values: dict[str, set[str]] = {
        "python": {python for row in rows for python in row.pythons},
        "torch": {row.torch for row in rows},
        "cann": {str(row.cann) for row in rows if not row.cann.is_preview},
        "chip": {chip for row in compat.releases for chip in row.chips},
    }
    hints = []
    for option, known in values.items():
        fitting = [
            value
            for value in known
            if asked[option] and _fitting(replace(options, **{option: value}), compat, matrix)  # type: ignore[arg-type]
        ]
        if fitting:
            hints.append(f"--{option} {' or '.join(sorted(fitting, key=_as_numbers))}")
    if deepspeed and _fitting(replace(options, deepspeed="none"), compat, matrix):
        hints.append("without --deepspeed")
    if options.apex and _fitting(replace(options, apex=False), compat, matrix):
        hints.append("without --apex")
    fixes = [f"Known: {'; or '.join(hints)}."] if hints else []
    if not hints and options.torch not in {"", *values["torch"]}:
        fixes.append(did_you_mean(options.torch, values["torch"]))
    of_deepspeed = [
        row for row in compat.deepspeed if deepspeed and row.version.contains(deepspeed)
    ]
    if refused := [row.refused for row in of_deepspeed if row.refused and row.torch is None]:
        fixes.append(f"deepspeed {deepspeed} does not work: {refused[0]}.")
    elif deepspeed and not of_deepspeed:
        fixes.append(f"No source names deepspeed {deepspeed}.")
    versions = ", ".join(f"{key} {value}" for key, value in asked.items() if value)
    what = f"no known combination has {versions}."
    return MatrixError(Problem(what=what, fix=" ".join(fixes)))


def _as_numbers(text: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdigit() else (0, part) for part in re.split(r"[.-]", text)]
