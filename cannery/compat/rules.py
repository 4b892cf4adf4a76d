# SPDX-License-Identifier: Apache-2.0
"""Everything that compat.yaml says of a target: from a target and the rows to findings. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from packaging.version import InvalidVersion, Version

from cannery.common.cann_version import CannVersion
from cannery.common.errors import Problem, enumerated
from cannery.common.model import CannRelease, Target
from cannery.common.specifiers import normal_name
from cannery.compat.base_rules import judge_base, judge_wheels
from cannery.compat.cann_rules import judge_cann, nnal_abis
from cannery.compat.extension_rules import judge_apex, judge_beside, judge_deepspeed
from cannery.compat.facts import ApplicationRow, Compat, Pairing
from cannery.compat.finding import Finding, Subject, Verdict, best_first, judge_lifetimes
from cannery.compat.nearest import compatible_rows, nearest
from cannery.compat.package_rules import holds, judge_packages
from cannery.compat.sources import Kind, Row
from cannery.compat.wheel_rules import TORCH_NPU, judge_index_wheels, recorded

_PARTS = 3
"""How many numbers a full version has, as 2.3.1."""


def judge(target: Target, compat: Compat) -> list[Finding]:
    """The findings about ``target``, component by component."""
    findings = _unreadable_versions(target)
    if any(finding.component == "toolkit" for finding in findings):
        return findings
    subject = subject_of(target, compat)
    findings += judge_base(subject)
    findings += _judge_python(subject)
    findings += _judge_torch_npu(subject)
    findings += judge_cann(subject)
    findings += judge_lifetimes(subject)
    findings += judge_wheels(subject)
    findings += judge_index_wheels(subject)
    findings += judge_apex(subject)
    findings += judge_deepspeed(subject)
    findings += judge_beside(subject)
    findings += judge_packages(subject)
    findings += _judge_application(subject)
    for row in compat.known_bad:
        if holds(row, subject) and not (
            row.python_below and Version(target.python.version) >= Version(row.python_below)
        ):
            key = "torch" if row.usual_index or row.requirement else "torch_npu"
            key = "cann" if row.without_nnal else "python" if row.python_below else key
            text, pairs = f"This combination fails: {row.why}.", key == "torch_npu"
            findings.append(
                Finding("target", Verdict.FORBIDDEN, text, key, rows=(row,), pairs=pairs)
            )
    mistakes = [
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
    # Whatever else is said of such a pair follows from the mistake in its source.
    return [
        finding for finding in findings if not mistakes or finding.key != "torch_npu"
    ] + mistakes


def cxx_abi(target: Target, compat: Compat) -> int | None:
    """The C++ ABI of the target's framework, 0 or 1; None if no row has it."""
    try:
        abis, _ = nnal_abis(subject_of(target, compat))
    except ValueError:
        return None
    return abis[0].abi if abis else None


def _unreadable(release: CannRelease) -> Finding | None:
    """An invalid version of ``release`` in matrix.yaml."""
    texts = {"": release.version, "nearest_public": release.nearest_public}
    for key, text in texts.items():
        if text or not key:
            try:
                CannVersion.parse(text)
            except ValueError as error:
                place = ("cann", release.version, *([key] if key else []))
                return Finding("toolkit", Verdict.FORBIDDEN, str(error), "cann", place=place)
    return None


def subject_of(target: Target, compat: Compat) -> Subject:
    """``target`` with its versions; ValueError for an invalid version of CANN."""
    cann = target.cann
    return Subject(
        target=target,
        compat=compat,
        cann=CannVersion.parse(cann.version),
        judged_as=CannVersion.parse(cann.nearest_public if cann.interim else cann.version),
        torch=_version(target.torch),
        torch_npu=_version(target.torch_npu),
        deepspeed=_version(target.deepspeed),
    )


def _unreadable_versions(target: Target) -> list[Finding]:
    findings = []
    for key in ("torch", "torch_npu", "deepspeed"):
        text: str = getattr(target, key)
        if text and _version(text) is None:
            what, fix = f"{text!r} is not a full version.", _as_it_is_written(text)
            findings.append(Finding(key, Verdict.FORBIDDEN, what, key, fix=fix))
    if (torch := _version(target.torch)) and torch.local:
        what = f"torch {torch} is the name of a build in one index."
        fix = f"Write {torch.public}, and that index with torch_index."
        findings.append(Finding("torch", Verdict.FORBIDDEN, what, "torch", fix=fix))
    releases = {release.version: release for release in (target.cann, target.kernels, target.nnal)}
    return findings + [bad for release in releases.values() if (bad := _unreadable(release))]


def _as_it_is_written(text: str) -> str:
    """The right spelling of ``text``; an example if it is not a version at all."""
    try:
        version = Version(text)
    except InvalidVersion:
        return "Write it as in 2.3.1."
    missing = _PARTS - len(version.release)
    if missing > 0:
        full = ".".join(map(str, (*version.release, *[0] * missing)))
        return f"Write all three numbers, as in {full}."
    return f"Write {version}, as the wheel's own metadata does."


