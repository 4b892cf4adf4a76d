# SPDX-License-Identifier: Apache-2.0
"""Makes the OCI form of a local image: layers, config, manifest, attestations and index."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cannery.building import git
from cannery.building.bases import bases
from cannery.common import console
from cannery.common.bases import Origin
from cannery.common.errors import EngineError, Problem
from cannery.common.files import now, read_text
from cannery.common.outside import MOST_CONFIG, parse_json
from cannery.common.process import run
from cannery.engine import client as engine
from cannery.image import simulated
from cannery.image.content_key import LABEL
from cannery.image.plan import NAMESPACE
from cannery.lock.lock_file import parse_lock
from cannery.matrix.project import Project
from cannery.publish.image_inventory import image_inventory
from cannery.publish.inventory import Inventory
from cannery.publish.policy import Publishing
from cannery.publish.provenance import (
    LOCAL_BUILDER,
    SLSA,
    SPDX,
    Builder,
    Inputs,
    Source,
    UsedBase,
    attestation_manifest,
    index_entry,
    slsa,
    statement,
    subject_name,
)
from cannery.publish.push_checks import Candidate
from cannery.publish.sbom import spdx
from cannery.publish.transaction import ImagePush, PushedImage
from cannery.registry.client import Repository
from cannery.registry.image_archive import Blobs, Packed, opener
from cannery.registry.oci import (
    ATTESTED,
    CONFIG,
    Document,
    image_index,
    image_manifest,
    manifest_contents,
)
from cannery.registry.transfer import Blob, OciContent, blob_of


@dataclass(frozen=True, kw_only=True)
class PackedImage:
    """A candidate with compressed layers and their manifest; its inventory is read when needed.

    ``created`` is a time as in ``2026-11-21T12:00:00Z``.
    """

    candidate: Candidate
    packed: Packed
    manifest: Document
    created: str
    _inventory: list[Inventory] = field(default_factory=list)

    def inventory(self) -> Inventory:
        """The packages in the image."""
        if not self._inventory:
            candidate = self.candidate
            console.say(f"{candidate.target.id}: listing the packages in it")
            platform = candidate.target.platform
            self._inventory.append(
                image_inventory(candidate.image, platform, candidate.target, candidate.hashes)
            )
        return self._inventory[0]


def _annotations(candidate: Candidate, created: str) -> dict[str, str]:
    """The annotations of the manifest and the index; equal for equal images."""
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
    """Compress the layers of ``candidate``, except for those that ``blobs`` has already."""
    details = engine.image_details(candidate.image)
    built_for = f"{details.get('Os')}/{details.get('Architecture')}"
    if built_for != candidate.target.platform:
        what = f"{candidate.name} is for {built_for}, not {candidate.target.platform}."
        raise EngineError(Problem(what=what, fix="Build it again, with --force."))
    console.say(f"{candidate.target.id}: compressing new layers of {candidate.name}")
    diff_ids = details["RootFS"].get("Layers") or []
    packed = blobs.pack(candidate.image, diff_ids, lambda: engine.saved(candidate.image))
    created = str(parse_json(packed.config, most=MOST_CONFIG).get("created") or "")
    annotations = _annotations(candidate, created)
    layers = [layer.blob for layer in packed.layers]
    manifest = image_manifest(packed.config_descriptor, layers, annotations)
    return PackedImage(candidate=candidate, packed=packed, manifest=manifest, created=created)


def image_push(
    project: Project, publishing: Publishing, repository: Repository, image: PackedImage
) -> ImagePush:
    """The push of one packed image, with the tags that publish.yaml gives it."""
    target, key = image.candidate.target, image.candidate.key
    simulate = image.candidate.simulated
    immutable = publishing.immutable_tag(target.id, key, simulate=simulate)
    return ImagePush(
        name=target.id,
        platforms=(target.platform,),
        key=key,
        config=image.packed.config_descriptor.digest,
        immutable=immutable,
        moving=publishing.moving_tags(target.id, simulate=simulate),
        diff_ids={layer.blob.digest: layer.diff_id for layer in image.packed.layers},
        content=lambda: _content(project, str(repository), immutable, image),
    )


def _content(project: Project, repository: str, tag: str, image: PackedImage) -> OciContent:
    target = image.candidate.target
    statements, attested = attestation_manifest(
        image.manifest.digest, _statements(project, repository, tag, image)
    )
    attesting = index_entry(image.manifest.digest, statements)
    layers = [
        Blob(descriptor=layer.blob, content=opener(layer.path)) for layer in image.packed.layers
    ]
    return OciContent(
        name=target.id,
        blobs=(
            *layers,
            blob_of(CONFIG, image.packed.config),
            *(blob_of(blob.media_type, blob.content) for blob in attested),
        ),
        documents=(
            image.manifest,
            statements,
            image_index(
                [image.manifest.descriptor(target.platform), attesting],
                _annotations(image.candidate, image.created),
            ),
        ),
    )


def _statements(
    project: Project, repository: str, tag: str, image: PackedImage
) -> Sequence[Mapping[str, Any]]:
    """The bill of materials and the provenance of the platform's manifest."""
    candidate = image.candidate
    target, inventory, digest = candidate.target, image.inventory(), image.manifest.digest
    created = now()
    bill = spdx(target, inventory, image_digest=digest, created=created, reference=repository)
    made = slsa(
        target,
        inventory,
        Inputs(
            key=candidate.key,
            source=Source(
                commit=git.commit(project.root),
                repository=git.origin(project.root),
                changed=candidate.differs,
            ),
            lock=candidate.lock.wheels,
            sdists={wheel.package for wheel in target.built_wheels.values()},
            builder=candidate.lock.build.wheels if candidate.lock.build else (),
            build_stage=parse_lock(read_text(project.build_lock)).wheels,
            bases={
                name: UsedBase(
                    base=wanted,
                    architecture=architecture,
                    used=candidate.bases[name][1],
                    bootstrapped=candidate.bases[name][0] is Origin.STAND_IN,
                )
                for name, (wanted, architecture) in bases(target).items()
            },
        ),
        builder(finished=image.created),
    )
    name = subject_name(repository, tag, target.platform)
    return [
        statement(name, digest, SPDX, bill),
        statement(name, digest, SLSA, made),
    ]


