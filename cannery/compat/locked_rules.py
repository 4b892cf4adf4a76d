# SPDX-License-Identifier: Apache-2.0
"""Rules of packages for all that a lock has, also where no requirement names it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from cannery.common.model import EXTRAS, Target
from cannery.compat.extension_rules import judge_beside, judge_deepspeed
from cannery.compat.facts import Compat, Package
from cannery.compat.finding import Finding, Subject, Verdict, best_first
from cannery.compat.package_rules import because, holds, instead, judge_mindspore
from cannery.compat.rules import subject_of


def judge_locked(target: Target, compat: Compat, versions: Mapping[str, str]) -> list[Finding]:
    """What rows refuse, or do not know, of ``versions``: package to its version in the lock.

    ValueError for an invalid version of the target's CANN.
    """
    subject, rows = _holding(target, compat, versions)
    findings = [
        finding
        for name, of_name in rows.items()
        for finding in _judge(subject, name, versions[name], of_name)
    ]
    return findings + _judge_unnamed(subject, versions)


def replaceable(target: Target, compat: Compat, versions: Mapping[str, str]) -> list[str]:
    """The packages that are refused, that only others require, and whose modules another has."""
    subject, rows = _holding(target, compat, versions)
    present = subject.locked or {}
    return sorted(
        name
        for name, of_name in rows.items()
        if not subject.asked.get(name)
        and any(row.refused and row.provided_by in present for row in of_name)
    )


_WITH_RULES = ("deepspeed", "mindspore", "triton-ascend", "vllm-ascend")
"""Packages that have rules of their own, beside the rows about packages."""


def _judge_unnamed(subject: Subject, versions: Mapping[str, str]) -> list[Finding]:
    """The findings about those packages that only others require: as if the target named them."""
    target = subject.target
    known = {"deepspeed"} if target.deepspeed else {*()}
    known |= {wheel.package for wheel in target.built_wheels.values()}
    names = [name for name in _WITH_RULES if name in versions and name not in known]
    names = [name for name in names if not subject.asked.get(name)]
    if not names:
        return []
    pins = [f"{name}=={versions[name]}" for name in names if name != "deepspeed"]
    named = replace(target, requirements=(*target.requirements, *pins))
    if "deepspeed" in names:
        named = replace(named, deepspeed=versions["deepspeed"])
    other = subject_of(named, subject.compat)
    findings = (*judge_deepspeed(other), *judge_beside(other), *judge_mindspore(other))
    return [finding for finding in findings if finding.component in names]


def _holding(
    target: Target, compat: Compat, versions: Mapping[str, str]
) -> tuple[Subject, Mapping[str, Sequence[Package]]]:
    """The target with all that its image has, and package to the rows that hold for it there."""
    files = {
        EXTRAS.get(component, component.replace("_", "-")): wheel.version
        for component, wheel in target.vendor_wheels.items()
    }
    subject = replace(subject_of(target, compat), locked={**files, **versions})
    rows = {
        name: [row for row in of_name if row.seen is None and holds(row, subject)]
        for name, of_name in compat.packages_named(versions).items()
    }
    return subject, rows


def _judge(subject: Subject, name: str, version: str, rows: Sequence[Package]) -> Iterator[Finding]:
    key = "requirements"
    for row in rows:
        is_kept = row.bound is None or _admits(row, version)
        if is_kept and not row.refused:
            continue
        text = f"{name} {version} is refused: {row.refused}."
        fix = _without(name, row) if row.refused else f"Add {name}{row.bound} to the requirements."
        if not is_kept:
            text = f"{name} {version} is not {name}{row.bound}{because(row)}."
        yield Finding(name, Verdict.FORBIDDEN, text, key, rows=(row,), fix=fix)
        return
    pins = [row for row in rows if row.pin is not None]
    if pins and not any(_admits(row, version) for row in pins):
        known = " or ".join(f"{name}{row.pin}" for row in pins)
        text = f"{name} {version} is not known to work; {known} is."
        fix = f"Write {known}." if subject.asked.get(name) else f"Add {known} to the requirements."
        yield Finding(name, Verdict.UNKNOWN, text, key, rows=best_first(pins), fix=fix)


@lru_cache(maxsize=10_000)
def _admits(row: Package, version: str) -> bool:
    """Whether the bound or the pin of ``row`` admits ``version``."""
    bounds = row.bound or row.pin
    return bounds is None or bounds.contains(version, prereleases=True)


def _without(name: str, row: Package) -> str:
    if other := row.provided_by:
        key = next((key for key, package in EXTRAS.items() if package == other), "")
        what = f"the key {key}" if key else f"the requirement {other}"
        return f"Add {what} to the target: it has the same modules, and a lock goes without {name}."
    return instead(row) if row.instead else "Remove the requirement that brings it."
