# SPDX-License-Identifier: Apache-2.0
"""The report on an image of any origin as JSON; docs/test-any-image.md has its fields."""

from __future__ import annotations

import json
from dataclasses import asdict

from cannery.verify.audit.result import Audit


def to_json(audit: Audit) -> str:
    """Everything that is known of the image, for programs."""
    document = {"schema": 1, "verdict": audit.standing, "failed": bool(audit.failures)}
    return json.dumps(document | asdict(audit), indent=2, ensure_ascii=False) + "\n"
