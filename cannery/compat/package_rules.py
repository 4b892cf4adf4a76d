# SPDX-License-Identifier: Apache-2.0
"""What compat.yaml says of the packages that a target and its CANN require, MindSpore too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

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
    found = [
        Requested(requirement=each, key=component, place=())
        for component, version in target.extras.items()
        if (each := parse_requirement(requirement_of(component, version))).name == name
    ]
    if (replaced := _overrides(target, name)) is not None:
        # No override concerns what is a file.
        is_file = name == "triton-ascend" and target.triton_ascend_wheel
        return [*found, *replaced] if is_file else replaced
    if target.hccl_test and normal_name(HCCL_TEST) == name:
        found.append(Requested(requirement=Requirement(name), key=HCCL_TEST, place=()))
    application = target.application
    shared = len(application.requirements) if application else 0
    for number, each in enumerate(parse_requirements(target.requirements)):
        if normal_name(each.name) == name and applies(each, target):
            place: Place = ()
            if application and number < shared:
                place = ("applications", application.name, "requirements", number)
            found.append(Requested(requirement=each, key="requirements", place=place))
    for number, each in enumerate(parse_requirements(target.cann.requirements)):
        if normal_name(each.name) == name and applies(each, target):
            place = ("cann", target.cann.version, "requirements", number)
            found.append(Requested(requirement=each, key="cann", place=place))
    return found


def _overrides(target: Target, name: str) -> list[Requested] | None:
    """The overrides of ``name`` that hold for the target's Python; None where there is none."""
    application = target.application
    if application is None:
        return None
    parsed = enumerate(parse_requirements(application.overrides))
    about = [(number, each) for number, each in parsed if normal_name(each.name) == name]
    found = [
        Requested(
            requirement=each,
            key="application",
            place=("applications", application.name, "overrides", number),
        )
        for number, each in about
        if applies(each, target)
    ]
    return found if about else None


def holds(when: When, subject: Subject) -> bool:
    """Whether every condition holds for the target."""
    if when.cann and subject.judged_as not in when.cann:
        return False
    for wanted, version in ((when.torch, subject.torch), (when.torch_npu, subject.torch_npu)):
        if wanted is not None and (
            version is None or not wanted.contains(version, prereleases=True)
        ):
            return False
    if not _is_there(when, subject.target):
        return False
    if when.without is not None and _asks_for(subject.target, when.without):
        return False
    return when.requirement is None or _asks_for(subject.target, when.requirement)


def _is_there(when: When, target: Target) -> bool:
    """Whether the target's interpreter, machine, glibc and the rest are those of the conditions.

    A glibc that is not known, as in an image without it, is below no bound.
    """
    glibc = target.base.glibc
    is_new = when.glibc_below and (not glibc or _numbers(glibc) >= when.glibc_below)
    minor, machine = target.python.minor, target.machine
    known = (
        minor in (when.pythons or (minor,)),
        machine == (when.machine or machine),
        target.chip in (when.chips or (target.chip,)),
        target.without_compiler or not when.without_compiler,
        not when.usual_index or not (target.torch_index or target.torch_wheel),
    )
    return all(known) and not is_new


def _numbers(glibc: str) -> tuple[int, ...]:
    return tuple(map(int, glibc.split(".")))


def _asks_for(target: Target, wanted: Requirement) -> bool:
    name = normal_name(wanted.name)
    if name == "deepspeed" and target.deepspeed:
        return wanted.specifier.contains(target.deepspeed, prereleases=True)
    own = [requirement_of(component, version) for component, version in target.extras.items()]
    own += [wheel.requirement for wheel in target.built_wheels.values()]
    return any(
        normal_name(each.name) == name
        and (not each.specifier or overlap(each.specifier, wanted.specifier))
        for each in parse_requirements((*target.requirements, *own))
        if applies(each, target)
    )


def judge_packages(subject: Subject) -> list[Finding]:
    """Every package that some row is about."""
    findings: list[Finding] = []
    by_name: dict[str, list[Package]] = {}
    for row in subject.compat.packages:
        for name in _names(row, subject.target):
            by_name.setdefault(name, []).append(row)
    for name, about in by_name.items():
        rows = [row for row in about if holds(row, subject)]
        findings += _judge_package(subject, name, rows)
    return [*findings, *_judge_own_versions(subject), *_judge_mindspore(subject)]


