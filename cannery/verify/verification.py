# SPDX-License-Identifier: Apache-2.0
"""The result of verifying one image: every check on every kind of device."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from cannery.common.model import DeviceKind

_OTHER_COMPONENT = "the target has no "
"""The reason begins so if a check is for a component that the target does not have."""


def applies(outcome: str, why: str) -> bool:
    """Whether a check with this result is for a component that the target has."""
    return not (outcome == "not run" and why.startswith(_OTHER_COMPONENT))


@dataclass(frozen=True, kw_only=True)
class Check:
    """One check on one kind of device.

    ``name`` is ``COMPONENT/FILE::FUNCTION``, ``title`` a sentence, ``outcome`` passed, failed or
    not run. ``why`` is the output of a failure or the reason for not running; empty for a pass.
    """

    name: str
    title: str
    outcome: str
    why: str

    @property
    def component(self) -> str:
        return self.name.split("/")[0]

    @property
    def applies(self) -> bool:
        """Whether the target has the component that is checked."""
        return applies(self.outcome, self.why)


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
        return json.dumps(asdict(self), indent=2, ensure_ascii=False) + "\n"


def passed_on(text: str, *, image_id: str, checks: str) -> frozenset[str]:
    """The kinds of device on which all checks passed, according to the JSON report ``text``.

    Empty if the report is for another image or other checks, or if ``text`` is not a report.
    """
    try:
        report = json.loads(text)
        if (report["image_id"], report["checks"]) != (image_id, checks) or not checks:
            return frozenset()
        outcomes = {
            str(run["device"]): {check["outcome"] for check in run["checks"]}
            for run in report["runs"]
        }
    except (ValueError, TypeError, KeyError):
        return frozenset()
    return frozenset(
        device
        for device, found in outcomes.items()
        if "passed" in found and found <= {"passed", "not run"}
    )
