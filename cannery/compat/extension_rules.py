# SPDX-License-Identifier: Apache-2.0
"""Rules for packages beside torch and torch_npu: apex, DeepSpeed, triton-ascend, vllm-ascend."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from packaging.specifiers import SpecifierSet
from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import Version

from cannery.common.specifiers import overlap, parse_requirement
from cannery.common.wheels import BuiltWheel
from cannery.compat.facts import Apex, Compat, DeepSpeed, Pairing
from cannery.compat.finding import Finding, Subject, Verdict, best_first
from cannery.compat.requested import Place, Requested


def judge_apex(subject: Subject) -> list[Finding]:
    """Whether this build of apex can have been made for this Python and torch."""
    target = subject.target
    if target.apex is None:
        return []
    if not target.torch:
        return [_without_torch("apex", target.apex.version)]
    if subject.torch is None:
        return []
    name = f"apex {target.apex.version}"
    pair = f"Python {target.python.minor} and torch {target.torch}"
    rows = _apex_rows(subject.compat, target.apex.version, subject.torch, target.python.minor)
    if rows:
        text = f"{name} is built for {pair}."
        return [Finding("apex", Verdict.ALLOWED, text, "apex", rows=best_first(rows))]
    known = [
        f"Python {_span(row.pythons)} with torch {row.torch}"
        for row in subject.compat.apex
        if row.version == target.apex.version
    ]
    fix = f"Leave apex out. Known: {'; '.join(known)}." if known else "Leave apex out."
    text = f"{name} is not known to build for {pair}."
    return [Finding("apex", Verdict.UNKNOWN, text, "apex", fix=fix)]


def _apex_rows(compat: Compat, version: str, torch: Version, python: str) -> list[Apex]:
    rows = [row for row in compat.apex if row.version == version and python in row.pythons]
    return [row for row in rows if row.torch.contains(torch, prereleases=True)]


def apex_fits(compat: Compat, version: str, torch: str, python: str) -> bool:
    """Whether a source builds this apex for this torch and Python."""
    return bool(_apex_rows(compat, version, Version(torch), python))


def _without_torch(component: str, version: str) -> Finding:
    text = f"{component} {version} needs torch, which the target does not have."
    fix = f"Remove {component}, or add torch and torch_npu."
    return Finding(component, Verdict.FORBIDDEN, text, component, fix=fix)


def _span(pythons: Sequence[str]) -> str:
    return pythons[0] if len(pythons) == 1 else f"{pythons[0]}-{pythons[-1]}"


def judge_deepspeed(subject: Subject) -> list[Finding]:
    """Whether DeepSpeed has support for the NPU, or a plugin, with this torch and Python."""
    target, version = subject.target, subject.deepspeed
    if version is None:
        return []
    if not target.torch:
        return [_without_torch("deepspeed", target.deepspeed)]
    rows = _of_version(subject.compat, version)
    plugins = [row for row in rows if row.plugin]
    minor, torch = target.python.minor, subject.torch
    # Then the plugin would not help.
    refused = any(row.refused and torch and _fits(row, torch, minor) for row in rows)
    if plugins and not target.deepspeed_plugin and not refused:
        text = f"deepspeed {version} needs the deepspeed_npu plugin made for it."
        fix = f"Declare its wheel under deepspeed_plugins: {version}."
        return [_deepspeed(Verdict.FORBIDDEN, text, plugins, fix=fix)]
    if target.deepspeed_plugin and not plugins:
        text = f"a deepspeed_npu plugin is declared for deepspeed {version}, which takes none."
        fix = f"Remove deepspeed_plugins: {version}."
        place: Place = ("deepspeed_plugins", target.deepspeed)
        return [_deepspeed(Verdict.FORBIDDEN, text, rows, place=place, fix=fix)]
    # A torch that is no version is another rule's mistake.
    return [_with_torch(subject, version, rows, subject.torch)] if subject.torch else []


def _with_torch(
    subject: Subject, version: Version, rows: list[DeepSpeed], torch: Version
) -> Finding:
    target = subject.target
    fitting = [row for row in rows if _fits(row, torch, target.python.minor)]
    refusing = [row for row in fitting if row.refused]
    allowing = [row for row in fitting if not row.refused]
    if refusing:
        text = f"deepspeed {version} does not work here: {refusing[0].refused}."
        finding = _deepspeed(Verdict.FORBIDDEN, text, refusing, fix=_known(subject, rows))
        return replace(finding, against=best_first(allowing))
    if not allowing:
        text = f"deepspeed {version} is not known to work; no source names this version."
        if rows:
            pair = f"torch {target.torch} and Python {target.python.minor}"
            text = f"deepspeed {version} is not known to work with {pair}."
        fix = _known(subject, rows) or "Leave deepspeed out: no source names one for this torch."
        return _deepspeed(Verdict.UNKNOWN, text, rows, fix=fix)
    plugins = [row.plugin for row in rows if row.plugin]
    through = f"through deepspeed_npu {plugins[0]}" if plugins else "by itself"
    text = f"deepspeed {version} finds the NPU {through}."
    if advised := [row for row in allowing if row.advised]:
        text += f" It is advised by: {advised[0].sources[0].cite}."
    against = []
    if not any(row.is_makers for row in allowing):
        others = (row for row in rows if row not in fitting and not row.refused)
        against = [row for row in others if row.is_makers]
    verdict = Verdict.DISPUTED if against else Verdict.ALLOWED
    return replace(_deepspeed(verdict, text, allowing), against=best_first(against))


def _of_version(compat: Compat, version: Version) -> list[DeepSpeed]:
    return [row for row in compat.deepspeed if row.version.contains(version, prereleases=True)]


def _fits(row: DeepSpeed, torch: Version, python: str) -> bool:
    if row.pythons and python not in row.pythons:
        return False
    return row.torch is None or row.torch.contains(torch, prereleases=True)


def deepspeed_fits(compat: Compat, version: str, torch: str, python: str) -> bool:
    """Whether a source has this DeepSpeed with this torch and Python, and none refuses it."""
    rows = _of_version(compat, Version(version))
    rows = [row for row in rows if _fits(row, Version(torch), python)]
    return bool(rows) and not any(row.refused for row in rows)


def _known(subject: Subject, rows: Sequence[DeepSpeed]) -> str:
    """The torch and Python of this version, else the versions for this torch and Python."""
    conditions: dict[str, None] = {}
    for row in rows:
        parts = [f"torch {row.torch}"] if row.torch is not None else []
        parts += [f"Python {_span(row.pythons)}"] if row.pythons else []
        if parts and not row.refused:
            conditions[" and ".join(parts)] = None
    if conditions:
        return f"It is known with {'; with '.join(conditions)}."
    assert subject.torch
    target = subject.target
    known = [
        str(row.version)
        for row in best_first(subject.compat.deepspeed)
        if not row.refused and row.torch and _fits(row, subject.torch, target.python.minor)
    ]
    pair = f"torch {target.torch} and Python {target.python.minor}"
    return f"Known for {pair}: {'; '.join(dict.fromkeys(known))}." if known else ""


def _deepspeed(verdict: Verdict, text: str, rows: Sequence[DeepSpeed], **more: Any) -> Finding:
    return Finding("deepspeed", verdict, text, "deepspeed", rows=best_first(rows), **more)


_VLLM = "vllm-ascend v"
"""The beginning of vllm-ascend's versions in the sources' column 'app'."""


def judge_beside(subject: Subject) -> Iterator[Finding]:
    """Whether a source has this triton-ascend and this vllm-ascend beside this torch_npu."""
    for package in ("triton-ascend", "vllm-ascend"):
        if asked := _asked(subject, package):
            yield _judge_companion(subject, package, asked)


def _asked(subject: Subject, package: str) -> Requested | None:
    """The requirement of the target on ``package``, or its wheel of the application."""
    for asked in subject.asked.get(package, ()):
        return asked
    target = subject.target
    application = target.application
    for component, wheel in application.wheels.items() if application else ():
        assert application
        place: Place = ("applications", application.name, "wheels", component)
        if isinstance(wheel, BuiltWheel):
            name, version, key = wheel.package, wheel.version, "sdist"
        else:
            try:
                name, number, _, _ = parse_wheel_filename(target.artifacts[component].name)
            except InvalidWheelFilename:
                continue
            version, key = str(number), "file"
        if name == package:
            requirement = parse_requirement(f"{name}=={version}")
            return Requested(requirement=requirement, key="application", place=(*place, key))
    return None


def _companion(row: Pairing, package: str) -> str:
    """The version of ``package`` that ``row`` names; "" if it names none."""
    if package == "triton-ascend":
        return row.triton_ascend.replace("N/A", "")
    return row.app.removeprefix(_VLLM) if row.app.startswith(_VLLM) else ""


def _judge_companion(subject: Subject, package: str, asked: Requested) -> Finding:
    target = subject.target
    here = [
        row
        for row in subject.compat.pairings
        if subject.is_cann(row.cann)
        and row.torch_npu == target.torch_npu
        and (not row.pythons or target.python.minor in row.pythons)
    ]
    with_version = [
        row
        for row in subject.compat.pairings
        if (version := _companion(row, package))
        and overlap(asked.requirement.specifier, SpecifierSet(f"=={version}"))
    ]
    pair = f"torch_npu {target.torch_npu} and Python {target.python.minor} on {subject.cann_name}"
    if rows := best_first(row for row in with_version if row in here):
        text = f"{asked} goes with {pair}."
        return Finding(package, Verdict.ALLOWED, text, asked.key, place=asked.place, rows=rows)
    text, fix = f"{asked} is not known to go with {pair}.", ""
    if with_version:
        pairs = (f"torch_npu {r.torch_npu} on CANN {r.cann}" for r in best_first(with_version))
        fix = f"It is known with {', '.join(dict.fromkeys(pairs))}."
    elif known := dict.fromkeys(filter(None, (_companion(row, package) for row in here))):
        fix = f"Known there: {', '.join(known)}."
    return Finding(package, Verdict.UNKNOWN, text, asked.key, place=asked.place, fix=fix)
