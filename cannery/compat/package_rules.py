# SPDX-License-Identifier: Apache-2.0
"""What compat.yaml says of apex, DeepSpeed, MindSpore and the packages that a target asks for."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from cannery.compat.facts import Compat, DeepSpeed, Package, Row, When
from cannery.compat.finding import Finding, Subject, Verdict, best_first
from cannery.model import Target
from cannery.syntax.specifiers import admits_both, lets_out, normal_name, parse_requirements


def holds(when: When, subject: Subject) -> bool:
    """Whether every condition holds for the target."""
    if when.cann and subject.judged_as not in when.cann:
        return False
    for wanted, version in ((when.torch, subject.torch), (when.torch_npu, subject.torch_npu)):
        if wanted is not None and (
            version is None or not wanted.contains(version, prereleases=True)
        ):
            return False
    if when.pythons and subject.target.python.minor not in when.pythons:
        return False
    return when.requirement is None or _asks_for(subject.target, when.requirement)


def _asks_for(target: Target, wanted: Requirement) -> bool:
    name = normal_name(wanted.name)
    if name == "deepspeed" and target.deepspeed:
        return wanted.specifier.contains(target.deepspeed, prereleases=True)
    return any(
        normal_name(each.name) == name
        and (not each.specifier or admits_both(each.specifier, wanted.specifier))
        for each in parse_requirements(target.requirements)
    )


def judge_apex(subject: Subject) -> list[Finding]:
    """Whether this build of apex can have been made for this Python and torch."""
    target = subject.target
    if target.apex is None or subject.torch is None:
        return []
    minor = target.python.minor
    rows = [
        row
        for row in subject.compat.apex
        if row.version == target.apex.version
        and minor in row.pythons
        and row.torch.contains(subject.torch, prereleases=True)
    ]
    what = f"apex {target.apex.version}"
    if rows:
        verdict, text = Verdict.ALLOWED, f"{what} is built for Python {minor}."
    else:
        verdict = Verdict.UNKNOWN
        text = f"{what} is not known to build for Python {minor} and torch {target.torch}."
    fix = "" if rows else "Leave apex out."
    return [
        Finding(
            component="apex", verdict=verdict, text=text, key="apex", rows=best_first(rows), fix=fix
        )
    ]


def judge_deepspeed(target: Target, version: Version | None, compat: Compat) -> list[Finding]:
    """Whether DeepSpeed finds the NPU: by itself, or through the plugin made for it."""
    if version is None:
        return []
    has_plugin = target.deepspeed_plugin is not None
    rows = [row for row in compat.deepspeed if row.version.contains(version, prereleases=True)]
    with_plugin = [row for row in rows if row.plugin]
    refusing = [row for row in rows if row.refused]
    text, fix, verdict = f"deepspeed {version} finds the NPU by itself.", "", Verdict.FORBIDDEN
    if with_plugin and not has_plugin:
        text = f"deepspeed {version} needs the deepspeed_npu plugin made for it."
        fix = f"Declare its wheel under deepspeed_plugins: {version}."
    elif has_plugin and not with_plugin:
        text = f"a deepspeed_npu plugin is declared for deepspeed {version}, which takes none."
        fix = f"Remove deepspeed_plugins: {version}."
    elif refusing and not with_plugin:
        text = f"deepspeed {version} does not find the NPU, and no plugin exists for it."
        fix = "Take 0.10.1 or newer, 0.9.2, or 0.6.0."
    elif not rows:
        verdict, text = Verdict.UNKNOWN, f"deepspeed {version} is not known to work."
    else:
        verdict = Verdict.ALLOWED
        if with_plugin:
            branch = with_plugin[0].plugin
            text = f"deepspeed {version} finds the NPU through deepspeed_npu {branch}."
        text += _advice(rows, target)
    allowing = [row for row in rows if row not in refusing]
    decisive = {Verdict.FORBIDDEN: with_plugin or refusing or rows}.get(verdict, rows)
    against = allowing if refusing and verdict is Verdict.FORBIDDEN else []
    return [
        Finding(
            component="deepspeed",
            verdict=verdict,
            text=text,
            key="deepspeed",
            rows=best_first(decisive),
            against=best_first(against),
            fix=fix,
        )
    ]


def _advice(rows: list[DeepSpeed], target: Target) -> str:
    advised = [
        row for row in rows if row.advised and row.advised.contains(target.torch, prereleases=True)
    ]
    return f" It is what {advised[0].sources[0].cite} advises." if advised else ""


def judge_packages(subject: Subject) -> list[Finding]:
    """Every package that some row is particular about; MindSpore among them."""
    findings: list[Finding] = []
    names = dict.fromkeys(normal_name(row.package) for row in subject.compat.packages)
    for name in names:
        rows = [
            row
            for row in subject.compat.packages
            if normal_name(row.package) == name and holds(row.when, subject)
        ]
        findings += _judge_package(subject, name, rows)
    return findings + _judge_mindspore(subject)


def _judge_package(subject: Subject, name: str, rows: list[Package]) -> Iterator[Finding]:
    key, asked = _asked(subject.target, name)
    if not asked and not any(row.required for row in rows):
        return
    wanted = SpecifierSet(",".join(str(each.specifier) for each in asked if each.specifier))
    text = " and ".join(f"{str(each)!r}" for each in asked) or f"no requirement on {name}"
    if refused := [row for row in rows if row.refused]:
        yield _package(
            name,
            Verdict.FORBIDDEN,
            f"{text} is refused: {refused[0].refused}.",
            key,
            rows=refused,
            fix="Remove it.",
        )
        return
    for row in rows:
        if row.bound is None:
            continue
        if not admits_both(wanted, row.bound):
            what = f"{text} contradicts {name}{row.bound}{_because(row, subject)}."
        elif lets_out(wanted, row.bound):
            what = f"{text} does not keep {name} {row.bound}{_because(row, subject)}."
        else:
            continue
        fix = f"Write {name}{row.bound}."
        yield _package(name, Verdict.FORBIDDEN, what, key, rows=[row], fix=fix)
        return
    yield from _judge_pins(name, key, text, wanted, rows)


def _judge_pins(
    name: str, key: str, text: str, wanted: SpecifierSet, rows: list[Package]
) -> Iterator[Finding]:
    pins = [row for row in rows if row.pin is not None]
    kept = [row for row in pins if row.pin and admits_both(wanted, row.pin)]
    seen = [row for row in rows if row.seen and admits_both(wanted, row.seen)]
    bounds = [row for row in rows if row.bound is not None]
    against = [row for row in pins if row not in kept]
    if pins and not kept:
        known = " or ".join(f"{name}{row.pin}" for row in pins)
        what = f"{text} is not known to work; {known} is."
        yield _package(name, Verdict.UNKNOWN, what, key, rows=pins, fix=f"Write {known}.")
    elif kept or bounds or seen:
        verdict = Verdict.DISPUTED if against else Verdict.ALLOWED
        what = f"{text} is known to work."
        if against:
            other = " or ".join(f"{name}{row.pin}" for row in against)
            what = f"{text} is known to work; another source has {other}."
        yield _package(name, verdict, what, key, rows=[*kept, *bounds, *seen], against=against)


def _because(row: Package, subject: Subject) -> str:
    reasons = []
    if row.when.torch is not None:
        reasons.append(f"torch {subject.target.torch}")
    if row.when.cann is not None:
        reasons.append(subject.cann_name)
    if row.when.requirement is not None:
        reasons.append(str(row.when.requirement))
    return f", which {' and '.join(reasons)} needs" if reasons else ""


def _asked(target: Target, name: str) -> tuple[str, list[Requirement]]:
    """The key to blame, and every requirement on the package ``name``."""
    found: dict[str, list[Requirement]] = {}
    for key, texts in (("requirements", target.requirements), ("cann", target.cann.requirements)):
        found[key] = [each for each in parse_requirements(texts) if normal_name(each.name) == name]
    both = [*found["requirements"], *found["cann"]]
    return "requirements" if found["requirements"] or not both else "cann", both


def _package(
    name: str,
    verdict: Verdict,
    text: str,
    key: str,
    *,
    rows: list[Package],
    against: list[Package] | None = None,
    fix: str = "",
) -> Finding:
    return Finding(
        component=name,
        verdict=verdict,
        text=text,
        key=key,
        rows=best_first(rows),
        against=best_first(against or ()),
        fix=fix,
    )


def _judge_mindspore(subject: Subject) -> list[Finding]:
    asked = [
        each
        for each in parse_requirements(subject.target.requirements)
        if normal_name(each.name) == "mindspore"
    ]
    if not asked:
        return []
    here = [row for row in subject.compat.mindspore if subject.is_cann(row.cann)]
    wanted = asked[0].specifier
    rows: list[Row] = [
        row for row in here if row.version and wanted.contains(row.version, prereleases=True)
    ]
    if rows:
        text = f"{asked[0]} goes with {subject.cann_name}."
        verdict, fix = Verdict.ALLOWED, ""
    else:
        text = f"{asked[0]} is not known to work on {subject.cann_name}."
        known = ", ".join(row.version for row in here)
        verdict, fix = Verdict.UNKNOWN, f"Known there: {known}." if known else ""
    return [
        Finding(
            component="mindspore",
            verdict=verdict,
            text=text,
            key="requirements",
            rows=best_first(rows),
            fix=fix,
        )
    ]
