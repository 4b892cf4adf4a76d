# SPDX-License-Identifier: Apache-2.0
"""Exceptions of a project: an OpenVEX document whose statements have a last day.

OpenVEX 0.2.0 has no field for it and forbids others, so ``status_notes`` begins with the day.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

from pydantic import ConfigDict, Field

from cannery.common.errors import FileError, Problem
from cannery.common.files import is_day, read_json, read_text
from cannery.common.models import Model, Parsed, matching, parse_yaml

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
    read = parse_yaml(_OpenVex, text, EXCEPTIONS).statements
    pairs = [*zip(read, document["statements"], strict=True)]
    expired = [
        Problem(
            what=f"the exception for {each.vulnerability.name} expired on {each.last_day}.",
            fix="Update the package and remove the statement, or decide again.",
            where=each.place(),
        )
        for each in read
        if each.last_day < today
    ]
    return {**document, "statements": [s for each, s in pairs if each.last_day >= today]}, expired


def _last_day(notes: str) -> str:
    match = _EXPIRES.match(notes)
    if not (match and is_day(match[1])):
        raise ValueError(
            f"{notes!r} does not begin with a last day. "
            "Begin 'status_notes' with 'expires 2027-01-31: ' and the reason."
        )
    return match[1]


class _Part(Model):
    """A part of the document; OpenVEX has more keys than those that matter here."""

    model_config = ConfigDict(extra="ignore")


class _Vulnerability(_Part):
    name: str


class _Product(_Part):
    id: Annotated[
        str, matching("pkg:.*", "a product must be a package URL, such as pkg:pypi/torch.")
    ] = Field(alias="@id")


class _Statement(_Part):
    vulnerability: _Vulnerability
    last_day: Annotated[str, Parsed(_last_day)] = Field(alias="status_notes")
    products: tuple[_Product, ...]


class _OpenVex(_Part):
    context: Annotated[
        str,
        matching("https://openvex.dev/ns.*", 'OpenVEX has "https://openvex.dev/ns/v0.2.0" here.'),
    ] = Field(alias="@context")
    statements: tuple[_Statement, ...]
