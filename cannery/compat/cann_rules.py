# SPDX-License-Identifier: Apache-2.0
"""What is known of a target's CANN: its layout and packages, and the driver that it needs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from cannery.common.bases import File
from cannery.common.cann_version import CannVersion
from cannery.common.model import CannRelease
from cannery.compat.facts import CxxAbi, Driver, OnToolkit, Release, Row
from cannery.compat.files import file_name, file_row, judged_as
from cannery.compat.finding import Finding, Place, Subject, Verdict, best_first


def judge_cann(subject: Subject) -> list[Finding]:
    """What is known of layout, toolkit, kernels, NNAL and driver."""
    target = subject.target
    findings = _judge_layout(subject)
    findings += judge_file(subject, "toolkit", target.cann, target.toolkit_file)
    findings += _judge_kernels(subject)
    if target.with_nnal:
        findings += _judge_nnal(subject)
    return [*findings, _judge_driver(subject), *_judge_endings(subject)]


def _judge_layout(subject: Subject) -> list[Finding]:
    release = subject.target.cann
    rows = [row for row in subject.compat.layouts if subject.judged_as in row.cann]
    if not rows or any(row.layout == release.layout for row in rows):
        return []
    known = rows[0].layout
    return [
        Finding(
            component="toolkit",
            verdict=Verdict.FORBIDDEN,
            text=f"CANN {release.version} installs itself as {known}, not as {release.layout}.",
            key="cann",
            place=("cann", release.version, "layout"),
            rows=best_first(rows),
            fix=f"Write {known}.",
        )
    ]


def _judge_kernels(subject: Subject) -> list[Finding]:
    target, release = subject.target, subject.target.kernels
    bad = judge_file(subject, "kernels", release, target.kernels_file)
    bad += _judge_on_toolkit(subject, "kernels", release)
    if bad:
        return bad
    name = subject.name_of(release)
    rows = [row for row in _releases(subject, release) if target.chip in row.chips]
    if rows:
        return [_kernels(Verdict.ALLOWED, f"{name} has kernels for chip {target.chip}.", rows)]
    others = sorted({each for row in _releases(subject, release) for each in row.chips})
    seen = f"; they were seen for {', '.join(others)}" if others else ""
    text = f"{name} is not known to have kernels for chip {target.chip}{seen}."
    return [_kernels(Verdict.UNKNOWN, text, [])]


def _releases(subject: Subject, release: CannRelease) -> list[Release]:
    return [row for row in subject.compat.releases if subject.is_release(row.cann, release)]


def _kernels(verdict: Verdict, text: str, rows: list[Release]) -> Finding:
    return Finding(
        component="kernels",
        verdict=verdict,
        text=text,
        key="cann",
        rows=best_first(rows),
        pairs=verdict is Verdict.UNKNOWN,
    )


def _judge_on_toolkit(subject: Subject, component: str, release: CannRelease) -> list[Finding]:
    """Whether a package of another version than the toolkit's goes on this toolkit."""
    toolkit = subject.target.cann
    if release.version == toolkit.version:
        return []
    version = judged_as(release)
    rows = [
        row
        for row in subject.compat.on_toolkit
        if row.component == component and version in row.version
    ]
    if any(subject.judged_as in row.toolkits for row in rows):
        return []
    name = f"{component} {release.version}"
    verdict, text = Verdict.UNKNOWN, f"{name} is not known to go on toolkit {toolkit.version}."
    if rows:
        verdict = Verdict.FORBIDDEN
        text = (
            f"{name} cannot be installed on toolkit {toolkit.version}, only on {_toolkits(rows)}."
        )
    return [
        Finding(
            component=component,
            verdict=verdict,
            text=text,
            key="cann",
            rows=best_first(rows),
            fix=f"Write {component}: {toolkit.version}.{_others(subject, component)}",
        )
    ]


