# SPDX-License-Identifier: Apache-2.0
"""``build.py push``: publishes images of this machine under tags in a registry, and records it."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cannery.building import git
from cannery.building.selection import Selection
from cannery.common import console
from cannery.common.clock import now
from cannery.common.errors import Problem, VerificationError, counted
from cannery.common.urls import is_loopback
from cannery.deploy.run_spec import no_device
from cannery.engine import client as engine
from cannery.matrix.project import Project
from cannery.publish import cosign
from cannery.publish.oci_image import PackedImage, image_push, pack_image, platform_indexes
from cannery.publish.policy import Publishing
from cannery.publish.provenance import PREDICATE, SLSA, SPDX
from cannery.publish.pushable import PushOptions, candidates
from cannery.publish.transaction import PushedImage, PushHooks, Transaction, images_in
from cannery.registry.client import Repository
from cannery.registry.image_archive import Blobs
from cannery.registry.oci import ATTESTED, manifest_contents
from cannery.registry.records import (
    LayerRecord,
    PlatformImage,
    Record,
    RecordFile,
    difference,
    latest,
    read_records,
    record_file,
)
from cannery.verify.image_checks import components
from cannery.verify.run_checks import Subject, verify
from cannery.verify.verification import results, to_brief

SMOKE = ("os", "python", "torch", "mindspore")
"""The components whose checks run again on the image that was pulled from the registry."""

_NAMES = {SPDX: "sbom", SLSA: "provenance"}

Smoke = Callable[[PackedImage, str], None]
"""Tries out a pulled image, given its local id."""


@dataclass
class Push:
    """A push into ``repository``; ``smoke`` replaces the quick checks of pulled images."""

    project: Project
    publishing: Publishing
    repository: Repository
    options: PushOptions
    smoke: Smoke | None = None

    def run(self, selection: Selection) -> list[PushedImage]:
        """Publish the images of ``selection``, all or none.

        Raises:
            PublishError: an image may not be pushed, or a tag names another image.
            CanneryError: anything else; the last problem says what state the tags are in.
        """
        found = candidates(self.project, selection, self.options)
        # An unreadable record has to be found before anything is sent.
        earlier = read_records(self.project.releases)
        # A wrong password has to be found before everything is compressed.
        self.repository.tags()
        blobs = Blobs(folder=self.project.state / "blobs", compression=self.options.compression)
        packed = {each.target.id: pack_image(each, blobs) for each in found}
        image_pushes = [
            image_push(self.project, self.publishing, self.repository, each)
            for each in packed.values()
        ]
        hooks = PushHooks(
            platform_indexes=lambda pushed: platform_indexes(self.publishing, pushed),
            test=lambda pushed: self._test(packed, pushed),
            sign=self._sign,
            records=lambda pushed: self._records(packed, pushed, earlier),
        )
        return Transaction(self.repository, hooks).run(image_pushes)

    def _test(self, packed: Mapping[str, PackedImage], pushed: PushedImage) -> None:
        """Pull the image by its digest and try it out."""
        for platform in pushed.image_push.platforms:
            name, digest = str(self.repository), pushed.root.digest
            if engine.image_id(f"{name}@{digest}"):
                # An engine may keep one platform of a name, and this one can be another's.
                parts = manifest_contents(pushed.root).manifests
                digest = next((each.digest for each in parts if each.platform == platform), digest)
            had = engine.image_id(f"{name}@{digest}")
            console.say(f"{pushed.image_push.name}: pulling {name}@{digest} for {platform}")
            try:
                image = engine.pull_digest(name, digest, platform, self.repository.login)
                # An index for several platforms was not packed, and its parts are tested.
                if own := packed.get(pushed.image_push.name):
                    (self.smoke or self._smoke)(own, image)
            finally:
                if not had:
                    engine.remove_name(f"{name}@{digest}")

    def _smoke(self, each: PackedImage, image: str) -> None:
        target = each.candidate.target
        have = {"os", *target.components}
        only = [name for name in components(self.project) if name in SMOKE and name in have]
        name = f"{target.id}, pulled from {self.repository.host}"
        result = verify(
            self.project,
            Subject(target=target, image=image, name=name, simulated=each.candidate.simulated),
            [no_device()],
            only=only,
        )
        console.show_result(to_brief(result), failed=bool(result.failed))
        if result.failed:
            what = f"{name}: {counted(len(result.failed), 'check')} failed."
            fix = "The image differs from the local one: look at the failed checks above."
            raise VerificationError(Problem(what=what, fix=fix))

    def _sign(self, pushed: PushedImage) -> None:
        signing_key = self.options.signing_key
        if not signing_key:
            return
        reference = self.repository.at(pushed.root.digest)
        console.say(f"signing {reference}")
        plain = is_loopback(self.repository.host) and not self.repository.ca
        transport = cosign.Transport(ca=self.repository.ca, plain=plain)
        cosign.sign(reference, signing_key, transport=transport)
        with tempfile.TemporaryDirectory(prefix="cannery-key-") as folder:
            public_key = Path(folder) / "cosign.pub"
            public_key.write_text(cosign.public_key(signing_key), encoding="utf-8")
            cosign.verify(reference, str(public_key), transport=transport)

    def _records(
        self,
        packed: Mapping[str, PackedImage],
        pushed: Sequence[PushedImage],
        earlier: Sequence[Record],
    ) -> list[RecordFile]:
        """The records of ``pushed`` that do not exist yet."""
        found = []
        for each in pushed:
            if own := packed.get(each.image_push.name):
                record = self._record(own, each, earlier)
                if file := record_file(self.project.releases, record, earlier):
                    found.append(file)
        return found

    def _record(self, own: PackedImage, pushed: PushedImage, earlier: Sequence[Record]) -> Record:
        candidate = own.candidate
        target = candidate.target
        packages = own.inventory().versions
        tag = pushed.image_push.immutable
        comparable = [
            record
            for record in earlier
            if record.simulated == candidate.simulated and record.tag != tag
        ]
        last = latest(comparable, target.id)
        return Record(
            target=target.id,
            tag=tag,
            tags=pushed.image_push.moving,
            key=candidate.key,
            registry=self.repository.host,
            repository=self.repository.name,
            digest=pushed.root.digest,
            simulated=candidate.simulated,
            pushed=now(),
            commit=git.commit(self.project.root),
            platforms={target.platform: self._image(own, pushed)},
            components=target.components,
            packages=packages,
            changes=difference(last.tag, last.packages, packages)
            if last
            else difference("", {}, {}),
            verified=results(candidate.report) if candidate.report else (),
            attestations=_attestations(pushed),
            signed=bool(self.options.signing_key),
        )

    def _image(self, own: PackedImage, pushed: PushedImage) -> PlatformImage:
        """The image in the registry, whose layers an earlier push may have compressed otherwise."""
        [manifest] = images_in(pushed.documents)
        config, *blobs = manifest_contents(manifest).blobs
        names = [layer.name for layer in own.candidate.layers]
        base = ["base"] * (len(blobs) - len(names))
        layers = tuple(
            LayerRecord(digest=blob.digest, diff_id=layer.diff_id, size=blob.size, name=name)
            for blob, layer, name in zip(
                blobs, own.packed.layers, [*base, *names][-len(blobs) :], strict=True
            )
        )
        return PlatformImage(
            digest=manifest.digest,
            config=config.digest,
            size=config.size + sum(each.size for each in layers),
            layers=layers,
        )


def _attestations(pushed: PushedImage) -> dict[str, str]:
    """The kind of each attestation of the image, and its digest."""
    entries = manifest_contents(pushed.root).manifests
    attesting = {each.digest for each in entries if each.platform == ATTESTED}
    found = {}
    for document in pushed.documents:
        if document.digest in attesting:
            loaded: dict[str, Any] = json.loads(document.content)
            for layer in loaded["layers"]:
                kind = layer["annotations"][PREDICATE]
                found[_NAMES.get(kind, kind)] = str(layer["digest"])
    return found
