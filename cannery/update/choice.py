# SPDX-License-Identifier: Apache-2.0
"""Chooses torch, torch_npu, CANN and DeepSpeed for a new target: the newest known to fit."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from cannery.common.cann import Layout
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
    """What a target is made from; ``notes`` are what the user should know of it."""

    combination: Combination
    layout: str
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
    layouts = {str(layout) for layout in Layout}
    usable = [each for each in fits if layout_of(each.cann, compat) in layouts]
    if not usable:
        names = ", ".join(sorted({f"CANN {each.cann}" for each in fits}))
        what = f"only {names} would fit, and this version of cannery does not know its layout."
        raise MatrixError(Problem(what=what))
    best = min(usable, key=_newest_first)
    notes = []
    if best.cann != best.row.cann:
        known = ", ".join(row.cited for row in compat.compatible if best.cann in row.cann)
        pair = f"torch_npu {best.torch_npu} is paired with CANN {best.row.cann}"
        notes.append(f"{pair}, and compatible with CANN {best.cann}: {known}")
    if (newer := min(fits, key=_newest_first)) is not best:
        what = f"CANN {newer.cann} is newer, but this version of cannery does not know its layout"
        notes.append(what)
    return Choice(
        combination=best,
        layout=layout_of(best.cann, compat),
        deepspeed=_deepspeed(options, best, compat),
        apex=_apex(matrix) if options.apex else "",
        notes=tuple(notes),
    )


def with_whole_versions(options: Options, compat: Compat, matrix: MatrixText) -> Options:
    """``options`` with the newest torch and CANN that fit in place of a series, as 2.10 and 9.1."""
    canns = {row.cann for row in compat.releases if not row.cann.is_preview}
    torches = {Version(row.torch) for row in compat.pairings}
    tried = (
        replace(options, cann=cann, torch=torch)
        for cann in _of_series(options.cann, map(str, sorted(canns, reverse=True)))
        for torch in _of_series(options.torch, map(str, sorted(torches, reverse=True)))
    )
    first = next(tried, options)
    rest = (each for each in (first, *tried) if _fitting(each, compat, matrix))
    return next(rest, first)


def _of_series(text: str, versions: Iterable[str]) -> list[str]:
    """Those of ``versions`` that ``text`` is the series of; ``text`` itself where it is none."""
    whole = [each for each in versions if re.fullmatch(r"[0-9]+\.[0-9]+", text)]
    return [each for each in whole if each.startswith(f"{text}.")] or [text]


def _wants_deepspeed(options: NewOptions) -> bool:
    """Whether a version of DeepSpeed is asked for by name."""
    return options.deepspeed not in ("", "none")


def layout_of(cann: CannVersion, compat: Compat) -> str:
    """Where a release installs itself, as matrix.yaml names it; "" where that is not known."""
    return next((row.layout for row in compat.layouts if cann in row.cann), "")


def _apex(matrix: MatrixText) -> str:
    return next(iter(matrix.keys("apex")), _APEX)


def _deepspeed(options: NewOptions, choice: Combination, compat: Compat) -> str:
    """The version that is asked for or else advised; "" for none."""
    if options.deepspeed:
        return options.deepspeed if _wants_deepspeed(options) else ""
    advised = {str(_only(row.version)) for row in compat.deepspeed if row.advised}
    fitting = [
        Version(version)
        for version in advised
        if _advised(version, choice, compat)
        and deepspeed_fits(compat, version, choice.torch, choice.python)
    ]
    return str(max(fitting, default=""))


def _advised(version: str, choice: Combination, compat: Compat) -> bool:
    """Whether a source advises ``version`` for the torch and the Python of ``choice``."""
    return any(
        row.advised
        and row.version.contains(version)
        and (row.torch is None or row.torch.contains(choice.torch, prereleases=True))
        and (not row.pythons or choice.python in row.pythons)
        for row in compat.deepspeed
    )


def _only(versions: SpecifierSet) -> Version:
    return max(Version(each.version) for each in versions)


def _newest_first(each: Combination) -> tuple[Any, ...]:
    """What Huawei pairs itself goes before what others have tried; then the newest."""
    torch, torch_npu = Version(each.torch), Version(each.torch_npu)
    return (
        not each.row.is_makers,
        [-part for part in each.cann.key],
        [-part for part in torch.release],
        each.row.rank,
        -1 if torch_npu.pre is None else 0,
        -(torch_npu.post or 0),
        each.row.line,
    )


def _fitting(options: NewOptions, compat: Compat, matrix: MatrixText) -> list[Combination]:
    cann = _cann(options, matrix)
    return [
        each
        for each in combinations(compat, options.chip, previews=cann is not None)
        if each.python == options.minor
        and options.torch in ("", each.torch)
        and cann in (None, each.cann)
        and _with_extensions(each, options, compat, matrix)
    ]


def _compatible(options: NewOptions, compat: Compat, matrix: MatrixText) -> list[Combination]:
    """What is paired with other releases and compatible with the CANN that is asked for."""
    cann = _cann(options, matrix)
    has_kernels = any(row.cann == cann and options.chip in row.chips for row in compat.releases)
    if cann is None or cann.is_preview or not has_kernels:
        return []
    ranges = [row.cann for row in compat.compatible if cann in row.cann]
    return [
        replace(each, cann=cann)
        for each in _fitting(replace(options, cann=""), compat, matrix)
        if each.row.is_makers and any(each.cann in known for known in ranges)
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


def _with_extensions(
    each: Combination, options: NewOptions, compat: Compat, matrix: MatrixText
) -> bool:
    """Whether the DeepSpeed and the apex that are asked for are known to fit."""
    if _wants_deepspeed(options) and not deepspeed_fits(
        compat, options.deepspeed, each.torch, each.python
    ):
        return False
    return not options.apex or apex_fits(compat, _apex(matrix), each.torch, each.python)


def _nothing_fits(options: NewOptions, compat: Compat, matrix: MatrixText) -> MatrixError:
    """Say which single option is in the way, with what would fit in its place."""
    asked = {
        "python": options.minor,
        "torch": options.torch,
        "cann": options.cann,
        "chip": options.chip,
        "deepspeed": options.deepspeed if _wants_deepspeed(options) else "",
        "apex": _apex(matrix) if options.apex else "",
    }
    what = "no known combination has " + ", ".join(f"{k} {v}" for k, v in asked.items() if v) + "."
    hints = [
        hint
        for option, others in _alternatives(options, compat).items()
        if (hint := _hint(option, others, compat, matrix))
    ]
    fix = f"Known: {'; or '.join(hints)}." if hints else ""
    torches = {row.torch for row in compat.pairings}
    if not hints and options.torch not in torches:
        fix = did_you_mean(options.torch, torches)
    if refused := _refused(options, compat):
        fix = f"{fix} {refused}".strip()
    return MatrixError(Problem(what=what, fix=fix))


def _alternatives(options: NewOptions, compat: Compat) -> dict[str, list[NewOptions]]:
    """Option to the options with that one changed."""
    pythons = {each for row in compat.pairings for each in row.pythons}
    chips = {chip for row in compat.releases for chip in row.chips}
    found = {
        "--python": [replace(options, python=each) for each in pythons],
        "--torch": [replace(options, torch="")] if options.torch else [],
        "--cann": [replace(options, cann="")] if options.cann else [],
        "--chip": [replace(options, chip=each) for each in chips],
        "without --deepspeed": [replace(options, deepspeed="none")],
        "without --apex": [replace(options, apex=False)],
    }
    if not _wants_deepspeed(options):
        del found["without --deepspeed"]
    if not options.apex:
        del found["without --apex"]
    return found


_READS: dict[str, Callable[[Combination, NewOptions], str]] = {
    "--python": lambda each, _: each.python,
    "--torch": lambda each, _: each.torch,
    "--cann": lambda each, _: str(each.cann),
    "--chip": lambda _, other: other.chip,
}
"""Option to how its value is read from what would fit."""


def _hint(option: str, others: Iterable[NewOptions], compat: Compat, matrix: MatrixText) -> str:
    """What to write for ``option`` so that something fits; "" if nothing does."""
    pairs = [(each, other) for other in others for each in _fitting(other, compat, matrix)]
    read = _READS.get(option)
    if not pairs or read is None:
        return option if pairs else ""
    values = {read(each, other) for each, other in pairs}
    return f"{option} {' or '.join(sorted(values, key=_as_numbers))}"


def _refused(options: NewOptions, compat: Compat) -> str:
    """Why the DeepSpeed that is asked for cannot work with any torch, if it cannot."""
    if not _wants_deepspeed(options):
        return ""
    rows = [row for row in compat.deepspeed if row.version.contains(options.deepspeed)]
    refused = [row for row in rows if row.refused and row.torch is None]
    if not refused:
        return "" if rows else f"No source names deepspeed {options.deepspeed}."
    return f"deepspeed {options.deepspeed} does not work: {refused[0].refused}."


def _as_numbers(text: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdigit() else (0, part) for part in re.split(r"[.-]", text)]
