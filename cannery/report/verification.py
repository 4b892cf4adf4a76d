# SPDX-License-Identifier: Apache-2.0
"""What was checked in an image, on what, and what came out."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass

from cannery.deploy.run_spec import DeviceKind

NOT_IN_TARGET = "the target has no "
"""How the reason begins for which a check of another application is not run: too many to show."""


@dataclass(frozen=True, kw_only=True)
class Check:
    """One check. ``outcome`` is passed, failed or not run; ``why`` is empty for a pass."""

    name: str
    title: str
    outcome: str
    why: str


@dataclass(frozen=True, kw_only=True)
class DeviceRun:
    """All checks on one kind of device; ``hardware`` says what that was."""

    device: DeviceKind
    checks: tuple[Check, ...]
    hardware: str = ""

    @property
    def counts(self) -> Counter[str]:
        """How often there was each outcome."""
        return Counter(check.outcome for check in self.checks)


@dataclass(frozen=True, kw_only=True)
class Verification:
    """Everything that was checked in one image.

    ``simulated`` says that the image holds stand-ins, on whatever device it was checked.
    ``checks`` identifies the checks that there were; it is empty where only some were run.
    ``date`` is the day, as in ``2026-11-21``.
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
        return [
            (run.device, check)
            for run in self.runs
            for check in run.checks
            if check.outcome == "failed"
        ]

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=2, ensure_ascii=False) + "\n"

    def _summary(self) -> list[str]:
        """A line for each device."""
        lines = []
        for run in self.runs:
            total = ", ".join(f"{run.counts[o]} {o}" for o in ("passed", "failed", "not run"))
            where = f" ({run.hardware})" if run.hardware else ""
            lines.append(f"{self.subject} on device {run.device}{where}: {total}")
        return lines

    def to_text(self) -> str:
        """A line a check, grouped by device, and what failed in full at the end."""
        lines = []
        for run, head in zip(self.runs, self._summary(), strict=True):
            lines.append(head)
            for check in run.checks:
                if check.why.startswith(NOT_IN_TARGET):
                    continue
                reason = f" ({check.why})" if check.outcome == "not run" else ""
                component = check.name.split("/")[0]
                lines.append(f"  {check.outcome:<8} {component:<10} {check.title}{reason}")
        return "\n".join([*lines, *self._failures()]) + "\n"

    def to_brief(self) -> str:
        """A line a device, and what failed in full."""
        return "\n".join([*self._summary(), *self._failures()]) + "\n"

    def _failures(self) -> list[str]:
        lines = []
        for device, check in self.failed:
            lines += ["", f"FAILED on device {device}: {check.name}", check.why]
        return lines


def passed_on(text: str, *, image_id: str, checks: str) -> frozenset[str]:
    """The kinds of device on which the report ``text`` says that all ``checks`` passed.

    It says so of none where it is about another image, or other checks, or is no report.
    """
    try:
        report = json.loads(text)
        if (report["image_id"], report["checks"]) != (image_id, checks) or not checks:
            return frozenset()
        return frozenset(
            str(run["device"])
            for run in report["runs"]
            if run["checks"]
            and {check["outcome"] for check in run["checks"]} <= {"passed", "not run"}
        )
    except (ValueError, TypeError, KeyError):
        return frozenset()
