# SPDX-License-Identifier: Apache-2.0
"""Rules for the packages that a target and its CANN require, with MindSpore."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from cannery.common.model import (
    EXTRAS,
    MACHINE_OF,
    TRITON_ASCEND,
)
from cannery.common.specifiers import (
    exceeds,
    normal_name,
    overlap,
    parse_requirements,
)
from cannery.compat.facts import Package, When
from cannery.compat.finding import Finding, Subject, Verdict, best_first
from cannery.compat.requested import Requested


def holds(when: When, subject: Subject) -> bool:
    """Whether every condition holds for the target."""
    if not _is_beside(when, subject.torch, subject.torch_npu):
        return False
    target = subject.target
    is_possible = (
        (not when.cann or subject.judged_as in when.cann)
        and (not when.pythons or target.python.minor in when.pythons)
        and when.machine in ("", target.machine)
        and (not when.chips or target.chip in when.chips)
        and (target.without_compiler or not when.without_compiler)
        and not (when.usual_index and (target.torch_index or target.torch_wheel))
        and not (when.without_nnal and target.with_nnal)
    )
    if not is_possible or (when.without and _has(subject, when.without)):
        return False
    return when.requirement is None or _has(subject, when.requirement)


@lru_cache(maxsize=10_000)
def _is_beside(when: When, torch: Version | None, torch_npu: Version | None) -> bool:
    return all(
        wanted is None or bool(version and wanted.contains(version, prereleases=True))
        for wanted, version in ((when.torch, torch), (when.torch_npu, torch_npu))
    )


def _has(subject: Subject, wanted: Requirement) -> bool:
    """Whether the target asks for ``wanted``; or, where its lock is judged, whether it has it."""
    name, target = normal_name(wanted.name), subject.target
    if subject.locked is not None:
        version = subject.locked.get(name, "")
        return bool(version) and wanted.specifier.contains(version, prereleases=True)
    if name == "deepspeed" and target.deepspeed:
        return wanted.specifier.contains(target.deepspeed, prereleases=True)
    built = parse_requirements(wheel.requirement for wheel in target.built_wheels.values())
    asked = [each.requirement for each in subject.asked.get(name, ())]
    return any(
        normal_name(requirement.name) == name
        and (not requirement.specifier or overlap(requirement.specifier, wanted.specifier))
        for requirement in (*built, *asked)
    )


def judge_packages(subject: Subject) -> list[Finding]:
    """Every package that some row is about."""
    findings: list[Finding] = []
    compat = subject.compat
    by_name = compat.packages_named({**compat.by_package, **subject.asked})
    # Those without rows, too, if the target names what its application overrides.
    contested = {
        name: ()
        for name, asked in subject.asked.items()
        if asked and asked[0].is_own and asked[-1].key == "application"
    }
    for name, rows in {**contested, **by_name}.items():
        holding = [row for row in rows if holds(row, subject)]
        findings += _judge_package(subject, name, holding)
    return [*findings, *_judge_named_versions(subject), *judge_mindspore(subject)]


def _judge_named_versions(subject: Subject) -> Iterator[Finding]:
    """Requirements that exclude a version that the target itself names, or name it again.

    Those of packages that rows are about have been compared already.
    """
    target = subject.target
    for asked in subject.asked.get(EXTRAS[TRITON_ASCEND], ()):
        if asked.key == "requirements":
            text = (
                f"{asked} would have no layer of its own, so that triton could replace its files."
            )
            version = str(asked.requirement.specifier).removeprefix("==") or "VERSION"
            fix = f"Write '{TRITON_ASCEND}: {version}' in the target."
            yield _package(asked.requirement.name, Verdict.FORBIDDEN, text, asked, fix=fix)
    judged = {normal_name(row.package) for row in subject.compat.packages}
    versions = {"torch": target.torch, "torch-npu": target.torch_npu, "deepspeed": target.deepspeed}
    for component, version in target.extras.items():
        if EXTRAS[component] not in judged:
            versions[EXTRAS[component]] = version
    for name, version in versions.items():
        for asked in subject.asked.get(name, ()) if version else ():
            if asked.key in target.extras:
                continue
            if not asked.requirement.specifier.contains(version, prereleases=True):
                text = f"{asked} excludes {name} {version}, which the target has."
                fix = f"Remove it, or change {name.replace('-', '_')} of the target."
            elif name == "torch" and target.torch_wheel:
                text = f"{asked} would be taken from an index, and torch {version} is a file here."
                fix = "Remove it: the key torch says it already."
            else:
                continue
            beside = ("targets", target.id, name.replace("-", "_")) if asked.place else ()
            yield _package(name, Verdict.FORBIDDEN, text, asked, fix=fix, beside=beside)


def instead(when: Package) -> str:
    """The remedy for a package that the row ``when`` refuses."""
    if when.instead:
        return when.instead
    if when.machine:
        platforms = [f"linux/{a}" for a, machine in MACHINE_OF.items() if machine != when.machine]
        return f"Take platform {' or '.join(platforms)}, or another version."
    if when.without_compiler:
        return "Remove it, or take flavour devel."
    return "Remove it."


def _judge_package(subject: Subject, name: str, rows: Sequence[Package]) -> Iterator[Finding]:
    asked = subject.asked.get(name, ())
    if not asked:
        if row := next((row for row in rows if row.required), None):
            yield _missing(name, row)
        return
    first, listed = asked[0], _listed(asked)
    if refused := [row for row in rows if row.refused]:
        for why in dict.fromkeys(row.refused for row in refused):
            same = [row for row in refused if row.refused == why]
            fix = instead(same[0])
            text = f"{listed} is refused: {why}."
            yield _package(name, Verdict.FORBIDDEN, text, first, rows=best_first(same), fix=fix)
        return
    wanted = first.requirement.specifier
    if len(asked) > 1:
        wanted = SpecifierSet(",".join(str(each.requirement.specifier) for each in asked))
    if bad := [*_out_of_bounds(name, asked, wanted, rows)]:
        yield from bad
        return
    if wanted.is_unsatisfiable():
        text = f"{listed} exclude each other: no version of {name} satisfies both."
        first = next((each for each in asked if each.is_own), first)
        beside = next((each.place for each in asked if each.place and not first.place), ())
        fix = "Change or remove one of them."
        yield _package(name, Verdict.FORBIDDEN, text, first, fix=fix, beside=beside)
        return
    yield from _judge_pins(name, asked, wanted, rows)


def _out_of_bounds(
    name: str, asked: Sequence[Requested], wanted: SpecifierSet, rows: Sequence[Package]
) -> Iterator[Finding]:
    """For each requirement, the first bound that it contradicts, or that none of them keeps."""
    for each in asked:
        for row in rows:
            if row.bound is None:
                continue
            text = ""
            if not overlap(each.requirement.specifier, row.bound):
                text = f"{each} contradicts {name}{row.bound}{because(row)}."
            elif each is asked[0] and exceeds(wanted, row.bound):
                verb = "does" if len(asked) == 1 else "do"
                text = f"{_listed(asked)} {verb} not keep {name}{row.bound}{because(row)}."
            if text:
                fix = f"Write {name}{row.bound}."
                yield _package(name, Verdict.FORBIDDEN, text, each, rows=(row,), fix=fix)
                break


def _listed(asked: Sequence[Requested]) -> str:
    return " and ".join(dict.fromkeys(map(str, asked)))


def _judge_pins(
    name: str, asked: Sequence[Requested], wanted: SpecifierSet, rows: Sequence[Package]
) -> Iterator[Finding]:
    first, listed = asked[0], _listed(asked)
    pins = [row for row in rows if row.pin is not None]
    kept = [row for row in pins if row.pin and overlap(wanted, row.pin)]
    seen = [row for row in rows if row.seen and overlap(wanted, row.seen)]
    bounds = [row for row in rows if row.bound is not None]
    against = [row for row in pins if row not in kept]
    verb = "is" if " and " not in listed else "are"
    if pins and not kept:
        known = " or ".join(f"{name}{row.pin}" for row in pins)
        text = f"{listed} {verb} not known to work; {known} is."
        yield _package(
            name, Verdict.UNKNOWN, text, first, rows=best_first(pins), fix=f"Write {known}."
        )
    elif kept or bounds or seen:
        text = f"{listed} {verb} known to work."
        if against:
            other = " or ".join(f"{name}{row.pin}" for row in against)
            text = f"{listed} {verb} known to work; another source has {other}."
        verdict = Verdict.DISPUTED if against else Verdict.ALLOWED
        known_rows = best_first([*kept, *bounds, *seen])
        yield _package(name, verdict, text, first, rows=known_rows, against=best_first(against))


def _missing(name: str, row: Package) -> Finding:
    """The package of ``row``, which the target must require."""
    bound = f"{name}{row.bound or row.pin}"
    text = f"no requirement keeps {name} at {bound}{because(row)}."
    fix = f"Add {bound} to the requirements."
    for component, package in EXTRAS.items():
        if package == name and row.pin:
            fix = f"Add '{component}: {str(row.pin).removeprefix('==')}' to the target."
    verdict = Verdict.UNKNOWN if row.bound is None else Verdict.FORBIDDEN
    return Finding(name, verdict, text, "requirements", rows=(row,), fix=fix)


def because(row: Package) -> str:
    """Who needs the bound, in the row's words: the same for all targets that it holds for."""
    reasons = []
    if row.torch is not None:
        reasons.append(f"torch {row.torch}")
    if row.cann is not None:
        reasons.append(f"CANN {row.cann}")
    if row.requirement is not None:
        reasons.append(str(row.requirement))
    return f", which {' with '.join(reasons)} needs" if reasons else ""


