# SPDX-License-Identifier: Apache-2.0
"""Reads the JSON files of a bundle, of which nothing is believed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from cannery.common.errors import ArtifactError, Problem
from cannery.common.outside import parse_json

DAMAGED = "Copy the bundle again, or make it again with 'build.py bundle'."

_LARGEST = 64 << 20

_SHA256 = re.compile(r"[0-9a-f]{64}")


def read_object(path: Path) -> dict[str, Any]:
    """The JSON object in ``path``.

    Raises:
        ArtifactError: there is none.
        OSError: it cannot be read.
    """
    if path.is_symlink() or not path.is_file():
        raise invalid(path, "it is missing")
    if path.stat().st_size > _LARGEST:
        raise invalid(path, f"it is larger than {_LARGEST >> 20} MiB")
    try:
        found = parse_json(path.read_bytes(), most=_LARGEST)
    except ValueError as error:
        raise invalid(path, "it is not JSON") from error
    if not isinstance(found, dict):
        raise invalid(path, "it is not an object")
    return found


def is_sha256(value: object) -> bool:
    """Whether ``value`` is a sha256 in hexadecimal, and so the name of one file."""
    return isinstance(value, str) and bool(_SHA256.fullmatch(value))


def is_text(value: object, pattern: str) -> bool:
    """Whether ``value`` is a text that matches ``pattern`` from its first to its last character."""
    return isinstance(value, str) and bool(re.fullmatch(pattern, value, re.ASCII))


def invalid(path: Path, why: str) -> ArtifactError:
    """The error for a file of a bundle."""
    return ArtifactError(Problem(what=f"{path} of the bundle is not valid: {why}.", fix=DAMAGED))