def _others(subject: Subject, component: str) -> str:
    """Other versions of ``component`` that go on the toolkit, if there are any."""
    rows = [
        row
        for row in subject.compat.on_toolkit
        if row.component == component and subject.judged_as in row.toolkits
    ]
    versions = {each.cann for each in subject.compat.releases if subject.target.chip in each.chips}
    fitting = {version for version in versions if any(version in row.version for row in rows)}
    names = [str(version) for version in sorted(fitting - {subject.judged_as})]
    return f" On this toolkit also go {', '.join(names)}." if names else ""


def _toolkits(rows: Iterable[OnToolkit]) -> str:
    known = [str(each) for row in rows for each in row.toolkits]
    return ", ".join(known) or "the toolkit of the same version"


def _judge_nnal(subject: Subject) -> list[Finding]:
    target, release = subject.target, subject.target.nnal
    findings = judge_file(subject, "nnal", release, target.nnal_file) if target.nnal_file else []
    findings += _judge_on_toolkit(subject, "nnal", release)
    name = subject.name_of(release)
    rows = [row for row in _releases(subject, release) if row.nnal]
    if not rows:
        text = f"{name} is not known to have an NNAL package."
        return [*findings, _nnal(Verdict.UNKNOWN, text, fix="Leave nnal out.")]
    of_torch, of_images = nnal_abis(subject)
    if not of_torch:
        if subject.torch is None:
            return findings
        text = f"the libstdc++ ABI of torch {target.torch} is not known."
        return [*findings, _nnal(Verdict.UNKNOWN, text)]
    abi = of_torch[0].abi
    if abi != target.cxx_abi:
        text = (
            f"NNAL would be taken with cxx_abi {target.cxx_abi}, "
            f"and torch {target.torch} is built with cxx_abi {abi}."
        )
        return [*findings, _nnal(Verdict.FORBIDDEN, text, rows=best_first(of_torch))]
    against = [row for row in (*of_torch, *of_images) if row.abi != abi]
    text = f"{name} has NNAL, taken with cxx_abi {abi} because torch {target.torch} is."
    if against:
        text += f" Huawei's own images take {1 - abi}, whatever the torch."
    verdict = Verdict.DISPUTED if against else Verdict.ALLOWED
    both = (*best_first(rows), *best_first(of_torch))
    return [*findings, _nnal(verdict, text, rows=both, against=best_first(against))]


def nnal_abis(subject: Subject) -> tuple[list[CxxAbi], list[CxxAbi]]:
    """What is said of the torch's ABI, best source first; and of the CANN's default."""
    of_torch = [
        row
        for row in subject.compat.abis
        if row.torch is not None
        and subject.torch is not None
        and row.torch.contains(subject.torch, prereleases=True)
    ]
    of_images = [
        row for row in subject.compat.abis if row.cann is not None and subject.judged_as in row.cann
    ]
    return sorted(of_torch, key=lambda row: (row.rank, row.line)), of_images


def _nnal(
    verdict: Verdict,
    text: str,
    *,
    rows: tuple[Row, ...] = (),
    against: tuple[Row, ...] = (),
    fix: str = "",
) -> Finding:
    return Finding(
        component="nnal",
        verdict=verdict,
        text=text,
        key="cann",
        rows=rows,
        against=against,
        fix=fix,
    )


def _judge_driver(subject: Subject) -> Finding:
    """Information only: the driver is the host's."""
    drivers = best_first(row for row in subject.compat.drivers if subject.is_cann(row.cann))
    said = list(dict.fromkeys(_driver_range(row) for row in drivers))
    verdict = Verdict.ALLOWED
    if not drivers:
        text = f"The host's driver: no source names the oldest one for {subject.cann_name}."
    elif len(said) == 1:
        text = f"The host needs driver {said[0]} for {subject.cann_name}."
    else:
        verdict = Verdict.DISPUTED
        text = (
            f"The host needs driver {said[0]} for {subject.cann_name}; "
            f"other sources say {'; '.join(said[1:])}."
        )
    first = [row for row in drivers if _driver_range(row) == said[0]]
    return Finding(
        component="driver",
        verdict=verdict,
        text=text,
        key="cann",
        rows=best_first(first),
        against=best_first([row for row in drivers if row not in first]),
    )


