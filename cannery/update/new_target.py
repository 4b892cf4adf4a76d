# SPDX-License-Identifier: Apache-2.0
"""A new target from a few options, with the newest versions that are known to fit. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from packaging.version import Version

from cannery.common.bases import PythonSource
from cannery.common.cann_version import CannVersion
from cannery.common.errors import MatrixError, Problem, UsageError, enumerated
from cannery.common.model import USUAL_CHIP, Target
from cannery.compat.extension_rules import apex_fits, deepspeed_fits
from cannery.compat.facts import LIFETIMES, Compat
from cannery.compat.files import Archive, file_row, name_in
from cannery.compat.finding import lifetimes_of
from cannery.compat.nearest import (
    Combination,
    combinations,
    compatible_rows,
    releases_for,
)
from cannery.fetch.needs import CANN
from cannery.matrix.files import Data
from cannery.matrix.matrix import Matrix
from cannery.matrix.schema import parse_files
from cannery.matrix.text import Entry, MatrixText
from cannery.options import NewOptions

_APEX = "0.1+ascend"
_ARCHIVES = "github.com/astral-sh/python-build-standalone/releases/tag"
_TORCH_FOR_CPU = "https://download.pytorch.org/whl/cpu"
"""That of its makers (pytorch.org); in the usual one, torch for x86_64 is for CUDA only."""

_SERIES = re.compile(r"[0-9]+\.[0-9]+")


@dataclass(frozen=True, kw_only=True)
class Choice:
    """The versions of a target. ``cann`` is the release as the user or else Huawei names it."""

    combination: Combination
    cann: str
    deepspeed: str


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """A target's id, what must be added to matrix.yaml, and what the user should know of it."""

    id: str
    entries: tuple[Entry, ...]
    notes: tuple[str, ...]


def choose(options: NewOptions, compat: Compat, matrix: MatrixText) -> Choice:
    """The newest of what fits ``options``."""
    fits = _fitting(options, compat, matrix)
    if not fits and options.cann:
        fits = _fitting(options, compat, matrix, compatible=True)
    if not fits:
        raise _nothing_fits(options, compat, matrix)
    best = max(fits, key=_order)
    deepspeed = options.deepspeed.removeprefix("none")
    if not options.deepspeed:
        advised = [
            version
            for row in compat.deepspeed
            if row.advised
            and (row.torch is None or row.torch.contains(best.torch, prereleases=True))
            and (not row.pythons or best.python in row.pythons)
            for version in (max(Version(specifier.version) for specifier in row.version),)
            if deepspeed_fits(compat, str(version), best.torch, best.python)
        ]
        deepspeed = str(max(advised, default=""))
    is_series = _SERIES.fullmatch(options.cann)
    return Choice(
        combination=best,
        cann=str(best.cann) if is_series else options.cann or str(best.cann),
        deepspeed=deepspeed,
    )


def _apex(matrix: MatrixText) -> str:
    return next(iter(matrix.keys("apex")), _APEX)


def _order(known: Combination) -> tuple[Any, ...]:
    """Pairs of their makers are better than others, newer ones better than older ones."""
    row, torch_npu = known.row, Version(known.torch_npu)
    is_final, post = torch_npu.pre is None, torch_npu.post or 0
    newest = (known.cann, Version(known.torch), -row.rank, is_final, post, -row.line)
    return row.is_makers, *newest


def _matches(asked: str, version: str) -> bool:
    is_series = _SERIES.fullmatch(asked) and version.startswith(f"{asked}.")
    return asked in ("", version) or bool(is_series)


def _cann_matches(options: NewOptions, matrix: MatrixText) -> Callable[[CannVersion], bool]:
    """Whether a release is asked for; a preview only is by its exact version."""
    if not options.cann or _SERIES.fullmatch(options.cann):
        return lambda cann: not cann.is_preview and _matches(options.cann, str(cann))
    public = matrix.value("cann", options.cann, "nearest_public")
    try:
        exact = CannVersion.parse(public or options.cann)
    except ValueError as error:
        raise UsageError(Problem(what=str(error))) from error
    if exact.is_interim:
        what = f"CANN {options.cann} is an interim build, whose files are not published."
        fix = "Declare it under cann: in matrix.yaml, as 8.0.T39 is, with its nearest_public."
        raise UsageError(Problem(what=what, fix=fix))
    return lambda cann: cann == exact


