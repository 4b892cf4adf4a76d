# SPDX-License-Identifier: Apache-2.0
"""Rules for a target's CANN: its layout and packages, and the driver that it needs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cannery.common.bases import File
from cannery.common.cann_version import CannVersion
from cannery.common.model import CannRelease
from cannery.compat.facts import CxxAbi, Driver, Release
from cannery.compat.files import file_name, file_row, judged_as
from cannery.compat.finding import Finding, Subject, Verdict, best_first
from cannery.compat.package_rules import holds
from cannery.compat.requested import Place


def judge_cann(subject: Subject) -> list[Finding]:
    """Layout, toolkit, kernels, NNAL, driver, and releases that will lack something."""
    target, release = subject.target, subject.target.cann
    findings = []
    layouts = [row for row in subject.compat.layouts if subject.judged_as in row.cann]
    if layouts and all(row.layout != release.layout for row in layouts):
        known = layouts[0].layout
        text = f"CANN {release.version} installs itself as {known}, not as {release.layout}."
        place: Place = ("cann", release.version, "layout")
        rows, fix = best_first(layouts), f"Write {known}."
        findings = [
            Finding("toolkit", Verdict.FORBIDDEN, text, "cann", place=place, rows=rows, fix=fix)
        ]
    findings += judge_file(subject, "toolkit", release, target.toolkit_file)
    findings += _judge_kernels(subject)
    if target.with_nnal:
        findings += _judge_nnal(subject)
    findings.append(_judge_driver(subject))
    for row in subject.compat.endings:
        if subject.judged_as in row.cann:
            text = f"CANN releases after {row.date} will not have {row.what}."
            findings.append(Finding("toolkit", Verdict.ENDING, text, "cann", rows=(row,)))
    return findings


def _judge_kernels(subject: Subject) -> list[Finding]:
    target, release = subject.target, subject.target.kernels
    bad = judge_file(subject, "kernels", release, target.kernels_file)
    bad += _judge_on_toolkit(subject, "kernels", release)
    if bad:
        return bad
    name, releases = subject.name_of(release), _releases(subject, release)
    if rows := best_first(row for row in releases if target.chip in row.chips):
        text = f"{name} has kernels for chip {target.chip}."
        return [Finding("kernels", Verdict.ALLOWED, text, "cann", rows=rows)]
    others = sorted({chip for row in releases for chip in row.chips})
    seen = f"; they were seen for {', '.join(others)}" if others else ""
    text = f"{name} is not known to have kernels for chip {target.chip}{seen}."
    return [Finding("kernels", Verdict.UNKNOWN, text, "cann", pairs=True)]


def _releases(subject: Subject, release: CannRelease) -> list[Release]:
    names = (CannVersion.parse(release.version), judged_as(release))
    return [row for row in subject.compat.releases if row.cann in names]


def _judge_on_toolkit(subject: Subject, component: str, release: CannRelease) -> Iterator[Finding]:
    """Whether a package of another version than the toolkit's goes on this toolkit."""
    toolkit, known = subject.target.cann, subject.compat.on_toolkit
    version = judged_as(release)
    rows = [row for row in known if row.component == component and version in row.version]
    if release.version == toolkit.version or any(subject.judged_as in r.toolkits for r in rows):
        return
    name = f"{component} {release.version}"
    verdict, text = Verdict.UNKNOWN, f"{name} is not known to go on toolkit {toolkit.version}."
    if rows:
        toolkits = ", ".join(str(other) for row in rows for other in row.toolkits)
        only = toolkits or "the toolkit of the same version"
        verdict = Verdict.FORBIDDEN
        text = f"{name} cannot be installed on toolkit {toolkit.version}, only on {only}."
    fix = f"Write {component}: {toolkit.version}."
    here = [
        row for row in known if row.component == component and subject.judged_as in row.toolkits
    ]
    with_chip = {row.cann for row in subject.compat.releases if subject.target.chip in row.chips}
    fitting = {version for version in with_chip if any(version in row.version for row in here)}
    if others := [str(version) for version in sorted(fitting - {subject.judged_as})]:
        fix += f" On this toolkit also go {', '.join(others)}."
    yield Finding(component, verdict, text, "cann", rows=best_first(rows), fix=fix)


