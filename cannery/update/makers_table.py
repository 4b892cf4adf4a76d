# SPDX-License-Identifier: Apache-2.0
"""Reads makers' tables, and what is new in them. Pure.

They are that of torch_npu (COMPATIBILITY.md, and the description of its wheels), that of
vllm-ascend (versioning_policy.md), and the catalogue of gpustack's images (runner.py.json).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import zip_longest

from packaging.version import Version
from pydantic import BaseModel, TypeAdapter

from cannery.common.cann_version import CannVersion
from cannery.common.errors import MatrixError, Problem, Span, enumerated
from cannery.common.model import CHIPS
from cannery.common.outside import parse_json
from cannery.compat.facts import Compat

_COLUMNS = {
    "pair": re.compile(r"^pytorch/torch_npu$"),
    "app": re.compile(r"^vllm[ -]ascend$"),
    "triton_ascend": re.compile(r"triton"),
    "mooncake": re.compile(r"mooncake"),
    "cann": re.compile(r"cann"),
    "branch": re.compile(r"branch|分支"),
    "torch_npu": re.compile(r"torchnpu|torch_npu|extension"),
    "torch": re.compile(r"pytorch"),
    "pythons": re.compile(r"^python"),
}
"""Column to its head in lower case; the first that matches counts."""

_PACKAGE = ("package", "安装包")
"""In the head of the column of wheels, where another has the number of the whole TorchNPU."""

_UNPAIRED = re.compile(r"无配套版本|no matching version|n/a|-*", re.IGNORECASE)
_SERIES = re.compile(r"([0-9]+\.[0-9]+)\.X", re.IGNORECASE)
_PAIRS = {"torch", "torch_npu", "cann"}
_BETA = re.compile(r"[(（]?beta[)）]?", re.IGNORECASE)  # noqa: RUF001 - as the table writes it


@dataclass(frozen=True, kw_only=True)
class TableRow:
    """A torch_npu of the table, with the versions as a wheel and CANN spell them.

    ``pythons`` are the first and the last minor, as in ``3.10-3.13``; empty if the table has none.
    ``app`` is the release of an application that a row is about, and ``chips`` those of its images.
    """

    torch: str
    torch_npu: str
    cann: str
    pythons: str
    branch: str
    beta: str
    app: str
    triton_ascend: str
    mooncake: str = ""
    chips: str = ""

    def line(self, source: str) -> str:
        """The row of compat.yaml, which cites ``source``."""
        values = {**vars(self), "source": source}
        return "{" + ", ".join(f"{key}: {text}" for key, text in values.items() if text) + "}"


def read_table(text: str, name: str) -> list[TableRow]:
    """The pairs in ``text``, the content of the file ``name``; one for all chips of a pair."""
    cells: list[tuple[int, Mapping[str, str]]] = []
    with suppress(ValueError):  # then it has no table
        cells += _rows(text)
    pythons = {
        row["torch"]: row["pythons"]
        for _, row in cells
        if {"torch", "pythons"} <= row.keys() and "torch_npu" not in row
    }
    rows, problems = [], []
    for line, row in cells:
        if "cann" not in row or _left_out(row):
            continue
        try:
            rows.append(_row(row, pythons))
        except ValueError as error:
            where = None if is_catalogue(text) else Span(file=name, line=line, column=1)
            fix = "Correct it in a copy of the table, and name that with --table."
            what = f"{'this row' if where else f'entry {line}'} cannot be read: {error}."
            problems.append(Problem(what=what, where=where, fix=fix))
    if not rows and not problems:
        what = f"{name} has no table with columns for PyTorch, TorchNPU and CANN."
        fix = "Name a copy of COMPATIBILITY.md of Ascend/pytorch, or of vllm-ascend's table."
        problems.append(Problem(what=what, fix=fix))
    if problems:
        raise MatrixError(problems)
    chips: dict[TableRow, list[str]] = {}
    for each in rows:
        chips.setdefault(replace(each, chips=""), []).append(each.chips)
    return [
        replace(row, chips=f"[{', '.join(sorted({*names}))}]" if any(names) else "")
        for row, names in chips.items()
    ]


def left_out(text: str) -> list[str]:
    """Each row of ``text`` with a CANN that makes no row, with its line or its number and why.

    Entries that differ in the chip alone are one.
    """
    alike: dict[tuple[str, ...], dict[int, str]] = {}
    for number, row in _rows(text):
        if "cann" in row and (reason := _left_out(row)):
            others = filter(None, (cell for key, cell in row.items() if key != "chips"))
            alike.setdefault((reason, *others), {})[number] = row.get("chips", "")
    one, more = ("entry", "entries") if is_catalogue(text) else ("line", "lines")
    told = []
    for (reason, *cells), chips in alike.items():
        numbers = enumerated([*map(str, chips)])
        where = f"{more} {numbers} have" if len(chips) > 1 else f"{one} {numbers} has"
        what = ", ".join(filter(None, (*cells, *dict.fromkeys(chips.values()))))
        told.append(f"{where} {reason}: {what}")
    return told


def _left_out(row: Mapping[str, str]) -> str:
    """Why a row is of no released pair; "" for one that is."""
    if row.get("app") == "main":
        return "no release"
    if lacking := sorted(_PAIRS - row.keys()):
        return f"no column for {' and '.join(lacking)}"
    lacking = [key for key in sorted(_PAIRS) if _UNPAIRED.fullmatch(row[key])]
    return f"no {' and no '.join(lacking)}" if lacking else ""


def new_rows(rows: Iterable[TableRow], compat: Compat) -> list[TableRow]:
    """Those of ``rows`` that no row of ``compat`` has, not even as a rejected one.

    A row for a series of CANN, as 9.1.X, is one for each known release of it.
    """
    known = {(row.torch, row.torch_npu, row.cann, "") for row in compat.rejected}
    for pairing in compat.pairings:
        pair = (pairing.torch, pairing.torch_npu, str(pairing.cann))
        known |= {(*pair, ""), (*pair, pairing.app)}
    canns = {row.cann for row in compat.releases} | {row.cann for row in compat.pairings}
    final = [str(cann) for cann in sorted(canns) if not (cann.is_preview or cann.is_interim)]
    new = []
    for row in rows:
        releases = [row.cann]
        if series := _SERIES.fullmatch(row.cann):
            start = f"{series[1]}."
            releases = [cann for cann in final if cann.startswith(start)] or [f"{start}0"]
        new += [
            replace(row, cann=cann)
            for cann in releases
            if (row.torch, row.torch_npu, cann, row.app) not in known
        ]
    return new


def is_catalogue(text: str) -> bool:
    """Whether a table is the catalogue of gpustack's images, which is in JSON."""
    return text.lstrip().startswith("[")