def _driver_range(row: Driver) -> str:
    text = f"{row.minimum} to {row.maximum}" if row.maximum else f"{row.minimum} or newer"
    return text + (f" (released with {row.paired})" if row.paired else "")


def _judge_endings(subject: Subject) -> list[Finding]:
    return [
        Finding(
            component="toolkit",
            verdict=Verdict.ENDING,
            text=f"CANN releases after {row.date} will not have {row.what}.",
            key="cann",
            rows=(row,),
        )
        for row in subject.compat.endings
        if subject.judged_as in row.cann
    ]


_MACHINE = r"(?:-(?P<machine>\w+))?"
_FORMS = tuple(
    re.compile(form + _MACHINE, re.IGNORECASE)
    for form in (
        r"Ascend-cann-(?P<component>toolkit|nnal)_(?P<version>[^_]+)_linux",
        r"Ascend-cann-(?P<component>kernels)-(?P<chip>[^_]+)_(?P<version>[^_]+)_linux",
        r"Atlas-(?P<chip>A3)-cann-(?P<component>kernels)_(?P<version>[^_]+)_linux",
        r"Ascend-cann-(?P<chip>[^_-]+)-(?P<component>ops)_(?P<version>[^_]+)_linux",
    )
)
"""Huawei's names of files, without what follows the last '.'; compat.yaml has what to propose."""


def judge_file(subject: Subject, component: str, release: CannRelease, file: File) -> list[Finding]:
    """Refuse a file whose own name says that it is not ``component`` of ``release``."""
    wrong = _wrong(subject, component, release, file.name)
    target = subject.target
    expected = file_name(subject.compat, component, release, target.chip, target.platform)
    if not wrong and expected and file.name != expected and file.name.lower() == expected.lower():
        wrong = "Huawei writes other letters of it in capitals"
    if not wrong:
        return []
    row = file_row(subject.compat, component, judged_as(release), target.chip)
    parts: Place = ("kernels", target.chip) if component == "kernels" else (component,)
    package = f"the {component} package of CANN {release.version}"
    fix = f"Huawei's name for it is {expected}." if expected else "Correct the file name."
    return [
        Finding(
            component=component,
            verdict=Verdict.FORBIDDEN,
            text=f"{file.name} cannot be {package}: {wrong}.",
            key="cann",
            place=("cann", release.version, *parts, "file"),
            rows=(row,) if row else (),
            fix=fix,
        )
    ]


def _wrong(subject: Subject, component: str, release: CannRelease, name: str) -> str:
    stem, _, suffix = name.rpartition(".")
    if suffix != "run":
        return "it is not a .run file, which is what the image runs"
    match = next((match for form in _FORMS if (match := form.fullmatch(stem))), None)
    return _wrong_name(subject, component, release, match.groupdict()) if match else ""


def _wrong_name(
    subject: Subject, component: str, release: CannRelease, named: Mapping[str, str | None]
) -> str:
    """What the parts of a vendor's file name say against the target."""
    target = subject.target
    kind = (named["component"] or "").lower().replace("ops", "kernels")
    if kind != component:
        return f"it is a {kind} package"
    if (chip := (named.get("chip") or "").lower()) and chip != target.chip.lower():
        return f"it is for chip {chip}, and the target's chip is {target.chip}"
    if not _same_version(named["version"] or "", release.version):
        return f"it is of CANN {named['version']}"
    if (named["machine"] or target.machine) != target.machine:
        return f"it is for {named['machine']}, and the target's machine is {target.machine}"
    return ""


def _same_version(first: str, second: str) -> bool:
    try:
        return CannVersion.parse(first) == CannVersion.parse(second)
    except ValueError:
        return first == second