def _fitting(
    options: NewOptions,
    compat: Compat,
    matrix: MatrixText,
    files: Collection[str] = (),
    *,
    compatible: bool = False,
) -> list[Combination]:
    """The known combinations that have what ``options`` name; ``files`` are torch_npu's, too.

    With ``compatible``, pairs of other releases that makers call compatible with the CANN.
    """
    is_asked, apex = _cann_matches(options, matrix), _apex(matrix)
    deepspeed = options.deepspeed.removeprefix("none")
    files = {*files, *matrix.keys("torch_npu_wheels")}
    known = [
        known
        for known in combinations(compat, options.chip, options.machine, files, previews=True)
        if options.minor in ("", known.python)
        and _matches(options.torch, known.torch)
        and layout_of(known.cann, compat)
        and (not deepspeed or deepspeed_fits(compat, deepspeed, known.torch, known.python))
        and (not options.apex or apex_fits(compat, apex, known.torch, known.python))
    ]
    if not compatible:
        return [pair for pair in known if is_asked(pair.cann)]
    return [
        replace(pair, cann=cann)
        for cann in filter(is_asked, releases_for(compat, options.chip))
        for pair in known
        if compatible_rows(compat, cann, options.chip, [pair.row])
    ]


def _nothing_fits(options: NewOptions, compat: Compat, matrix: MatrixText) -> MatrixError:
    """Names, for each option, the values that fit the others."""

    def fitting(**other: Any) -> list[Combination]:
        return _fitting(replace(options, **other), compat, matrix)

    deepspeed = options.deepspeed.removeprefix("none")
    chips = {chip for row in compat.releases for chip in row.chips}
    values = {
        "python": {known.python for known in fitting(python="")},
        "torch": {known.torch for known in fitting(torch="") if options.torch},
        "cann": {str(known.cann) for known in fitting(cann="") if options.cann},
        "chip": {chip for chip in chips if fitting(chip=chip)},
    }
    ordered = {option: sorted(fits, key=_as_numbers) for option, fits in values.items() if fits}
    hints = [f"--{option} {' or '.join(fits)}" for option, fits in ordered.items()]
    if deepspeed and fitting(deepspeed="none"):
        hints.append("without --deepspeed")
    if options.apex and fitting(apex=False):
        hints.append("without --apex")
    fixes = [f"Known: {'; or '.join(hints)}."] if hints else []
    rows = [row for row in compat.deepspeed if deepspeed and row.version.contains(deepspeed)]
    if refused := [row.refused for row in rows if row.refused and row.torch is None]:
        fixes.append(f"deepspeed {deepspeed} does not work: {refused[0]}.")
    elif deepspeed and not rows:
        fixes.append(f"No source names deepspeed {deepspeed}.")
    files = {row.torch_npu for row in compat.pairings}
    if options.torch and (others := _fitting(options, compat, matrix, files)):
        what = f"Package indexes have no torch_npu {others[0].torch_npu}"
        fixes.append(f"{what}: declare its wheel under torch_npu_wheels in matrix.yaml.")
    asked = {
        "python": options.minor,
        "torch": options.torch,
        "cann": options.cann,
        "chip": options.chip,
        "deepspeed": deepspeed,
        "apex": _apex(matrix) if options.apex else "",
    }
    versions = ", ".join(f"{key} {value}" for key, value in asked.items() if value)
    what = f"no known combination has {versions}."
    return MatrixError(Problem(what=what, fix=" ".join(fixes)))


def _as_numbers(text: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdigit() else (0, part) for part in re.split(r"[.-]", text)]


