# SPDX-License-Identifier: Apache-2.0
"""The target.json of a target and of its image, and the labels that say where an image is from.

The labels are those of the OCI image specification, annotations.md.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from cannery.common.bases import Base, FoundBase, Origin, PythonSource
from cannery.common.model import EXTRAS, Target
from cannery.common.outside import parse_json
from cannery.common.specifiers import applies, normal_name, parse_requirements
from cannery.image.content_key import short_key
from cannery.image.environment import ASCEND, image_environment, toolkit_home
from cannery.lock.lock_file import Lock
from cannery.lock.requirements import SETUPTOOLS, overrides

_SETUPTOOLS = SETUPTOOLS.removeprefix("setuptools")


@dataclass(frozen=True, kw_only=True)
class Held:
    """A version that a later ``pip install`` must not change.

    ``requirement`` is as in ``torch==2.3.1`` or ``setuptools<81``. ``reason`` is a comment in
    constraints.txt.
    """

    name: str
    requirement: str
    reason: str


def interpreter_paths(target: Target) -> dict[str, str]:
    """The paths of the image's interpreter, of its prefix and of its site-packages."""
    minor = target.python.minor
    if target.python.source is PythonSource.BASE:
        prefix, site = "/usr", target.base.distribution.site_packages.format(minor=minor)
    else:
        prefix = f"/usr/local/python{minor}"
        site = f"{prefix}/lib/python{minor}/site-packages"
    return {"prefix": prefix, "interpreter": f"{prefix}/bin/python{minor}", "site_packages": site}


def compiled_folders(target: Target) -> tuple[str, ...]:
    """The folders of the image in which Python files are compiled.

    CANN's are compiled into a layer of their own, because images with different Pythons share its
    layers. None are compiled for an interpreter that the building machine cannot have from the same
    place.
    """
    if target.python.source is not PythonSource.BASE or not target.base.distribution.native_python:
        return ()
    own = f"/usr/lib/python{target.python.minor}"
    return own, "/usr/lib/python3", interpreter_paths(target)["site_packages"], "/opt", ASCEND


def committed_record(
    target: Target, lock: Lock, layers: Mapping[str, Iterable[str]]
) -> dict[str, Any]:
    """The content of images/ID/target.json; ``layers`` has the packages of each layer of wheels.

    The program describe-image makes constraints.txt and the image's target.json from it.
    """
    return {
        **_facts(target),
        "layers": {name: " ".join(packages) for name, packages in layers.items()},
        "local_versions": _local_versions(target),
        "vendor_wheels": _vendor_versions(target),
        "held": {each.requirement: each.reason for each in held(target, lock)},
    }


def image_record(target: Target, lock: Lock) -> dict[str, Any]:
    """The content of the target.json in the image, with which the image tests compare it."""
    return {
        **_facts(target),
        "wheels": installed_versions(target, lock),
        "vendor_wheels": _vendor_versions(target),
        "held": [each.requirement for each in held(target, lock)],
        "environment": {k: v.strip('"') for k, v in image_environment(target).items()},
    }


def _facts(target: Target) -> dict[str, Any]:
    return {
        "id": target.id,
        "platform": target.platform,
        "machine": target.machine,
        "chip": target.chip,
        "operators": target.operators,
        "components": target.components,
        "cxx_abi": target.cxx_abi,
        "toolkit_home": toolkit_home(target),
        "overridden": [normal_name(each.name) for each in parse_requirements(overrides(target))],
        **interpreter_paths(target),
        "compiled": compiled_folders(target),
    }


def _vendor_versions(target: Target) -> dict[str, str]:
    return {name: wheel.version for name, wheel in target.vendor_wheels.items()}


def _local_versions(target: Target) -> dict[str, str]:
    """Package to version, of the wheels that are built: they may have a local version."""
    return {wheel.package: wheel.installed_version for wheel in target.built_wheels.values()}


def installed_versions(target: Target, lock: Lock) -> dict[str, str]:
    """Package to the version in the image."""
    return {**lock.versions, **_local_versions(target)}


def held(target: Target, lock: Lock) -> list[Held]:
    """The versions that later installs must keep: all that matrix.yaml specifies.

    compat.yaml requires that matrix.yaml specifies each version on which a component depends.
    """
    versions = installed_versions(target, lock)
    versions |= {normal_name(name): wheel.version for name, wheel in target.vendor_wheels.items()}
    found: dict[str, Held] = {}

    def hold(name: str, reason: str, bounds: str = "") -> None:
        name = normal_name(name)
        if name in versions:
            new = Held(
                name=name, requirement=name + (bounds or f"=={versions[name]}"), reason=reason
            )
            found[name] = _both(found[name], new, versions[name]) if name in found else new

    hold("torch", f"torch_npu {target.torch_npu} is compiled for it")
    hold("torch-npu", f"it works with torch {target.torch} and CANN {target.cann.version}")
    hold("mindspore", f"it works with CANN {target.cann.version}")
    hold("numpy", "compiled packages of this image were built for it")
    hold("apex", "packages of this name in package indexes are other projects")
    for name in ("deepspeed", *(EXTRAS[component] for component in target.extras)):
        hold(name, "the image was tested with it")
    for wheel in target.built_wheels.values():
        hold(wheel.package, "it was built for this image from its sdist")
    for requirement in parse_requirements(target.cann.requirements):
        if requirement.specifier and applies(requirement, target):
            hold(requirement.name, f"CANN {target.cann.version} needs {requirement}")
    if target.torch_npu:
        hold("setuptools", "torch_npu imports pkg_resources, which was removed in 82", _SETUPTOOLS)
    for requirement in parse_requirements(target.requirements):
        if requirement.specifier and applies(requirement, target):
            named = target.application
            by = f"{named.component} {named.version} was" if named else "the image was"
            specified = _range(requirement, overrides(target))
            hold(requirement.name, f"{by} tested with it", specified)
    return [*found.values()]


def _both(held: Held, more: Held, version: str) -> Held:
    """What satisfies ``held`` and ``more``; a bound adds nothing to the one ``version``."""
    exact = f"{held.name}=={version}"
    bounds = SpecifierSet(held.requirement.removeprefix(held.name))
    added = SpecifierSet(more.requirement.removeprefix(held.name))
    if held.requirement == exact or {*added} <= {*bounds}:
        return held
    both = exact if more.requirement == exact else f"{held.name}{bounds & added}"
    reason = held.reason if more.reason == held.reason else f"{held.reason}; {more.reason}"
    return Held(name=held.name, requirement=both, reason=reason)


def _range(requirement: Requirement, override: tuple[str, ...]) -> str:
    """The range in matrix.yaml; empty, for the locked version, if an override replaces it."""
    names = {normal_name(each.name) for each in parse_requirements(override)}
    if requirement.extras or normal_name(requirement.name) in names:
        return ""
    return str(requirement.specifier)


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
