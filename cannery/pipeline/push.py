# SPDX-License-Identifier: Apache-2.0
"""``build.py push``: from the images of this machine to tags in a registry, and a record of it."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cannery import console
from cannery.deploy.run_spec import no_device
from cannery.errors import Problem, VerificationError
from cannery.execute import cosign, git
from cannery.execute.engine import client as engine
from cannery.execute.engine.image_archive import Blobs
from cannery.execute.engine.verify import verify
from cannery.execute.registry.client import Repository
from cannery.execute.registry.http import is_loopback
from cannery.image.checks import components
from cannery.matrix.project import Project
from cannery.options.publish import PushOptions
from cannery.pipeline.oci_image import PackedImage, image_push, pack_image, platform_indexes
from cannery.pipeline.pushable import candidates
from cannery.pipeline.selection import Selection
from cannery.pipeline.transaction import ATTESTED, PushedImage, PushHooks, Transaction, images_in
from cannery.publish import attestation
from cannery.publish.oci import manifest_contents
from cannery.publish.policy import Publishing
from cannery.publish.records import (
    LayerRecord,
    PlatformImage,
    Record,
    difference,
    latest,
    path_of,
    read_records,
    to_text,
)
from cannery.report.tested import results

SMOKE = ("os", "python", "torch", "mindspore")
"""Of which components an image is checked again when it comes out of the registry."""

_NAMES = {attestation.SPDX: "sbom", attestation.SLSA: "provenance"}

Smoke = Callable[[PackedImage, str], None]
"""Tries the pulled image with an id out."""


@dataclass
class Push:
    """A push of ``selection`` into ``repository``."""

    project: Project
    publishing: Publishing
    repository: Repository
    options: PushOptions
    smoke: Smoke | None = None

    def run(self, selection: Selection) -> list[PushedImage]:
        """Publish the images of ``selection``, all or none.

        Raises:
            PublishError: one may not be pushed, or a tag says something else.
            CanneryError: anything else; the last problem says what became of the tags.
        """
        found = candidates(self.project, selection, self.options)
        # Before anything is sent, because a spoilt record would be found out too late.
        earlier = read_records(self.project.releases)
        # So that a wrong password is told now and not after everything has been compressed.
        self.repository.tags()
        blobs = Blobs(folder=self.project.state / "blobs", compression=self.options.compression)
        parcels = {each.target.id: pack_image(each, blobs) for each in found}
        shipments = [
            image_push(self.project, self.publishing, self.repository, each)
            for each in parcels.values()
        ]
        duties = PushHooks(
            platform_indexes=lambda arrived: platform_indexes(self.publishing, arrived),
            test=lambda arrived: self._test(parcels, arrived),
            sign=self._sign,
            records=lambda arrived: self._records(parcels, arrived, earlier),
        )
        return Transaction(self.repository, duties).run(shipments)

    def _test(self, parcels: Mapping[str, PackedImage], arrived: PushedImage) -> None:
        """Pull the image by its digest and try it out."""
        for platform in arrived.image_push.platforms:
            name, digest = str(self.repository), arrived.root.digest
            had = engine.image_id(f"{name}@{digest}")
            console.say(f"{arrived.image_push.name}: pulling {name}@{digest} for {platform}")
            try:
                image = engine.pull_digest(name, digest, platform, self.repository.login)
                if mine := parcels.get(arrived.image_push.name):
                    (self.smoke or self._smoke)(mine, image)
            finally:
                if not had:
                    engine.remove_name(f"{name}@{digest}")

    def _smoke(self, each: PackedImage, image: str) -> None:
        target = each.candidate.target
        have = {"os", *target.components}
        only = [name for name in components(self.project) if name in SMOKE and name in have]
        name = f"{target.id} as it was pulled"
        result = verify(
            self.project,
            target,
            image=image,
            name=name,
            specs=[no_device()],
            only=only,
        )
        console.show(result.to_brief())
        if result.failed:
            what = f"{name}: {len(result.failed)} checks failed."
            raise VerificationError(Problem(what=what, fix="It is not what was pushed."))

    def _sign(self, arrived: PushedImage) -> None:
        if not self.options.key:
            return
        reference = self.repository.at(arrived.root.digest)
        console.say(f"signing {reference}")
        plain = is_loopback(self.repository.host) and not self.repository.ca
        transport = cosign.Transport(ca=self.repository.ca, plain=plain)
        cosign.sign(reference, self.options.key, transport=transport)
        with tempfile.TemporaryDirectory(prefix="cannery-key-") as folder:
            key = Path(folder) / "cosign.pub"
            key.write_text(cosign.public_key(self.options.key), encoding="utf-8")
            cosign.verify(reference, str(key), transport=transport)

    def _records(
        self,
        parcels: Mapping[str, PackedImage],
        arrived: Sequence[PushedImage],
        earlier: Sequence[Record],
    ) -> Mapping[Path, str]:
        """The files that tell of what has arrived; what is told already stays as it is."""
        found = {}
        for each in arrived:
            if mine := parcels.get(each.image_push.name):
                record = self._record(mine, each, earlier)
                path = path_of(self.project.releases, record)
                if not path.exists():
                    found[path] = to_text(record)
        return found

    def _record(self, mine: PackedImage, arrived: PushedImage, earlier: Sequence[Record]) -> Record:
        candidate = mine.candidate
        target = candidate.target
        packages = mine.inventory().versions
        kind = [record for record in earlier if record.simulated == candidate.simulated]
        last = latest(kind, target.id)
        return Record(
            target=target.id,
            tag=arrived.image_push.immutable,
            tags=arrived.image_push.moving,
            key=candidate.key,
            registry=self.repository.host,
            repository=self.repository.name,
            digest=arrived.root.digest,
            simulated=candidate.simulated,
            pushed=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            commit=git.commit(self.project.root),
            platforms={target.platform: self._image(mine, arrived)},
            components=target.components,
            packages=packages,
            changes=difference(last.tag, last.packages, packages)
            if last
            else difference("", {}, {}),
            verified=results(candidate.report) if candidate.report else (),
            attestations=_attestations(arrived),
            signed=bool(self.options.key),
        )

    def _image(self, mine: PackedImage, arrived: PushedImage) -> PlatformImage:
        """What is in the registry; what was there before may be compressed otherwise."""
        [manifest] = images_in(arrived.documents)
        config, *blobs = manifest_contents(manifest).blobs
        names = [layer.name for layer in mine.candidate.layers]
        base = ["base"] * (len(blobs) - len(names))
        layers = tuple(
            LayerRecord(digest=blob.digest, diff_id=layer.diff_id, size=blob.size, name=name)
            for blob, layer, name in zip(
                blobs, mine.packed.layers, [*base, *names][-len(blobs) :], strict=True
            )
        )
        return PlatformImage(
            digest=manifest.digest,
            config=config.digest,
            size=config.size + sum(each.size for each in layers),
            layers=layers,
        )


def _attestations(arrived: PushedImage) -> dict[str, str]:
    """What each statement beside the image is about, and its digest."""
    entries = manifest_contents(arrived.root).manifests
    attesting = {each.digest for each in entries if each.platform == ATTESTED}
    found = {}
    for document in arrived.documents:
        if document.digest in attesting:
            loaded: dict[str, Any] = json.loads(document.content)
            for layer in loaded["layers"]:
                kind = layer["annotations"]["in-toto.io/predicate-type"]
                found[_NAMES.get(kind, kind)] = str(layer["digest"])
    return found
