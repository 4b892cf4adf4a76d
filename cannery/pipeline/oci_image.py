# SPDX-License-Identifier: Apache-2.0
"""Makes of a local image what is published of it: layers, manifest, attestations and index."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from cannery import console
from cannery.errors import EngineError, Problem
from cannery.execute import git
from cannery.execute.engine import base
from cannery.execute.engine import client as engine
from cannery.execute.engine.image_archive import Blobs, Packed, opener
from cannery.execute.engine.images import local_images
from cannery.execute.engine.inventory import image_inventory
from cannery.execute.origin import builder
from cannery.execute.registry.client import Repository
from cannery.execute.registry.transfer import Blob, OciContent, blob_of
from cannery.files import read_text
from cannery.image import simulated
from cannery.image.content_key import LABEL
from cannery.image.lock import parse_lock
from cannery.image.render import NAMESPACE
from cannery.matrix.project import Project
from cannery.pipeline.planning import base_names, bases
from cannery.pipeline.pushable import Candidate
from cannery.pipeline.transaction import ATTESTED, ImagePush, PushedImage
from cannery.publish import attestation
from cannery.publish.inventory import Inventory
from cannery.publish.oci import (
    CONFIG,
    MANIFEST,
    Descriptor,
    Document,
    image_index,
    image_manifest,
    manifest_contents,
)
from cannery.publish.policy import Publishing
from cannery.publish.provenance import Source, UsedBase, slsa
from cannery.publish.sbom import spdx


@dataclass(frozen=True, kw_only=True)
class PackedImage:
    """A candidate in the form in which registries keep it; ``inventory`` are read when needed."""

    candidate: Candidate
    packed: Packed
    manifest: Document
    created: str
    _inventory: list[Inventory] = field(default_factory=list)

    def inventory(self) -> Inventory:
        """What the image holds.

        Raises:
            EngineError: it cannot be told.
        """
        if not self._inventory:
            candidate = self.candidate
            console.say(f"{candidate.target.id}: listing what is in it")
            platform = candidate.target.platform
            found = image_inventory(candidate.image, platform, candidate.target, candidate.hashes)
            self._inventory.append(found)
        return self._inventory[0]


def _annotations(candidate: Candidate, created: str) -> dict[str, str]:
    """What the registry's side says of the image; equal for equal images."""
    target = candidate.target
    return {
        "org.opencontainers.image.title": target.id,
        "org.opencontainers.image.description": target.summary,
        "org.opencontainers.image.created": created,
        f"{NAMESPACE}.target": target.id,
        simulated.LABEL: "false",
        LABEL: candidate.key,
        **(simulated.simulated_labels(target) if candidate.simulated else {}),
    }


def pack_image(candidate: Candidate, blobs: Blobs) -> PackedImage:
    """``candidate`` with its layers compressed, into ``blobs`` or from there.

    Raises:
        EngineError: the engine does not hand it out.
        FileError: a blob cannot be written.
    """
    details = engine.image_details(candidate.image)
    built_for = f"{details.get('Os')}/{details.get('Architecture')}"
    if built_for != candidate.target.platform:
        what = f"{candidate.name} is for {built_for}, not {candidate.target.platform}."
        raise EngineError(Problem(what=what, fix="Build it again, with --force."))
    console.say(f"{candidate.target.id}: compressing what is new in {candidate.name}")
    diff_ids = details["RootFS"].get("Layers") or []
    packed = blobs.pack(candidate.image, diff_ids, lambda: engine.saved(candidate.image))
    created = str(json.loads(packed.config).get("created") or "")
    annotations = _annotations(candidate, created)
    layers = [each.blob for each in packed.layers]
    manifest = image_manifest(packed.config_descriptor, layers, annotations)
    return PackedImage(candidate=candidate, packed=packed, manifest=manifest, created=created)


def image_push(
    project: Project, publishing: Publishing, repository: Repository, each: PackedImage
) -> ImagePush:
    """What goes into ``repository`` of a parcel, with the tags that publish.yaml gives it."""
    target, key = each.candidate.target, each.candidate.key
    simulate = each.candidate.simulated
    return ImagePush(
        name=target.id,
        platforms=(target.platform,),
        configs=frozenset({each.packed.config_descriptor.digest}),
        immutable=publishing.immutable_tag(target.id, key, simulate=simulate),
        moving=publishing.moving_tags(target.id, simulate=simulate),
        diff_ids={layer.blob.digest: layer.diff_id for layer in each.packed.layers},
        seal=lambda: _seal(project, publishing, repository, each),
    )


