# SPDX-License-Identifier: Apache-2.0
"""Counts the results in a report, for the records that are kept of them."""

from __future__ import annotations

import json
from collections import Counter

from cannery.registry.records import Tested
from cannery.verify.verification import LeftOut


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
