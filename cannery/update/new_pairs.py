# SPDX-License-Identifier: Apache-2.0
"""``build.py update --new``: targets for new pairs of torch and CANN, by the makers' tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from urllib.parse import urlsplit

from packaging.version import Version

from cannery.common import console
from cannery.common.cann_version import CannVersion
from cannery.common.console import fold
from cannery.common.errors import MatrixError, Problem, UsageError
from cannery.common.files import is_day
from cannery.common.model import Target
from cannery.common.package_index import PackageIndex
from cannery.common.specifiers import normal_name
from cannery.compat import judge, parse_compat, refusals_of
from cannery.compat.facts import Compat, Pairing
from cannery.compat.files import judged_as
from cannery.compat.nearest import is_published
from cannery.fetch.http import read_page
from cannery.lock.index_versions import Answers
from cannery.lock.resolve import locks_of
from cannery.lock.wheel_requirements import Metadata
from cannery.matrix.files import FACTS, Data
from cannery.matrix.matrix import Matrix
from cannery.matrix.project import Project
from cannery.matrix.schema import parse_files
from cannery.matrix.text import MatrixText
from cannery.options import NewOptions
from cannery.update.makers_table import TableRow, is_catalogue, left_out, new_rows, read_table
from cannery.update.new_applications import Release, new_releases, unanswered, with_release
from cannery.update.new_target import cann_of, judged, short

_PAIR = {"cann", "torch", "torch_npu"}
_WIDTH = 100
_TRIED = 8
"""How many releases of an application are tried, the newest first."""


@dataclass(frozen=True, kw_only=True)
class Proposals:
    """New rows and targets. ``text`` has all of them and the reasons against others, for people.

    ``files`` has the new texts, and ``before`` those that they were made from. ``unread`` are the
    rows of the tables that name no pair, each with its line and why, and applications that no index
    has.
    """

    rows: tuple[TableRow, ...]
    targets: tuple[str, ...]
    text: str
    files: Mapping[Path, str]
    before: Mapping[Path, str]
    unread: tuple[str, ...]


def propose_pairs(
    project: Project,
    source: PackageIndex,
    tables: Iterable[str],
    today: str,
    answers: Answers = MappingProxyType({}),
) -> Proposals:
    """Targets for new pairs and new releases of applications, judged and locked.

    They are by compat.yaml, the makers' ``tables``, and the ``answers`` of an index to
    ``application_questions``. ``today`` is a day as in 2026-11-22.
    """
    compat_file = project.matrix_file.parent / FACTS
    files = project.files()
    before = {project.root / name: text for name, text in files.items()}
    matrix, compat, facts = project.matrix(), project.compat(), before[compat_file]
    if any(tables) and not project.is_checkout:
        fix = "Upgrade cannery for newer rows, or use --table in a checkout of it."
        raise UsageError(Problem(what="--table adds rows to a file of cannery.", fix=fix))
    rows: list[TableRow] = []
    unread: list[str] = []
    for table in filter(None, tables):
        page = read_page(table, source.ca)
        new = new_rows(read_table(page, table), compat)
        facts = _with_rows(facts, new, table, page, today)
        compat = parse_compat(facts, FACTS)
        rows += new
        unread += left_out(page)
    blocks = [["The table has rows that compat.yaml lacks:"]] if rows else []
    for new_row in rows:
        pair = f"    torch_npu {new_row.torch_npu} for CANN {new_row.cann} {new_row.app}"
        blocks[0].append(pair.rstrip())
    files = {**files, FACTS: facts}
    added = _Added(project, compat, Metadata(source), files, {*matrix.targets})
    for row in _new_pairs(matrix, compat, today):
        what = f"PyTorch {row.torch} with torch_npu {row.torch_npu} on CANN {row.cann}"
        try:
            after, like = _with_pair(added.files, row, compat)
            what += f", as {like}"
            blocks.append(added.block(f"{what}.", after))
        except MatrixError as error:
            blocks.append(_refused(f"{what}.", error))
    unread += unanswered(matrix, answers) if answers else []
    for releases in new_releases(matrix, compat, answers):
        for release in releases[:_TRIED]:
            count = len(added.targets)
            blocks += added.release(release)
            if len(added.targets) > count:
                break
        else:
            older = [f"{each.package} {each.version}" for each in releases[_TRIED:]]
            unread += [f"releases that were not tried: {', '.join(older)}"] if older else []
    files, locks = added.files, added.locks
    texts = {project.root / name: text for name, text in files.items()}
    return Proposals(
        rows=tuple(rows),
        targets=tuple(added.targets),
        text="\n\n".join("\n".join(fold(block, _WIDTH)) for block in _together(blocks)),
        files={path: text for path, text in texts.items() if text != before[path]} | locks,
        before=before,
        unread=tuple(unread),
    )


@dataclass
class _Added:
    """What proposals add to ``files``, each judged and locked with all before it."""

    project: Project
    compat: Compat
    metadata: Metadata
    files: Data
    known: set[str]
    locks: dict[Path, str] = field(default_factory=dict)
    targets: list[str] = field(default_factory=list)

    def block(self, what: str, after: Data) -> list[str]:
        """Take the new targets of the files ``after``; the lines that say so.

        Raises:
            MatrixError: one of them is refused, or cannot be locked; then none is taken.
        """
        new = judged(after, self.compat).targets
        names = [name for name in new if name not in self.known]
        locks = [_locks(self.project, new[name], self.metadata) for name in names]
        self.files = after
        self.locks |= {path: text for texts in locks for path, text in texts.items()}
        self.known |= {*names}
        self.targets += names
        end = "  -> With --write these targets are added."
        whys = {name: f" (unverified: {why})" for name in names if (why := new[name].unverified)}
        return [what, *(f"    {name}{whys.get(name, '')}" for name in names), end]

    def release(self, release: Release) -> Iterator[list[str]]:
        """The blocks of a release: one for the chips that it is proposed for, and others."""
        like = f"as {release.target.id}"
        title = f"{release.package} {release.version}"
        refused: dict[str, list[str]] = {}
        fitting = []
        try:
            every, ids = with_release(
                self.files, release, release.chips, self.compat, self.project.catalogue
            )
            targets = parse_files(every).targets
            for chip, name in ids.items():
                # What is unverified of a proposal was not said of the rest of it.
                target = replace(targets[name], unverified="")
                refusals = refusals_of(target, judge(target, self.compat), self.compat)
                for what in [refusal.problem.what for refusal in refusals]:
                    # Without the version, so that releases with the same reasons are one block.
                    reason, *source = what.partition(" Source: ")
                    named = rf"{release.package}(==| ){re.escape(str(release.version))}"
                    reason = re.sub(named, release.package, reason) + "".join(source)
                    refused.setdefault(reason, []).append(chip)
                fitting += [] if refusals else [chip]
            if fitting:
                after, _ = with_release(
                    self.files, release, fitting, self.compat, self.project.catalogue
                )
                yield self.block(f"{title}, {like}.", after)
        except MatrixError as error:
            yield _refused(f"{title}, {like}.", error)
        reasons = [f"  -> {', '.join(chips)}: {reason}" for reason, chips in refused.items()]
        if reasons:
            yield [f"{title}{_NOTHING}", *reasons]


_NOTHING = ": nothing is written for these chips."


def _together(blocks: Iterable[Sequence[str]]) -> list[list[str]]:
    """``blocks`` with one for the successive releases that are refused for the same reasons."""
    merged: list[list[str]] = []
    for what, *reasons in blocks:
        if what.endswith(_NOTHING) and merged and merged[-1][1:] == reasons:
            version = what.removesuffix(_NOTHING).rpartition(" ")[2]
            merged[-1][0] = f"{merged[-1][0].removesuffix(_NOTHING)}, {version}{_NOTHING}"
        else:
            merged.append([what, *reasons])
    return merged


def _refused(what: str, error: MatrixError) -> list[str]:
    reasons = [*str(error).splitlines(), "Nothing is written for it."]
    return [what, *(f"  -> {reason}" for reason in reasons)]


def _locks(project: Project, target: Target, metadata: Metadata) -> dict[Path, str]:
    console.say(f"resolving the packages of {target.id}")
    try:
        return locks_of(project, target, (), metadata, None)
    except MatrixError as error:
        # Without the advice, which is for a target of matrix.yaml.
        raise MatrixError(" ".join(error.problems[0].what.split())) from error


def _new_pairs(matrix: Matrix, compat: Compat, today: str) -> list[Pairing]:
    """The newest new pair of each torch and series of CANN, oldest torch first.

    A pair is new if its CANN is newer than that of every target with its torch, or its torch than
    all. A torch whose maintenance ended before ``today`` is left out.
    """
    lifetimes = [row for row in compat.lifetimes if row.component == "torch_npu"]
    ended = {row.version for row in lifetimes if row.ends < today}
    ended -= {row.version for row in compat.lifetimes if not row.ends}
    used: dict[str, set[CannVersion]] = {}
    for target in matrix.targets.values():
        if target.torch:
            used.setdefault(target.torch, set()).add(judged_as(target.cann))
    last = max(map(Version, used), default=Version("0"))
    best: dict[tuple[str, tuple[int, int]], Pairing] = {}
    for row in compat.pairings:
        if row.is_makers and is_published(row) and not row.cann.is_preview:
            series = row.torch, row.cann.train
            newest = best.get(series, row)
            best[series] = max(row, newest, key=lambda row: (row.cann, Version(row.torch_npu)))
    return [
        row
        for row in sorted(best.values(), key=lambda row: (Version(row.torch), row.cann))
        if row.torch not in ended
        and (row.cann > max(used[row.torch]) if row.torch in used else Version(row.torch) > last)
    ]


def _with_pair(files: Data, row: Pairing, compat: Compat) -> tuple[Data, str]:
    """``files`` with the pair ``row`` as a value of a family's axis, and the most similar value.

    That is one of the same torch, else of the newest; with the newest CANN.
    """
    matrix = MatrixText(files)
    places = [
        ("families", family, "axes", axis, value)
        for family in matrix.keys("families")
        if "exclude" not in matrix.keys("families", family)
        and "flavour" not in matrix.keys("families", family, "common")
        for axis in matrix.keys("families", family, "axes")
        for value in matrix.keys("families", family, "axes", axis)
    ]
    pairs = [
        (CannVersion.parse(cann), matrix.value(*place, "torch"), place)
        for place in places
        if {*matrix.keys(*place)} == _PAIR and (cann := matrix.value(*place, "cann"))
    ]
    if not pairs:
        fix = "'build.py new' adds a single target."
        raise MatrixError(f"No family has pairs as the values of an axis: {fix}")
    _, torch, like = max(
        pairs, key=lambda pair: (pair[1] == row.torch, pair[0], Version(pair[1]), pair[2])
    )
    cann, entries = cann_of(row.cann, str(row.cann), NewOptions(python=""), compat, matrix)
    wheels, wheel = matrix.keys("torch_wheels"), ("torch_wheels", torch)
    if torch in wheels and row.torch not in wheels:
        keys = ("file", "origin")
        names = [
            f'  {key}: "{matrix.value(*wheel, key).replace(torch, row.torch)}"' for key in keys
        ]
        needs = f"  requirements: [{', '.join(matrix.items(*wheel, 'requirements'))}]"
        entries.append((("torch_wheels",), (f"{row.torch}:", *names, needs)))
    name = like[-1].replace(f"torch{short(torch)}", f"torch{short(row.torch)}")
    # As torch290-cann911.
    name = name.replace(f"cann{short(matrix.value(*like, 'cann'))}", f"cann{short(cann)}")
    value = f"{name}: {{cann: {cann}, torch: {row.torch}, torch_npu: {row.torch_npu}}}"
    for where, lines in (*entries, (like[:-1], (value,))):
        matrix.add(where, lines)
    return matrix.files, f"{like[-1]} of family {like[1]}"


_OF_TORCH_NPU = ("torch-npu", 1, "maker", "Ascend/pytorch", "COMPATIBILITY.md")
_OF_IMAGES = ("gpustack-runner", 4, "project", "gpustack/runner", "runner.py.json")
_OF_A_PROJECT = ("vllm-ascend", 4, "project", "vllm-project/vllm-ascend", "versioning_policy.md")
"""The source with the first state of a table, its rank, its kind, whose it is, and its document."""

_DOCUMENTS = re.compile(r"(COMPATIBILITY|versioning_policy|release_notes|README)(\.\w+)?\.md")
"""The makers' names of documents with tables; a copy may have any other."""

