# SPDX-License-Identifier: Apache-2.0
"""Exceptions of a project: an OpenVEX document whose statements have a last day.

OpenVEX 0.2.0 has no field for it and forbids others, so ``status_notes`` begins with the day.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from cannery.common.errors import FileError, Problem
from cannery.common.files import is_day, read_json, read_text
from cannery.common.yaml_reader import Section, parse_yaml

EXCEPTIONS = "exceptions.openvex.json"
_FORMER = "exceptions.yaml"
"""The file up to 0.1; 0.3 removes the message about it."""

_EXPIRES = re.compile(r"expires (\S+?)(:|\s|$)")


def read_exceptions(root: Path, today: str) -> tuple[dict[str, Any], list[Problem]]:
    """The OpenVEX document of the checkout with the statements that hold today, and the others."""
    if (root / _FORMER).exists():
        fix = f"Write them as {EXCEPTIONS} and remove it: docs/security.md has an example."
        raise FileError(Problem(what=f"{_FORMER} holds no exceptions since 0.2.", fix=fix))
    try:
        text = read_text(root / EXCEPTIONS)
    except FileNotFoundError:
        return {"statements": []}, []
    document = read_json(text.encode(), EXCEPTIONS)
    expired = parse_yaml(text, EXCEPTIONS, lambda top: _expired(top, today))
    statements = [s for number, s in enumerate(document["statements"]) if number not in expired]
    return {**document, "statements": statements}, [*expired.values()]


def _expired(top: Section, today: str) -> dict[int, Problem]:
    """The expired statements by their number; mistakes go to ``top``."""
    context = top.text("@context")
    if context and not context.startswith("https://openvex.dev/ns"):
        top.wrong("@context", 'OpenVEX has "https://openvex.dev/ns/v0.2.0" here.')
    for key in top.names():
        top.take(key)
    expired = {}
    for number, section in enumerate(top.mappings("statements", required=True, item="a statement")):
        vulnerability, notes = section.section("vulnerability"), section.text("status_notes")
        name = vulnerability.text("name") if vulnerability else ""
        for product in section.mappings("products", required=True, item="a product"):
            if not product.text("@id").startswith("pkg:"):
                product.wrong("@id", "a product must be a package URL, such as pkg:pypi/torch.")
        for read in filter(None, (vulnerability, section)):
            for key in read.names():
                read.take(key)
            read.done()
        match = _EXPIRES.match(notes)
        if notes and not (match and is_day(match[1])):
            fix = "Begin 'status_notes' with 'expires 2027-01-31: ' and the reason."
            section.wrong("status_notes", f"{notes!r} does not begin with a last day.", fix)
        elif match and match[1] < today:
            what = f"the exception for {name} expired on {match[1]}."
            fix = "Update the package and remove the statement, or decide again."
            where = section.problems.span(section.node)
            expired[number] = Problem(what=what, fix=fix, where=where)
    return expired