def _names(row: Package, target: Target) -> list[str]:
    """The package that ``row`` is about; of a pattern, as nvidia-*, those that are required."""
    if "*" not in row.package:
        return [normal_name(row.package)]
    asked = {normal_name(each.name): None for each in parse_requirements(target.requirements)}
    return [name for name in asked if fnmatchcase(name, row.package)]


def _judge_own_versions(subject: Subject) -> Iterator[Finding]:
    """Requirements that exclude a version that the target itself names, or name it again.

    Those of packages that rows are about have been compared already.
    """
    target = subject.target
    own = {"torch": target.torch, "torch-npu": target.torch_npu, "deepspeed": target.deepspeed}
    others = {EXTRAS[component]: version for component, version in target.extras.items()}
    for asked in requested_of(target, EXTRAS[TRITON_ASCEND]):
        if asked.key == "requirements":
            text = (
                f"{asked} would have no layer of its own, so that triton could replace its files."
            )
            found = _package(asked.requirement.name, Verdict.FORBIDDEN, text, asked, [])
            version = str(asked.requirement.specifier).removeprefix("==") or "VERSION"
            yield replace(found, fix=f"Write '{TRITON_ASCEND}: {version}' in the target.")
    judged = {normal_name(row.package) for row in subject.compat.packages}
    own |= {name: version for name, version in others.items() if name not in judged}
    for name, version in own.items():
        for asked in requested_of(target, name) if version else ():
            if asked.key in target.extras:
                continue
            key = name.replace("-", "_")
            if not asked.requirement.specifier.contains(version, prereleases=True):
                text = f"{asked} excludes {name} {version}, which the target has."
                fix = f"Remove it, or change {key} of the target."
            elif name == "torch" and target.torch_wheel:
                text = f"{asked} would be taken from an index, and torch {version} is a file here."
                fix = "Remove it: the key torch says it already."
            else:
                continue
            found = _package(name, Verdict.FORBIDDEN, text, asked, [])
            yield replace(found, fix=fix)


