# SPDX-License-Identifier: Apache-2.0
"""The labels that say where an image comes from: OCI image specification, annotations.md."""

from __future__ import annotations

import re

from cannery.image.content_key import short_key

_PREFIX = "org.opencontainers.image"

REVISION = f"{_PREFIX}.revision"
"""The label with the commit."""

_USER = re.compile(r"://[^/?#]*@")


def origin_labels(*, key: str, commit: str, origin: str, created: str) -> dict[str, str]:
    """The labels of an image that is built now.

    ``created`` is a time as in ``2026-11-21T12:00:00Z``. ``commit`` and ``origin``, a git URL, are
    empty where the checkout has none. The version is the part of the content key ``key`` that the
    image's tag has. There is no ``licenses``: no short expression is true of hundreds of packages,
    whose licenses the bill of materials has.
    """
    found = {"created": created, "version": short_key(key)}
    if commit:
        found["revision"] = commit
    if origin:
        found["source"] = source_uri(origin)
    return {f"{_PREFIX}.{name}": value for name, value in found.items()}


def source_uri(address: str) -> str:
    """A git URL as a URI, without a user name and a password."""
    if "://" in address:
        return _USER.sub("://", address, count=1)
    # The form of ssh: git@host:path.
    host, colon, path = address.rpartition("@")[2].partition(":")
    return f"ssh://{host}/{path.lstrip('/')}" if colon else f"file://{address}"
