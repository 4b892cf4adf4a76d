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
from cannery.common.model import TOOLS, Target
from cannery.compat import Finding, Verdict, judge, passes
from cannery.compat.facts import Compat, Compatible
from cannery.compat.lifetimes import has_ended
from cannery.lock.index_questions import Answers, is_whole, open_uses, question_of
from cannery.matrix.matrix import Matrix
from cannery.matrix.versions import Use, VersionChange

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


def compare(
    uses: Sequence[Use], chosen: Collection[str], compat: Compat, answers: Answers
) -> list[UpdateNotice]:
    """Every newer version for the targets with an id in ``chosen``, those with changes first.

    With all targets chosen also what is new for none of them yet.
    """
    own = open_uses(uses, chosen)
    found = [
        *_torch_npu_moves([use for use in own if use.key == "torch_npu"], compat, answers),
        *_missing_rows(uses, chosen, compat, answers),
        *_deepspeed_moves([use for use in own if use.key == "deepspeed"], compat, answers),
        *_newer_tools([use for use in own if use.key in TOOLS], compat, answers),
    ]
    if is_whole(uses, chosen):
        found += _torch_alone(uses, compat, answers)
    return sorted(found, key=lambda news: (news.remark, not news.moves, news.on_request))


def _offered(use: Use, answers: Answers) -> set[Version]:
    """The final versions that are newer than the used one and available for all of its targets."""
    now = Version(use.version)
    each = [
        {version for version in answers.get(question, ()) if _is_final(version) and version > now}
        for question in (question_of(use.key, target) for target in use.targets)
    ]
    return set.intersection(*each)


def _is_final(version: Version) -> bool:
    return not version.is_prerelease and version.local is None


def _verdict(use: Use, version: Version, compat: Compat) -> Verdict:
    """The worst verdict on ``version`` in the targets of ``use``.

    A target's own ``unverified`` was said of another version, and lets nothing through here. What
    is compatible with a CANN and paired with another is for people to choose.
    """
    found = set()
    for target in use.targets:
        for finding in judge(moved := _moved(target, use.key, str(version)), compat):
            if not passes(finding, moved):
                return Verdict.FORBIDDEN
            if finding.component == use.key:
                is_paired = not any(isinstance(row, Compatible) for row in finding.rows)
                found.add(finding.verdict if is_paired else Verdict.UNKNOWN)
            elif finding.component == "python" and finding.verdict is Verdict.UNKNOWN:
                found.add(Verdict.UNKNOWN)
    return max(found, key=[*Verdict].index, default=Verdict.UNKNOWN)


def _moved(target: Target, key: str, version: str) -> Target:
    if key in TOOLS:
        return replace(target, extras={**target.extras, key: version})
    return replace(target, **{key: version})  # type: ignore[arg-type]


def _by_version(
    moves: Iterable[tuple[Use, Version]],
) -> Iterator[tuple[str, Version, tuple[VersionChange, ...], tuple[str, ...]]]:
    """The old version, the new one, the changes from old to new, and their targets."""
    groups: dict[tuple[Version, Version], list[Use]] = {}
    for use, version in moves:
        groups.setdefault((version, Version(use.version)), []).append(use)
    for (new, old), uses in sorted(groups.items(), key=lambda item: item[0], reverse=True):
        names = tuple(dict.fromkeys(target.id for use in uses for target in use.targets))
        yield str(old), new, tuple(VersionChange(use=use, version=str(new)) for use in uses), names


def _torch_npu_moves(
    uses: Iterable[Use], compat: Compat, answers: Answers
) -> Iterator[UpdateNotice]:
    allowed, disputed = [], []
    for use in uses:
        for version in sorted(_offered(use, answers), reverse=True):
            if version.release != Version(use.version).release:
                continue
            verdict = _verdict(use, version, compat)
            if verdict is Verdict.ALLOWED:
                allowed.append((use, version))
                break
            if verdict is Verdict.DISPUTED and (use, version) not in disputed:
                disputed.append((use, version))
    for old, new, moves, names in _by_version(allowed):
        yield UpdateNotice(
            what=f"torch_npu {new} is newer than {old}, and compat.yaml has it for the same CANN.",
            change="With --write these targets take it.",
            targets=names,
            moves=moves,
        )
    for old, new, _, names in _by_version(disputed):
        yield UpdateNotice(
            what=f"torch_npu {new} is newer than {old}, but sources disagree on its CANN.",
            change="It is left to you: 'build.py explain TARGET' shows what is known.",
            targets=names,
            remark=True,
        )


