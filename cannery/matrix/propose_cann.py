# SPDX-License-Identifier: Apache-2.0
"""Proposes the CANN release of a new target: what matrix.yaml lacks of it. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from cannery.common.cann_version import CannVersion
from cannery.common.errors import MatrixError, Problem
from cannery.compat.facts import Compat
from cannery.compat.file_names import file_row, name_in
from cannery.matrix.choice import Choice, NewOptions
from cannery.matrix.text import Entry, MatrixText

_COMMUNITY = "Huawei's CANN community downloads (www.hiascend.com/software/cann/community-history)"
_INTERIM = "your Huawei contact (an interim build, not published)"


def cann_of(
    choice: Choice, options: NewOptions, compat: Compat, matrix: MatrixText
) -> tuple[str, list[Entry]]:
    """The release's name in matrix.yaml, and what it lacks there.

    Raises:
        MatrixError: compat.yaml does not have the name of a file.
    """
    release = choice.combination.cann
    cann = options.cann or str(release)
    for name in matrix.keys("cann"):
        if _is_release(name, cann):
            layout = matrix.value("cann", name, "layout")
            names = _Names(options, compat, matrix, layout, release, name)
            return name, names.missing_chip()
    has_nnal = any(row.nnal and row.cann == release for row in compat.releases)
    names = _Names(options, compat, matrix, choice.layout, release, cann)
    return cann, [(("cann",), names.release(has_nnal=has_nnal))]


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
