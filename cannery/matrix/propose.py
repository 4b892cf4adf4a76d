# SPDX-License-Identifier: Apache-2.0
"""A whole target from a few versions: the newest that are known to fit. Pure: texts and rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from cannery.compat.archives import Archive
from cannery.compat.facts import Compat, DeepSpeed
from cannery.compat.nearest import Combination, combinations
from cannery.errors import MatrixError, Problem, UsageError, did_you_mean
from cannery.matrix.text import MatrixText
from cannery.model import Layout, Target
from cannery.options.matrix import USUAL_CHIP, NewOptions
from cannery.syntax.cann_version import CannVersion

Entry = tuple[tuple[str, ...], tuple[str, ...]]
"""Where in matrix.yaml something is added, and its lines."""

_COMMUNITY = "Huawei's CANN community downloads (hiascend.com/software/cann/community-history)"
_APEX = (
    "0.1+ascend:",
    "  file: apex-0.1+ascend-{tag}-{tag}-linux_{machine}.whl",
    "  origin: built from gitee.com/ascend/apex",
)
_PLATFORMS = {"aarch64": "linux/arm64", "x86_64": "linux/amd64"}


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """A target's id, what must be added to matrix.yaml, and what the user should know of it."""

    id: str
    entries: tuple[Entry, ...]
    notes: tuple[str, ...]


def propose(
    options: NewOptions,
    compat: Compat,
    matrix: MatrixText,
    archives: Sequence[Archive],
    targets: Mapping[str, Target],
) -> Proposal:
    """The target with the newest CANN, torch and torch_npu that fit ``options``.

    ``targets`` are those of ``matrix``, whether it writes them out or in families.

    Raises:
        UsageError: the id is taken, or the CANN is an interim build that matrix.yaml lacks.
        MatrixError: nothing that is known fits; it names the option that is in the way.
    """
    choice, notes = _choose(options, compat, matrix)
    cann = options.cann or str(choice.cann)
    python, base, python_entries = _python(options, matrix, archives, _usual_base(matrix, targets))
    cann, has_nnal, cann_entries = _cann(choice, options, compat, matrix)
    deepspeed, plugin_entries = _deepspeed(options, choice, compat, matrix)
    name = options.id or target_id(options.minor, choice.torch, cann, options.chip)
    if name in targets:
        raise UsageError(
            Problem(what=f"there is a target {name} already.", fix="Choose another with --id.")
        )
    parts = f"toolkit: {cann}, kernels: {cann}" + (f", nnal: {cann}" if has_nnal else "")
    chip = "" if options.chip == USUAL_CHIP else f" for {options.chip}"
    lines = [
        f"{name}:",
        f"  summary: PyTorch {choice.torch} on CANN {cann}, Python {options.minor}{chip}",
        f"  platform: {_PLATFORMS[options.machine]}",
        f"  base: {base}",
        f"  python: {python}",
        f"  cann: {{{parts}, chip: {options.chip}}}",
        f"  torch: {choice.torch}",
        f"  torch_npu: {choice.torch_npu}",
    ]
    apex_entries: list[Entry] = []
    if options.apex:
        builds = matrix.keys("apex")
        apex_entries = [] if builds else [(("apex",), _APEX)]
        lines.append(f"  apex: {builds[0] if builds else _APEX[0].rstrip(':')}")
    if deepspeed:
        lines.append(f"  deepspeed: {deepspeed}")
    entries = [*python_entries, *cann_entries, *apex_entries, *plugin_entries]
    entries.append((("targets",), tuple(lines)))
    notes.append(f"torch, torch_npu, CANN and Python: {choice.row.cited}")
    return Proposal(id=name, entries=tuple(entries), notes=tuple(notes))


def target_id(python: str, torch: str, cann: str, chip: str) -> str:
    """An id in the style of the others: py39-torch231-cann8t39, py310-torch271-cann83rc1-a3."""
    short = re.sub(r"\.0\.(?=RC|T)", "", cann)
    parts = [f"py{python}", f"torch{torch}", f"cann{short}"]
    if chip != USUAL_CHIP:
        parts.append(chip)
    return "-".join(re.sub(r"[^a-z0-9]", "", part.lower()) for part in parts)