_DAY = re.compile(r"\b(20[0-9]{2})[-./]([01][0-9])[-./]([0-3][0-9])\b")


def _state_of(page: str, today: str) -> str:
    """The newest day that ``page`` names, which is of its state; ``today`` if it names none."""
    days = ("-".join(found) for found in _DAY.findall(page))
    return max((day for day in days if is_day(day) and day <= today), default=today)


def _with_rows(text: str, rows: Sequence[TableRow], table: str, page: str, today: str) -> str:
    """compat.yaml's ``text`` with ``rows``, and with the table, the text ``page``, as source."""
    if not rows:
        return text
    of = _OF_A_PROJECT if any(row.app for row in rows) else _OF_TORCH_NPU
    of = _OF_IMAGES if is_catalogue(page) else of
    first, rank, kind, maker, usual = of
    parts = urlsplit(table)
    file = Path(parts.path).name
    document = file if _DOCUMENTS.fullmatch(file) else usual
    address = f"address: {parts.hostname}{parts.path}, " if parts.hostname else ""
    copy = "" if parts.hostname else " in a copy"
    compat = MatrixText({FACTS: text})
    known = compat.keys("sources")
    name = f"{first}-{normal_name(Path(document).stem)}-{today}"
    state = f"state_of: {first}, " if first in known else ""
    source = (
        f"{name}: {{rank: {rank}, {state}kind: {kind}, date: {_state_of(page, today)}, "
        f'read: {today}, cite: "{document} of {maker}", {address}'
        f"about: its rows that were new when it was read{copy}}}"
    )
    if name not in known:
        compat.add(("sources",), (source,))
    compat.add(("torch_npu",), [row.line(name) for row in rows])
    return compat.files[FACTS]
