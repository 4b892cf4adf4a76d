# SPDX-License-Identifier: Apache-2.0
"""Judges the files that a build is given: packages and archives that no package index has."""

import hashlib
from pathlib import Path


def wrong_content(file: Path, sha256: str) -> str:
    """What is wrong with a file that must have the digest ``sha256``; nothing if that is empty."""
    if not file.stat().st_size:
        return "is empty."
    if sha256:
        with file.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        if digest != sha256:
            return f"has the sha256 {digest}, and {sha256} is expected."
    return ""


def wrong_origin(*, is_stand_in: bool, simulated: str) -> str:
    """What is wrong with a simulated package in a real image, or another one in a simulated one.

    ``simulated`` is the build argument SIMULATED, a text for images with simulated packages.
    """
    if is_stand_in and not simulated:
        return "is a simulated package: add --build-arg SIMULATED=true, or get the vendor's."
    if simulated and not is_stand_in:
        return "is not a simulated package: leave out --build-arg SIMULATED."
    return ""
