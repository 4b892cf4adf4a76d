# SPDX-License-Identifier: Apache-2.0
"""The stand-in for the Ascend apex wheel, which no package index serves."""

from __future__ import annotations

import re

from . import marker
from .archives import record_text, zip_bytes
from .errors import PackError
from .layout import PACKAGES

WHEEL_NAME = re.compile(
    r"(?P<name>[A-Za-z0-9_.]+)-(?P<version>[^-]+)-(?P<tag>[^-]+-[^-]+-[^-]+)\.whl"
)

SUMMARY = (
    "Stand-in for the Ascend apex wheel, made by cannery's simulator: it lets programs import "
    "apex and is not for training"
)


def apex_wheel(file_name: str) -> bytes:
    """The wheel; its name, version and tag are those of ``file_name``, or PackError is raised."""
    match = WHEEL_NAME.fullmatch(file_name)
    if match is None:
        raise PackError(f"spec.apex.file: {file_name!r} is not a wheel's name")
    name, version, tag = match["name"], match["version"], match["tag"]
    info = f"{name}-{version}.dist-info"
    files = {**module_files(), f"apex/{marker.FILE}": marker.text("apex").encode()}
    files[f"{info}/METADATA"] = (
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nSummary: {SUMMARY}\n"
        "License: Apache-2.0\n"
    ).encode()
    # Not pure, as the vendor's: an image that installs the wrong tag must fail in the same way.
    files[f"{info}/WHEEL"] = (
        f"Wheel-Version: 1.0\nGenerator: cannery-simulator\nRoot-Is-Purelib: false\nTag: {tag}\n"
    ).encode()
    files[f"{info}/top_level.txt"] = f"{name}\n".encode()
    record = f"{info}/RECORD"
    files[record] = record_text(files, record).encode()
    return zip_bytes(files)


def module_files() -> dict[str, bytes]:
    """The Python files of the stand-in, by their path in the wheel."""
    root = PACKAGES / "apex"
    return {p.relative_to(root).as_posix(): p.read_bytes() for p in sorted(root.rglob("*.py"))}