def propose(
    options: NewOptions,
    compat: Compat,
    matrix: MatrixText,
    archives: Sequence[Archive],
    targets: Mapping[str, Target],
) -> Proposal:
    """The target with the newest CANN, torch and torch_npu that fit ``options``.

    ``targets`` are those of ``matrix``, whether it writes them out or in families.
    """
    choice = choose(options, compat, matrix)
    known = choice.combination
    bases = [target.base.name for target in targets.values()]
    order = matrix.keys("bases")
    usual = max(order, key=lambda name: (bases.count(name), -order.index(name)))
    python, base, entries = _python(options, matrix, archives, usual)
    cann, of_cann = cann_of(known.cann, choice.cann, options, compat, matrix)
    ids = [options.id] if options.id else _ids(options, known.torch, cann)
    name = next((name for name in ids if name not in targets), "")
    if not name:
        fix = f"Build it: python build.py build {ids[0]}; or choose another id with --id."
        raise UsageError(Problem(what=f"target {enumerated(ids)} exists already.", fix=fix))
    notes = []
    if name != ids[0]:
        other = targets[ids[0]]
        has = f"{other.platform}, Python {other.python.version}, torch_npu {other.torch_npu}"
        notes.append(f"{ids[0]} is another target ({has}; {other.summary})")
    of_base = _of_bases(options, matrix).get(base, options.python)
    if options.python not in (options.minor, of_base):
        notes.append(f"base {base} has Python {of_base}; {options.python} is taken from an archive")
    entries += of_cann
    index = ""
    if options.machine == "x86_64" and known.torch not in matrix.keys("torch_wheels"):
        indexes = matrix.keys("torch_indexes")
        cpu = (each for each in indexes if matrix.value("torch_indexes", each, "local") == "cpu")
        index = next(cpu, "") or "cpu"
        if index not in indexes:
            lines = ("cpu:", f"  url: {_TORCH_FOR_CPU}", "  local: cpu")
            entries.append((("torch_indexes",), lines))
    values = {
        "platform": options.platform,
        "base": base,
        "python": python,
        "cann": cann,
        "chip": "" if options.chip == USUAL_CHIP else options.chip,
        "torch": known.torch,
        "torch_npu": known.torch_npu,
        "torch_index": index,
        "apex": _apex(matrix) if options.apex else "",
        "deepspeed": choice.deepspeed,
    }
    target = (f"  {key}: {text}" for key, text in values.items() if text)
    entries.append((("targets",), (f"{name}:", *target)))
    notes.append(f"torch, torch_npu, CANN and Python: {known.row.cited}")
    if known.cann != known.row.cann:
        cited = ", ".join(row.cited for row in compat.compatible if known.cann in row.cann)
        pair = f"torch_npu {known.torch_npu} is paired with CANN {known.row.cann}"
        notes.insert(0, f"{pair}, and compatible with CANN {known.cann}: {cited}")
    return Proposal(id=name, entries=tuple(entries), notes=tuple(notes))


def warnings(target: Target, compat: Compat, today: str) -> list[str]:
    """The packages of ``target`` that no server has, and its parts that ended before ``today``."""
    lines = []
    packages = {name: file for name, file in target.artifacts.items() if name in CANN}
    if gone := [file.name for file in packages.values() if not file.is_downloadable]:
        release = f"CANN {target.cann.version}"
        lines.append(f"no server is known to have {release}: {enumerated(gone)} must be put there")
    for key, row in lifetimes_of(target, compat).items():
        if row and "" < row.ends < today:
            own = key == "python" and target.python.source is PythonSource.BASE
            of_base = "; the base maintains its own build" if own else ""
            name = f"{LIFETIMES[row.component]} {row.version}"
            lines.append(f"{name} was maintained until {row.ends}, which has passed{of_base}")
    return lines


def target_id(python: str, torch: str, cann: str, chip: str) -> str:
    """An id in the style of the others: py39-torch231-cann8t39, py310-torch271-cann83rc1-a3."""
    parts = [f"py{short(python)}", f"torch{short(torch)}", f"cann{short(cann)}"]
    return "-".join([*parts, *([] if chip == USUAL_CHIP else [short(chip)])])


def _ids(options: NewOptions, torch: str, cann: str) -> list[str]:
    """Ids for the target, the shortest first; the others tell it from one of the same versions."""
    pythons = dict.fromkeys((options.minor, options.python))
    ids = [target_id(python, torch, cann, options.chip) for python in pythons]
    return [*ids, *(f"{name}-{options.platform.rpartition('/')[2]}" for name in ids)]


def short(version: str) -> str:
    """A version as names of targets have it: 231, 8t39, 83rc1."""
    return re.sub(r"[^a-z0-9]", "", re.sub(r"\.0\.(?=RC|T)", "", version).lower())


