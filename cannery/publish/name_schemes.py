# SPDX-License-Identifier: Apache-2.0
"""Tags by the naming schemes of other publishers of Ascend images, made from components."""

from __future__ import annotations

import string
from collections.abc import Iterable, Mapping

from packaging.version import Version

from cannery.common.model import Target

_OF_APPLICATION = ("application", "application_version")

FIELDS = (
    *("arch", "cann", "chip", "os", "python", "torch", "torch_npu", "deepspeed"),
    *_OF_APPLICATION,
)
"""What a scheme may have in braces; ``os`` is the base's name without its '-'."""


def fields_of(scheme: str) -> tuple[str, ...] | None:
    """The names in braces in ``scheme``; None if it is no format of plain fields."""
    try:
        parts = [part for part in string.Formatter().parse(scheme) if part[1] is not None]
    except ValueError:
        return None
    if any(form or conversion for _, _, form, conversion in parts):
        return None
    return tuple(str(part[1]) for part in parts)


def scheme_tags(schemes: Iterable[str], targets: Iterable[Target]) -> dict[str, str]:
    """Tag to the id of the target that owns it.

    A target has a tag only by the schemes whose fields it has all of, and an application's only by
    those that name the application. Where several targets would have a tag, the one with the
    newest torch owns it, or else the first.
    """
    owners: dict[str, Target] = {}
    ordered = sorted(targets, key=lambda target: Version(target.torch or "0"), reverse=True)
    for scheme in schemes:
        used = fields_of(scheme) or ()
        for target in ordered:
            values = _values(target)
            applied = "application" in used
            if applied == bool(target.application) and all(values.get(name) for name in used):
                owners.setdefault(scheme.format(**values), target)
    return {tag: target.id for tag, target in owners.items()}


def _values(target: Target) -> Mapping[str, str]:
    application = target.application
    return {
        "arch": target.docker_arch,
        "cann": target.cann.version,
        "chip": target.chip,
        "os": target.base.name.replace("-", "", 1),
        "python": target.python.minor,
        "torch": target.torch,
        "torch_npu": target.torch_npu,
        "deepspeed": target.deepspeed,
        "application": application.component if application else "",
        "application_version": application.version if application else "",
    }