def _rows(text: str) -> Iterable[tuple[int, Mapping[str, str]]]:
    return _entries(text) if is_catalogue(text) else _cells(text)


class _Image(BaseModel):
    """An image of gpustack's catalogue."""

    backend: str = ""
    original_backend_version: str = ""
    backend_variant: str = ""
    service: str = ""
    service_version: str = ""
    dependencies: dict[str, str] = {}


def _entries(text: str) -> Iterator[tuple[int, Mapping[str, str]]]:
    """Every image for CANN of the catalogue ``text``, with its number: columns to its texts."""
    for number, image in enumerate(TypeAdapter(list[_Image]).validate_python(parse_json(text)), 1):
        if image.backend == "cann":
            has = image.dependencies
            service = "vllm-ascend" if "vllm-ascend" in has else image.service
            yield (
                number,
                {
                    "torch": has.get("torch", "").partition("+")[0],
                    "torch_npu": has.get("torch-npu", ""),
                    "cann": image.original_backend_version.upper(),
                    "app": f"{service} v{has.get(service) or image.service_version}",
                    "triton_ascend": has.get("triton-ascend", ""),
                    "mooncake": has.get("mooncake-transfer-engine", ""),
                    "chips": image.backend_variant,
                },
            )


def _cells(text: str) -> Iterator[tuple[int, Mapping[str, str]]]:
    """Every row of a table, with its line, counted from 1: known column to its text."""
    columns: list[str] = []
    before: Sequence[str] = ()
    cann = ""
    for number, line in enumerate(text.splitlines(), 1):
        if not line.lstrip().startswith("|"):
            columns, before, cann = [], (), ""
            continue
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if all(re.fullmatch(r":?-+:?", cell) for cell in cells):
            heads = [head.lower() for head in before]
            columns = [
                next((name for name, column in _COLUMNS.items() if column.search(text)), "")
                for text in heads
            ]
            if columns.count("torch_npu") > 1:
                for index, head in enumerate(heads):
                    if columns[index] == "torch_npu" and not any(w in head for w in _PACKAGE):
                        columns[index] = "product"
        elif columns:
            texts = map(_plain, cells[: len(columns)])
            row = dict(zip_longest(columns, texts, fillvalue=""))
            if "pair" in row:
                row["torch"], row["torch_npu"] = map(_plain, (row["pair"] + "/").split("/")[:2])
            if "cann" in row:  # a blank cell is one that is merged with that above
                cann = row["cann"] = row["cann"] or cann
            yield number, {key: cell for key, cell in row.items() if key}
        before = cells


