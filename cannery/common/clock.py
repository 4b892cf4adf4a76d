# SPDX-License-Identifier: Apache-2.0
"""The time of day, as records, labels and documents have it."""

from __future__ import annotations

from datetime import UTC, date, datetime


def now() -> str:
    """The time in UTC, as in ``2026-11-21T12:00:00Z``."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def is_day(text: str) -> bool:
    """Whether ``text`` is a day of the calendar, as in ``2026-11-21``."""
    try:
        # Python reads other forms of a day, too.
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def days_between(first: str, last: str) -> int:
    """How many days ``last`` is after ``first``, each as in ``2026-11-21``."""
    return (date.fromisoformat(last) - date.fromisoformat(first)).days
