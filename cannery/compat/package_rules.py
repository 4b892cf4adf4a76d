# SPDX-License-Identifier: Apache-2.0
"""Rules for the packages that a target and its CANN require, with MindSpore."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from cannery.common.model import (
    EXTRAS,
    HCCL_TEST,
    MACHINE_OF,
    TRITON_ASCEND,
    Target,
    requirement_of,
)
from cannery.common.specifiers import (
    applies,
    exceeds,
    normal_name,
    overlap,
    parse_requirement,
    parse_requirements,
)
from cannery.compat.facts import Package, When
from cannery.compat.finding import Finding, Place, Subject, Verdict, best_first


@dataclass(frozen=True, kw_only=True)
class Requested:
    """A requirement, the target's key that it comes from, and where a shared one is written."""

    requirement: Requirement
    key: str
    place: Place

    def __str__(self) -> str:
        return f"'{self.requirement}'"


def requested_of(target: Target, name: str) -> list[Requested]:
    """Every requirement on the package ``name``: the target's own, its application's, CANN's.

    Overrides of the application replace them all, and those for other Pythons remove them. The
    version of a component is a requirement, too, and so are the HCCL tests.
    """
    asked = [
        Requested(requirement=requirement, key=component, place=())
        for component, version in target.extras.items()
        if (requirement := parse_requirement(requirement_of(component, version))).name == name
    ]

    def add(texts: Sequence[str], key: str, place: Place, shared: int) -> bool:
        """Add the requirements on the package; True if there are any, for whatever Python."""
        any_of_it = False
        for number, requirement in enumerate(parse_requirements(texts)):
            if normal_name(requirement.name) == name:
                any_of_it = True
                if applies(requirement, target):
                    where = (*place, number) if number < shared else ()
                    asked.append(Requested(requirement=requirement, key=key, place=where))
        return any_of_it

    application = target.application
    if application:
        extras = len(asked)
        overrides = application.overrides
        place: Place = ("applications", application.name, "overrides")
        if add(overrides, "application", place, len(overrides)):
            # No override concerns a wheel from a file.
            is_file = name == "triton-ascend" and target.triton_ascend_wheel
            return asked if is_file else asked[extras:]
    if target.hccl_test and normal_name(HCCL_TEST) == name:
        asked.append(Requested(requirement=Requirement(name), key=HCCL_TEST, place=()))
    shared = len(application.requirements) if application else 0
    place = ("applications", application.name, "requirements") if application else ()
    add(target.requirements, "requirements", place, shared)
    add(target.cann.requirements, "cann", ("cann", target.cann.version, "requirements"), 1 << 30)
    return asked


def holds(when: When, subject: Subject) -> bool:
    """Whether every condition holds for the target."""
    target, glibc = subject.target, subject.target.base.glibc
    minor, machine = target.python.minor, target.machine
    for wanted, version in ((when.torch, subject.torch), (when.torch_npu, subject.torch_npu)):
        if wanted and not (version and wanted.contains(version, prereleases=True)):
            return False
    is_usual = not (target.torch_index or target.torch_wheel)
    is_possible = (
        (not when.cann or subject.judged_as in when.cann)
        and minor in (when.pythons or (minor,))
        and machine == (when.machine or machine)
        and target.chip in (when.chips or (target.chip,))
        and (target.without_compiler or not when.without_compiler)
        and (is_usual or not when.usual_index)
    )
    # An image without glibc is below no bound.
    if when.glibc_below and not (glibc and _numbers(glibc) < when.glibc_below):
        return False
    if not is_possible or (when.without and _asks_for(target, when.without)):
        return False
    return when.requirement is None or _asks_for(target, when.requirement)


def _numbers(glibc: str) -> tuple[int, ...]:
    return tuple(map(int, glibc.split(".")))


def _asks_for(target: Target, wanted: Requirement) -> bool:
    name = normal_name(wanted.name)
    if name == "deepspeed" and target.deepspeed:
        return wanted.specifier.contains(target.deepspeed, prereleases=True)
    texts = [requirement_of(component, version) for component, version in target.extras.items()]
    texts += [wheel.requirement for wheel in target.built_wheels.values()]
    return any(
        normal_name(requirement.name) == name
        and (not requirement.specifier or overlap(requirement.specifier, wanted.specifier))
        for requirement in parse_requirements((*target.requirements, *texts))
        if applies(requirement, target)
    )