def _package(name: str, verdict: Verdict, text: str, asked: Requested, **more: Any) -> Finding:
    return Finding(name, verdict, text, asked.key, place=asked.place, **more)


def judge_mindspore(subject: Subject) -> Iterator[Finding]:
    """Whether a source has the MindSpore that is asked for on this CANN and Python."""
    for asked in subject.asked.get("mindspore", ())[:1]:
        wanted, minor = asked.requirement.specifier, subject.target.python.minor
        here = [row for row in subject.compat.mindspore if subject.is_cann(row.cann)]
        versions = [row for row in here if wanted.contains(row.version, prereleases=True)]
        rows = [row for row in versions if not row.pythons or minor in row.pythons]
        verdict, text, fix = Verdict.ALLOWED, f"{asked} goes with {subject.cann_name}.", ""
        if not rows:
            verdict, text = Verdict.UNKNOWN, f"{asked} is not known to work on {subject.cann_name}."
            if versions:
                text = f"{asked} is not known to work with Python {minor} on {subject.cann_name}."
            known = ", ".join(dict.fromkeys(row.version for row in here if row not in versions))
            pythons = ", ".join(dict.fromkeys(name for row in versions for name in row.pythons))
            named = (row for row in subject.compat.mindspore if row.version in wanted)
            if pythons:
                fix = f"It was seen with Python {pythons}."
            elif known:
                fix = f"Known there: {known}."
            elif others := ", ".join(dict.fromkeys(str(row.cann) for row in named)):
                fix = f"It is known on CANN {others}."
        more: dict[str, Any] = {"place": asked.place, "rows": best_first(rows), "fix": fix}
        yield Finding("mindspore", verdict, text, "requirements", **more)
