# SPDX-License-Identifier: Apache-2.0
"""The report on an image of any origin as JSON; docs/test-any-image.md has its fields."""

from __future__ import annotations

from dataclasses import asdict

from cannery.common.printable import json_text
from cannery.verify.audit.result import Audit


def to_json(audit: Audit) -> str:
    """Everything that is known of the image, for programs."""
    document = {"schema": 1, "verdict": audit.standing, "failed": bool(audit.failures)}
    return json_text(document | asdict(audit)) + "\n"
