# SPDX-License-Identifier: Apache-2.0
"""What could be new in matrix.yaml: pairs, applications, and targets to remove; and as text."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from cannery.common import console
from cannery.common.cann_version import CannVersion
from cannery.common.console import fold
from cannery.common.errors import MatrixError
from cannery.common.model import Target
from cannery.common.package_index import PackageIndex
from cannery.common.specifiers import normal_name
from cannery.compat import parse_compat
from cannery.fetch.http import read_page
from cannery.lock.index_versions import ask
from cannery.lock.resolve import lock_build_requirements, lock_target
from cannery.lock.wheel_requirements import Metadata
from cannery.matrix.files import FACTS
from cannery.matrix.project import Project
from cannery.matrix.text import MatrixText
from cannery.update.makers_table import TableRow, new_rows, read_table
from cannery.update.propose_applications import application_questions, propose_applications
from cannery.update.propose_pairs import Kind, kind_of, propose_pairs
from cannery.update.siblings import Known, Proposed
from cannery.update.updates import Ended, ended_targets


@dataclass(frozen=True, kw_only=True)
class Proposals:
    """What could be new. ``files`` are the files that change, each with its new text, and
    ``before`` has those that they were made from.
    """

    rows: tuple[TableRow, ...]
    proposed: tuple[Proposed, ...]
    ended: tuple[Ended, ...]
    files: Mapping[Path, str]
    before: Mapping[Path, str]


def propose(
    project: Project,
    source: PackageIndex,
    tables: Iterable[str],
    today: str,
    kinds: Collection[Kind] = (*Kind,),
) -> Proposals:
    """What of ``kinds`` could be new, by ``source`` and the makers' ``tables``.

    ``today`` is a day as in 2026-11-22. Targets to remove come with the pairs of torch_npu.

    Raises:
        MatrixError: matrix.yaml, compat.yaml or the table is wrong.
        EngineError: the package index or the table cannot be had.
        FileError: a file cannot be read.
    """
    compat_file = project.matrix_file.with_name("compat.yaml")
    files = project.files()
    before = {project.root / name: text for name, text in files.items()}
    matrix, compat = project.matrix(), project.compat()
    rows: list[TableRow] = []
    after = dict(before)
    for table in filter(None, tables):
        new = new_rows(read_table(read_page(table, source.ca), table), compat)
        new = [
            row
            for row in new
            if (Kind.APPLICATIONS if row.app else kind_of(CannVersion.parse(row.cann), matrix))
            in kinds
        ]
        after[compat_file] = _with_rows(after[compat_file], new, table, today)
        compat = parse_compat(after[compat_file], compat_file.name)
        rows += new
    known = Known(compat=compat, lock=_locker(project, source))
    files = {**files, FACTS: after[compat_file]}
    proposed = [*propose_pairs(files, matrix, known, today, kinds)]
    files = proposed[-1].files if proposed else files
    if Kind.APPLICATIONS in kinds:
        asked = application_questions(matrix)
        answers = ask(asked, source) if asked else {}
        proposed += propose_applications(files, matrix, known, answers)
        files = proposed[-1].files if proposed else files
    after |= {project.root / name: text for name, text in files.items()}
    locks = {path: text for proposal in proposed for path, text in proposal.locks.items()}
    return Proposals(
        rows=tuple(rows),
        proposed=tuple(proposed),
        ended=tuple(ended_targets(matrix, compat, today)) if Kind.TORCH_NPU in kinds else (),
        files={path: text for path, text in after.items() if text != before[path]} | locks,
        before=before,
    )


def _locker(project: Project, source: PackageIndex) -> Callable[[Target], dict[Path, str]]:
    metadata = Metadata(source)

    def lock(target: Target) -> dict[Path, str]:
        console.say(f"resolving the packages of {target.id}")
        try:
            text = lock_target(project, target, (), source)
            locks = {project.lock(target): metadata.added(target, text, None)}
            if target.built_wheels:
                path = project.build_requirements_lock(target)
                locks[path] = lock_build_requirements(project, target, (), source)
        except MatrixError as error:
            # Without the advice, which is for a target of matrix.yaml.
            raise MatrixError(" ".join(error.problems[0].what.split())) from error
        return locks

    return lock


_OF_TORCH_NPU = ("torch-npu", 1, "maker", "Ascend/pytorch")
_OF_A_PROJECT = ("vllm-ascend", 4, "project", "vllm-project/vllm-ascend")
"""The source with the first state of a table, its rank, its kind, and whose it is."""


def _with_rows(text: str, rows: Sequence[TableRow], table: str, today: str) -> str:
    """compat.yaml's ``text`` with ``rows``, and with the table as their source."""
    if not rows:
        return text
    parts = urlsplit(table)
    file = Path(parts.path)
    address = f"address: {parts.hostname}{parts.path}, " if parts.hostname else ""
    first, rank, kind, maker = _OF_A_PROJECT if any(row.app for row in rows) else _OF_TORCH_NPU
    compat = MatrixText({FACTS: text})
    known = compat.keys("sources")
    name = f"{first}-{normal_name(file.stem)}-{today}"
    state = f"state_of: {first}, " if first in known else ""
    source = (
        f"{name}: {{rank: {rank}, {state}kind: {kind}, date: {today}, read: {today}, "
        f'cite: "{file.name} of {maker}", {address}about: its rows that were new on this day}}'
    )
    if name not in known:
        compat.add(("sources",), (source,))
    compat.add(("torch_npu",), [row.line(name) for row in rows])
    return compat.files[FACTS]


_WIDTH = 100


def proposals(
    rows: Sequence[TableRow], proposed: Iterable[Proposed], ended: Iterable[Ended]
) -> str:
    """All of them, in paragraphs; empty if there is none."""
    blocks = []
    if rows:
        pairs = (f"    torch_npu {r.torch_npu} for CANN {r.cann} {r.app}".rstrip() for r in rows)
        blocks.append(["The table has rows that compat.yaml lacks:", *pairs])
    for proposal in proposed:
        results = ["With --write these targets are added."]
        if proposal.problem:
            results = [*proposal.problem.splitlines(), "Nothing is written for it."]
        targets = (f"    {target}" for target in proposal.targets)
        blocks.append([proposal.what, *targets, *(f"  -> {result}" for result in results)])
    for end in ended:
        targets = (f"    {target}" for target in end.targets)
        parts = (f"  -> {part}" for part in end.parts)
        blocks.append(["Proposed for removal:", *targets, *parts])
    return "\n\n".join("\n".join(fold(block, _WIDTH)) for block in blocks)