def _seal(
    project: Project, publishing: Publishing, repository: Repository, each: PackedImage
) -> OciContent:
    target = each.candidate.target
    tag = publishing.immutable_tag(target.id, each.candidate.key, simulate=each.candidate.simulated)
    manifest, attested = attestation.attestation_manifest(
        each.manifest.digest, _statements(project, str(repository), tag, each)
    )
    statements = Document(media_type=MANIFEST, content=attestation.encoded(manifest))
    entry = attestation.index_entry(each.manifest.digest, manifest)
    attesting = statements.descriptor(ATTESTED, **entry["annotations"])
    layers = [
        Blob(descriptor=layer.blob, content=opener(layer.path)) for layer in each.packed.layers
    ]
    types = {
        part["digest"]: part["mediaType"] for part in [manifest["config"], *manifest["layers"]]
    }
    return OciContent(
        name=target.id,
        blobs=(
            *layers,
            blob_of(CONFIG, each.packed.config),
            *(blob_of(types[digest], content) for digest, content in attested.items()),
        ),
        documents=(
            each.manifest,
            statements,
            image_index(
                [each.manifest.descriptor(target.platform), attesting],
                _annotations(each.candidate, each.created),
            ),
        ),
    )


def _statements(
    project: Project, repository: str, tag: str, each: PackedImage
) -> Sequence[Mapping[str, Any]]:
    """The bill of materials and the provenance, about the manifest of the platform."""
    candidate = each.candidate
    target, inventory, digest = candidate.target, each.inventory(), each.manifest.digest
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    bill = spdx(target, inventory, image_digest=digest, created=now, reference=repository)
    architectures, images = bases(target), local_images(base_names(target))
    made = slsa(
        target,
        inventory,
        key=candidate.key,
        source=Source(
            commit=git.commit(project.root),
            repository=git.address(project.root),
            changed=candidate.differs,
        ),
        lock=candidate.lock.wheels,
        build_stage=parse_lock(read_text(project.build_lock)).wheels,
        bases={
            name: UsedBase(
                base=wanted,
                architecture=architecture,
                used=base.identity(wanted, architecture, images),
            )
            for name, (wanted, architecture) in architectures.items()
        },
        builder=builder(finished=each.created),
    )
    name = attestation.subject_name(repository, tag, target.platform)
    return [
        attestation.statement(name, digest, attestation.SPDX, bill),
        attestation.statement(name, digest, attestation.SLSA, made),
    ]


def platform_indexes(publishing: Publishing, arrived: Sequence[PushedImage]) -> list[ImagePush]:
    """The images for several platforms of which ``arrived`` has every part."""
    found = []
    parts = {each.image_push.name: each for each in arrived}
    for tag, ids in publishing.indexes.items():
        here = [parts[name] for name in ids if name in parts]
        if len(here) == len(ids):
            found.append(_joined(publishing, tag, here))
        elif here:
            missing = ", ".join(name for name in ids if name not in parts)
            console.say(f"{tag} stays as it is: {missing} would have to be pushed with it")
    return found


def _joined(publishing: Publishing, tag: str, parts: Sequence[PushedImage]) -> ImagePush:
    entries: list[Descriptor] = []
    for part in parts:
        entries += manifest_contents(part.root).manifests
    simulate = any(
        manifest_contents(part.root).annotations.get(simulated.LABEL) == "true" for part in parts
    )
    name = publishing.index_tag(tag, simulate=simulate)
    annotations = {
        "org.opencontainers.image.title": tag,
        simulated.LABEL: str(simulate).lower(),
    }
    index = image_index(entries, annotations)
    return ImagePush(
        name=name,
        platforms=tuple(each.platform for each in entries if each.platform != ATTESTED),
        configs=frozenset(),
        immutable="",
        moving=(name,),
        diff_ids={},
        seal=lambda: OciContent(name=name, blobs=(), documents=(index,)),
    )
