# SPDX-License-Identifier: Apache-2.0
"""``build.py push``: publishes images of this machine under tags in a registry, and records it."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from cannery.building import git
from cannery.building.planning import Selection
from cannery.common import console
from cannery.common.errors import EngineError, Problem, PublishError, VerificationError, counted
from cannery.common.files import now
from cannery.common.outside import MOST_CONFIG, parse_json
from cannery.deploy.run_spec import no_device
from cannery.engine import client as engine
from cannery.image.plan import plan_image
from cannery.matrix.project import Project
from cannery.publish import cosign
from cannery.publish.attestations import PREDICATE, SLSA, SPDX
from cannery.publish.oci_image import PackedImage, image_push, pack_image, platform_indexes
from cannery.publish.policy import Publishing
from cannery.publish.push_checks import PushOptions, candidates
from cannery.publish.transaction import (
    ImagePush,
    PushedImage,
    Transaction,
    content_of,
    images_in,
)
from cannery.registry.client import Repository
from cannery.registry.image_archive import Blobs
from cannery.registry.oci import ATTESTED, Document, manifest_contents
from cannery.registry.records import (
    Changes,
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
from cannery.verify.verification import complete_results, to_brief

SMOKE = ("os", "python", "torch", "mindspore")
"""The components whose checks run again on the image that was pulled from the registry."""

_NAMES = {SPDX: "sbom", SLSA: "provenance"}

_UNVOUCHED = (
    "only its content key says so: it differs from the image here, releases/ has no record of it, "
    "and without --key its signature was not checked"
)


class Push(Transaction):
    """A push of local images into ``repository``.

    An image that was published before with the same content key, by another build of it, is taken:
    its tag and its digest stay, and the rest of the push goes on with it.
    """

    def __init__(
        self,
        project: Project,
        publishing: Publishing,
        repository: Repository,
        options: PushOptions,
    ) -> None:
        super().__init__(repository, project.state / "push.lock")
        self.project = project
        self.publishing = publishing
        self.options = options
        self.packed: dict[str, PackedImage] = {}
        """The image on this machine by the name of its push."""
        self.earlier: tuple[Record, ...] = ()

    def run(self, selection: Selection) -> list[PushedImage]:
        """Publish the images of ``selection``, all or none.

        The last problem of an error says what state the tags are in.
        """
        images = candidates(self.project, selection, self.options)
        # An unreadable record has to be found before anything is sent.
        self.earlier = read_records(self.project.releases)
        # A wrong password has to be found before everything is compressed.
        self.repository.resolve("latest")
        blobs = Blobs(folder=self.project.state / "blobs", compression=self.options.compression)
        self.packed = {image.target.id: pack_image(image, blobs) for image in images}
        return self.publish(
            [
                image_push(self.project, self.publishing, self.repository, image)
                for image in self.packed.values()
            ]
        )

    def check_taken(self, pushed: PushedImage) -> None:
        tag = self.repository.at(pushed.image_push.immutable)
        digest, name = pushed.root.digest, pushed.image_push.name
        record = self._recorded(pushed)
        if record and record.digest != digest:
            what = f"{tag} names {digest}, and the record in {self.project.releases.name}/ says "
            fix = (
                "Find out who has moved the tag. Remove the record if it is of a push that was "
                "killed, or delete the tag in the registry if the record is right; then push again."
            )
            raise PublishError(Problem(what=f"{what}{record.digest}.", fix=fix))
        if missing := sorted({*_NAMES.values()} - {*_attestations(pushed)}):
            what = f"{tag} has the content key of this image, but no {' and no '.join(missing)}."
            fix = "Find out who has pushed it, delete the tag in the registry, and push again."
            raise PublishError(Problem(what=what, fix=fix))
        reasons = ["its record names it"] if record else []
        if self.options.signing_key:
            try:
                self._verify(pushed)
            except EngineError as error:
                what = f"{tag} was published before."
                fix = "If you trust it, sign it with cosign; else delete its tag. Then push again."
                error.problems = (*error.problems, Problem(what=what, fix=fix))
                raise
            reasons.append("it is signed with the key")
        if _same_content(self.packed[name], pushed):
            reasons.append("it has the same files and settings as the image here")
        console.say(f"{name}: {tag} has the same content key and stays as it is: {digest}")
        console.say(f"{name}: {'; '.join(reasons) or _UNVOUCHED}", "" if reasons else "warning")

    def _recorded(self, pushed: PushedImage) -> Record | None:
        """The record of the immutable tag of ``pushed`` in this repository."""
        place, tag = str(self.repository), pushed.image_push.immutable
        return next((r for r in self.earlier if (r.place, r.tag) == (place, tag)), None)

    def platform_indexes(self, pushed: Sequence[PushedImage]) -> Sequence[ImagePush]:
        return platform_indexes(self.publishing, pushed, self._published_before)

    def _published_before(self, name: str, simulated: bool) -> Document | None:
        """The newest image of target ``name`` in this repository, if its versions are today's."""
        place, target = str(self.repository), self.project.matrix().targets[name]
        here = [r for r in self.earlier if (r.place, r.simulated) == (place, simulated)]
        record = latest(here, name)
        if record is None or record.components != target.components:
            return None
        return self.repository.manifest(record.digest)

    def test(self, pushed: PushedImage) -> None:
        """Pull the image by its digest and try it out."""
        for platform in pushed.image_push.platforms:
            name, digest = str(self.repository), pushed.root.digest
            if engine.image_id(f"{name}@{digest}"):
                # An engine may keep one platform of a name, and this one can be another's.
                parts = manifest_contents(pushed.root).manifests
                digest = next((part.digest for part in parts if part.platform == platform), digest)
            had = engine.image_id(f"{name}@{digest}")
            console.say(f"{pushed.image_push.name}: pulling {name}@{digest} for {platform}")
            try:
                image = engine.pull_digest(name, digest, platform, self.repository.login)
                # An index for several platforms was not packed, and its parts are tested.
                if local := self.packed.get(pushed.image_push.name):
                    self.smoke(local, image)
                    if not (_same_content(local, pushed) or self._recorded(pushed)):
                        # The missing record is that of the published image, which has passed only
                        # the quick checks.
                        candidate = replace(local.candidate, image=image, report="")
                        published = replace(local, candidate=candidate)
                        assert published.inventory  # Read while the engine has the image.
                        self.packed[pushed.image_push.name] = published
            finally:
                if not had:
                    engine.remove_name(f"{name}@{digest}")

    def smoke(self, packed: PackedImage, image: str) -> None:
        """Run the quick checks on the pulled image with the id ``image``."""
        target = packed.candidate.target
        have = {"os", *target.components}
        only = [name for name in components(self.project) if name in SMOKE and name in have]
        name = f"{target.id}, pulled from {self.repository.host}"
        result = verify(
            self.project,
            Subject(target=target, image=image, name=name, simulated=packed.candidate.simulated),
            [no_device()],
            only=only,
        )
        console.show_result(to_brief(result), failed=bool(result.failed))
        if result.failed:
            what = f"{name}: {counted(len(result.failed), 'check')} failed."
            fix = "The image differs from the local one: look at the failed checks above."
            raise VerificationError(Problem(what=what, fix=fix))

    def sign(self, pushed: PushedImage) -> None:
        if self.options.signing_key:
            reference = self.repository.at(pushed.root.digest)
            console.say(f"signing {reference}")
            cosign.sign(reference, self.options.signing_key, cosign.connection(self.repository))
            self._verify(pushed)

    def _verify(self, pushed: PushedImage) -> None:
        """Check that ``pushed`` is signed with the key of this push."""
        reference, signing_key = self.repository.at(pushed.root.digest), self.options.signing_key
        with tempfile.TemporaryDirectory(prefix="cannery-key-") as folder:
            public_key = Path(folder) / "cosign.pub"
            public_key.write_text(cosign.public_key(signing_key), encoding="utf-8")
            cosign.verify(reference, str(public_key), cosign.connection(self.repository))

    def records(self, pushed: Sequence[PushedImage]) -> list[RecordFile]:
        """The files of the records of ``pushed`` that do not exist yet."""
        self.earlier = read_records(self.project.releases)
        files = [
            record_file(self.project.releases, self._record(local, image), self.earlier)
            for image in pushed
            if (local := self.packed.get(image.image_push.name))
        ]
        return [file for file in files if file]

    def _record(self, local: PackedImage, pushed: PushedImage) -> Record:
        candidate = local.candidate
        target = candidate.target
        packages = local.inventory.versions
        tag = pushed.image_push.immutable
        comparable = [
            record
            for record in self.earlier
            if record.simulated == candidate.simulated and record.tag != tag
        ]
        last = latest(comparable, target.id)
        # An earlier push may have compressed the layers in the registry otherwise.
        [manifest] = images_in(pushed.documents)
        config, *blobs = manifest_contents(manifest).blobs
        names = [layer.name for layer in plan_image(target, candidate.lock).layers]
        base = ["base"] * (len(blobs) - len(names))
        layers = tuple(
            LayerRecord(
                digest=blob.digest, diff_id=pushed.diff_ids[blob.digest], size=blob.size, name=name
            )
            for blob, name in zip(blobs, [*base, *names][-len(blobs) :], strict=True)
        )
        image = PlatformImage(
            digest=manifest.digest,
            config=config.digest,
            size=config.size + sum(layer.size for layer in layers),
            layers=layers,
        )
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
            platforms={target.platform: image},
            components=target.components,
            packages=packages,
            changes=difference(last.tag, last.packages, packages) if last else Changes(),
            verified=complete_results(candidate.report),
            attestations=_attestations(pushed),
            signed=bool(self.options.signing_key),
        )


def _attestations(pushed: PushedImage) -> dict[str, str]:
    """The kind of each attestation of the image, and its digest."""
    entries = manifest_contents(pushed.root).manifests
    attesting = {entry.digest for entry in entries if entry.platform == ATTESTED}
    documents = [document for document in pushed.documents if document.digest in attesting]
    blobs = [blob for document in documents for blob in manifest_contents(document).blobs]
    kinds = {blob.annotations.get(PREDICATE, ""): blob.digest for blob in blobs}
    return {_NAMES.get(kind, kind): digest for kind, digest in kinds.items() if kind}


def _same_content(local: PackedImage, pushed: PushedImage) -> bool:
    """True if ``pushed`` is the image ``local``, or differs from it in labels only."""
    config = parse_json(local.packed.config, most=MOST_CONFIG)
    return not pushed.taken or pushed.taken.content == content_of(config)
