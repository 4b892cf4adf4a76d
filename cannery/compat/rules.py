# SPDX-License-Identifier: Apache-2.0
"""Everything that compat.yaml says of a target: from a target and the rows to findings. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from packaging.version import InvalidVersion, Version

from cannery.common.cann_version import CannVersion
from cannery.common.errors import Problem
from cannery.common.model import Application, CannRelease, Target
from cannery.common.specifiers import normal_name
from cannery.compat.base_rules import judge_base, judge_wheels
from cannery.compat.cann_rules import judge_cann
from cannery.compat.extension_rules import judge_apex, judge_beside, judge_deepspeed
from cannery.compat.facts import ApplicationRow, Compat, Compatible, Kind, KnownBad, Pairing
from cannery.compat.finding import Finding, Place, Subject, Verdict, best_first, judge_lifetimes
from cannery.compat.nearest import nearest
from cannery.compat.package_rules import holds, judge_packages

_PARTS = 3
"""How many numbers a full version has, as 2.3.1."""


def judge(target: Target, compat: Compat) -> list[Finding]:
    """Everything that is known of ``target``, component by component."""
    versions, findings = _versions(target)
    releases = {each.version: each for each in (target.cann, target.kernels, target.nnal)}
    findings += [bad for release in releases.values() if (bad := _unreadable(release))]
    if any(finding.component == "toolkit" for finding in findings):
        return findings
    cann = target.cann
    subject = Subject(
        target=target,
        compat=compat,
        cann=CannVersion.parse(cann.version),
        judged_as=CannVersion.parse(cann.nearest_public if cann.interim else cann.version),
        **versions,
    )
    findings += judge_base(subject)
    findings += _judge_python(subject)
    findings += _judge_torch_npu(subject)
    findings += judge_cann(subject)
    findings += judge_lifetimes(subject)
    findings += judge_wheels(subject)
    findings += judge_apex(subject)
    findings += judge_deepspeed(subject)
    findings += judge_beside(subject)
    findings += judge_packages(subject)
    findings += judge_application(subject)
    findings += _judge_known_bad(subject)
    rejected = _judge_rejected(target, compat)
    # Whatever else is said of such a pair follows from the mistake in its source.
    return [each for each in findings if not rejected or each.key != "torch_npu"] + rejected


def _unreadable(release: CannRelease) -> Finding | None:
    """What is wrong with the versions that matrix.yaml gives to ``release``."""
    texts = {"": release.version, "nearest_public": release.nearest_public}
    for key, text in texts.items():
        if text or not key:
            try:
                CannVersion.parse(text)
            except ValueError as error:
                place = ("cann", release.version, *([key] if key else []))
                return Finding(
                    component="toolkit",
                    verdict=Verdict.FORBIDDEN,
                    text=str(error),
                    key="cann",
                    place=place,
                )
    return None


def _versions(target: Target) -> tuple[dict[str, Version | None], list[Finding]]:
    versions: dict[str, Version | None] = {}
    findings = []
    for key in ("torch", "torch_npu", "deepspeed"):
        text: str = getattr(target, key)
        versions[key] = _version(text)
        if text and versions[key] is None:
            findings.append(
                Finding(
                    component=key,
                    verdict=Verdict.FORBIDDEN,
                    text=f"{text!r} is not a full version.",
                    key=key,
                    fix=_as_it_is_written(text),
                )
            )
    if (torch := versions["torch"]) and torch.local:
        text = f"torch {torch} is the name of a build in one index."
        fix = f"Write {torch.public}, and that index with torch_index."
        findings.append(
            Finding(component="torch", verdict=Verdict.FORBIDDEN, text=text, key="torch", fix=fix)
        )
    return versions, findings


def _as_it_is_written(text: str) -> str:
    """How ``text`` would have to be written; an example where it is not a version at all."""
    try:
        version = Version(text)
    except InvalidVersion:
        return "Write it as in 2.3.1."
    missing = _PARTS - len(version.release)
    if missing > 0:
        return (
            f"Write all three numbers, as in {'.'.join(map(str, version.release))}{'.0' * missing}."
        )
    return f"Write {version}, as the wheel's own metadata does."


def _version(text: str) -> Version | None:
    try:
        version = Version(text)
    except InvalidVersion:
        return None
    # Other spellings of a version, as v2.3.1, are not what a wheel's metadata says.
    return version if str(version) == text and len(version.release) >= _PARTS else None


def _compiled_for(torch: Version, torch_npu: Version) -> Finding | None:
    # torch_npu is compiled against one torch release and its wheel demands exactly that one
    # (Ascend/pytorch COMPATIBILITY.md); with another, the import fails on an undefined symbol.
    if torch.release == torch_npu.release:
        return None
    return Finding(
        component="torch_npu",
        verdict=Verdict.FORBIDDEN,
        text=f"torch_npu {torch_npu} was built for torch {torch_npu.base_version} "
        f"and cannot be imported with torch {torch}.",
        key="torch_npu",
        fix=f"Take a torch_npu {torch.base_version}, or torch {torch_npu.base_version}.",
        pairs=True,
    )


def _number_of_the_whole(subject: Subject) -> Finding | None:
    """Of a torch_npu with the number of the TorchNPU that it is part of, as 26.1.0."""
    target = subject.target
    end = f"-{target.torch_npu}"
    if not (rows := [row for row in subject.compat.pairings if row.branch.endswith(end)]):
        return None
    wheels = dict.fromkeys(row.torch_npu for row in rows if row.torch == target.torch)
    others = dict.fromkeys(row.torch for row in rows)
    return Finding(
        component="torch_npu",
        verdict=Verdict.FORBIDDEN,
        text=f"{target.torch_npu} is the number of a whole TorchNPU, and its wheels have others.",
        key="torch_npu",
        fix=f"For torch {target.torch} write {' or '.join(wheels)}."
        if wheels
        else f"It has wheels for torch {', '.join(others)}.",
    )


def _judge_torch_npu(subject: Subject) -> list[Finding]:
    if subject.torch is None or subject.torch_npu is None:
        return []
    target = subject.target
    if whole := _number_of_the_whole(subject):
        return [whole]
    anywhere = [row for row in subject.compat.pairings if row.torch_npu == target.torch_npu]
    if mismatch := _compiled_for(subject.torch, subject.torch_npu):
        return [replace(mismatch, rows=best_first(anywhere))]
    on_this_cann = [
        row
        for row in subject.compat.pairings
        if row.torch == target.torch and subject.is_cann(row.cann)
    ]
    rows = [row for row in on_this_cann if row.torch_npu == target.torch_npu]
    pair = f"torch_npu {target.torch_npu} and torch {target.torch}"
    if not rows and (found := _compatible(subject, anywhere)):
        row, paired = found
        releases = ", ".join(dict.fromkeys(str(each.cann) for each in paired))
        text = f"{pair} are compatible with {subject.cann_name}; they are paired with CANN"
        return [_torch_npu(Verdict.ALLOWED, f"{text} {releases}.", rows=(row, *paired))]
    if not rows:
        text = f"{pair} are not known to work on {subject.cann_name}"
        if releases := ", ".join(dict.fromkeys(str(row.cann) for row in anywhere)):
            text += f", only on CANN {releases}"
        return [_torch_npu(Verdict.UNKNOWN, text + ".", rows=best_first(anywhere), pairs=True)]
    said = {source.document for row in rows for source in row.sources}
    against = [
        row
        for row in subject.compat.pairings
        if row.torch_npu
        and row not in rows
        and row.sources[0].kind is Kind.MAKER
        and row.sources[0].document not in said
        and (row in on_this_cann or row.torch_npu == target.torch_npu)
    ]
    seen = [row for row in on_this_cann if not row.torch_npu]
    text = f"{pair} go together on {subject.cann_name}."
    if against:
        other = ", ".join(f"torch_npu {row.torch_npu} with CANN {row.cann}" for row in against)
        text = f"{pair} go together on {subject.cann_name}; another source has {other} instead."
    verdict = Verdict.DISPUTED if against else Verdict.ALLOWED
    rows_named = (*best_first(rows), *best_first(seen))
    return [_torch_npu(verdict, text, rows=rows_named, against=best_first(against))]


def _compatible(
    subject: Subject, pairings: list[Pairing]
) -> tuple[Compatible, tuple[Pairing, ...]] | None:
    """The row by which some of ``pairings`` hold for this CANN, too, and those.

    Previews are not releases that a maker's table of compatible releases is about.
    """
    if subject.judged_as.is_preview:
        return None
    for row in subject.compat.compatible:
        paired = [each for each in pairings if each.is_makers and each.cann in row.cann]
        if subject.judged_as in row.cann and paired:
            return row, best_first(paired)
    return None


def _torch_npu(verdict: Verdict, text: str, **more: Any) -> Finding:
    return Finding(component="torch_npu", verdict=verdict, text=text, key="torch_npu", **more)


def _judge_python(subject: Subject) -> list[Finding]:
    target = subject.target
    if subject.torch is None or subject.torch_npu is None:
        return []
    pairings = subject.compat.pairings
    rows = [row for row in pairings if row.torch_npu == target.torch_npu and [*row.statements()]]
    what = f"torch_npu {target.torch_npu}"
    if not rows:
        # Wheels of one torch are made for the same Pythons.
        what = f"torch {target.torch}"
        rows = [row for row in pairings if row.torch == target.torch and [*row.statements()]]
    minor = target.python.minor
    allows, denies = _divided(rows, minor)
    known = sorted({each for row in rows for _, names in row.statements() for each in names})
    known.sort(key=lambda each: int(each.split(".")[1]))
    verdict, text = Verdict.ALLOWED, f"{what} has wheels for Python {minor}."
    if allows and denies:
        verdict = Verdict.DISPUTED
        text = f"{what} has wheels for Python {minor} by one source, and not by another."
    elif denies:
        verdict = Verdict.FORBIDDEN
        text = f"{what} has no wheel for Python {minor}, only for {', '.join(known)}."
    elif not allows:
        verdict = Verdict.UNKNOWN
        seen = f"; it was seen with {', '.join(known)}" if known else ""
        text = f"{what} is not known to have a wheel for Python {minor}{seen}."
    return [
        Finding(
            component="python",
            verdict=verdict,
            text=text,
            key="python",
            rows=best_first(allows or denies),
            against=best_first(denies if allows else ()),
            pairs=True,
        )
    ]


def _divided(rows: list[Pairing], minor: str) -> tuple[list[Pairing], list[Pairing]]:
    """The rows that have Python ``minor``, and those of a complete source that leave it out."""
    allows, denies = [], []
    for row in rows:
        for source, pythons in row.statements():
            if minor in pythons:
                allows.append(row)
            elif source.kind is Kind.MAKER:
                denies.append(row)
    return list(dict.fromkeys(allows)), list(dict.fromkeys(denies))


def _judge_known_bad(subject: Subject) -> list[Finding]:
    return [
        Finding(
            component="target",
            verdict=Verdict.FORBIDDEN,
            text=f"This combination fails: {row.why}.",
            key=_key_of(row),
            rows=(row,),
            pairs=_key_of(row) == "torch_npu",
        )
        for row in subject.compat.known_bad
        if _is_bad(subject, row)
    ]


def _judge_rejected(target: Target, compat: Compat) -> list[Finding]:
    """A pair that a source has by mistake."""
    return [
        _torch_npu(
            Verdict.FORBIDDEN,
            f"torch_npu {row.torch_npu} with torch {row.torch} is a mistake in its source: "
            f"{row.why}.",
            rows=(row,),
            pairs=True,
        )
        for row in compat.rejected
        if (row.torch, row.torch_npu) == (target.torch, target.torch_npu)
    ]


def _key_of(row: KnownBad) -> str:
    """The key of a target that is to be changed."""
    if row.python_below:
        return "python"
    return "torch" if row.usual_index or row.requirement else "torch_npu"


def _is_bad(subject: Subject, row: KnownBad) -> bool:
    if not holds(row, subject):
        return False
    return not row.python_below or Version(subject.target.python.version) < Version(
        row.python_below
    )


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """One reason why a target must not be built.

    ``with_nearest`` says that it is the one beside which the nearest known combinations are named.
    """

    finding: Finding
    target: Target
    compat: Compat
    with_nearest: bool

    @property
    def key(self) -> str:
        """The target's key in matrix.yaml that it is about."""
        return self.finding.key

    @property
    def place(self) -> Place:
        """Where in matrix.yaml the cause is; empty if that is the target's own key."""
        return self.finding.place

    @property
    def problem(self) -> Problem:
        """What is wrong, who says so, and what to do."""
        finding = self.finding
        what = finding.text
        if finding.rows:
            what += f" Source: {finding.rows[0].cited}."
        if finding.against:
            what += f" Against it: {finding.against[0].cited}."
        fixes = [finding.fix] if finding.fix else []
        if self.with_nearest and (known := nearest(self.target, self.compat)):
            fixes.append("Nearest known: " + "; or ".join(map(str, known)) + ".")
        if finding.verdict is Verdict.UNKNOWN:
            fixes.append("If it works for you, add 'unverified: why' to the target.")
        return Problem(what=what, fix=" ".join(fixes))


