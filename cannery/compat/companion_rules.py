# SPDX-License-Identifier: Apache-2.0
"""What sources name beside a pair of torch and torch_npu: triton-ascend and vllm-ascend."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.specifiers import SpecifierSet
from packaging.utils import InvalidWheelFilename, parse_wheel_filename

from cannery.common.model import Target
from cannery.common.specifiers import overlap, parse_requirement
from cannery.common.wheels import BuiltWheel
from cannery.compat.facts import Pairing
from cannery.compat.finding import Finding, Place, Subject, Verdict, best_first
from cannery.compat.package_rules import Requested, requested_of

_VLLM = "vllm-ascend v"
"""How a source's column 'app' names a version of vllm-ascend."""


def judge_beside(subject: Subject) -> Iterator[Finding]:
    """Whether a source has this triton-ascend and this vllm-ascend beside this torch_npu."""
    for package in ("triton-ascend", "vllm-ascend"):
        if asked := _asked(subject.target, package):
            yield _judge(subject, package, asked)


def _asked(target: Target, package: str) -> Requested | None:
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


def _version(row: Pairing, package: str) -> str:
    """The version of ``package`` that ``row`` names; "" if it names none."""
    if package == "triton-ascend":
        return row.triton_ascend.replace("N/A", "")
    return row.app.removeprefix(_VLLM) if row.app.startswith(_VLLM) else ""


def _judge(subject: Subject, package: str, asked: Requested) -> Finding:
    target = subject.target
    named = [
        row
        for row in subject.compat.pairings
        if (version := _version(row, package))
        and overlap(asked.requirement.specifier, SpecifierSet(f"=={version}"))
    ]
    rows = [row for row in named if _fits(row, subject)]
    pair = f"torch_npu {target.torch_npu} and Python {target.python.minor} on {subject.cann_name}"
    verdict, text, fix = Verdict.ALLOWED, f"{asked} goes with {pair}.", ""
    if not rows:
        verdict, text = Verdict.UNKNOWN, f"{asked} is not known to go with {pair}."
        fix = _known(subject, package, named)
    return Finding(
        component=package,
        verdict=verdict,
        text=text,
        key=asked.key,
        place=asked.place,
        rows=best_first(rows),
        fix=fix,
    )


def _fits(row: Pairing, subject: Subject) -> bool:
    return (
        subject.is_cann(row.cann)
        and row.torch_npu == subject.target.torch_npu
        and (not row.pythons or subject.target.python.minor in row.pythons)
    )


def _known(subject: Subject, package: str, named: list[Pairing]) -> str:
    """What the version is known with; else the versions that are known for this pair."""
    if named:
        pairs = (f"torch_npu {row.torch_npu} on CANN {row.cann}" for row in best_first(named))
        return f"It is known with {', '.join(dict.fromkeys(pairs))}."
    fitting = [row for row in subject.compat.pairings if _fits(row, subject)]
    known = dict.fromkeys(filter(None, (_version(row, package) for row in fitting)))
    return f"Known there: {', '.join(known)}." if known else ""
