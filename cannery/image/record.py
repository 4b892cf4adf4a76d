# SPDX-License-Identifier: Apache-2.0
"""The target.json of a target and of its image, and the labels that say where an image is from.

The labels are those of the OCI image specification, annotations.md.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from cannery.common.bases import Base, FoundBase, Origin
from cannery.common.outside import parse_json
from cannery.common.specifiers import normal_name, parse_requirements
from cannery.image.content_key import short_key
from cannery.image.environment import image_environment, toolkit_home
from cannery.image.plan import ImagePlan
from cannery.lock.requirements import overrides


def committed_record(plan: ImagePlan) -> dict[str, Any]:
    """The content of images/ID/target.json.

    The program describe-image makes constraints.txt and the image's target.json from it.
    """
    wheels = {layer.name: layer.wheels for layer in plan.layers if layer.wheels}
    return {
        **_facts(plan),
        "layers": {name: " ".join(w.name for w in group) for name, group in wheels.items()},
        "local_versions": plan.local_versions,
        "vendor_wheels": _vendor_versions(plan),
        "held": {pin.requirement: pin.reason for pin in plan.pins},
    }


def image_record(plan: ImagePlan) -> dict[str, Any]:
    """The content of the target.json in the image, with which the image tests compare it."""
    environment = image_environment(plan.target)
    return {
        **_facts(plan),
        "wheels": plan.installed,
        "vendor_wheels": _vendor_versions(plan),
        "held": [pin.requirement for pin in plan.pins],
        "environment": {name: value.strip('"') for name, value in environment.items()},
    }


def _facts(plan: ImagePlan) -> dict[str, Any]:
    target = plan.target
    return {
        "id": target.id,
        "platform": target.platform,
        "machine": target.machine,
        "chip": target.chip,
        "operators": target.operators,
        "components": target.components,
        "cxx_abi": target.cxx_abi,
        "toolkit_home": toolkit_home(target),
        "overridden": [normal_name(r.name) for r in parse_requirements(overrides(target))],
        **asdict(plan.python),
    }


def _vendor_versions(plan: ImagePlan) -> dict[str, str]:
    return {name: wheel.version for name, wheel in plan.target.vendor_wheels.items()}


_PREFIX = "org.opencontainers.image"

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
    labels = {"created": created, "version": short_key(key)}
    if commit:
        labels["revision"] = commit
    if origin:
        labels["source"] = source_uri(origin)
    return {f"{_PREFIX}.{name}": value for name, value in labels.items()}


def bases_labels(base: Base, used: Mapping[str, FoundBase]) -> dict[str, str]:
    """The labels of an image of ``base`` on the bases ``used``, by build argument."""
    identities = {name: [each.origin, each.identity] for name, each in used.items()}
    image = used["BASE_IMAGE"]
    name = image.reference
    if image.origin is Origin.REGISTRY:
        # Not that of a mirror, which has the same image.
        name = base.image if base.is_pinned else f"{base.image}@{name.rpartition('@')[2]}"
    return {
        BASES: json.dumps(identities, separators=(",", ":"), sort_keys=True),
        f"{_PREFIX}.base.name": name,
    }


def used_bases(labels: Mapping[str, str]) -> dict[str, tuple[Origin, str]]:
    """Build argument to the origin and the identity of the base that an image was built on.

    It is empty if the ``labels`` of the image do not say that.
    """
    try:
        document = parse_json(labels.get(BASES, "{}"))
        return {
            str(name): (Origin(origin), str(identity))
            for name, (origin, identity) in document.items()
        }
    except (ValueError, TypeError, AttributeError):
        return {}


def source_uri(address: str) -> str:
    """A git URL as a URI, without a user name and a password."""
    if "://" in address:
        return _USER.sub("://", address, count=1)
    # The form of ssh: git@host:path.
    host, colon, path = address.rpartition("@")[2].partition(":")
    return f"ssh://{host}/{path.lstrip('/')}" if colon else f"file://{address}"