@cache
def _version(text: str) -> Version | None:
    try:
        version = Version(text)
    except InvalidVersion:
        return None
    # Other spellings of a version, as v2.3.1, are not what a wheel's metadata says.
    return version if str(version) == text and len(version.release) >= _PARTS else None


def _whole_torch_npu(subject: Subject) -> Finding | None:
    """A torch_npu with the number of the TorchNPU that it is part of, as 26.1.0."""
    target = subject.target
    end = f"-{target.torch_npu}"
    if not (rows := [row for row in subject.compat.pairings if row.branch.endswith(end)]):
        return None
    wheels = dict.fromkeys(row.torch_npu for row in rows if row.torch == target.torch)
    others = dict.fromkeys(row.torch for row in rows)
    text = f"{target.torch_npu} is the number of a whole TorchNPU, and its wheels have others."
    fix = f"It has wheels for torch {', '.join(others)}."
    if wheels:
        fix = f"For torch {target.torch} write {' or '.join(wheels)}."
    return _torch_npu(Verdict.FORBIDDEN, text, fix=fix)


def _judge_torch_npu(subject: Subject) -> list[Finding]:
    target, torch, torch_npu = subject.target, subject.torch, subject.torch_npu
    if torch is None or torch_npu is None:
        return []
    if whole := _whole_torch_npu(subject):
        return [whole]
    pairings = subject.compat.pairings
    anywhere = [row for row in pairings if row.torch_npu == target.torch_npu]
    if torch.release != torch_npu.release:
        # torch_npu is compiled against one torch release and its wheel demands exactly that one
        # (Ascend/pytorch COMPATIBILITY.md); with another, the import fails on an undefined symbol.
        text = (
            f"torch_npu {torch_npu} was built for torch {torch_npu.base_version} "
            f"and cannot be imported with torch {torch}."
        )
        fix = f"Take a torch_npu {torch.base_version}, or torch {torch_npu.base_version}."
        rows_of_it = best_first(anywhere)
        return [_torch_npu(Verdict.FORBIDDEN, text, rows=rows_of_it, fix=fix, pairs=True)]
    on_this_cann = [
        row for row in pairings if row.torch == target.torch and subject.is_cann(row.cann)
    ]
    rows = [row for row in on_this_cann if row.torch_npu == target.torch_npu]
    pair = f"torch_npu {target.torch_npu} and torch {target.torch}"
    if not rows:
        return [_paired_elsewhere(subject, pair, anywhere)]
    documents = {source.document for row in rows for source in row.sources}
    against = [
        row
        for row in pairings
        if row.torch_npu
        and row not in rows
        and row.sources[0].kind is Kind.MAKER
        and row.sources[0].document not in documents
        and (row in on_this_cann or row.torch_npu == target.torch_npu)
    ]
    text = f"{pair} go together on {subject.cann_name}."
    if against:
        other = ", ".join(f"torch_npu {row.torch_npu} with CANN {row.cann}" for row in against)
        text = f"{pair} go together on {subject.cann_name}; another source has {other} instead."
    verdict = Verdict.DISPUTED if against else Verdict.ALLOWED
    seen = [row for row in on_this_cann if not row.torch_npu]
    named = (*best_first(rows), *best_first(seen))
    return [_torch_npu(verdict, text, rows=named, against=best_first(against))]


def _paired_elsewhere(subject: Subject, pair: str, pairings: list[Pairing]) -> Finding:
    """``pairings`` have the pair with other CANN releases, which may be compatible."""
    if rows := compatible_rows(subject.compat, subject.judged_as, subject.target.chip, pairings):
        paired = best_first(pairing for _, pairing in rows)
        releases = ", ".join(dict.fromkeys(str(pairing.cann) for pairing in paired))
        text = f"{pair} are compatible with {subject.cann_name}; they are paired with CANN"
        named = (*dict.fromkeys(row for row, _ in rows), *paired)
        return _torch_npu(Verdict.ALLOWED, f"{text} {releases}.", rows=named)
    text = f"{pair} are not known to work on {subject.cann_name}"
    if releases := ", ".join(dict.fromkeys(str(row.cann) for row in pairings)):
        text += f", only on CANN {releases}"
    return _torch_npu(Verdict.UNKNOWN, text + ".", rows=best_first(pairings), pairs=True)


