# SPDX-License-Identifier: Apache-2.0
"""Reads makers' tables in Markdown, and what is new in them. Pure.

They are that of torch_npu (COMPATIBILITY.md) and that of vllm-ascend (versioning_policy.md).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from packaging.version import InvalidVersion, Version

from cannery.common.cann_version import CannVersion
from cannery.common.errors import MatrixError, Problem, Span
from cannery.compat.facts import Compat

_BELOW = re.compile(r"<\s*3\.([0-9]+)")
_PYTHON = re.compile(r"3\.[0-9]+")
_RULE = re.compile(r":?-+:?")
_COLUMNS: Mapping[str, Callable[[str], bool]] = {
    "pair": lambda head: head == "pytorch/torch_npu",
    "app": lambda head: head.replace("-", " ") == "vllm ascend",
    "triton_ascend": lambda head: "triton" in head,
    "cann": lambda head: "cann" in head,
    "branch": lambda head: "branch" in head or "分支" in head,
    "torch_npu": lambda head: any(each in head for each in ("torchnpu", "torch_npu", "extension")),
    "torch": lambda head: "pytorch" in head and "extension" not in head,
    "pythons": lambda head: head.startswith("python"),
}
_PACKAGE = ("package", "安装包")
"""In the head of the column of wheels, where another has the number of the whole TorchNPU."""

_UNRELEASED = "main"
_UNPAIRED = re.compile(r"无配套版本|no matching version|n/a|-*", re.IGNORECASE)
_SERIES = re.compile(r"([0-9]+\.[0-9]+)\.X", re.IGNORECASE)
_PAIRS = {"torch", "torch_npu", "cann"}
_BETA = re.compile(r"[(（]?beta[)）]?", re.IGNORECASE)  # noqa: RUF001 - as the table writes it


@dataclass(frozen=True, kw_only=True)
class TableRow:
    """A torch_npu of the table, with the versions as a wheel and CANN spell them.

    ``pythons`` are the first and the last minor, as in ``3.10-3.13``; empty if the table has none.
    ``app`` is the release of vllm-ascend that a row is about.
    """

    torch: str
    torch_npu: str
    cann: str
    branch: str
    pythons: str
    beta: bool
    app: str = ""
    triton_ascend: str = ""

    def line(self, source: str) -> str:
        """The row of compat.yaml, which cites ``source``."""
        values = {
            "torch": self.torch,
            "torch_npu": self.torch_npu,
            "cann": self.cann,
            "pythons": self.pythons,
            "branch": self.branch,
            "beta": "true" if self.beta else "",
            "app": self.app,
            "triton_ascend": self.triton_ascend,
            "source": source,
        }
        return "{" + ", ".join(f"{key}: {text}" for key, text in values.items() if text) + "}"


@dataclass(frozen=True, kw_only=True)
class _Cells:
    """One row of a table in Markdown: its line, counted from 1, and column to text."""

    line: int
    texts: Mapping[str, str]


def read_table(text: str, name: str) -> list[TableRow]:
    """The pairs in ``text``, the content of the Markdown file ``name``.

    Raises:
        MatrixError: there is no such table, or rows of it cannot be read; with every problem.
    """
    rows = [*_rows(text)]
    pythons = {
        _plain(each.texts["torch"]): _minors(each.texts["pythons"])
        for each in rows
        if {"torch", "pythons"} <= each.texts.keys() and "torch_npu" not in each.texts
    }
    found, problems = [], []
    for each in rows:
        if not each.texts.keys() >= _PAIRS or each.texts.get("app") == _UNRELEASED:
            continue
        if any(_UNPAIRED.fullmatch(_plain(each.texts[key])) for key in _PAIRS):
            continue
        try:
            found.append(_row(each, pythons))
        except (InvalidVersion, ValueError) as error:
            where = Span(file=name, line=each.line, column=1)
            fix = "Correct it in a copy of the table, and name that with --table."
            problems.append(
                Problem(what=f"this row cannot be read: {error}.", where=where, fix=fix)
            )
    if not found and not problems:
        what = f"{name} has no table with columns for PyTorch, TorchNPU and CANN."
        fix = "Name a copy of COMPATIBILITY.md of Ascend/pytorch, or of vllm-ascend's table."
        problems.append(Problem(what=what, fix=fix))
    if problems:
        raise MatrixError(problems)
    return found


def new_rows(rows: Iterable[TableRow], compat: Compat) -> list[TableRow]:
    """Those of ``rows`` that no row of ``compat`` has, not even as a rejected one."""
    known = {(row.torch, row.torch_npu, row.cann, "") for row in compat.rejected}
    for row in compat.pairings:
        pair = (row.torch, row.torch_npu, str(row.cann))
        known |= {(*pair, ""), (*pair, row.app)}
    return [
        row
        for each in rows
        for row in _of_releases(each, compat)
        if (row.torch, row.torch_npu, row.cann, row.app) not in known
    ]


def _of_releases(row: TableRow, compat: Compat) -> Iterator[TableRow]:
    """``row``, or one for each known release of the series that it is for, as 9.1.X."""
    series = _SERIES.fullmatch(row.cann)
    if not series:
        yield row
        return
    named = {each.cann for each in compat.releases} | {each.cann for each in compat.pairings}
    final = [each for each in named if not (each.is_preview or each.is_interim)]
    known = [each for each in sorted(final) if str(each).startswith(f"{series[1]}.")]
    for version in map(str, known) if known else (f"{series[1]}.0",):
        yield replace(row, cann=version)


def _rows(text: str) -> Iterator[_Cells]:
    """Every row below a heading of which some column is known."""
    columns: list[str] = []
    before: Sequence[str] = ()
    for number, line in enumerate(text.splitlines(), 1):
        if not line.lstrip().startswith("|"):
            columns, before = [], ()
            continue
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if all(map(_RULE.fullmatch, cells)):
            columns = _columns(before)
        elif columns:
            texts = dict(zip(columns, cells, strict=False))
            if "pair" in texts:
                texts["torch"], _, texts["torch_npu"] = texts["pair"].partition("/")
            yield _Cells(line=number, texts={key: each for key, each in texts.items() if key})
        before = cells


def _columns(heads: Sequence[str]) -> list[str]:
    """What each column has; of several of TorchNPU, one has the versions of its wheels."""
    names = [_column(each) for each in heads]
    if names.count("torch_npu") > 1:
        of_wheels = [any(word in each.lower() for word in _PACKAGE) for each in heads]
        names = [
            "product" if name == "torch_npu" and not wheels else name
            for name, wheels in zip(names, of_wheels, strict=True)
        ]
    return names


def _column(head: str) -> str:
    lower = head.lower()
    return next((name for name, fits in _COLUMNS.items() if fits(lower)), "")


def _row(cells: _Cells, pythons: Mapping[str, str]) -> TableRow:
    torch, torch_npu = (_plain(cells.texts[key]) for key in ("torch", "torch_npu"))
    app, cann = cells.texts.get("app", ""), _plain(cells.texts["cann"])
    product = _plain(cells.texts.get("product", ""))
    branch = _plain(cells.texts.get("branch", "")) or (product and f"v{torch}-{product}")
    return TableRow(
        torch=str(Version(torch)),
        torch_npu=str(Version(_BETA.sub("", torch_npu).strip())),
        cann=cann if _SERIES.fullmatch(cann) else str(CannVersion.parse(cann)),
        branch=branch,
        pythons=pythons.get(torch, "") or _minors(cells.texts.get("pythons", "")),
        beta=bool(_BETA.search(torch_npu)),
        app=f"vllm-ascend v{Version(app)}" if app else "",
        triton_ascend=_version_if_any(cells.texts.get("triton_ascend", "")),
    )


def _plain(cell: str) -> str:
    """The version in a cell, without the name of the product before it."""
    return re.sub(r"^(PyTorch|CANN|TorchNPU|Commercial)\s+", "", cell.strip("`* "))


def _version_if_any(cell: str) -> str:
    """The version in a cell, without a v before it; "" where the table says that there is none."""
    text = _plain(cell)
    return "" if _UNPAIRED.fullmatch(text) else str(Version(text))


def _minors(cell: str) -> str:
    """The first and the last Python minor in a cell, which may be as in ``>= 3.10, < 3.12``."""
    found = {int(each.partition(".")[2]) for each in _PYTHON.findall(cell)}
    if ends := _BELOW.search(cell):
        found = {*found, int(ends[1]) - 1} - {int(ends[1])}
    named = (f"3.{minor}" for minor in (min(found), max(found))) if found else ()
    return "-".join(dict.fromkeys(named))