def _python(
    options: NewOptions, matrix: MatrixText, archives: Sequence[Archive], base: str
) -> tuple[str, str, list[Entry]]:
    """The interpreter's name, its base or else ``base``, and what must be added for it."""

    def fits(version: str) -> bool:
        return options.python in (version, version.rpartition(".")[0])

    for name in matrix.keys("pythons"):
        file = matrix.value("pythons", name, "archive", "file")
        file = file.replace("{machine}", options.machine)
        if fits(matrix.value("pythons", name, "version")) and (not file or options.machine in file):
            return name, matrix.value("pythons", name, "base") or base, []
    for archive in archives:
        if fits(archive.version) and options.machine in archive.sha256:
            name = f"cpython-{archive.version}"
            lines = (
                f"{name}:",
                f"  version: {archive.version}",
                "  source: standalone",
                "  archive:",
                f"    file: {archive.file(options.machine)}",
                f"    sha256: {archive.sha256[options.machine]}",
                f"    origin: {_ARCHIVES}/{archive.release}",
            )
            return name, base, [(("pythons",), lines)]
    known = ", ".join(a.version for a in archives if options.machine in a.sha256)
    what = f"no python-build-standalone archive of Python {options.python} is known with a "
    what += f"published sha256 for {options.machine}."
    bases = [f"{name} has {version}" for name, version in _of_bases(options, matrix).items()]
    has = f" Base {', '.join(bases)}." if bases else ""
    fix = f"Known: {known}.{has} Declare another one under pythons: in matrix.yaml, then retry."
    raise MatrixError(Problem(what=what, fix=fix))


def _of_bases(options: NewOptions, matrix: MatrixText) -> dict[str, str]:
    """Base to its own Python, where that is one of the same series as the one asked for."""
    pythons = {
        matrix.value("pythons", name, "base"): matrix.value("pythons", name, "version")
        for name in matrix.keys("pythons")
    }
    series = f"{options.minor}."
    return {
        base: version for base, version in pythons.items() if base and version.startswith(series)
    }


def layout_of(cann: CannVersion, compat: Compat) -> str:
    """Where a release installs itself, as matrix.yaml names it; "" where that is not known."""
    return next((row.layout for row in compat.layouts if cann in row.cann), "")


def cann_of(
    release: CannVersion, name: str, options: NewOptions, compat: Compat, matrix: MatrixText
) -> tuple[str, list[Entry]]:
    """The ``name`` of ``release`` in matrix.yaml, and what it lacks there.

    ``options`` have the chip and the machine. A release is declared by its layout, which names its
    files.

    Raises:
        MatrixError: Huawei's name for the kernels is not that of the layout.
    """
    chip, rows = options.chip, [row for row in compat.releases if row.cann == release]
    names = (name, name.removesuffix(".beta1"))
    declared = next((key for key in names if key in matrix.keys("cann")), "")
    place = ("cann", declared)
    layout = matrix.value(*place, "layout") if declared else layout_of(release, compat)
    listed = matrix.items(*place, "chips") if declared else []
    if declared and chip in (*listed, *matrix.keys(*place, "kernels")):
        return declared, []
    kernels = ("cann_layouts", layout, "kernels")
    pattern = matrix.value(*kernels, chip) or matrix.value(*kernels, "default")
    row, machine = file_row(compat, "kernels", release, chip), options.machine
    file = pattern.format(release=name.removesuffix(".beta1"), chip=chip, machine=machine)
    if row is None or file != name_in(row, name, chip, machine):
        what = f"the layout {layout} does not name the kernels of CANN {name} for chip {chip}."
        fix = "Declare the release under cann: in matrix.yaml, with its files."
        raise MatrixError(Problem(what=what, fix=fix))
    if declared and listed:
        return declared, [((*place, "chips"), (chip,))]
    if declared:
        return declared, [(place, (f"chips: [{chip}]",))]
    chips = sorted({chip, *(known for row in rows for known in row.chips)})
    lines = [f"{name}:", f"  layout: {layout}", f"  chips: [{', '.join(chips)}]"]
    if not any(row.nnal for row in rows):
        lines.append("  without: [nnal]")
    return name, [(("cann",), tuple(lines))]


def judged(files: Data, compat: Compat) -> Matrix:
    """The matrix of ``files``, which have lines that are in no file yet.

    Raises:
        MatrixError: it is refused; the message names no lines.
    """
    try:
        return parse_files(files, compat)
    except MatrixError as error:
        refused = [
            Problem(what=f"the proposed target is refused: {problem.what}", fix=problem.fix)
            for problem in error.problems
        ]
        raise MatrixError(refused) from error
