# SPDX-License-Identifier: Apache-2.0
"""Proposes a whole target from a few options. Pure: from texts and rows to lines of YAML."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from cannery.common.cann_version import CannVersion
from cannery.common.errors import MatrixError, Problem, UsageError
from cannery.common.model import USUAL_CHIP, Target
from cannery.compat.facts import Compat
from cannery.compat.files import Archive, file_row, name_in
from cannery.matrix.text import Entry, MatrixText
from cannery.update.choice import Choice, NewOptions, choose, layout_of

_ARCHIVES = "github.com/astral-sh/python-build-standalone/releases/tag"
_TORCH_FOR_CPU = "https://download.pytorch.org/whl/cpu"
"""That of its makers (pytorch.org); in the usual one, torch for x86_64 is for CUDA only."""

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
        MatrixError: no known combination fits; it says which option is in the way.
    """
    choice = choose(options, compat, matrix)
    known = choice.combination
    python, base, entries = _python(options, matrix, archives, _usual_base(matrix, targets))
    cann, of_cann = cann_of(known.cann, options, compat, matrix)
    name = options.id or target_id(options.minor, known.torch, cann, options.chip)
    if name in targets:
        fix = f"Build it: python build.py build {name}; or choose another id with --id."
        raise UsageError(Problem(what=f"target {name} exists already.", fix=fix))
    index, of_index = _torch_index(options, matrix)
    values = {
        "platform": _PLATFORMS[options.machine],
        "base": base,
        "python": python,
        "cann": cann,
        "chip": "" if options.chip == USUAL_CHIP else options.chip,
        "torch": known.torch,
        "torch_npu": known.torch_npu,
        "torch_index": index,
        "apex": choice.apex,
        "deepspeed": choice.deepspeed,
    }
    entries += [*of_cann, *of_index, *_own_wheels(choice, compat, matrix)]
    lines = (f"  {key}: {text}" for key, text in values.items() if text)
    entries.append((("targets",), (f"{name}:", *lines)))
    notes = [*choice.notes, f"torch, torch_npu, CANN and Python: {known.row.cited}"]
    if any(where == ("cann",) for where, _ in of_cann):
        notes.append(f"requirements of CANN's Python parts: {compat.cann_python.cited}")
    return Proposal(id=name, entries=tuple(entries), notes=tuple(notes))


def target_id(python: str, torch: str, cann: str, chip: str) -> str:
    """An id in the style of the others: py39-torch231-cann8t39, py310-torch271-cann83rc1-a3."""
    parts = [f"py{short(python)}", f"torch{short(torch)}", f"cann{short(cann)}"]
    return "-".join([*parts, *([] if chip == USUAL_CHIP else [short(chip)])])


def short(version: str) -> str:
    """A version as names of targets have it: 231, 8t39, 83rc1."""
    return re.sub(r"[^a-z0-9]", "", re.sub(r"\.0\.(?=RC|T)", "", version).lower())


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
                f"    origin: {_ARCHIVES}/{archive.release}",
            )
            return name, base, [(("pythons",), lines)]
    known = ", ".join(a.version for a in archives if options.machine in a.sha256)
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


def _torch_index(options: NewOptions, matrix: MatrixText) -> tuple[str, list[Entry]]:
    """The index of builds for the CPU that a target for x86_64 needs, and what declares it."""
    if options.machine != "x86_64":
        return "", []
    for name in matrix.keys("torch_indexes"):
        if matrix.value("torch_indexes", name, "local") == "cpu":
            return name, []
    lines = ("cpu:", f"  url: {_TORCH_FOR_CPU}", "  local: cpu")
    return "cpu", [(("torch_indexes",), lines)]


def _own_wheels(choice: Choice, compat: Compat, matrix: MatrixText) -> Iterator[Entry]:
    """The wheels that users make themselves and matrix.yaml does not declare."""
    apex, deepspeed = choice.apex, choice.deepspeed
    if apex and apex not in matrix.keys("apex"):
        file = f"apex-{apex}-{{tag}}-{{abi}}-linux_{{machine}}.whl"
        origin = "built from gitee.com/ascend/apex"
        yield ("apex",), (f"{apex}:", f"  file: {file}", f"  origin: {origin}")
    rows = [row for row in compat.deepspeed if deepspeed and row.version.contains(deepspeed)]
    branch = next((row.plugin for row in rows if row.plugin), "")
    if branch and deepspeed not in matrix.keys("deepspeed_plugins"):
        file = "deepspeed_npu-0.1-py3-none-any.whl"
        origin = f"built from gitee.com/ascend/DeepSpeed, branch {branch}"
        lines = (f"{deepspeed}:", f"  file: {file}", f"  origin: {origin}")
        yield ("deepspeed_plugins",), lines


