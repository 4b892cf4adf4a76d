# SPDX-License-Identifier: Apache-2.0
"""The time of day, as records, labels and documents have it."""

from __future__ import annotations

from datetime import UTC, datetime


def now() -> str:
    """The time in UTC, as in ``2026-11-21T12:00:00Z``."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
