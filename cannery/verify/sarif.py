# SPDX-License-Identifier: Apache-2.0
"""The report on an image of any origin as SARIF 2.1.0, which code scanning shows.

Source: OASIS, Static Analysis Results Interchange Format 2.1.0, sections 3.13 to 3.30.
"""

from __future__ import annotations

import hashlib
from typing import Any

from cannery import __version__
from cannery.common.outside import json_text
from cannery.verify.audit.result import Audit, Result, Standing

Json = dict[str, Any]
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {
    Standing.BROKEN: "error",
    Standing.UNKNOWN: "warning",
    Standing.NOTE: "note",
    Standing.NOT_OURS: "note",
}
"""What is reported, and how gravely. A pass is no result in SARIF's sense."""


def to_sarif(audit: Audit, dockerfile: str) -> str:
    """A document whose results point to ``dockerfile``, a path in the user's repository.

    Code scanning shows no result without a file, and an image has no line of one.
    """
    results = [each for each in audit.results if each.standing in _LEVELS]
    rules = {each.check: each for each in results}
    numbers = {check: number for number, check in enumerate(rules)}
    return sarif_document(
        [_rule(each) for each in rules.values()],
        [_result(audit, each, numbers[each.check], dockerfile) for each in results],
        properties={
            "image": audit.reference,
            "imageId": audit.image_id,
            "verdict": audit.standing,
            "what": dict(audit.what),
        },
    )


def sarif_document(rules: list[Json], results: list[Json], **more: Json) -> str:
    """A document with one run of this program; ``more`` are further members of the run."""
    driver = {"name": "cannery", "version": __version__, "rules": rules}
    run = {"tool": {"driver": driver}, "results": results, **more}
    document = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return json_text(document) + "\n"


def _rule(result: Result) -> dict[str, Any]:
    name = result.check
    rule: dict[str, Any] = {"id": name, "shortDescription": {"text": f"image check {name}"}}
    if result.sources:
        rule["help"] = {"text": "Source: " + "; ".join(result.sources)}
    return rule


def _result(audit: Audit, result: Result, rule: int, dockerfile: str) -> dict[str, Any]:
    level = "error" if audit.is_failure(result) else _LEVELS[result.standing]
    said = " ".join(filter(None, (result.text, result.fix)))
    mark = f"{audit.reference}\0{result.check}\0{result.device or ''}"
    return {
        "ruleId": result.check,
        "ruleIndex": rule,
        "level": level,
        "message": {"text": f"{audit.reference}: {result.standing}: {said}"},
        "locations": [location(dockerfile, audit.reference)],
        # The same finding in the next run is the same alert.
        "partialFingerprints": {"check/v1": hashlib.sha256(mark.encode()).hexdigest()},
    }


def location(file: str, name: str) -> dict[str, Any]:
    """The first line of ``file`` as the place of a result about the image ``name``."""
    return {
        "physicalLocation": {"artifactLocation": {"uri": file}, "region": {"startLine": 1}},
        "logicalLocations": [{"fullyQualifiedName": name, "kind": "module"}],
    }
