# SPDX-License-Identifier: Apache-2.0
"""Compares the versions in a package index with matrix.yaml and compat.yaml. Pure.

An index lists versions, but does not say which CANN a torch_npu is for. A torch_npu without a row
in compat.yaml is therefore reported, and never written into matrix.yaml.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from packaging.version import InvalidVersion, Version

from cannery.common.bases import PythonSource
from cannery.common.model import TOOLS
from cannery.compat import Verdict, judge, passes
from cannery.compat.facts import Compat, Compatible
from cannery.compat.finding import has_ended
from cannery.lock.index_questions import Answers, is_whole, open_uses, question_of
from cannery.matrix.matrix import Matrix
from cannery.matrix.text import Use, VersionChange

_ROW_NEEDED = (
    "No index says for which CANN a torch_npu is, so nothing is written for it. Add its row to "
    "compat.yaml from COMPATIBILITY.md of Ascend/pytorch, then run this again."
)

Release = tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class UpdateNotice:
    """A newer version, and what can be done about it.

    ``what`` says it, ``targets`` are those that it is about, and ``change`` says what follows; that
    is the same sentence for all news of a kind. ``moves`` are what may be written; those
    ``on_request`` only if the user asks for them. A ``remark`` asks for nothing.
    """

    what: str
    change: str
    targets: tuple[str, ...] = ()
    moves: tuple[VersionChange, ...] = ()
    on_request: bool = False
    remark: bool = False


@dataclass(frozen=True, kw_only=True)
class _Advice:
    """What compat.yaml says of a newer version, and what follows."""

    reason: str
    change: str
    writes: bool = False


_PAIRED = _Advice(
    reason="and compat.yaml has it for the same CANN.",
    change="With --write these targets take it.",
    writes=True,
)
_DISPUTED = _Advice(
    reason="but sources disagree on its CANN.",
    change="It is left to you: 'build.py explain TARGET' shows what is known.",
)
_DEEPSPEED = _Advice(
    reason="and compat.yaml allows it.",
    change="With --deepspeed --write these targets take it.",
    writes=True,
)
_TOOL = _Advice(
    reason="and compat.yaml has nothing against it.",
    change="It is left to you: write it in matrix.yaml, and lock and test the targets.",
)


def compare(
    uses: Sequence[Use], chosen: Collection[str], compat: Compat, answers: Answers
) -> list[UpdateNotice]:
    """Every newer version for the targets with an id in ``chosen``, those with changes first.

    With all targets chosen also what is new for none of them yet.
    """
    news = [*_newer(open_uses(uses, chosen), compat, answers)]
    news += _missing_rows(uses, chosen, compat, answers)
    if is_whole(uses, chosen):
        news += _torch_alone(uses, compat, answers)
    return sorted(news, key=lambda n: (n.remark, not n.moves, n.on_request, n.change))


def _newer(uses: Sequence[Use], compat: Compat, answers: Answers) -> Iterator[UpdateNotice]:
    """Of DeepSpeed only for the newest one in use: older ones were chosen on purpose."""
    deepspeed = max((Version(use.version) for use in uses if use.key == "deepspeed"), default=None)
    groups: dict[tuple[str, _Advice], dict[tuple[Version, Version], list[Use]]] = {}
    for use in uses:
        now = Version(use.version)
        if use.key == "torch" or (use.key == "deepspeed" and now != deepspeed):
            continue
        offered = set.intersection(
            *({*answers.get(question_of(use.key, target), ())} for target in use.targets)
        )
        for version in sorted(offered, reverse=True):
            of_other_torch = use.key == "torch_npu" and version.release != now.release
            if version <= now or not _is_final(version) or of_other_torch:
                continue
            if advice := _advice(use, version, compat):
                group = groups.setdefault((use.key, advice), {})
                group.setdefault((version, now), []).append(use)
                if advice is not _DISPUTED:
                    break
    for (key, advice), versions in groups.items():
        for (new, old), users in sorted(versions.items(), key=lambda item: item[0], reverse=True):
            moves = tuple(VersionChange(use=use, version=str(new)) for use in users)
            yield UpdateNotice(
                what=f"{key} {new} is newer than {old}, {advice.reason}",
                change=advice.change,
                targets=tuple(dict.fromkeys(target.id for use in users for target in use.targets)),
                moves=moves if advice.writes else (),
                on_request=advice is _DEEPSPEED,
                remark=not advice.writes,
            )


def _advice(use: Use, version: Version, compat: Compat) -> _Advice | None:
    """None if a target of ``use`` is not known to work with ``version``.

    A target's own ``unverified`` was said of another version, and lets nothing through here. What
    is compatible with a CANN and paired with another is for people to choose.
    """
    verdicts = set()
    for target in use.targets:
        moved = (
            replace(target, extras={**target.extras, use.key: str(version)})
            if use.key in TOOLS
            else replace(target, **{use.key: str(version)})  # type: ignore[arg-type]
        )
        for finding in judge(moved, compat):
            if use.key in TOOLS:
                if finding.component == TOOLS[use.key]:
                    verdicts.add(finding.verdict)
            elif not passes(finding, moved):
                return None
            elif finding.component == use.key:
                is_paired = not any(isinstance(row, Compatible) for row in finding.rows)
                verdicts.add(finding.verdict if is_paired else Verdict.UNKNOWN)
            elif finding.component == "python" and finding.verdict is Verdict.UNKNOWN:
                verdicts.add(Verdict.UNKNOWN)
    if use.key in TOOLS:
        return None if verdicts & {Verdict.UNKNOWN, Verdict.FORBIDDEN} else _TOOL
    if not verdicts or verdicts - {Verdict.ALLOWED, Verdict.DISPUTED}:
        return None
    if use.key == "deepspeed":
        return _DEEPSPEED
    return _DISPUTED if Verdict.DISPUTED in verdicts else _PAIRED


def _missing_rows(
    uses: Sequence[Use], chosen: Collection[str], compat: Compat, answers: Answers
) -> Iterator[UpdateNotice]:
    """Each torch_npu that is newer than all known ones of its series, or of a new series."""
    users: dict[Release, list[str]] = {}
    newest: dict[Release, Version] = {}
    texts = {row.torch_npu for row in compat.pairings}
    texts |= {row.torch_npu for row in compat.rejected}
    for use in uses:
        if use.key == "torch_npu":
            texts.add(use.version)
            names = [target.id for target in use.targets if target.id in chosen]
            users.setdefault(Version(use.version).release, []).extend(names)
    for version in _versions(texts):
        newest[version.release] = max(version, newest.get(version.release, version))
    offered = sorted(_all_of("torch_npu", answers), reverse=True)
    for release in dict.fromkeys(version.release for version in offered):
        new = [version for version in offered if version.release == release]
        dotted = ".".join(map(str, release))
        than = "compat.yaml has no row for this series"
        same_minor = [known for known in newest if known[:2] == release[:2]]
        if last := newest.get(release):
            new = [version for version in new if version > last]
            than = f"newer than {last}, the last {dotted} that is known here"
        elif any(release < known for known in same_minor or newest):
            # The makers left out a series between known ones.
            continue
        names = list(dict.fromkeys(users.get(release, ())))
        if new and (names or is_whole(uses, chosen)):
            what = f"torch_npu {', '.join(map(str, new))}: {than}."
            yield UpdateNotice(what=what, change=_ROW_NEEDED, targets=tuple(names))


def _torch_alone(uses: Sequence[Use], compat: Compat, answers: Answers) -> Iterator[UpdateNotice]:
    texts = {row.torch for row in compat.pairings}
    last = max(_versions(texts | {use.version for use in uses if use.key == "torch"}))
    with_npu = {version.release for version in _all_of("torch_npu", answers)}
    torches = sorted(_all_of("torch", answers), reverse=True)
    alone = [str(torch) for torch in torches if torch > last and torch.release not in with_npu]
    if alone:
        yield UpdateNotice(
            what=f"torch {', '.join(alone)}: newer than {last}.",
            change="There is no torch_npu for it yet; nothing to do.",
            remark=True,
        )


def _is_final(version: Version) -> bool:
    return not version.is_prerelease and version.local is None


def _all_of(package: str, answers: Answers) -> set[Version]:
    return {
        version
        for question, versions in answers.items()
        if question.package == package
        for version in versions
        if _is_final(version)
    }


def _versions(texts: Iterable[str]) -> Iterator[Version]:
    """Those of ``texts`` that are versions; rejected rows may have other texts."""
    for text in texts:
        try:
            yield Version(text)
        except InvalidVersion:
            continue


@dataclass(frozen=True, kw_only=True)
class Ended:
    """Parts of one or several ``targets`` whose maintenance has ended, one sentence each."""

    parts: tuple[str, ...]
    targets: tuple[str, ...]


def ended_targets(matrix: Matrix, compat: Compat, today: str) -> Iterator[Ended]:
    """The targets with a part that was maintained until a day before ``today``, by their parts."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for target in matrix.targets.values():
        # A distribution maintains its own interpreter.
        of_base = target.python.source is PythonSource.BASE
        over = dict.fromkeys(
            finding.text
            for finding in judge(target, compat)
            if has_ended(finding, today) and not (of_base and finding.key == "python")
        )
        if over:
            groups.setdefault((*over,), []).append(target.id)
    for parts, targets in sorted(groups.items(), key=lambda item: -len(item[0])):
        yield Ended(parts=parts, targets=tuple(targets))
