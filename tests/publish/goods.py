# SPDX-License-Identifier: Apache-2.0
"""Small images that are published as the real ones are, and what is done with them on the way."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path

from cannery.publish.oci_image import platform_indexes
from cannery.publish.policy import Publishing
from cannery.publish.transaction import ImagePush, PushedImage, Transaction
from cannery.registry.client import Repository
from cannery.registry.http import RETRIES
from cannery.registry.image_archive import Blobs
from cannery.registry.oci import CONFIG, Document, image_index, image_manifest
from cannery.registry.records import RecordFile
from cannery.registry.transfer import OciContent, in_memory
from tests.unit.archives import Saved, layer, pieces


def image_push(
    folder: Path,
    name: str = "full",
    version: str = "1",
    *,
    platform: str = "linux/arm64",
    immutable: str = "",
    moving: tuple[str, ...] | None = None,
    size: int = 200_000,
    compression: str = "zstd",
    build: str = "",
) -> ImagePush:
    """An image of a base, the same in all, and a layer that another ``build`` makes otherwise."""
    layers = (layer("base", size), layer(f"{name} {version}{build}", size))
    saved = Saved(layers=layers, labels={"io.cannery.key": version}, platform=platform)
    packed = Blobs(folder=folder / "blobs", compression=compression).pack(
        saved.image, saved.diff_ids, lambda: pieces(saved.layout("plain"))
    )
    annotations = {"io.cannery.target": name}
    manifest = image_manifest(
        packed.config_descriptor, [each.blob for each in packed.layers], annotations
    )

    def content() -> OciContent:
        entry = manifest.descriptor(platform)
        config = in_memory(Document(media_type=CONFIG, content=packed.config))
        return OciContent(
            name=name,
            blobs={**config, **{layer.blob: layer.open for layer in packed.layers}},
            documents=(manifest, image_index([entry], annotations)),
        )

    return ImagePush(
        name=name,
        platforms=(platform,),
        key=version,
        config=packed.config_descriptor.digest,
        immutable=immutable or f"{name}-{version}",
        moving=(name, "latest") if moving is None else moving,
        diff_ids={each.blob.digest: each.diff_id for each in packed.layers},
        content=content,
    )


class Push(Transaction):
    """A push whose steps only log that they ran; ``releases`` gets the records.

    With ``beside``, another push writes this into the record meanwhile. ``earlier`` are images of
    targets that were published before.
    """

    def __init__(self, repository: Repository, releases: Path) -> None:
        super().__init__(repository, releases.with_name("push.lock"))
        self.releases = releases
        self.log: list[str] = []
        self.fails_at = ""
        self.error: BaseException = KeyboardInterrupt()
        self.beside = ""
        self.publishing = Publishing(repository="ascend", immutable="", moving="")
        self.earlier: dict[str, Document] = {}

    def __call__(self, *image_pushes: ImagePush) -> list[PushedImage]:
        fresh = copy.copy(self)
        Transaction.__init__(fresh, self.repository, self.lock)
        return fresh.publish(image_pushes)

    def _note(self, step: str) -> None:
        self.log.append(step)
        if step == self.fails_at:
            raise self.error

    def check_taken(self, pushed: PushedImage) -> None:
        self._note(f"taken {pushed.image_push.name}")

    def platform_indexes(self, pushed: Sequence[PushedImage]) -> Sequence[ImagePush]:
        return platform_indexes(self.publishing, pushed, lambda name, _: self.earlier.get(name))

    def test(self, pushed: PushedImage) -> None:
        self._note(f"test {pushed.image_push.name}")

    def sign(self, pushed: PushedImage) -> None:
        self._note(f"sign {pushed.image_push.name}")

    def records(self, pushed: Sequence[PushedImage]) -> list[RecordFile]:
        self._note("records")
        files = [
            RecordFile(path=path, text=image.root.digest, before=None)
            for image in pushed
            if not (path := self._record(image.image_push)).exists()
        ]
        if self.beside:
            [record] = files
            record.path.parent.mkdir(parents=True, exist_ok=True)
            record.path.write_text(self.beside, encoding="utf-8")
        return files

    def _record(self, image_push: ImagePush) -> Path:
        return self.releases / image_push.name / f"{image_push.immutable}.json"

    def tags(self) -> dict[str, str]:
        return tags_of(self.repository)

    def recorded(self) -> list[str]:
        return sorted(path.name for path in self.releases.rglob("*") if path.is_file())


def unmoved(push: Push, before: dict[str, str]) -> None:
    """Assert that nothing has changed that anybody could see."""
    push.repository = Repository(
        push.repository.host, "ascend", ca=push.repository.ca, retries=RETRIES
    )
    assert push.tags() == before
    assert push.recorded() == ["full-1.json"]


def tags_of(repository: Repository) -> dict[str, str]:
    """Every tag of the repository with the digest that it names."""
    response = repository._http.request("GET", f"/v2/{repository.name}/tags/list")
    tags = response.json().get("tags") or []
    return {tag: repository.resolve(tag) for tag in sorted(tags)}