def _choose(
    options: NewOptions, compat: Compat, matrix: MatrixText
) -> tuple[Combination, list[str]]:
    fits = _fitting(options, compat, matrix)
    if not fits:
        raise _nothing_fits(options, compat, matrix)
    layouts = {str(layout) for layout in Layout}
    usable = [each for each in fits if _layout(each.cann, compat) in layouts]
    if not usable:
        names = ", ".join(sorted({f"CANN {each.cann}" for each in fits}))
        what = f"only {names} would fit, and this version of cannery cannot lay it out yet."
        raise MatrixError(Problem(what=what))
    best = min(usable, key=_newest_first)
    notes = []
    if (newer := min(fits, key=_newest_first)) is not best:
        notes.append(f"CANN {newer.cann} is newer, but this version of cannery cannot lay it out")
    return best, notes


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
    cann: CannVersion | None = None
    if options.cann:
        public = matrix.value("cann", options.cann, "nearest_public")
        try:
            cann = CannVersion.parse(public or options.cann)
        except ValueError as error:
            raise UsageError(Problem(what=str(error))) from error
        if cann.is_interim:
            what = f"CANN {options.cann} is an interim build, whose files nobody publishes."
            fix = "Declare it under cann: in matrix.yaml, as 8.0.T39 is, with its nearest_public."
            raise UsageError(Problem(what=what, fix=fix))
    return [
        each
        for each in combinations(compat, options.chip, previews=cann is not None)
        if each.python == options.minor
        and options.torch in ("", each.torch)
        and cann in (None, each.cann)
    ]


def _nothing_fits(options: NewOptions, compat: Compat, matrix: MatrixText) -> MatrixError:
    """Name the one option that is in the way, and the values that would fit."""
    asked = {
        "python": options.minor,
        "torch": options.torch,
        "cann": options.cann,
        "chip": options.chip,
    }
    what = "nothing that is known has " + ", ".join(f"{k} {v}" for k, v in asked.items() if v) + "."
    pythons = sorted({each for row in compat.pairings for each in row.pythons}, key=_as_numbers)
    chips = sorted({chip for row in compat.releases for chip in row.chips})
    hints = []
    replaced: dict[str, list[NewOptions]] = {
        "--python": [replace(options, python=each) for each in pythons],
        "--torch": [replace(options, torch="")] if options.torch else [],
        "--cann": [replace(options, cann="")] if options.cann else [],
        "--chip": [replace(options, chip=each) for each in chips],
    }
    reads: dict[str, Callable[[Combination, NewOptions], str]] = {
        "--python": lambda each, _: each.python,
        "--torch": lambda each, _: each.torch,
        "--cann": lambda each, _: str(each.cann),
        "--chip": lambda _, other: other.chip,
    }
    for option, others in replaced.items():
        found = {
            reads[option](each, other)
            for other in others
            for each in _fitting(other, compat, matrix)
        }
        if found:
            hints.append(f"{option} {' or '.join(sorted(found, key=_as_numbers))}")
    fix = "It would with " + "; or with ".join(hints) + "." if hints else ""
    if not hints and options.torch not in {row.torch for row in compat.pairings}:
        fix = did_you_mean(options.torch, {row.torch for row in compat.pairings})
    return MatrixError(Problem(what=what, fix=fix))


def _as_numbers(text: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdigit() else (0, part) for part in re.split(r"[.-]", text)]


def _layout(cann: CannVersion, compat: Compat) -> str:
    return next((row.layout for row in compat.layouts if cann in row.cann), "")


