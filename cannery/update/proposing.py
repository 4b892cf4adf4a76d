# SPDX-License-Identifier: Apache-2.0
"""What could be new in matrix.yaml: pairs, applications, and targets to remove; and as text."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from cannery.common import console
from cannery.common.cann_version import CannVersion
from cannery.common.columns import fold
from cannery.common.errors import MatrixError
from cannery.common.model import Target
from cannery.common.package_index import PackageIndex
from cannery.common.specifiers import normal_name
from cannery.common.threads import workers
from cannery.compat import parse_compat
from cannery.fetch.http import read_page
from cannery.lock.index_questions import questions
from cannery.lock.index_versions import ask
from cannery.lock.resolve import lock_build_requirements, lock_target
from cannery.lock.wants import Metadata
from cannery.matrix.files import FACTS, MATRIX, Data
from cannery.matrix.matrix import Matrix
from cannery.matrix.project import Project
from cannery.matrix.schema import parse_files
from cannery.matrix.text import YamlText
from cannery.matrix.versions import find_uses
from cannery.update.makers_table import TableRow, new_rows, read_table
from cannery.update.propose_applications import application_questions, propose_applications
from cannery.update.propose_pairs import Kind, Proposed, kind_of, propose_pairs
from cannery.update.siblings import Known
from cannery.update.updates import Ended, ended_targets

_AT_ONCE = 4
"""How many targets are locked at the same time: uv mostly waits for the index."""


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
        every = new_rows(read_table(read_page(table, source.ca), table), compat)
        more = [row for row in every if _kind(row, matrix) in kinds]
        after[compat_file] = _with_rows(after[compat_file], more, table, today)
        compat = parse_compat(after[compat_file], compat_file.name)
        rows += more
    uses = find_uses(files[MATRIX], matrix, ("torch", "torch_npu"))
    asked = [*questions(uses, [*matrix.targets], compat), *application_questions(matrix)]
    locks = _Locks(project, source)
    known = Known(compat=compat, answers=ask(asked, source), refusal=locks.refusal)
    facts: Data = {**files, FACTS: after[compat_file]}
    proposed, new = _proposals(facts, matrix, known, today, kinds)
    while locks.make(_targets_of(proposed, new)):
        proposed, new = _proposals(facts, matrix, known, today, kinds)
    after |= {project.root / name: text for name, text in new.items()}
    return Proposals(
        rows=tuple(rows),
        proposed=tuple(proposed),
        ended=tuple(ended_targets(matrix, compat, today)) if Kind.TORCH_NPU in kinds else (),
        files={path: text for path, text in after.items() if text != before[path]}
        | locks.texts(each.id for each in _targets_of(proposed, new)),
        before=before,
    )


def _kind(row: TableRow, matrix: Matrix) -> Kind:
    return Kind.APPLICATIONS if row.app else kind_of(CannVersion.parse(row.cann), matrix)


def _proposals(
    files: Data, matrix: Matrix, known: Known, today: str, kinds: Collection[Kind]
) -> tuple[list[Proposed], Data]:
    """All proposals of ``kinds``, and ``files`` with them."""
    proposed = [*propose_pairs(files, matrix, known, today, kinds)]
    files = proposed[-1].addition.files if proposed else files
    if Kind.APPLICATIONS in kinds:
        proposed += propose_applications(files, matrix, known)
    return proposed, proposed[-1].addition.files if proposed else files


def _targets_of(proposed: Iterable[Proposed], files: Data) -> list[Target]:
    """The new targets of ``proposed``, which ``files`` have."""
    names = [name for each in proposed for name in each.addition.targets]
    targets = parse_files(files).targets if names else {}
    return [targets[name] for name in names]


class _Locks:
    """The locks of new targets. A target that cannot be locked is refused."""

    def __init__(self, project: Project, source: PackageIndex) -> None:
        self._project, self._source = project, source
        self._metadata = Metadata(source)
        self._made: dict[str, dict[Path, str]] = {}
        self._failures: dict[str, str] = {}

    def refusal(self, target: Target) -> str:
        """Why ``target`` could not be locked; "" if it was or has not been tried."""
        return self._failures.get(target.id, "")

    def make(self, targets: Iterable[Target]) -> bool:
        """Lock what has not been tried of ``targets``; whether one of these could not be.

        Raises:
            EngineError: uv or the package index failed.
        """
        new = [each for each in targets if each.id not in self._made]
        with workers(_AT_ONCE) as give:
            for target in new:
                give(self._lock, target)
        return any(each.id in self._failures for each in new)

    def _lock(self, target: Target) -> None:
        project, source = self._project, self._source
        console.say(f"resolving the packages of {target.id}")
        try:
            text = lock_target(project, target, (), source)
            made = {project.lock(target): self._metadata.added(target, text, None)}
            if target.built_wheels:
                path = project.build_requirements_lock(target)
                made[path] = lock_build_requirements(project, target, (), source)
            self._made[target.id] = made
        except MatrixError as error:
            self._failures[target.id] = " ".join(error.problems[0].what.split())

    def texts(self, targets: Iterable[str]) -> dict[Path, str]:
        """The files of the locks of ``targets``, each with its text."""
        return {path: text for name in targets for path, text in self._made[name].items()}


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
    compat = YamlText(text, FACTS)
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
    return compat.text


_WIDTH = 100


def proposals(
    rows: Iterable[TableRow], proposed: Iterable[Proposed], ended: Iterable[Ended]
) -> str:
    """All of them, in paragraphs; empty if there is none."""
    blocks = [_rows([*rows]), *map(_proposed, proposed), *map(_ended, ended)]
    return "\n\n".join("\n".join(fold(block, _WIDTH)) for block in blocks if block)


def _rows(rows: list[TableRow]) -> list[str]:
    if not rows:
        return []
    pairs = (
        f"    torch_npu {each.torch_npu} for CANN {each.cann} {each.app}".rstrip() for each in rows
    )
    return ["The table has rows that compat.yaml lacks:", *pairs]


def _proposed(each: Proposed) -> list[str]:
    addition = each.addition
    lines = [each.what, *(f"    {target}" for target in addition.targets)]
    reasons: dict[str, list[str]] = {}
    for target, why in addition.refused.items():
        reasons.setdefault(why, []).append(target)
    lines += [f"    not {', '.join(targets)}: {why}" for why, targets in reasons.items()]
    if each.problem:
        lines.append(f"  -> {each.problem}")
    if addition.targets:
        lines.append("  -> With --write these targets are added.")
    elif not each.problem:
        lines.append("  -> Nothing is written for it. It needs rows in compat.yaml, or other pins.")
    return lines


def _ended(each: Ended) -> list[str]:
    targets = (f"    {target}" for target in each.targets)
    return ["Proposed for removal:", *targets, *(f"  -> {part}" for part in each.parts)]