def _row(cells: Mapping[str, str], pythons: Mapping[str, str]) -> TableRow:
    torch, torch_npu, cann = cells["torch"], cells["torch_npu"], cells["cann"]
    name, _, release = cells.get("app", "").rpartition(" ")
    product, chip = cells.get("product", ""), cells.get("chips", "")
    if chip and chip not in CHIPS:
        raise ValueError(f"{chip[:100]!r} is no chip")
    triton_ascend, mooncake = cells.get("triton_ascend", ""), cells.get("mooncake", "")
    return TableRow(
        torch=str(Version(torch)),
        torch_npu=str(Version(_BETA.sub("", torch_npu).strip())),
        cann=cann if _SERIES.fullmatch(cann) else str(CannVersion.parse(cann)),
        pythons=_minors(pythons.get(torch, "")) or _minors(cells.get("pythons", "")),
        branch=_word(cells.get("branch", "") or (product and f"v{torch}-{product}")),
        beta="true" if _BETA.search(torch_npu) else "",
        app=f"{_word(name) or 'vllm-ascend'} v{Version(release)}" if release else "",
        triton_ascend="" if _UNPAIRED.fullmatch(triton_ascend) else str(Version(triton_ascend)),
        mooncake="" if _UNPAIRED.fullmatch(mooncake) else str(Version(mooncake)),
        chips=chip,
    )


def _word(text: str) -> str:
    """``text``, which must mean nothing to YAML."""
    if text and not re.fullmatch(r"[\w.+/-]{1,100}", text, re.ASCII):
        raise ValueError(f"{text[:100]!r} is not the name of a branch")
    return text


def _plain(cell: str) -> str:
    """The version in a cell, without the name of the product before it."""
    return re.sub(r"^(PyTorch|CANN|TorchNPU|Commercial)\s*(?=[0-9])", "", cell.strip("`* "))


def _minors(cell: str) -> str:
    """The first and the last Python minor in a cell, which may be as in ``>= 3.10, < 3.12``."""
    minors = {int(minor) for minor in re.findall(r"3\.([0-9]+)", cell)}
    if end := re.search(r"<\s*3\.([0-9]+)", cell):
        minors = {*minors, int(end[1]) - 1} - {int(end[1])}
    ends = (f"3.{minor}" for minor in (min(minors), max(minors))) if minors else ()
    return "-".join(dict.fromkeys(ends))