def refusals_of(target: Target, findings: Iterable[Finding], compat: Compat) -> list[Refusal]:
    """Every reason why ``target`` must not be built, of its ``findings``.

    That is everything that is known to fail, and, unless the target says ``unverified: reason``,
    everything that is not known to work.
    """
    failing = [finding for finding in findings if not passes(finding, target)]
    first = next((finding for finding in failing if finding.pairs), None)
    return [
        Refusal(finding=each, target=target, compat=compat, with_nearest=each is first)
        for each in failing
    ]


def passes(finding: Finding, target: Target) -> bool:
    """Whether ``target`` may be built as far as ``finding`` is concerned."""
    if finding.verdict is Verdict.UNKNOWN:
        return bool(target.unverified)
    return finding.verdict is not Verdict.FORBIDDEN


_OF_THEIR_OWN = ("vllm", "mindspore")
"""Components that other rows are about: those of vllm-ascend, and of mindspore."""


def judge_application(subject: Subject) -> Iterator[Finding]:
    """One finding for an application, unless other rows are about it.

    What its maker's wheel excludes is refused. Where no source has the pair, nothing is known.
    """
    application = subject.target.application
    if application is None or application.component in _OF_THEIR_OWN:
        return
    rows = [row for row in subject.compat.applications if _is_about(row, application)]
    name = f"{application.component} {application.version}"
    if bad := [row for row in rows if row.is_makers and not _application_fits(row, subject)]:
        row = bad[0]
        conditions = _application_conditions(row)
        text = (
            f"{name} is for {conditions} by its own metadata, not for {_described_pair(subject)}."
        )
        fix = "Take another version of it, or another torch or Python."
        yield _application_finding(subject, Verdict.FORBIDDEN, text, [row], fix)
        return
    if seen := [row for row in rows if row.cann is not None and _application_fits(row, subject)]:
        text = f"{name} was seen with {_described_pair(subject)}."
        yield _application_finding(subject, Verdict.ALLOWED, text, seen)
        return
    text = f"no source has {name} with {_described_pair(subject)}"
    if others := [row for row in rows if row.cann is not None]:
        text += f", only with {'; '.join(map(_application_conditions, others))}"
    yield _application_finding(subject, Verdict.NOT_JUDGED, f"{text}.", rows)


