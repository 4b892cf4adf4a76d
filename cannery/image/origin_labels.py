# SPDX-License-Identifier: Apache-2.0
"""The labels that say where an image comes from: OCI image specification, annotations.md."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from cannery.common.bases import Base, FoundBase, Origin
from cannery.common.outside import parse_json
from cannery.image.content_key import short_key

_PREFIX = "org.opencontainers.image"

REVISION = f"{_PREFIX}.revision"
"""The label with the commit."""

BASES = "io.cannery.bases"
"""The label that says which images were used for the bases, by build argument."""

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


def bases_labels(base: Base, used: Mapping[str, FoundBase]) -> dict[str, str]:
    """The labels of an image of ``base`` on the bases ``used``, by build argument."""
    found = {name: [each.origin, each.identity] for name, each in used.items()}
    image = used["BASE_IMAGE"]
    name = image.reference
    if image.origin is Origin.REGISTRY:
        # Not that of a mirror, which has the same image.
        name = base.image if base.is_pinned else f"{base.image}@{name.rpartition('@')[2]}"
    return {
        BASES: json.dumps(found, separators=(",", ":"), sort_keys=True),
        f"{_PREFIX}.base.name": name,
    }


def used_bases(labels: Mapping[str, str]) -> dict[str, tuple[Origin, str]]:
    """Build argument to the origin and the identity of the base that an image was built on.

    It is empty if the ``labels`` of the image do not say that.
    """
    try:
        found = parse_json(labels.get(BASES, "{}"))
        return {str(name): (Origin(origin), str(own)) for name, (origin, own) in found.items()}
    except (ValueError, TypeError, AttributeError):
        return {}


def source_uri(address: str) -> str:
    """A git URL as a URI, without a user name and a password."""
    if "://" in address:
        return _USER.sub("://", address, count=1)
    # The form of ssh: git@host:path.
    host, colon, path = address.rpartition("@")[2].partition(":")
    return f"ssh://{host}/{path.lstrip('/')}" if colon else f"file://{address}"