_COMMUNITY = "Huawei's CANN community downloads (www.hiascend.com/software/cann/community-history)"
_INTERIM = "your Huawei contact (an interim build, not published)"


def cann_of(
    release: CannVersion, options: NewOptions, compat: Compat, matrix: MatrixText
) -> tuple[str, list[Entry]]:
    """The name of ``release`` in matrix.yaml, and what it lacks there.

    ``options`` have the chip, the machine and, for an interim build, its name.

    Raises:
        MatrixError: compat.yaml does not have the name of a file.
    """
    name = options.cann or str(release)
    for declared in matrix.keys("cann"):
        if _is_release(declared, name):
            layout = matrix.value("cann", declared, "layout")
            names = _Names(options, compat, matrix, layout, release, declared)
            return declared, names.missing_chip()
    names = _Names(options, compat, matrix, layout_of(release, compat), release, name)
    return name, [(("cann",), names.release())]


@dataclass(frozen=True)
class _Names:
    """How matrix.yaml names the files of CANN ``version``.

    Their rows are those of ``public``, which for an interim build is the nearest public release.
    """

    options: NewOptions
    compat: Compat
    matrix: MatrixText
    layout: str
    public: CannVersion
    version: str

    def missing_chip(self) -> list[Entry]:
        """What the release lacks of the kernels of the chip."""
        place, chip = ("cann", self.version), self.options.chip
        keys = self.matrix.keys(*place)
        if chip in (*self.matrix.keys(*place, "kernels"), *self.matrix.items(*place, "chips")):
            return []
        if "chips" in keys and self._is_usual("kernels", chip):
            return [((*place, "chips"), (chip,))]
        lines = self._file("kernels")
        if "kernels" in keys:
            return [((*place, "kernels"), (f"{chip}:", *lines))]
        return [(place, ("kernels:", f"  {chip}:", *(f"  {line}" for line in lines)))]

    def release(self) -> tuple[str, ...]:
        """The lines that declare a release that matrix.yaml lacks."""
        chip = self.options.chip
        rows = [row for row in self.compat.releases if row.cann == self.public]
        lines = [f"{self.version}:", f"  layout: {self.layout}"]
        if not self._is_usual("toolkit", chip):
            lines += ["  toolkit:", *(f"  {line}" for line in self._file("toolkit"))]
        if self._is_usual("kernels", chip):
            known = {other for row in rows for other in row.chips}
            usual = {other for other in known if self._is_usual("kernels", other)}
            lines.append(f"  chips: [{', '.join(sorted({chip, *usual}))}]")
        else:
            lines += ["  kernels:", f"    {chip}:"]
            lines += [f"    {line}" for line in self._file("kernels")]
        if not any(row.nnal for row in rows):
            without = self.matrix.value("cann_layouts", self.layout, "nnal")
            lines += ["  without: [nnal]"] if without else []
        elif not self._is_usual("nnal", chip):
            lines += ["  nnal:", *(f"  {line}" for line in self._file("nnal"))]
        if not self.matrix.items("cann_layouts", self.layout, "requirements"):
            names = self.compat.cann_python.requirements
            lines += ["  requirements:", *(f"    - {name}" for name in names)]
        return tuple(lines)

    def _is_usual(self, component: str, chip: str) -> bool:
        """Whether the name that the layout gives to the file is Huawei's name for it."""
        place = ("cann_layouts", self.layout, component)
        pattern = (
            self.matrix.value(*place, chip)
            or self.matrix.value(*place, "default")
            or self.matrix.value(*place)
        )
        version, machine = self.version.removesuffix(".beta1"), self.options.machine
        name = pattern.format(release=version, chip=chip, machine=machine)
        return bool(name) and name == self._name(component, chip)

    def _file(self, component: str) -> tuple[str, str]:
        """The lines that declare the file of ``component``."""
        origin = _COMMUNITY if _is_release(str(self.public), self.version) else _INTERIM
        return f"  file: {self._name(component, self.options.chip)}", f"  origin: {origin}"

    def _name(self, component: str, chip: str) -> str:
        """Huawei's name for the file of ``component``.

        Raises:
            MatrixError: compat.yaml does not have it.
        """
        if row := file_row(self.compat, component, self.public, chip):
            return name_in(row, self.version, chip, self.options.machine)
        what = f"no row of files in compat.yaml names the {component} file of CANN {self.public}"
        fix = "Add a row, or declare the release under cann: in matrix.yaml."
        raise MatrixError(Problem(what=f"{what} for chip {chip}.", fix=fix))


def _is_release(name: str, cann: str) -> bool:
    try:
        return CannVersion.parse(name) == CannVersion.parse(cann)
    except ValueError:
        return name == cann
