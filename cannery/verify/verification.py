# SPDX-License-Identifier: Apache-2.0
"""The result of verifying one image: every check on every kind of device; and as text."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum

from pydantic import TypeAdapter, ValidationError

from cannery.common.console import columns
from cannery.common.model import DeviceKind
from cannery.common.outside import json_text
from cannery.registry.records import Tested

PROGRESS = ".progress"
"""The suffix of the file beside a report that says which check runs, while checks run."""


class LeftOut(StrEnum):
    """The reason for which a check was not begun in a container."""

    COMPONENT = "component"
    """The image has no such component."""
    WAITS = "waits"
    """It needs a device."""
    ELSEWHERE = "elsewhere"
    """It is run in the container without a device."""


@dataclass(frozen=True, kw_only=True)
class Check:
    """One check on one kind of device.

    ``name`` is ``COMPONENT/FILE::FUNCTION``, ``title`` a sentence, ``outcome`` passed, failed or
    not run. ``why`` is the output of a failure or the reason for not running; empty for a pass.
    ``left_out`` is a ``LeftOut``, or empty if the check was begun.
    """

    name: str
    title: str
    outcome: str
    why: str
    left_out: str = ""

    @property
    def component(self) -> str:
        return self.name.split("/")[0]

    @property
    def applies(self) -> bool:
        """Whether the target has the component that is checked."""
        return self.left_out != LeftOut.COMPONENT


def missing(checks: Iterable[Check], expected: Iterable[str]) -> list[str]:
    """Those of ``expected`` that were not begun; a check with parameters needs one of them."""
    begun = {check.name.partition("[")[0] for check in checks if not check.left_out}
    return sorted({*expected} - begun)


@dataclass(frozen=True, kw_only=True)
class DeviceRun:
    """All checks on one kind of device; ``hardware`` describes the machine and the device."""

    device: DeviceKind
    checks: tuple[Check, ...]
    hardware: str = ""


@dataclass(frozen=True, kw_only=True)
class Verification:
    """The results of all checks of one image.

    ``simulated`` says that the image holds stand-ins, on whatever device it was checked.
    ``checks`` is the digest of the image tests; it is empty if only some of them were selected.
    ``date`` is the day in UTC, as in ``2026-11-21``.
    """

    target: str
    image: str
    image_id: str
    runs: tuple[DeviceRun, ...]
    simulated: bool = False
    checks: str = ""
    date: str = ""

    @property
    def failed(self) -> list[tuple[DeviceKind, Check]]:
        """Every failure, with the kind of device on which it happened."""
        return [
            (run.device, check)
            for run in self.runs
            for check in run.checks
            if check.outcome == "failed"
        ]

    def to_json(self) -> str:
        """The report for programs."""
        return json_text(asdict(self)) + "\n"

    def counts(self) -> tuple[Tested, ...]:
        """The counts for each kind of device, without the checks of absent components."""
        counted = [
            (run, Counter(check.outcome for check in run.checks if check.applies))
            for run in self.runs
        ]
        return tuple(
            Tested(
                device=str(run.device),
                hardware=run.hardware or "not noted",
                passed=outcomes["passed"],
                failed=outcomes["failed"],
                not_run=outcomes["not run"],
                date=self.date,
            )
            for run, outcomes in counted
        )


def from_json(text: str) -> Verification | None:
    """The report ``text`` of ``Verification.to_json``; None if it is not one."""
    try:
        return TypeAdapter(Verification).validate_json(text)
    except ValidationError:
        return None


def passed_on(
    text: str, *, image_id: str, checks: str, expected: Callable[[DeviceKind], Iterable[str]]
) -> frozenset[str]:
    """The kinds of device on which all checks passed, according to the JSON report ``text``.

    Empty if the report is for another image or other checks, or if ``text`` is not a report.
    ``expected`` has the checks that must have been run on a kind of device.
    """
    report = from_json(text)
    if not report or (report.image_id, report.checks) != (image_id, checks) or not checks:
        return frozenset()
    outcomes = {run.device: {check.outcome for check in run.checks} for run in report.runs}
    return frozenset(
        str(run.device)
        for run in report.runs
        if {"passed"} <= outcomes[run.device] <= {"passed", "not run"}
        if not missing(run.checks, expected(run.device))
    )


def complete_results(text: str) -> tuple[Tested, ...]:
    """The counts in the JSON report ``text``; empty if it is none, or one on selected checks."""
    report = from_json(text)
    return report.counts() if report and report.checks else ()


_NOTHING = "-"
"""The cell of a check, or a component, that was not run on that kind of device."""

_ByDevice = Mapping[DeviceKind, Check]


def to_text(result: Verification, *, verbose: bool = False) -> str:
    """One row for each component, with passed/run for each kind of device.

    Rows for single checks appear below their component if they failed, and with ``verbose``.
    """
    checks = _by_name(result)
    devices = [run.device for run in result.runs]
    components: dict[str, list[_ByDevice]] = defaultdict(list)
    for check in checks:
        components[next(iter(check.values())).component].append(check)
    rows = [["passed/run", *map(str, devices), ""]]
    for component, members in components.items():
        rows.append([component, *_counts(members, devices), ""])
        for check in members:
            if verbose or _outcome(check) == "failed":
                outcomes = [check[kind].outcome if kind in check else "not run" for kind in devices]
                cells = [_NOTHING if outcome == "not run" else outcome for outcome in outcomes]
                rows.append(["", *cells, next(iter(check.values())).title])
    rows.append(["all", *_counts(checks, devices), ""])
    lines = [
        _summary(result, checks),
        *(f"  {run.device}: {run.hardware}" for run in result.runs if run.hardware),
        *(f"  {line}" for line in columns(rows, right=range(1, len(devices) + 1))),
        *_reasons(checks, devices if verbose else []),
        *_failures(result),
    ]
    return "\n".join(lines) + "\n"


def to_brief(result: Verification) -> str:
    """One line, and every failure."""
    checks = _by_name(result)
    devices = [run.device for run in result.runs]
    counts = [f"{kind} {n}" for kind, n in zip(devices, _counts(checks, devices), strict=True)]
    head = f"{_summary(result, checks)} (passed/run: {', '.join(counts)})"
    return "\n".join([head, *_failures(result)]) + "\n"


def _by_name(result: Verification) -> list[_ByDevice]:
    """Every check that applies to the target, with its result on each kind of device."""
    checks: dict[str, dict[DeviceKind, Check]] = defaultdict(dict)
    for run in result.runs:
        for check in run.checks:
            if check.applies:
                checks[check.name][run.device] = check
    return [*checks.values()]


def _outcome(check: _ByDevice) -> str:
    """The outcome on all kinds of device together: one failure is a failure."""
    outcomes = {result.outcome for result in check.values()}
    return next(outcome for outcome in ("failed", "passed", "not run") if outcome in outcomes)


def _counts(checks: Sequence[_ByDevice], devices: Iterable[DeviceKind]) -> list[str]:
    cells = []
    for device in devices:
        counts = Counter(check[device].outcome for check in checks if device in check)
        run = counts["passed"] + counts["failed"]
        cells.append(f"{counts['passed']}/{run}" if run else _NOTHING)
    return cells


def _summary(result: Verification, checks: Iterable[_ByDevice]) -> str:
    counts = Counter(map(_outcome, checks))
    total = ", ".join(f"{counts[kind]} {kind}" for kind in ("passed", "failed", "not run"))
    return f"{result.target}{' (simulated image)' if result.simulated else ''}: {total}"


def _reasons(checks: Iterable[_ByDevice], devices: Iterable[DeviceKind]) -> list[str]:
    """Of the checks that were not run at all, and of others on each of ``devices``."""
    never = [check for check in checks if _outcome(check) == "not run"]
    others = [check for check in checks if _outcome(check) != "not run"]
    reasons = Counter("; ".join(dict.fromkeys(r.why for r in check.values())) for check in never)
    lines = [f"  {count} not run: {reason}" for reason, count in reasons.items()]
    for device in devices:
        results = [check[device] for check in others if device in check]
        reasons = Counter(result.why for result in results if result.outcome == "not run")
        lines += [f"  {n} not run on device {device}: {reason}" for reason, n in reasons.items()]
    return lines


def _failures(result: Verification) -> list[str]:
    lines = []
    for device, check in result.failed:
        lines += ["", f"FAILED on device {device}: {check.name}", check.why]
    return lines