def _judge_nnal(subject: Subject) -> Iterator[Finding]:
    target, release = subject.target, subject.target.nnal
    if target.nnal_file:
        yield from judge_file(subject, "nnal", release, target.nnal_file)
    yield from _judge_on_toolkit(subject, "nnal", release)
    name = subject.name_of(release)
    rows = best_first(row for row in _releases(subject, release) if row.nnal)
    if not rows:
        text = f"{name} is not known to have an NNAL package."
        yield Finding("nnal", Verdict.UNKNOWN, text, "cann", fix="Leave nnal out.")
        return
    framework, (abis, of_images) = _framework(subject), nnal_abis(subject)
    if not abis:
        text = (
            f"{name} has NNAL. No row has the C++ ABI of {framework or 'its images'} for "
            f"{target.machine}; 'build.py lock' reads it from the wheel."
        )
        yield Finding("nnal", Verdict.ALLOWED, text, "cann", rows=rows)
        return
    abi = abis[0].abi
    against = best_first(row for row in (*abis, *of_images) if row.abi != abi)
    because = f"because {framework} is" if framework else "as in Huawei's own images"
    text = f"{name} has NNAL, taken with cxx_abi {abi} {because}."
    if against:
        text += f" Huawei's own images take {1 - abi}, whatever the framework."
    verdict = Verdict.DISPUTED if against else Verdict.ALLOWED
    yield Finding("nnal", verdict, text, "cann", rows=(*rows, *abis), against=against)


def nnal_abis(subject: Subject) -> tuple[tuple[CxxAbi, ...], tuple[CxxAbi, ...]]:
    """The rows about the ABI that NNAL is taken with, and about Huawei's choice, best source first.

    The ABI is that of the framework's wheel, and Huawei's choice only where there is no framework.
    """
    rows = best_first(row for row in subject.compat.abis if holds(row, subject))
    of_images = tuple(row for row in rows if not (row.torch or row.requirement))
    if subject.target.torch:
        return tuple(row for row in rows if row.torch), of_images
    if _framework(subject):
        return tuple(row for row in rows if row.requirement), of_images
    return of_images, of_images


def _framework(subject: Subject) -> str:
    """Torch or MindSpore with its version, in messages; empty for a target without either."""
    if torch := subject.target.torch:
        return f"torch {torch}"
    return str(next(iter(subject.asked.get("mindspore", ())), "")).strip("'")


def _judge_driver(subject: Subject) -> Finding:
    """Information only: the driver is the host's."""
    drivers = best_first(row for row in subject.compat.drivers if subject.is_cann(row.cann))
    ranges = list(dict.fromkeys(_driver_range(row) for row in drivers))
    verdict = Verdict.ALLOWED
    if not drivers:
        text = f"The host's driver: no source names the oldest one for {subject.cann_name}."
    else:
        text = f"The host needs driver {ranges[0]} for {subject.cann_name}."
    if ranges[1:]:
        verdict = Verdict.DISPUTED
        text = f"{text.removesuffix('.')}; other sources say {'; '.join(ranges[1:])}."
    rows = tuple(row for row in drivers if _driver_range(row) == ranges[0])
    against = tuple(row for row in drivers if row not in rows)
    return Finding("driver", verdict, text, "cann", rows=rows, against=against)


def _driver_range(row: Driver) -> str:
    text = f"{row.minimum} to {row.maximum}" if row.maximum else f"{row.minimum} or newer"
    return text + (f" (released with {row.paired})" if row.paired else "")


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
    """Refuse a file whose name says that it is not ``component`` of ``release``."""
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
    text = f"{file.name} cannot be {package}: {wrong}."
    fix = f"Huawei's name for it is {expected}." if expected else "Correct the file name."
    place: Place = ("cann", release.version, *parts, "file")
    rows = (row,) if row else ()
    return [Finding(component, Verdict.FORBIDDEN, text, "cann", place=place, rows=rows, fix=fix)]


def _wrong(subject: Subject, component: str, release: CannRelease, name: str) -> str:
    """The contradiction between the file name of a vendor and the target; "" for none."""
    stem, _, suffix = name.rpartition(".")
    if suffix != "run":
        return "it is not a .run file, which is what the image runs"
    match = next((match for form in _FORMS if (match := form.fullmatch(stem))), None)
    if match is None:
        return ""
    target, named = subject.target, match.groupdict()
    kind = named["component"].lower().replace("ops", "kernels")
    chip, machine = named.get("chip", "").lower(), named["machine"] or target.machine
    try:
        is_release = CannVersion.parse(named["version"]) == CannVersion.parse(release.version)
    except ValueError:
        is_release = named["version"] == release.version
    wrong = ""
    if kind != component:
        wrong = f"it is a {kind} package"
    elif chip and chip != target.chip.lower():
        wrong = f"it is for chip {chip}, and the target's chip is {target.chip}"
    elif not is_release:
        wrong = f"it is of CANN {named['version']}"
    elif machine != target.machine:
        wrong = f"it is for {machine}, and the target's machine is {target.machine}"
    return wrong