def _instead(subject: Subject, when: When) -> str:
    """What to change where a package is refused on the condition ``when``."""
    target = subject.target
    if when.machine:
        platforms = [f"linux/{name}" for name, each in MACHINE_OF.items() if each != when.machine]
        return f"Take platform {' or '.join(platforms)}, or another version."
    if when.without_compiler:
        return "Remove it, or take flavour devel."
    if not when.glibc_below:
        return "Remove it."
    own = target.base.distribution.name
    newer = [
        (row.distribution != own, _numbers(row.glibc), f"{row.distribution} {row.suite}")
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
        yield from _unasked(name, rows)
        return
    if refused := [row for row in rows if row.refused]:
        for why in dict.fromkeys(row.refused for row in refused):
            same = [row for row in refused if row.refused == why]
            found = _package(
                name, Verdict.FORBIDDEN, f"{_listed(asked)} is refused: {why}.", asked[0], same
            )
            yield replace(found, fix=same[0].instead or _instead(subject, same[0]))
        return
    bad = [finding for each in asked for finding in _out_of_bounds(name, each, asked, rows)]
    yield from bad
    wanted = _together(asked)
    if bad:
        return
    if not overlap(wanted, SpecifierSet()):
        text = f"{_listed(asked)} exclude each other: no version of {name} satisfies both."
        yield replace(
            _package(name, Verdict.FORBIDDEN, text, asked[0], []), fix="Remove one of them."
        )
        return
    yield from _judge_pins(name, asked, wanted, rows)


def _unasked(name: str, rows: Iterable[Package]) -> Iterator[Finding]:
    for row in rows:
        if row.required:
            text = f"no requirement keeps {name} at {name}{row.bound or row.pin}{_because(row)}."
            yield Finding(
                component=name,
                verdict=Verdict.UNKNOWN if row.bound is None else Verdict.FORBIDDEN,
                text=text,
                key="requirements",
                rows=(row,),
                fix=_added(name, row),
            )
            return


def _added(name: str, row: Package) -> str:
    """How a target gets the package of ``row``."""
    for component, package in EXTRAS.items():
        if package == name and row.pin:
            return f"Add '{component}: {str(row.pin).removeprefix('==')}' to the target."
    return f"Add {name}{row.bound or row.pin} to the requirements."


def _together(asked: Iterable[Requested]) -> SpecifierSet:
    return SpecifierSet(",".join(str(each.requirement.specifier) for each in asked))


def _out_of_bounds(
    name: str, each: Requested, asked: Sequence[Requested], rows: Iterable[Package]
) -> Iterator[Finding]:
    """A bound that ``each`` contradicts, or that no requirement keeps."""
    for row in rows:
        if row.bound is None:
            continue
        fix = f"Write {name}{row.bound}."
        if not overlap(each.requirement.specifier, row.bound):
            text = f"{each} contradicts {name}{row.bound}{_because(row)}."
            yield replace(_package(name, Verdict.FORBIDDEN, text, each, [row]), fix=fix)
            return
        if each is asked[0] and exceeds(_together(asked), row.bound):
            verb = "does" if len(asked) == 1 else "do"
            text = f"{_listed(asked)} {verb} not keep {name}{row.bound}{_because(row)}."
            yield replace(_package(name, Verdict.FORBIDDEN, text, each, [row]), fix=fix)
            return


def _listed(asked: Iterable[Requested]) -> str:
    return " and ".join(dict.fromkeys(map(str, asked)))


def _judge_pins(
    name: str, asked: Sequence[Requested], wanted: SpecifierSet, rows: list[Package]
) -> Iterator[Finding]:
    pins = [row for row in rows if row.pin is not None]
    kept = [row for row in pins if row.pin and overlap(wanted, row.pin)]
    seen = [row for row in rows if row.seen and overlap(wanted, row.seen)]
    bounds = [row for row in rows if row.bound is not None]
    against = [row for row in pins if row not in kept]
    text = _listed(asked)
    verb = "is" if " and " not in text else "are"
    if pins and not kept:
        known = " or ".join(f"{name}{row.pin}" for row in pins)
        what = f"{text} {verb} not known to work; {known} is."
        yield replace(_package(name, Verdict.UNKNOWN, what, asked[0], pins), fix=f"Write {known}.")
    elif kept or bounds or seen:
        verdict = Verdict.DISPUTED if against else Verdict.ALLOWED
        what = f"{text} {verb} known to work."
        if against:
            other = " or ".join(f"{name}{row.pin}" for row in against)
            what = f"{text} {verb} known to work; another source has {other}."
        found = [*kept, *bounds, *seen]
        yield replace(_package(name, verdict, what, asked[0], found), against=best_first(against))


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


def _package(
    name: str, verdict: Verdict, text: str, asked: Requested, rows: Iterable[Package]
) -> Finding:
    return Finding(
        component=name,
        verdict=verdict,
        text=text,
        key=asked.key,
        place=asked.place,
        rows=best_first(rows),
    )


def _judge_mindspore(subject: Subject) -> list[Finding]:
    asked = requested_of(subject.target, "mindspore")
    if not asked:
        return []
    wanted, minor = asked[0].requirement.specifier, subject.target.python.minor
    here = [row for row in subject.compat.mindspore if subject.is_cann(row.cann)]
    versions = [row for row in here if wanted.contains(row.version, prereleases=True)]
    rows = [row for row in versions if not row.pythons or minor in row.pythons]
    verdict, text, fix = Verdict.ALLOWED, f"{asked[0]} goes with {subject.cann_name}.", ""
    if not rows:
        text = f"{asked[0]} is not known to work on {subject.cann_name}."
        if versions:
            text = f"{asked[0]} is not known to work with Python {minor} on {subject.cann_name}."
        known = ", ".join(dict.fromkeys(row.version for row in here if row not in versions))
        pythons = ", ".join(dict.fromkeys(each for row in versions for each in row.pythons))
        named = (row for row in subject.compat.mindspore if row.version in wanted)
        others = ", ".join(dict.fromkeys(str(row.cann) for row in named))
        verdict, fix = Verdict.UNKNOWN, f"It is known on CANN {others}." if others else ""
        fix = f"Known there: {known}." if known else fix
        if pythons:
            fix = f"It was seen with Python {pythons}."
    return [
        Finding(
            component="mindspore",
            verdict=verdict,
            text=text,
            key="requirements",
            place=asked[0].place,
            rows=best_first(rows),
            fix=fix,
        )
    ]