def _is_about(row: ApplicationRow, application: Application) -> bool:
    wanted = row.application
    return normal_name(wanted.name) == normal_name(application.component) and (
        wanted.specifier.contains(application.version, prereleases=True)
    )


def _application_fits(row: ApplicationRow, subject: Subject) -> bool:
    torch = subject.torch or Version("0")
    return all(
        (
            row.torch is None or row.torch.contains(torch, prereleases=True),
            row.cann is None or subject.judged_as in row.cann,
            not row.pythons or subject.target.python.minor in row.pythons,
        )
    )


def _application_conditions(row: ApplicationRow) -> str:
    pythons = f"{row.pythons[0]} to {row.pythons[-1]}" if row.pythons[1:] else "".join(row.pythons)
    parts = {"torch": row.torch, "CANN": row.cann, "Python": pythons}
    return ", ".join(f"{key} {value}" for key, value in parts.items() if value)


def _described_pair(subject: Subject) -> str:
    target = subject.target
    torch = f"torch {target.torch}, " if target.torch else ""
    return f"{torch}{subject.cann_name} and Python {target.python.minor}"


def _application_finding(
    subject: Subject, verdict: Verdict, text: str, rows: list[ApplicationRow], fix: str = ""
) -> Finding:
    assert subject.target.application
    return Finding(
        component=subject.target.application.component,
        verdict=verdict,
        text=text,
        key="application",
        rows=best_first(rows),
        fix=fix,
    )
