# SPDX-License-Identifier: Apache-2.0
"""A self-extracting package: settings, the installer's code, then the payload as a tar.gz."""

from __future__ import annotations

import hashlib
import shlex

from . import marker
from .cann import INTERNAL_VERSION, Package
from .layout import PACKAGES

PARTS = ("changes.sh", "queries.sh", "removal.sh", "main.sh")


def run_file(package: Package) -> bytes:
    """The whole .run file; the same package gives the same bytes."""
    payload = package.tree.tar_gz()
    code = "".join((PACKAGES / "installer" / part).read_text(encoding="utf-8") for part in PARTS)
    settings = {
        "package_name": package.name,
        "package_version": package.version,
        "package_arch": package.arch,
        "log_name": package.log_name,
        "needs_toolkit": package.needs_toolkit,
        "needs_environment": "yes" if package.needs_environment else "no",
        "exclusive": package.exclusive,
        "home": package.home,
        "templates": " ".join(package.templates),
        "version_cfg": package.version_cfg,
        "version_parts": " ".join(package.version_parts),
        "internal_version": INTERNAL_VERSION,
        "record": package.record,
        "set_env": package.set_env,
        "payload_size": str(len(payload)),
        "payload_sha256": hashlib.sha256(payload).hexdigest(),
    }
    assignments = [f"{key}={shlex.quote(value)}\n" for key, value in settings.items()]
    head = f"#!/bin/sh\n{marker.HEAD}\n" + "".join(assignments)
    # The payload begins after the two texts and after the line that says where it begins.
    payload_line = head.count("\n") + code.count("\n") + 2
    return f"{head}payload_line={payload_line}\n{code}".encode() + payload
