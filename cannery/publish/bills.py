# SPDX-License-Identifier: Apache-2.0
"""Gets the software bills of materials of targets, of images, and of published images."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cannery.common import console
from cannery.common.errors import EngineError, FileError, Problem, UsageError, file_error
from cannery.common.files import now, read_json
from cannery.common.model import Target
from cannery.common.references import parse_reference
from cannery.engine.images import local_images
from cannery.lock.lock_file import read_lock
from cannery.matrix.project import Project, select
from cannery.publish.image_contents import TARGET, local_names, not_found
from cannery.publish.image_inventory import image_inventory
from cannery.publish.inventory import Inventory, Origin, Package
from cannery.publish.provenance import PREDICATE, SPDX
from cannery.publish.sbom import spdx
from cannery.registry.client import Repository
from cannery.registry.oci import ATTESTED, manifest_contents
from cannery.registry.records import latest, read_records

_NO_IMAGE = "sha256:" + "0" * 64
"""The digest in the bill of a target without a local image."""


@dataclass(frozen=True, kw_only=True)
class NamedBill:
    """The SBOM ``document`` of what the user calls ``name``; ``notes`` say what it lacks."""

    name: str
    document: Mapping[str, Any]
    notes: tuple[str, ...] = ()


def bills(project: Project, names: Sequence[str], ca: Path | None) -> list[NamedBill]:
    """The bill of each of ``names``: targets, patterns, local images, published images, SBOM files.

    ``ca`` is a file of certificates to trust.
    """
    documents: list[NamedBill] = []
    problems: list[Problem] = []
    targets = project.matrix().targets
    for name in names:
        try:
            if name.endswith(".json"):
                documents.append(NamedBill(name=name, document=_of_file(Path(name))))
            elif matches := fnmatch.filter(targets, name):
                documents += [_of_target(project, targets[match]) for match in matches]
            elif "/" in name:
                documents += [NamedBill(name=name, document=bill) for bill in _attested(name, ca)]
            else:
                documents.append(_of_image(project, name))
        except UsageError as error:
            problems += error.problems
    if problems:
        raise UsageError(problems)
    return documents


def published_bills(project: Project, patterns: Sequence[str], ca: Path | None) -> list[NamedBill]:
    """The bill of the newest published image of each target that has one."""
    records = read_records(project.releases)
    documents: list[NamedBill] = []
    for target in select(project.matrix(), patterns):
        record = latest(records, target.id)
        if record is None:
            console.say(f"{target.id} is not published")
            continue
        documents += [
            NamedBill(name=target.id, document=document, notes=(f"image {record.by_digest}",))
            for document in _attested(record.by_digest, ca)
        ]
    return documents


def _of_file(path: Path) -> Any:
    if not path.is_file():
        raise UsageError(f"there is no file {path}.")
    try:
        return read_json(path.read_bytes(), str(path))
    except OSError as error:
        raise file_error("read", path, error) from error


def _of_target(project: Project, target: Target) -> NamedBill:
    local: Mapping[str, Any] = {}
    with suppress(EngineError):
        # Without an engine there are no images.
        local = local_images(local_names(target.id))
    if local:
        reference, image = next(iter(local.items()))
        return NamedBill(
            name=target.id,
            document=_document(reference, image.id, target),
            notes=(f"image {reference}",),
        )
    wheels = tuple(
        Package(name=wheel.name, version=wheel.version, source=Origin.INDEX)
        for wheel in read_lock(project, target).wheels
    )
    inventory = Inventory(wheels=wheels, debian=(), vendor=())
    document = spdx(target, inventory, image_digest=_NO_IMAGE, created=now())
    note = "its image is not on this machine, so the SBOM has only the packages in its lock"
    return NamedBill(name=target.id, document=document, notes=(note,))


def _of_image(project: Project, name: str) -> NamedBill:
    local = local_images(local_names(name))
    if name not in local:
        raise UsageError(not_found(project, name))
    target = project.matrix().targets.get(local[name].labels.get(TARGET, ""))
    if target is None:
        fix = "Make its SBOM with another program, such as syft, and scan that file."
        what = f"{name} is not an image of a target in matrix.yaml."
        raise UsageError(Problem(what=what, fix=fix))
    return NamedBill(name=name, document=_document(name, local[name].id, target))


def _document(reference: str, image_id: str, target: Target) -> dict[str, Any]:
    console.say(f"reading the packages of {reference}")
    inventory = image_inventory(reference, target.platform, target)
    return spdx(target, inventory, image_digest=image_id, created=now())


def _attested(name: str, ca: Path | None) -> list[Any]:
    """The SPDX documents that are attested of the image ``name``."""
    place = parse_reference(name)
    if not place.version:
        fix = "Add the tag or the digest of an image."
        raise UsageError(Problem(what=f"{name} has neither a tag nor a digest.", fix=fix))
    repository = Repository(place.registry, place.repository, ca=ca)
    document = repository.manifest(place.version)
    if document is None:
        fix = "Check the reference; 'docker login HOST' stores a login."
        raise UsageError(Problem(what=f"{name} does not exist.", fix=fix))
    documents = []
    try:
        for entry in manifest_contents(document).manifests:
            inner = repository.manifest(entry.digest) if entry.platform == ATTESTED else None
            for blob in manifest_contents(inner).blobs if inner else ():
                if blob.annotations.get(PREDICATE) == SPDX:
                    content = repository.read_blob(blob, b"".join)
                    documents.append(read_json(content, f"{name}: {blob.digest}"))
    except ValueError as error:
        raise FileError(f"{name}: {error}.") from error
    if not documents:
        fix = "'build.py push' adds one. Make it with another program, and scan that file."
        raise UsageError(Problem(what=f"{name} has no SBOM.", fix=fix))
    return documents
