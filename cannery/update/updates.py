# SPDX-License-Identifier: Apache-2.0
"""Compares the versions in a package index with matrix.yaml and compat.yaml. Pure.

An index lists versions, but does not say which CANN a torch_npu is for. A torch_npu without a row
in compat.yaml is therefore reported, and never written into matrix.yaml.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from packaging.version import InvalidVersion, Version

from cannery.common.model import TOOLS
from cannery.compat import Verdict, judge, passes
from cannery.compat.facts import Compat, Compatible
from cannery.lock.index_versions import Answers, is_whole, open_uses, question_of
from cannery.matrix.text import Use, VersionChange

_ROW_NEEDED = (
    "No index says for which CANN a torch_npu is, so nothing is written for it. Add its row to "
    "compat.yaml from COMPATIBILITY.md of Ascend/pytorch, then run this again."
)

Release = tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class UpdateNotice:
    """A newer version, and what can be done about it.

    ``change`` says what follows, in the same sentence for all notices of a kind. ``moves`` may be
    written; those of DeepSpeed only if the user asks for them. A ``remark`` asks for nothing.
    """

    what: str
    change: str
    targets: tuple[str, ...] = ()
    moves: tuple[VersionChange, ...] = ()
    remark: bool = False


_PAIRED = ("and compat.yaml has it for the same CANN.", "With --write these targets take it.")
_DEEPSPEED = ("and compat.yaml allows it.", "With --deepspeed --write these targets take it.")
_DISPUTED = (
    "but sources disagree on its CANN.",
    "It is left to you: 'build.py explain TARGET' shows what is known.",
)
_TOOL = (
    "and compat.yaml has nothing against it.",
    "It is left to you: write it in matrix.yaml, and lock and test the targets.",
)
_Advice = tuple[str, str]
"""What compat.yaml says of a newer version, and what follows."""


def compare(
    uses: Sequence[Use], chosen: Collection[str], compat: Compat, answers: Answers
) -> list[UpdateNotice]:
    """Every newer version for the targets with an id in ``chosen``, those with changes first.

    With all targets chosen also what is new for none of them yet.
    """
    news = [
        *_newer(open_uses(uses, chosen), compat, answers),
        *_missing_rows(uses, chosen, compat, answers),
    ]
    return sorted(news, key=lambda notice: (notice.remark, not notice.moves, notice.change))


def _newer(uses: Sequence[Use], compat: Compat, answers: Answers) -> Iterator[UpdateNotice]:
    """Of DeepSpeed only for the newest one in use: older ones were chosen on purpose."""
    deepspeed = max((Version(use.version) for use in uses if use.key == "deepspeed"), default=None)
    groups: dict[tuple[str, _Advice], dict[tuple[Version, Version], list[Use]]] = {}
    for use in uses:
        now = Version(use.version)
        if use.key == "deepspeed" and now != deepspeed:
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
        reason, change = advice
        is_written = advice in (_PAIRED, _DEEPSPEED)
        for (new, old), users in sorted(versions.items(), key=lambda item: item[0], reverse=True):
            moves = tuple(VersionChange(use=use, version=str(new)) for use in users)
            yield UpdateNotice(
                what=f"{key} {new} is newer than {old}, {reason}",
                change=change,
                targets=tuple(dict.fromkeys(target.id for use in users for target in use.targets)),
                moves=moves if is_written else (),
                remark=not is_written,
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
    texts = {row.torch_npu for row in compat.pairings}
    texts |= {row.torch_npu for row in compat.rejected}
    for use in uses:
        if use.key == "torch_npu":
            texts.add(use.version)
            chosen_ids = [target.id for target in use.targets if target.id in chosen]
            users.setdefault(Version(use.version).release, []).extend(chosen_ids)
    newest: dict[Release, Version] = {}
    for text in texts:
        with suppress(InvalidVersion):  # rejected rows may have other texts
            version = Version(text)
            newest[version.release] = max(version, newest.get(version.release, version))
    offered = {
        version
        for question, versions in answers.items()
        if question.package == "torch_npu"
        for version in versions
        if _is_final(version)
    }
    for release in sorted({version.release for version in offered}, reverse=True):
        last = newest.get(release)
        same_minor = [known for known in newest if known[:2] == release[:2]]
        if last is None and release < max(same_minor or newest):
            # The makers left out a series between known ones.
            continue
        new = [v for v in offered if v.release == release and (last is None or v > last)]
        names = tuple(dict.fromkeys(users.get(release, ())))
        if new and (names or is_whole(uses, chosen)):
            listed = ", ".join(map(str, sorted(new, reverse=True)))
            than = "compat.yaml has no row for this series"
            if last is not None:
                dotted = ".".join(map(str, release))
                than = f"newer than {last}, the last {dotted} that is known here"
            what = f"torch_npu {listed}: {than}."
            yield UpdateNotice(what=what, change=_ROW_NEEDED, targets=names)


def _is_final(version: Version) -> bool:
    return not version.is_prerelease and version.local is None