def judge_packages(subject: Subject) -> list[Finding]:
    """Every package that some row is about."""
    findings: list[Finding] = []
    required = [normal_name(r.name) for r in parse_requirements(subject.target.requirements)]
    by_name: dict[str, list[Package]] = {}
    for row in subject.compat.packages:
        names = [normal_name(row.package)]
        if "*" in row.package:  # as nvidia-*
            names = [name for name in dict.fromkeys(required) if fnmatchcase(name, row.package)]
        for name in names:
            by_name.setdefault(name, []).append(row)
    for name, rows in by_name.items():
        holding = [row for row in rows if holds(row, subject)]
        findings += _judge_package(subject, name, holding)
    return [*findings, *_judge_named_versions(subject), *_judge_mindspore(subject)]


def _judge_named_versions(subject: Subject) -> Iterator[Finding]:
    """Requirements that exclude a version that the target itself names, or name it again.

    Those of packages that rows are about have been compared already.
    """
    target = subject.target
    for asked in requested_of(target, EXTRAS[TRITON_ASCEND]):
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
        for asked in requested_of(target, name) if version else ():
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
            yield _package(name, Verdict.FORBIDDEN, text, asked, fix=fix)


def _instead(subject: Subject, when: When) -> str:
    """The remedy for a package that is refused on the condition ``when``."""
    target = subject.target
    if when.machine:
        platforms = [f"linux/{a}" for a, machine in MACHINE_OF.items() if machine != when.machine]
        return f"Take platform {' or '.join(platforms)}, or another version."
    if when.without_compiler:
        return "Remove it, or take flavour devel."
    if not when.glibc_below:
        return "Remove it."
    distribution = target.base.distribution.name
    newer = [
        (row.distribution != distribution, _numbers(row.glibc), f"{row.distribution} {row.suite}")
        for row in subject.compat.suites
        if _numbers(row.glibc) >= when.glibc_below
    ]
    needed = ".".join(map(str, when.glibc_below))
    nearest = f", such as {min(newer)[2]}" if newer else ""
    has = f"base {target.base.name} has {target.base.glibc}"
    return f"Take a base with glibc {needed} or newer{nearest}; {has}."


def _judge_package(subject: Subject, name: str, rows: list[Package]) -> Iterator[Finding]:
    asked = requested_of(subject.target, name)
    if not asked:
        if row := next((row for row in rows if row.required), None):
            yield _missing(name, row)
        return
    first, listed = asked[0], _listed(asked)
    if refused := [row for row in rows if row.refused]:
        for why in dict.fromkeys(row.refused for row in refused):
            same = [row for row in refused if row.refused == why]
            fix = same[0].instead or _instead(subject, same[0])
            text = f"{listed} is refused: {why}."
            yield _package(name, Verdict.FORBIDDEN, text, first, rows=best_first(same), fix=fix)
        return
    wanted = SpecifierSet(",".join(str(each.requirement.specifier) for each in asked))
    if bad := [*_out_of_bounds(name, asked, wanted, rows)]:
        yield from bad
        return
    if not overlap(wanted, SpecifierSet()):
        text = f"{listed} exclude each other: no version of {name} satisfies both."
        yield _package(name, Verdict.FORBIDDEN, text, first, fix="Remove one of them.")
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
                text = f"{each} contradicts {name}{row.bound}{_because(row)}."
            elif each is asked[0] and exceeds(wanted, row.bound):
                verb = "does" if len(asked) == 1 else "do"
                text = f"{_listed(asked)} {verb} not keep {name}{row.bound}{_because(row)}."
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
    text = f"no requirement keeps {name} at {bound}{_because(row)}."
    fix = f"Add {bound} to the requirements."
    for component, package in EXTRAS.items():
        if package == name and row.pin:
            fix = f"Add '{component}: {str(row.pin).removeprefix('==')}' to the target."
    verdict = Verdict.UNKNOWN if row.bound is None else Verdict.FORBIDDEN
    return Finding(name, verdict, text, "requirements", rows=(row,), fix=fix)


def _because(row: Package) -> str:
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


def _judge_mindspore(subject: Subject) -> Iterator[Finding]:
    for asked in requested_of(subject.target, "mindspore")[:1]:
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
