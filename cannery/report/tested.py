# SPDX-License-Identifier: Apache-2.0
"""What a record says of a report."""

from __future__ import annotations

import json
from collections import Counter

from cannery.publish.records import Tested


def results(text: str) -> tuple[Tested, ...]:
    """What the report ``text``, which ``passed_on`` has found good, says for a record of it."""
    report = json.loads(text)
    found = []
    for run in report["runs"]:
        counts = Counter(check["outcome"] for check in run["checks"])
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
