# SPDX-License-Identifier: Apache-2.0
"""The result of verifying one image: every check on every kind of device."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum

from cannery.common.model import DeviceKind
from cannery.common.printable import json_text
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
