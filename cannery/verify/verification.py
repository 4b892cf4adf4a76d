# SPDX-License-Identifier: Apache-2.0
"""The result of verifying one image: every check on every kind of device; and as text."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum

from cannery.common.console import columns
from cannery.common.model import DeviceKind
from cannery.common.outside import json_text
from cannery.registry.records import Tested


class LeftOut(StrEnum):
    """Why a check was not even begun in a container."""

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
    begun = {each.name.partition("[")[0] for each in checks if not each.left_out}
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
    def subject(self) -> str:
        """What was checked, as in ``py39-torch231-cann8t39 (simulated image)``."""
        return self.target + (" (simulated image)" if self.simulated else "")

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
        """Everything that is known of the run, for programs."""
        return json_text(asdict(self)) + "\n"


def passed_on(
    text: str, *, image_id: str, checks: str, expected: Callable[[DeviceKind], Iterable[str]]
) -> frozenset[str]:
    """The kinds of device on which all checks passed, according to the JSON report ``text``.

    Empty if the report is for another image or other checks, or if ``text`` is not a report.
    ``expected`` says what must have been run on a kind of device; with less it does not count.
    """
    try:
        report = json.loads(text)
        if (report["image_id"], report["checks"]) != (image_id, checks) or not checks:
            return frozenset()
        runs = {
            DeviceKind(run["device"]): [Check(**check) for check in run["checks"]]
            for run in report["runs"]
        }
    except (ValueError, TypeError, KeyError):
        return frozenset()
    return frozenset(
        str(kind)
        for kind, found in runs.items()
        if "passed" in (outcomes := {each.outcome for each in found})
        if outcomes <= {"passed", "not run"} and not missing(found, expected(kind))
    )


def results(text: str) -> tuple[Tested, ...]:
    """The counts for each kind of device in the JSON report ``text`` of ``Verification.to_json``.

    Checks of components that the target does not have are not counted.
    """
    report = json.loads(text)
    found = []
    for run in report["runs"]:
        counts = Counter(
            check["outcome"]
            for check in run["checks"]
            if check.get("left_out") != LeftOut.COMPONENT
        )
        found.append(
            Tested(
                device=str(run["device"]),
                hardware=str(run.get("hardware") or "not noted"),
                passed=counts["passed"],
                failed=counts["failed"],
                not_run=counts["not run"],
                date=str(report.get("date") or ""),
            )
        )
    return tuple(found)


def complete_results(text: str) -> tuple[Tested, ...]:
    """As ``results``; empty if ``text`` is not a report, or is one on selected checks only."""
    try:
        return results(text) if json.loads(text)["checks"] else ()
    except (ValueError, TypeError, KeyError, AttributeError):
        return ()


_NOTHING = "-"
"""Stands in a cell for a check, or a component, that was not run on that kind of device."""

_ByDevice = Mapping[DeviceKind, Check]


def to_text(result: Verification, *, verbose: bool = False) -> str:
    """One row for each component, with passed/run for each kind of device.

    Rows for single checks appear below their component if they failed, and with ``verbose``.
    """
    checks = _by_name(result)
    devices = [run.device for run in result.runs]
    rows = [["passed/run", *map(str, devices), ""]]
    for component in dict.fromkeys(_component(each) for each in checks):
        own = [each for each in checks if _component(each) == component]
        rows.append([component, *_counts(own, devices), ""])
        rows += [_row(each, devices) for each in own if verbose or _outcome(each) == "failed"]
    rows.append(["all", *_counts(checks, devices), ""])
    lines = [
        _summary(result.subject, checks),
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
    counts = [
        f"{device} {count}" for device, count in zip(devices, _counts(checks, devices), strict=True)
    ]
    head = f"{_summary(result.subject, checks)} (passed/run: {', '.join(counts)})"
    return "\n".join([head, *_failures(result)]) + "\n"


def _by_name(result: Verification) -> list[_ByDevice]:
    """Every check that applies to the target, with its result on each kind of device."""
    found: dict[str, dict[DeviceKind, Check]] = {}
    for run in result.runs:
        for check in run.checks:
            if check.applies:
                found.setdefault(check.name, {})[run.device] = check
    return [*found.values()]


def _component(check: _ByDevice) -> str:
    return next(iter(check.values())).component


def _outcome(check: _ByDevice) -> str:
    """The outcome on all kinds of device together: one failure is a failure."""
    outcomes = {each.outcome for each in check.values()}
    return next(each for each in ("failed", "passed", "not run") if each in outcomes)


def _counts(checks: Iterable[_ByDevice], devices: Iterable[DeviceKind]) -> list[str]:
    cells = []
    every = list(checks)
    for device in devices:
        counts = Counter(each[device].outcome for each in every if device in each)
        run = counts["passed"] + counts["failed"]
        cells.append(f"{counts['passed']}/{run}" if run else _NOTHING)
    return cells


def _row(check: _ByDevice, devices: Iterable[DeviceKind]) -> list[str]:
    outcomes = [check[each].outcome if each in check else _NOTHING for each in devices]
    cells = [_NOTHING if each == "not run" else each for each in outcomes]
    return ["", *cells, next(iter(check.values())).title]


def _summary(target: str, checks: Iterable[_ByDevice]) -> str:
    counts = Counter(map(_outcome, checks))
    total = ", ".join(f"{counts[each]} {each}" for each in ("passed", "failed", "not run"))
    return f"{target}: {total}"


def _reasons(checks: Iterable[_ByDevice], devices: Iterable[DeviceKind]) -> list[str]:
    """Why checks were not run at all, and why others were not run on each of ``devices``."""
    never = [each for each in checks if _outcome(each) == "not run"]
    others = [each for each in checks if _outcome(each) != "not run"]
    reasons = Counter("; ".join(dict.fromkeys(one.why for one in each.values())) for each in never)
    lines = [f"  {count} not run: {reason}" for reason, count in reasons.items()]
    for device in devices:
        left = [each[device] for each in others if device in each]
        reasons = Counter(one.why for one in left if one.outcome == "not run")
        lines += [f"  {n} not run on device {device}: {reason}" for reason, n in reasons.items()]
    return lines


def _failures(result: Verification) -> list[str]:
    lines = []
    for device, check in result.failed:
        lines += ["", f"FAILED on device {device}: {check.name}", check.why]
    return lines
