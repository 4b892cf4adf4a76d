# SPDX-License-Identifier: Apache-2.0
"""A verification as text for people: a summary that fits a screen, and every failure in full."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from cannery.common.columns import columns
from cannery.common.model import DeviceKind
from cannery.verify.verification import Check, Verification

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