def _python(
    options: NewOptions, matrix: MatrixText, archives: Sequence[Archive], base: str
) -> tuple[str, str, list[Entry]]:
    """The interpreter's name, its own base or ``base``, and what must be added for it."""
    exact = options.python != options.minor
    for name in matrix.keys("pythons"):
        version = matrix.value("pythons", name, "version")
        same = version == options.python if exact else version.rpartition(".")[0] == options.minor
        file = matrix.value("pythons", name, "archive", "file")
        if same and (not file or options.machine in file):
            return name, matrix.value("pythons", name, "base") or base, []
    for archive in archives:
        same = archive.version == options.python if exact else archive.minor == options.minor
        if same and options.machine in archive.sha256:
            name = f"cpython-{archive.version}"
            lines = (
                f"{name}:",
                f"  version: {archive.version}",
                "  source: standalone",
                "  archive:",
                f"    file: {archive.file(options.machine)}",
                f"    sha256: {archive.sha256[options.machine]}",
                f"    origin: python-build-standalone, release {archive.release}",
            )
            return name, base, [(("pythons",), lines)]
    known = ", ".join(each.version for each in archives if options.machine in each.sha256)
    raise MatrixError(
        Problem(
            what=f"no python-build-standalone archive of Python {options.python} is known with a "
            f"published sha256 for {options.machine}.",
            fix=f"Known: {known}. Declare another one under pythons: in matrix.yaml, then retry.",
        )
    )


def _usual_base(matrix: MatrixText, targets: Mapping[str, Target]) -> str:
    """The base of most targets; of two that are as frequent, the one that comes first."""
    used = [target.base.name for target in targets.values()]
    bases = matrix.keys("bases")
    return max(bases, key=lambda name: (used.count(name), -bases.index(name)))


def _cann(
    choice: Combination, options: NewOptions, compat: Compat, matrix: MatrixText
) -> tuple[str, bool, list[Entry]]:
    """The release's name in matrix.yaml, whether it has NNAL, and what it lacks there."""
    files = {
        row.component: row.file.format(
            version=choice.cann, chip=options.chip, machine=options.machine
        )
        for row in compat.files
        if choice.cann in row.cann and options.chip in (row.chips or (options.chip,))
    }
    kernels = (f"{options.chip}:", f"  file: {files['kernels']}", f"  origin: {_COMMUNITY}")
    cann = options.cann or str(choice.cann)
    for name in matrix.keys("cann"):
        if _is_release(name, cann):
            missing = options.chip not in matrix.keys("cann", name, "kernels")
            entries: list[Entry] = [(("cann", name, "kernels"), kernels)] if missing else []
            return name, "nnal" in matrix.keys("cann", name), entries
    has_nnal = any(row.nnal and row.cann == choice.cann for row in compat.releases)
    lines = [
        f"{cann}:",
        f"  layout: {_layout(choice.cann, compat)}",
        "  toolkit:",
        f"    file: {files['toolkit']}",
        f"    origin: {_COMMUNITY}",
        "  kernels:",
        *("    " + line for line in kernels),
    ]
    if has_nnal:
        lines += ["  nnal:", f"    file: {files['nnal']}", f"    origin: {_COMMUNITY}"]
    lines += ["  requirements:", *(f"    - {each}" for each in compat.cann_python)]
    return cann, has_nnal, [(("cann",), tuple(lines))]


def _is_release(name: str, cann: str) -> bool:
    try:
        return CannVersion.parse(name) == CannVersion.parse(cann)
    except ValueError:
        return name == cann


def _deepspeed(
    options: NewOptions, choice: Combination, compat: Compat, matrix: MatrixText
) -> tuple[str, list[Entry]]:
    """The version that is given or advised, "" for none, and the plugin that it needs."""
    version = options.deepspeed
    if not version:
        advised = [
            row
            for row in compat.deepspeed
            if row.advised and row.advised.contains(choice.torch, prereleases=True)
        ]
        version = str(max((_only(row.version) for row in advised), default=""))
    if not version or version == "none":
        return "", []
    needing: list[DeepSpeed] = [
        row for row in compat.deepspeed if row.plugin and row.version.contains(version)
    ]
    if not needing or version in matrix.keys("deepspeed_plugins"):
        return version, []
    lines = (
        f"{version}:",
        "  file: deepspeed_npu-0.1-py3-none-any.whl",
        f"  origin: built from gitee.com/ascend/DeepSpeed, branch {needing[0].plugin}",
    )
    return version, [(("deepspeed_plugins",), lines)]


def _only(versions: SpecifierSet) -> Version:
    return max(Version(each.version) for each in versions)
