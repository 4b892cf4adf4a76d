# SPDX-License-Identifier: Apache-2.0
"""Makes the OCI form of a local image: layers, config, manifest, attestations and index."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

from cannery.building import git
from cannery.building.bases import bases
from cannery.common import console
from cannery.common.bases import Origin
from cannery.common.errors import EngineError, Problem
from cannery.common.files import now, read_text
from cannery.common.outside import MOST_CONFIG, parse_json
from cannery.common.process import run
from cannery.engine import client as engine
from cannery.image.content_key import LABEL
from cannery.image.plan import NAMESPACE, SIMULATED_LABEL, simulated_labels
from cannery.lock.lock_file import parse_lock
from cannery.matrix.project import Project
from cannery.publish.attestations import (
    LOCAL_BUILDER,
    SLSA,
    SPDX,
    Builder,
    Inputs,
    UsedBase,
    attestation_manifest,
    index_entry,
    slsa,
    spdx,
    subject_name,
)
from cannery.publish.inventory import Inventory, image_inventory
from cannery.publish.policy import Publishing
from cannery.publish.push_checks import Candidate
from cannery.publish.transaction import ImagePush, PushedImage
from cannery.registry.client import Repository
from cannery.registry.image_archive import Blobs, Packed
from cannery.registry.oci import (
    ATTESTED,
    CONFIG,
    Document,
    image_index,
    image_manifest,
    manifest_contents,
)
from cannery.registry.transfer import OciContent, in_memory


@dataclass(frozen=True, kw_only=True)
class PackedImage:
    """A candidate with compressed layers."""

    candidate: Candidate
    packed: Packed

    @cached_property
    def inventory(self) -> Inventory:
        """The packages in the image."""
        candidate = self.candidate
        console.say(f"{candidate.target.id}: listing the packages in it")
        platform = candidate.target.platform
        return image_inventory(candidate.image, platform, candidate.target, candidate.hashes)

    @cached_property
    def created(self) -> str:
        """A time as in ``2026-11-21T12:00:00Z``."""
        return str(parse_json(self.packed.config, most=MOST_CONFIG).get("created") or "")

    @property
    def annotations(self) -> dict[str, str]:
        """The annotations of the manifest and the index; equal for equal images."""
        target = self.candidate.target
        return {
            "org.opencontainers.image.title": target.id,
            "org.opencontainers.image.description": target.summary,
            "org.opencontainers.image.created": self.created,
            f"{NAMESPACE}.target": target.id,
            SIMULATED_LABEL: "false",
            LABEL: self.candidate.key,
            **(simulated_labels(target) if self.candidate.simulated else {}),
        }

    @cached_property
    def manifest(self) -> Document:
        layers = [layer.blob for layer in self.packed.layers]
        return image_manifest(self.packed.config_descriptor, layers, self.annotations)


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
    return PackedImage(candidate=candidate, packed=packed)


def image_push(
    project: Project, publishing: Publishing, repository: Repository, image: PackedImage
) -> ImagePush:
    """The push of one packed image, with the tags that publish.yaml gives it."""
    target, simulate = image.candidate.target, image.candidate.simulated
    immutable = publishing.immutable_tag(target.id, image.candidate.key, simulate=simulate)

    def content() -> OciContent:
        name = subject_name(str(repository), immutable, target.platform)
        digest, inputs = image.manifest.digest, _inputs(project, image.candidate)
        bill = spdx(
            target,
            image.inventory,
            image_digest=digest,
            created=now(),
            reference=str(repository),
        )
        made = slsa(target, image.inventory, inputs, builder(finished=image.created))
        predicates = {SPDX: bill, SLSA: made}
        statements, attested = attestation_manifest(name, digest, predicates)
        entries = [image.manifest.descriptor(target.platform), index_entry(digest, statements)]
        config = Document(media_type=CONFIG, content=image.packed.config)
        layers = {layer.blob: layer.open for layer in image.packed.layers}
        return OciContent(
            name=target.id,
            blobs={**layers, **in_memory(config, *attested)},
            documents=(image.manifest, statements, image_index(entries, image.annotations)),
        )

    return ImagePush(
        name=target.id,
        platforms=(target.platform,),
        key=image.candidate.key,
        config=image.packed.config_descriptor.digest,
        immutable=immutable,
        moving=publishing.moving_tags(target.id, simulate=simulate),
        diff_ids={layer.blob.digest: layer.diff_id for layer in image.packed.layers},
        content=content,
    )


def _inputs(project: Project, candidate: Candidate) -> Inputs:
    """The inputs of the build that the provenance names."""
    target = candidate.target
    return Inputs(
        key=candidate.key,
        commit=git.commit(project.root),
        repository=git.origin(project.root),
        changed=candidate.differs,
        lock=candidate.lock.wheels,
        sdists={wheel.package for wheel in target.built_wheels.values()},
        builder=candidate.lock.build.wheels if candidate.lock.build else (),
        build_stage=parse_lock(read_text(project.build_lock)).wheels,
        bases={
            name: UsedBase(
                base=base,
                architecture=architecture,
                used=candidate.bases[name][1],
                bootstrapped=candidate.bases[name][0] is Origin.STAND_IN,
            )
            for name, (base, architecture) in bases(target).items()
        },
    )


Published = Callable[[str, bool], Document | None]
"""Target, and whether it is simulated, to the image that was published of it before."""


def platform_indexes(
    publishing: Publishing, pushed: Sequence[PushedImage], published: Published
) -> list[ImagePush]:
    """The indexes for several platforms with an image among ``pushed``.

    The images for other platforms are those that are ``published``; an index without one of its
    images stays as it is.
    """
    pushes = []
    roots = {image.image_push.name: image.root for image in pushed}
    for tag, ids in publishing.indexes.items():
        parts = {name: manifest_contents(roots[name]) for name in ids if name in roots}
        if not parts:
            continue
        simulate = any(p.annotations.get(SIMULATED_LABEL) == "true" for p in parts.values())
        earlier = {name: published(name, simulate) for name in ids if name not in parts}
        if missing := [name for name, root in earlier.items() if root is None]:
            others = ", ".join(missing)
            why = "releases/ has no image of today's versions of it in this registry"
            console.say(f"{tag} stays as it is: push {others} to move it; {why}")
            continue
        parts |= {name: manifest_contents(root) for name, root in earlier.items() if root}
        for name in earlier:
            console.say(f"{tag}: takes {name} as it was published before")
        entries = [entry for name in ids for entry in parts[name].manifests]
        name = publishing.index_tag(tag, simulate=simulate)
        annotations = {
            "org.opencontainers.image.title": tag,
            SIMULATED_LABEL: str(simulate).lower(),
        }
        index = image_index(entries, annotations)
        pushes.append(
            ImagePush(
                name=name,
                platforms=tuple(entry.platform for entry in entries if entry.platform != ATTESTED),
                moving=(name,),
                content=partial(OciContent, name=name, blobs={}, documents=(index,)),
            )
        )
    return pushes


_GITHUB = {"GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_RUN_ID", "GITHUB_WORKFLOW_REF"}
_GITLAB = {"CI_PROJECT_URL", "CI_RUNNER_ID", "CI_JOB_URL"}
"""Variables of a job; a runner that imitates the service may not set all of them."""

_VERSION = re.compile(r"\bv?([0-9]+\.[0-9][^\s]*)")


def builder(*, finished: str, environ: Mapping[str, str] = os.environ) -> Builder:
    """The builder of this run: a job of GitHub's or GitLab's, by its variables, or some machine.

    ``finished`` is the time of the image's build, or empty.
    """
    identity, invocation = LOCAL_BUILDER, ""
    if environ.get("GITHUB_ACTIONS") == "true" and environ.keys() >= _GITHUB:
        server, run_id = environ["GITHUB_SERVER_URL"], environ["GITHUB_RUN_ID"]
        place = f"{server}/{environ['GITHUB_REPOSITORY']}/actions/runs/{run_id}"
        invocation = f"{place}/attempts/{environ.get('GITHUB_RUN_ATTEMPT', '1')}"
        identity = f"{server}/{environ['GITHUB_WORKFLOW_REF']}"
    elif environ.get("GITLAB_CI") == "true" and environ.keys() >= _GITLAB:
        identity = f"{environ['CI_PROJECT_URL']}/-/runners/{environ['CI_RUNNER_ID']}"
        invocation = environ["CI_JOB_URL"]
    code, output = run(["docker", "buildx", "version"])
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