def platform_indexes(publishing: Publishing, pushed: Sequence[PushedImage]) -> list[ImagePush]:
    """The indexes for several platforms whose images are all among ``pushed``."""
    pushes = []
    images = {image.image_push.name: image for image in pushed}
    for tag, ids in publishing.indexes.items():
        present = [images[name] for name in ids if name in images]
        if len(present) == len(ids):
            pushes.append(_platform_index(publishing, tag, present))
        elif present:
            missing = ", ".join(name for name in ids if name not in images)
            console.say(f"{tag} stays as it is: push {missing} together with the others to move it")
    return pushes


def _platform_index(publishing: Publishing, tag: str, images: Sequence[PushedImage]) -> ImagePush:
    indexes = [manifest_contents(image.root) for image in images]
    entries = [entry for index in indexes for entry in index.manifests]
    simulate = any(index.annotations.get(simulated.LABEL) == "true" for index in indexes)
    name = publishing.index_tag(tag, simulate=simulate)
    annotations = {"org.opencontainers.image.title": tag, simulated.LABEL: str(simulate).lower()}
    index = image_index(entries, annotations)
    return ImagePush(
        name=name,
        platforms=tuple(entry.platform for entry in entries if entry.platform != ATTESTED),
        key="",
        config="",
        immutable="",
        moving=(name,),
        diff_ids={},
        content=lambda: OciContent(name=name, blobs=(), documents=(index,)),
    )


_GITHUB = {"GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_RUN_ID", "GITHUB_WORKFLOW_REF"}
_GITLAB = {"CI_PROJECT_URL", "CI_RUNNER_ID", "CI_JOB_URL"}
"""Variables of a job; a runner that imitates the service may not set all of them."""

_VERSION = re.compile(r"\bv?([0-9]+\.[0-9][^\s]*)")


def builder(*, finished: str, environ: Mapping[str, str] = os.environ) -> Builder:
    """The builder of this run: a job of GitHub's or GitLab's, by its variables, or some machine.

    ``finished`` is the time of the image's build, or empty.
    """
    identity, invocation = _job(environ)
    code, output = run(["docker", "buildx", "version"], capture=True)
    match = None if code else _VERSION.search(output)
    with engine.talking() as client:
        version = str(client.version()["Version"])
    return Builder(
        id=identity,
        invocation=invocation,
        finished=finished,
        engine=version,
        buildx=match[1] if match else "",
    )


def _job(environ: Mapping[str, str]) -> tuple[str, str]:
    """The URI of the job's definition, and the URL of this run of it."""
    if environ.get("GITHUB_ACTIONS") == "true" and environ.keys() >= _GITHUB:
        server, repository = environ["GITHUB_SERVER_URL"], environ["GITHUB_REPOSITORY"]
        run_id, attempt = environ["GITHUB_RUN_ID"], environ.get("GITHUB_RUN_ATTEMPT", "1")
        place = f"{server}/{repository}/actions/runs/{run_id}/attempts/{attempt}"
        return f"{server}/{environ['GITHUB_WORKFLOW_REF']}", place
    if environ.get("GITLAB_CI") == "true" and environ.keys() >= _GITLAB:
        runner = f"{environ['CI_PROJECT_URL']}/-/runners/{environ['CI_RUNNER_ID']}"
        return runner, environ["CI_JOB_URL"]
    return LOCAL_BUILDER, ""
