# SPDX-License-Identifier: Apache-2.0
"""Proposes a whole target from a few options. Pure: from texts and rows to lines of YAML."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cannery.common.cann_version import CannVersion
from cannery.common.errors import MatrixError, Problem, UsageError
from cannery.common.model import USUAL_CHIP, Target
from cannery.compat.archives import Archive
from cannery.compat.facts import Compat
from cannery.compat.file_names import file_row, name_in
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
    found = choice.combination
    python, base, python_entries = _python(options, matrix, archives, _usual_base(matrix, targets))
    cann, cann_entries = cann_of(found.cann, options, compat, matrix)
    name = options.id or target_id(options.minor, found.torch, cann, options.chip)
    if name in targets:
        fix = f"Build it: python build.py build {name}; or choose another id with --id."
        raise UsageError(Problem(what=f"target {name} exists already.", fix=fix))
    lines = [
        f"{name}:",
        f"  platform: {_PLATFORMS[options.machine]}",
        f"  base: {base}",
        f"  python: {python}",
        f"  cann: {cann}",
        *([] if options.chip == USUAL_CHIP else [f"  chip: {options.chip}"]),
        f"  torch: {found.torch}",
        f"  torch_npu: {found.torch_npu}",
    ]
    index, index_entries = _torch_index(options, matrix)
    more = {"torch_index": index, "apex": choice.apex, "deepspeed": choice.deepspeed}
    lines += [f"  {key}: {text}" for key, text in more.items() if text]
    entries = [*python_entries, *cann_entries, *index_entries, *_apex(choice, matrix)]
    entries += _plugin(choice.deepspeed, compat, matrix)
    entries.append((("targets",), tuple(lines)))
    notes = _notes(choice, cann_entries, compat)
    return Proposal(id=name, entries=tuple(entries), notes=notes)


def _notes(choice: Choice, cann_entries: Sequence[Entry], compat: Compat) -> tuple[str, ...]:
    """What the user should know, and who names the versions and requirements."""
    notes = [*choice.notes, f"torch, torch_npu, CANN and Python: {choice.combination.row.cited}"]
    if any(where == ("cann",) for where, _ in cann_entries):
        notes.append(f"requirements of CANN's Python parts: {compat.cann_python_by}")
    return tuple(notes)


def target_id(python: str, torch: str, cann: str, chip: str) -> str:
    """An id in the style of the others: py39-torch231-cann8t39, py310-torch271-cann83rc1-a3."""
    short = re.sub(r"\.0\.(?=RC|T)", "", cann)
    parts = [f"py{python}", f"torch{torch}", f"cann{short}"]
    if chip != USUAL_CHIP:
        parts.append(chip)
    return "-".join(re.sub(r"[^a-z0-9]", "", part.lower()) for part in parts)


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


def _torch_index(options: NewOptions, matrix: MatrixText) -> tuple[str, list[Entry]]:
    """The index of builds for the CPU that a target for x86_64 needs, and what declares it."""
    if options.machine != "x86_64":
        return "", []
    for name in matrix.keys("torch_indexes"):
        if matrix.value("torch_indexes", name, "local") == "cpu":
            return name, []
    lines = ("cpu:", f"  url: {_TORCH_FOR_CPU}", "  local: cpu")
    return "cpu", [(("torch_indexes",), lines)]


def _apex(choice: Choice, matrix: MatrixText) -> list[Entry]:
    """The wheel of apex, where matrix.yaml does not declare it."""
    if not choice.apex or choice.apex in matrix.keys("apex"):
        return []
    lines = (
        f"{choice.apex}:",
        f"  file: apex-{choice.apex}-{{tag}}-{{abi}}-linux_{{machine}}.whl",
        "  origin: built from gitee.com/ascend/apex",
    )
    return [(("apex",), lines)]


def _plugin(deepspeed: str, compat: Compat, matrix: MatrixText) -> list[Entry]:
    """The plugin that a DeepSpeed needs, where matrix.yaml does not declare it."""
    rows = [row for row in compat.deepspeed if deepspeed and row.version.contains(deepspeed)]
    branch = next((row.plugin for row in rows if row.plugin), "")
    if not branch or deepspeed in matrix.keys("deepspeed_plugins"):
        return []
    lines = (
        f"{deepspeed}:",
        "  file: deepspeed_npu-0.1-py3-none-any.whl",
        f"  origin: built from gitee.com/ascend/DeepSpeed, branch {branch}",
    )
    return [(("deepspeed_plugins",), lines)]


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
    has_nnal = any(row.nnal and row.cann == release for row in compat.releases)
    names = _Names(options, compat, matrix, layout_of(release, compat), release, name)
    return name, [(("cann",), names.release(has_nnal=has_nnal))]


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
        if "chips" in keys and self._is_usual("kernels"):
            return [((*place, "chips"), (chip,))]
        lines = self._kernels()
        if "kernels" in keys:
            return [((*place, "kernels"), lines)]
        return [(place, ("kernels:", *("  " + line for line in lines)))]

    def release(self, *, has_nnal: bool) -> tuple[str, ...]:
        """The lines that declare a release that matrix.yaml lacks."""
        lines = [f"{self.version}:", f"  layout: {self.layout}"]
        if not self._is_usual("toolkit"):
            lines += ["  toolkit:", *("  " + line for line in self._file("toolkit"))]
        if self._is_usual("kernels"):
            lines.append(f"  chips: [{', '.join(self._chips())}]")
        else:
            lines += ["  kernels:", *("    " + line for line in self._kernels())]
        usual = bool(self._pattern("nnal"))
        if has_nnal and not self._is_usual("nnal"):
            lines += ["  nnal:", *("  " + line for line in self._file("nnal"))]
        elif usual and not has_nnal:
            lines.append("  without: [nnal]")
        if not self.matrix.items("cann_layouts", self.layout, "requirements"):
            lines += ["  requirements:", *(f"    - {each}" for each in self.compat.cann_python)]
        return tuple(lines)

    def _chips(self) -> list[str]:
        """The chip, and the others that the release is known to have kernels for."""
        rows = [row for row in self.compat.releases if row.cann == self.public]
        known = {chip for row in rows for chip in row.chips if self._is_usual("kernels", chip)}
        return sorted({self.options.chip, *known})

    def _pattern(self, component: str, chip: str = "") -> str:
        """How the layout names the file of ``component``; "" where it does not."""
        place = ("cann_layouts", self.layout, component)
        if component != "kernels":
            return self.matrix.value(*place)
        return self.matrix.value(*place, chip) or self.matrix.value(*place, "default")

    def _is_usual(self, component: str, chip: str = "") -> bool:
        """Whether the name that the layout gives to the file is Huawei's name for it."""
        chip = chip or self.options.chip
        pattern = self._pattern(component, chip)
        values = {"chip": chip, "machine": self.options.machine}
        version = self.version.removesuffix(".beta1")
        made = pattern.format(release=version, **values) if pattern else ""
        return made == self._name(component, chip) if made else False

    def _kernels(self) -> tuple[str, ...]:
        return (f"{self.options.chip}:", *self._file("kernels"))

    def _file(self, component: str) -> tuple[str, str]:
        """The lines that declare the file of ``component``."""
        name = self._name(component, self.options.chip)
        origin = _COMMUNITY if _is_release(str(self.public), self.version) else _INTERIM
        return f"  file: {name}", f"  origin: {origin}"

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
