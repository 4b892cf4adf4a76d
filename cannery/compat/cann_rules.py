# SPDX-License-Identifier: Apache-2.0
"""What compat.yaml says of a target's CANN packages: their files, kernels, NNAL, and the driver."""

from __future__ import annotations

import re

from cannery.compat.facts import CxxAbi, Release, Row
from cannery.compat.finding import Finding, Subject, Verdict, best_first
from cannery.model import File
from cannery.syntax.cann_version import CannVersion

_MACHINE = r"(?:-(?P<machine>\w+))?\.\w+"
_FORMS = tuple(
    re.compile(form + _MACHINE)
    for form in (
        r"Ascend-cann-(?P<component>toolkit|nnal)_(?P<version>[^_]+)_linux",
        r"Ascend-cann-(?P<component>kernels)-(?P<chip>[^_]+)_(?P<version>[^_]+)_linux",
        r"Atlas-(?P<chip>A3)-cann-(?P<component>kernels)_(?P<version>[^_]+)_linux",
        r"Ascend-cann-(?P<chip>[^_-]+)-(?P<component>ops)_(?P<version>[^_]+)_linux",
    )
)
"""The vendor's names of files (compat.yaml has them too, as what to propose)."""


def judge_cann(subject: Subject) -> list[Finding]:
    """What is known of toolkit, kernels, NNAL and driver."""
    target = subject.target
    findings = _judge_file(subject, "toolkit", target.cann.toolkit)
    findings += _judge_kernels(subject)
    if target.with_nnal:
        findings += _judge_nnal(subject)
    return findings + _judge_driver(subject)


def _judge_file(subject: Subject, component: str, file: File) -> list[Finding]:
    """Refuse a file whose own name says that it is something else."""
    target = subject.target
    match = next((match for form in _FORMS if (match := form.fullmatch(file.name))), None)
    if match is None:
        return []
    named = match.groupdict()
    kind = "kernels" if named["component"] == "ops" else named["component"]
    wrong = ""
    if kind != component:
        wrong = f"it is a {kind} package"
    elif (chip := named.get("chip", "").lower()) and chip != target.chip.lower():
        wrong = f"it is for chip {chip}, and the target's chip is {target.chip}"
    if not wrong and not _same_version(named["version"], subject.cann):
        wrong = f"it is of CANN {named['version']}, and the target's is {subject.cann}"
    if not wrong and (named["machine"] or target.machine) != target.machine:
        wrong = f"it is for {named['machine']}, and the target's machine is {target.machine}"
    if not wrong:
        return []
    fix = f"Correct the file name in cann: {target.cann.version}."
    expected = expected_file(subject, component)
    if expected:
        fix = f"Huawei's name for it is {expected}."
    return [
        Finding(
            component=component,
            verdict=Verdict.FORBIDDEN,
            text=f"{file.name} cannot be the {component} package: {wrong}.",
            key="cann",
            fix=fix,
        )
    ]


def _same_version(text: str, cann: CannVersion) -> bool:
    try:
        return CannVersion.parse(text) == cann
    except ValueError:
        return False


def expected_file(subject: Subject, component: str) -> str:
    """How the vendor names ``component``'s file for this target; "" where that is not known."""
    for row in subject.compat.files:
        chips = row.chips or (subject.target.chip,)
        if (
            row.component == component
            and subject.judged_as in row.cann
            and subject.target.chip in chips
        ):
            # The community's files drop the .beta1 of the release's name.
            version = subject.cann.text.removesuffix(".beta1")
            machine = subject.target.machine
            return row.file.format(version=version, chip=subject.target.chip, machine=machine)
    return ""


def _judge_kernels(subject: Subject) -> list[Finding]:
    chip = subject.target.chip
    bad = _judge_file(subject, "kernels", subject.target.cann.kernels[chip])
    if bad:
        return bad
    rows = [
        row for row in subject.compat.releases if subject.is_cann(row.cann) and chip in row.chips
    ]
    if rows:
        text = f"{subject.cann_name} has kernels for chip {chip}."
        return [_kernels(Verdict.ALLOWED, text, rows)]
    others = sorted(
        {each for row in subject.compat.releases if subject.is_cann(row.cann) for each in row.chips}
    )
    seen = f"; they were seen for {', '.join(others)}" if others else ""
    text = f"{subject.cann_name} is not known to have kernels for chip {chip}{seen}."
    return [_kernels(Verdict.UNKNOWN, text, [])]


def _kernels(verdict: Verdict, text: str, rows: list[Release]) -> Finding:
    return Finding(
        component="kernels",
        verdict=verdict,
        text=text,
        key="cann",
        rows=best_first(rows),
        pairs=verdict is Verdict.UNKNOWN,
    )


def _judge_nnal(subject: Subject) -> list[Finding]:
    target = subject.target
    findings = _judge_file(subject, "nnal", target.cann.nnal) if target.cann.nnal else []
    rows = [row for row in subject.compat.releases if row.nnal and subject.is_cann(row.cann)]
    if not rows:
        text = f"{subject.cann_name} is not known to have an NNAL package."
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
    text = (
        f"{subject.cann_name} has NNAL, taken with cxx_abi {abi} because torch {target.torch} is."
    )
    if against:
        text += f" Huawei's own images take {1 - abi}, whatever the torch."
    verdict = Verdict.DISPUTED if against else Verdict.ALLOWED
    both = (*best_first(rows), *best_first(of_torch))
    return [*findings, _nnal(verdict, text, rows=both, against=best_first(against))]


def nnal_abis(subject: Subject) -> tuple[list[CxxAbi], list[CxxAbi]]:
    """What is said of the torch's ABI, best source first; and what of the CANN's default."""
    of_torch = [
        row
        for row in subject.compat.abis
        if row.when.torch is not None
        and subject.torch is not None
        and row.when.torch.contains(subject.torch, prereleases=True)
    ]
    of_images = [
        row
        for row in subject.compat.abis
        if row.when.cann is not None and subject.judged_as in row.when.cann
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


def _judge_driver(subject: Subject) -> list[Finding]:
    """Information only: the driver is the host's."""
    rows = sorted(
        (row for row in subject.compat.drivers if subject.is_cann(row.cann)),
        key=lambda row: (row.rank, row.line),
    )
    minimums = list(dict.fromkeys(row.minimum for row in rows))
    verdict = Verdict.ALLOWED
    if not rows:
        text = f"The host's driver: no source names the oldest one for {subject.cann_name}."
    elif len(minimums) == 1:
        text = f"The host needs driver {minimums[0]} or newer for {subject.cann_name}."
    else:
        verdict = Verdict.DISPUTED
        text = (
            f"The host needs driver {minimums[0]} or newer for {subject.cann_name}; "
            f"another source says {', '.join(minimums[1:])}."
        )
    first = [row for row in rows if row.minimum == minimums[0]]
    others = [row for row in rows if row.minimum != minimums[0]]
    return [
        Finding(
            component="driver",
            verdict=verdict,
            text=text,
            key="cann",
            rows=best_first(first),
            against=best_first(others),
        )
    ]
