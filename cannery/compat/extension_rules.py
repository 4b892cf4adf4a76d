# SPDX-License-Identifier: Apache-2.0
"""What is known of apex and DeepSpeed with a target's torch and Python."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from packaging.specifiers import SpecifierSet
from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import Version

from cannery.common.model import Target
from cannery.common.specifiers import overlap, parse_requirement
from cannery.common.wheels import BuiltWheel
from cannery.compat.facts import Apex, Compat, DeepSpeed, Pairing
from cannery.compat.finding import Finding, Place, Subject, Verdict, best_first
from cannery.compat.package_rules import Requested, requested_of


def judge_apex(subject: Subject) -> list[Finding]:
    """Whether this build of apex can have been made for this Python and torch."""
    target = subject.target
    if target.apex is None:
        return []
    if not target.torch:
        return [_without_torch("apex", target.apex.version)]
    if subject.torch is None:
        return []
    minor = target.python.minor
    named = [row for row in subject.compat.apex if row.version == target.apex.version]
    rows = _apex_rows(subject.compat, target.apex.version, subject.torch, minor)
    what = f"apex {target.apex.version}"
    pair = f"Python {minor} and torch {target.torch}"
    verdict, text, fix = Verdict.ALLOWED, f"{what} is built for {pair}.", ""
    if not rows:
        verdict, text = Verdict.UNKNOWN, f"{what} is not known to build for {pair}."
        known = [f"Python {_span(row.pythons)} with torch {row.torch}" for row in named]
        fix = f"Leave apex out. Known: {'; '.join(known)}." if known else "Leave apex out."
    return [
        Finding(
            component="apex", verdict=verdict, text=text, key="apex", rows=best_first(rows), fix=fix
        )
    ]


def _apex_rows(compat: Compat, version: str, torch: Version, python: str) -> list[Apex]:
    return [
        row
        for row in compat.apex
        if row.version == version
        and python in row.pythons
        and row.torch.contains(torch, prereleases=True)
    ]


def apex_fits(compat: Compat, version: str, torch: str, python: str) -> bool:
    """Whether a source builds this apex for this torch and Python."""
    return bool(_apex_rows(compat, version, Version(torch), python))


def _without_torch(component: str, version: str) -> Finding:
    return Finding(
        component=component,
        verdict=Verdict.FORBIDDEN,
        text=f"{component} {version} needs torch, which the target does not have.",
        key=component,
        fix=f"Remove {component}, or add torch and torch_npu.",
    )


def _span(pythons: Sequence[str]) -> str:
    return pythons[0] if len(pythons) == 1 else f"{pythons[0]}-{pythons[-1]}"


def judge_deepspeed(subject: Subject) -> list[Finding]:
    """Whether DeepSpeed finds the NPU, itself or through a plugin, with this torch and Python."""
    target, version = subject.target, subject.deepspeed
    if version is None:
        return []
    if not target.torch:
        return [_without_torch("deepspeed", target.deepspeed)]
    named = _named(subject.compat, version)
    if wrong := _wrong_plugin(target, version, named):
        return [wrong]
    # A torch that is no version is another rule's mistake.
    return [_with_torch(subject, version, named, subject.torch)] if subject.torch else []


def _wrong_plugin(target: Target, version: Version, named: list[DeepSpeed]) -> Finding | None:
    """A plugin that is missing, or that this version does not take."""
    plugins = [row for row in named if row.plugin]
    if plugins and not target.deepspeed_plugin:
        text = f"deepspeed {version} needs the deepspeed_npu plugin made for it."
        fix = f"Declare its wheel under deepspeed_plugins: {version}."
        return replace(_deepspeed(Verdict.FORBIDDEN, text, plugins), fix=fix)
    if target.deepspeed_plugin and not plugins:
        text = f"a deepspeed_npu plugin is declared for deepspeed {version}, which takes none."
        fix = f"Remove deepspeed_plugins: {version}."
        place: Place = ("deepspeed_plugins", target.deepspeed)
        return replace(_deepspeed(Verdict.FORBIDDEN, text, named), place=place, fix=fix)
    return None


def _with_torch(
    subject: Subject, version: Version, named: list[DeepSpeed], torch: Version
) -> Finding:
    fitting = [row for row in named if _fits(row, torch, subject.target.python.minor)]
    refusing = [row for row in fitting if row.refused]
    allowing = [row for row in fitting if not row.refused]
    if refusing:
        text = f"deepspeed {version} does not work here: {refusing[0].refused}."
        found = _deepspeed(Verdict.FORBIDDEN, text, refusing, against=allowing)
        return replace(found, fix=_known(subject, named))
    if not allowing:
        return _unknown_deepspeed(subject, version, named)
    plugins = [row.plugin for row in named if row.plugin]
    through = f"through deepspeed_npu {plugins[0]}" if plugins else "by itself"
    text = f"deepspeed {version} finds the NPU {through}."
    if advised := [row for row in allowing if row.advised]:
        text += f" It is advised by: {advised[0].sources[0].cite}."
    others = [row for row in named if row not in fitting and not row.refused and row.is_makers]
    against = [row for row in others if not any(each.is_makers for each in allowing)]
    verdict = Verdict.DISPUTED if against else Verdict.ALLOWED
    return _deepspeed(verdict, text, allowing, against=against)


def _named(compat: Compat, version: Version) -> list[DeepSpeed]:
    return [row for row in compat.deepspeed if row.version.contains(version, prereleases=True)]


def _fits(row: DeepSpeed, torch: Version, python: str) -> bool:
    if row.pythons and python not in row.pythons:
        return False
    return row.torch is None or row.torch.contains(torch, prereleases=True)


def deepspeed_fits(compat: Compat, version: str, torch: str, python: str) -> bool:
    """Whether a source has this DeepSpeed with this torch and Python, and none refuses it."""
    rows = [row for row in _named(compat, Version(version)) if _fits(row, Version(torch), python)]
    return bool(rows) and not any(row.refused for row in rows)


def _unknown_deepspeed(subject: Subject, version: Version, named: list[DeepSpeed]) -> Finding:
    target = subject.target
    text = f"deepspeed {version} is not known to work; no source names this version."
    if named:
        pair = f"torch {target.torch} and Python {target.python.minor}"
        text = f"deepspeed {version} is not known to work with {pair}."
    fix = _known(subject, named) or "Leave deepspeed out: no source names one for this torch."
    return replace(_deepspeed(Verdict.UNKNOWN, text, named), fix=fix)


def _known(subject: Subject, named: Iterable[DeepSpeed]) -> str:
    """Which torch and Python this version is known with; else which versions are known for them."""
    with_it = [_conditions(row) for row in named if not row.refused]
    if with_it := [*dict.fromkeys(filter(None, with_it))]:
        return f"It is known with {'; with '.join(with_it)}."
    assert subject.torch
    target = subject.target
    known = [
        str(row.version)
        for row in best_first(subject.compat.deepspeed)
        if not row.refused and row.torch and _fits(row, subject.torch, target.python.minor)
    ]
    pair = f"torch {target.torch} and Python {target.python.minor}"
    return f"Known for {pair}: {'; '.join(dict.fromkeys(known))}." if known else ""


def _conditions(row: DeepSpeed) -> str:
    parts = [f"torch {row.torch}"] if row.torch is not None else []
    return " and ".join([*parts, *([f"Python {_span(row.pythons)}"] if row.pythons else [])])


def _deepspeed(
    verdict: Verdict,
    text: str,
    rows: Iterable[DeepSpeed],
    *,
    against: Iterable[DeepSpeed] = (),
) -> Finding:
    return Finding(
        component="deepspeed",
        verdict=verdict,
        text=text,
        key="deepspeed",
        rows=best_first(rows),
        against=best_first(against),
    )


_VLLM = "vllm-ascend v"
"""How a source's column 'app' names a version of vllm-ascend."""