def _torch_npu(verdict: Verdict, text: str, **more: Any) -> Finding:
    return Finding("torch_npu", verdict, text, "torch_npu", **more)


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
    allows: dict[Row, None] = {}
    denies: dict[Row, None] = {}
    known = set()
    wheels = recorded(subject.compat, TORCH_NPU, target.torch_npu, target.machine)
    if wheels and not target.torch_npu_wheel:
        if minor not in wheels.pythons:
            return []  # judge_index_wheels says so
        known, allows = {*wheels.pythons}, {wheels: None}
    for row in rows:
        for source, pythons in row.statements():
            known |= {*pythons}
            if minor in pythons:
                allows[row] = None
            elif source.kind is Kind.MAKER:
                denies[row] = None
    names = ", ".join(sorted(known, key=lambda name: int(name.split(".")[1])))
    verdict, text = Verdict.ALLOWED, f"{what} has wheels for Python {minor}."
    if allows and denies:
        verdict = Verdict.DISPUTED
        text = f"{what} has wheels for Python {minor} by one source, and not by another."
    elif denies:
        verdict = Verdict.FORBIDDEN
        text = f"{what} has no wheel for Python {minor}, only for {names}."
    elif not allows:
        verdict = Verdict.UNKNOWN
        seen = f"; it was seen with {names}" if known else ""
        text = f"{what} is not known to have a wheel for Python {minor}{seen}."
    return [
        Finding(
            "python",
            verdict,
            text,
            "python",
            rows=best_first(allows or denies),
            against=best_first(denies if allows else ()),
            pairs=True,
        )
    ]


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """One reason why a target must not be built, perhaps with the nearest known combinations."""

    finding: Finding
    target: Target
    compat: Compat
    with_nearest: bool

    @property
    def problem(self) -> Problem:
        """The finding with its source, and the remedy."""
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
    """Every reason why ``target`` must not be built, of its ``findings``."""
    failing = [finding for finding in findings if not passes(finding, target)]
    first = next((finding for finding in failing if finding.pairs), None)
    return [
        Refusal(finding=finding, target=target, compat=compat, with_nearest=finding is first)
        for finding in failing
    ]


def passes(finding: Finding, target: Target) -> bool:
    """Whether ``target`` may be built as far as ``finding`` is concerned."""
    if finding.verdict is Verdict.UNKNOWN:
        return bool(target.unverified)
    return finding.verdict is not Verdict.FORBIDDEN


_WITH_OTHER_ROWS = ("vllm", "mindspore")
"""Components that other rows are about: those of vllm-ascend, and of mindspore."""


def _judge_application(subject: Subject) -> Iterator[Finding]:
    """One finding for an application, unless other rows are about it; and refused requirements.

    An application that its maker's wheel excludes is refused. Without a source nothing is known.
    """
    application = subject.target.application
    component = normal_name(application.component) if application else ""
    if application and application.component not in _WITH_OTHER_ROWS:
        yield _beside(subject, application.component, application.version, "application")
    for name in {normal_name(row.application.name) for row in subject.compat.applications}:
        for each in subject.asked.get(name, ()) if name != component else ():
            version = str(each.requirement.specifier).removeprefix("==")
            finding = _beside(subject, name, version, each.key) if _version(version) else None
            if finding and finding.verdict is Verdict.FORBIDDEN:
                yield finding


def _beside(subject: Subject, component: str, version: str, key: str) -> Finding:
    target = subject.target
    name, minor = f"{component} {version}", target.python.minor
    rows = [
        row
        for row in subject.compat.applications
        if normal_name(row.application.name) == normal_name(component)
        and row.application.specifier.contains(version, prereleases=True)
    ]
    fitting = [row for row in rows if not _misfits(subject, row)]
    with_torch = f"torch {target.torch}, " if target.torch else ""
    pair = f"{with_torch}{subject.cann_name} and Python {minor}"
    environments = [row for row in rows if row.cann is not None]
    fix = ""
    if bad := [row for row in rows if row.is_makers and row not in fitting]:
        verdict, rows = Verdict.FORBIDDEN, bad[:1]
        text = f"{name} is for {_conditions(bad[0])} by its own metadata, not for {pair}."
        fix = "Take another version of it, or another torch or Python."
    elif seen := [row for row in environments if row in fitting]:
        verdict, rows, text = Verdict.ALLOWED, seen, f"{name} was seen with {pair}."
    else:
        verdict, text = Verdict.NOT_JUDGED, f"no source has {name} with {pair}"
        needed: list[str] = []
        if environments:
            text += f", only with {'; '.join(map(_conditions, environments))}"
            needed = min((_misfits(subject, row) for row in environments), key=len)
        with_them = enumerated(needed) or "all of these together"
        text += f". To judge it, a source must have it with {with_them}."
    more: dict[str, Any] = {"rows": best_first(rows), "fix": fix}
    return Finding(component, verdict, text, key, **more)


def _misfits(subject: Subject, row: ApplicationRow) -> list[str]:
    """The torch, CANN and Python of the target, those of them that ``row`` does not have."""
    minor = subject.target.python.minor
    torch = subject.torch or Version("0")
    parts = {
        f"torch {subject.target.torch or 'none'}": row.torch is None
        or row.torch.contains(torch, prereleases=True),
        subject.cann_name: row.cann is None or subject.judged_as in row.cann,
        f"Python {minor}": not row.pythons or minor in row.pythons,
    }
    return [part for part, fits in parts.items() if not fits]


def _conditions(row: ApplicationRow) -> str:
    pythons = f"{row.pythons[0]} to {row.pythons[-1]}" if row.pythons[1:] else "".join(row.pythons)
    parts = {"torch": row.torch, "CANN": row.cann, "Python": pythons}
    return ", ".join(f"{key} {value}" for key, value in parts.items() if value)