def _missing_rows(
    uses: Sequence[Use], chosen: Collection[str], compat: Compat, answers: Answers
) -> Iterator[UpdateNotice]:
    """Each torch_npu that is newer than all known ones of its series, or of a new series."""
    texts = {row.torch_npu for row in compat.pairings}
    texts |= {row.torch_npu for row in compat.rejected}
    texts |= {use.version for use in uses if use.key == "torch_npu"}
    newest = _newest_of_each(_versions(texts))
    users: dict[Release, list[str]] = {}
    for use in uses:
        if use.key == "torch_npu":
            names = [target.id for target in use.targets if target.id in chosen]
            users.setdefault(Version(use.version).release, []).extend(names)
    offered: dict[Release, list[Version]] = {}
    for version in sorted(_all_of("torch_npu", answers), reverse=True):
        offered.setdefault(version.release, []).append(version)
    for release, versions in offered.items():
        names = list(dict.fromkeys(users.get(release, ())))
        if release in newest:
            new = [version for version in versions if version > newest[release]]
            than = f"newer than {newest[release]}, the last {_dotted(release)} that is known here"
        else:
            new = versions if _follows(release, newest) else []
            than = "compat.yaml has no row for this series"
        if new and (names or is_whole(uses, chosen)):
            yield UpdateNotice(
                what=f"torch_npu {_listed(new)}: {than}.",
                change=_ROW_NEEDED,
                targets=tuple(names),
            )


def _follows(release: Release, known: Collection[Release]) -> bool:
    """Whether ``release`` is newer than all known ones, or all known ones of its minor.

    What lies between known releases has been left out by whoever made the table.
    """
    same_minor = [each for each in known if each[:2] == release[:2]]
    return all(release > each for each in same_minor or known)


def _deepspeed_moves(
    uses: Sequence[Use], compat: Compat, answers: Answers
) -> Iterator[UpdateNotice]:
    """Only for the newest one in use: older ones were chosen on purpose."""
    last = max((Version(use.version) for use in uses), default=None)
    found = []
    for use in uses:
        if Version(use.version) != last:
            continue
        for version in sorted(_offered(use, answers), reverse=True):
            if _verdict(use, version, compat) in (Verdict.ALLOWED, Verdict.DISPUTED):
                found.append((use, version))
                break
    for old, new, moves, names in _by_version(found):
        yield UpdateNotice(
            what=f"deepspeed {new} is newer than {old}, and compat.yaml allows it.",
            change="With --deepspeed --write these targets take it.",
            targets=names,
            moves=moves,
            on_request=True,
        )


def _newer_tools(uses: Sequence[Use], compat: Compat, answers: Answers) -> Iterator[UpdateNotice]:
    """The newest version of each tool that nothing is known against; no source pairs them."""
    found = []
    for use in uses:
        for version in sorted(_offered(use, answers), reverse=True):
            if not _is_against(use, version, compat):
                found.append((use, version))
                break
    for key in dict.fromkeys(use.key for use, _ in found):
        for old, new, _, names in _by_version(each for each in found if each[0].key == key):
            yield UpdateNotice(
                what=f"{key} {new} is newer than {old}, and compat.yaml has nothing against it.",
                change="It is left to you: write it in matrix.yaml, and lock and test the targets.",
                targets=names,
                remark=True,
            )


def _is_against(use: Use, version: Version, compat: Compat) -> bool:
    """Whether something that is known does not let a target have ``version`` of a tool."""
    return any(
        found.component == TOOLS[use.key] and found.verdict in (Verdict.UNKNOWN, Verdict.FORBIDDEN)
        for target in use.targets
        for found in judge(_moved(target, use.key, str(version)), compat)
    )


def _torch_alone(uses: Sequence[Use], compat: Compat, answers: Answers) -> Iterator[UpdateNotice]:
    texts = {row.torch for row in compat.pairings}
    texts |= {use.version for use in uses if use.key == "torch"}
    last = max(_versions(texts))
    with_npu = {version.release for version in _all_of("torch_npu", answers)}
    alone = {
        version
        for version in _all_of("torch", answers)
        if version > last and version.release not in with_npu
    }
    if alone:
        yield UpdateNotice(
            what=f"torch {_listed(sorted(alone, reverse=True))}: newer than {last}.",
            change="There is no torch_npu for it yet; nothing to do.",
            remark=True,
        )


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


def _newest_of_each(versions: Iterable[Version]) -> dict[Release, Version]:
    found: dict[Release, Version] = {}
    for version in versions:
        found[version.release] = max(version, found.get(version.release, version))
    return found


def _dotted(release: Release) -> str:
    return ".".join(map(str, release))


def _listed(versions: Iterable[Version]) -> str:
    return ", ".join(map(str, versions))


@dataclass(frozen=True, kw_only=True)
class Ended:
    """Parts of one or several ``targets`` whose maintenance has ended, one sentence each."""

    parts: tuple[str, ...]
    targets: tuple[str, ...]


def ended_targets(matrix: Matrix, compat: Compat, today: str) -> Iterator[Ended]:
    """The targets with a part that was maintained until a day before ``today``, by their parts."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for target in matrix.targets.values():
        over = [
            each.text
            for each in judge(target, compat)
            if has_ended(each, today) and not _is_distributions(each, target)
        ]
        if over:
            groups.setdefault(tuple(dict.fromkeys(over)), []).append(target.id)
    for parts, targets in sorted(groups.items(), key=lambda item: -len(item[0])):
        yield Ended(parts=parts, targets=tuple(targets))


def _is_distributions(finding: Finding, target: Target) -> bool:
    """Whether it is about an interpreter that the base's distribution maintains."""
    return finding.key == "python" and target.python.source is PythonSource.BASE