def judge_beside(subject: Subject) -> Iterator[Finding]:
    """Whether a source has this triton-ascend and this vllm-ascend beside this torch_npu."""
    for package in ("triton-ascend", "vllm-ascend"):
        if asked := _companion_asked(subject.target, package):
            yield _judge_companion(subject, package, asked)


def _companion_asked(target: Target, package: str) -> Requested | None:
    """What ``target`` requires of ``package``, or has as a wheel of it."""
    for asked in requested_of(target, package):
        return asked
    for name, version, place in _wheels(target):
        if name == package:
            requirement = parse_requirement(f"{name}=={version}")
            return Requested(requirement=requirement, key="application", place=place)
    return None


def _wheels(target: Target) -> Iterator[tuple[str, str, Place]]:
    """Name, version and place in matrix.yaml of the wheels that the application declares."""
    application = target.application
    for component, wheel in application.wheels.items() if application else ():
        assert application
        place: Place = ("applications", application.name, "wheels", component)
        if isinstance(wheel, BuiltWheel):
            yield wheel.package, wheel.version, (*place, "sdist")
            continue
        try:
            name, version, _, _ = parse_wheel_filename(target.artifacts[component].name)
        except InvalidWheelFilename:
            continue
        yield name, str(version), (*place, "file")


def _companion_version(row: Pairing, package: str) -> str:
    """The version of ``package`` that ``row`` names; "" if it names none."""
    if package == "triton-ascend":
        return row.triton_ascend.replace("N/A", "")
    return row.app.removeprefix(_VLLM) if row.app.startswith(_VLLM) else ""


def _judge_companion(subject: Subject, package: str, asked: Requested) -> Finding:
    target = subject.target
    named = [
        row
        for row in subject.compat.pairings
        if (version := _companion_version(row, package))
        and overlap(asked.requirement.specifier, SpecifierSet(f"=={version}"))
    ]
    rows = [row for row in named if _pairing_fits(row, subject)]
    pair = f"torch_npu {target.torch_npu} and Python {target.python.minor} on {subject.cann_name}"
    verdict, text, fix = Verdict.ALLOWED, f"{asked} goes with {pair}.", ""
    if not rows:
        verdict, text = Verdict.UNKNOWN, f"{asked} is not known to go with {pair}."
        fix = _known_pairings(subject, package, named)
    return Finding(
        component=package,
        verdict=verdict,
        text=text,
        key=asked.key,
        place=asked.place,
        rows=best_first(rows),
        fix=fix,
    )


def _pairing_fits(row: Pairing, subject: Subject) -> bool:
    return (
        subject.is_cann(row.cann)
        and row.torch_npu == subject.target.torch_npu
        and (not row.pythons or subject.target.python.minor in row.pythons)
    )


def _known_pairings(subject: Subject, package: str, named: list[Pairing]) -> str:
    """What the version is known with; else the versions that are known for this pair."""
    if named:
        pairs = (f"torch_npu {row.torch_npu} on CANN {row.cann}" for row in best_first(named))
        return f"It is known with {', '.join(dict.fromkeys(pairs))}."
    fitting = [row for row in subject.compat.pairings if _pairing_fits(row, subject)]
    known = dict.fromkeys(filter(None, (_companion_version(row, package) for row in fitting)))
    return f"Known there: {', '.join(known)}." if known else ""
