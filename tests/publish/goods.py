# SPDX-License-Identifier: Apache-2.0
"""Small images that are published as the real ones are, and what is done with them on the way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cannery.publish.transaction import ImagePush, PushedImage, PushHooks, Transaction
from cannery.registry.client import Repository
from cannery.registry.http import RETRIES
from cannery.registry.image_archive import Blobs, opener
from cannery.registry.oci import CONFIG, image_index, image_manifest
from cannery.registry.records import RecordFile
from cannery.registry.transfer import Blob, OciContent, blob_of
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
        blobs = [Blob(descriptor=each.blob, content=opener(each.path)) for each in packed.layers]
        return OciContent(
            name=name,
            blobs=(blob_of(CONFIG, packed.config), *blobs),
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


@dataclass
class Push:
    """A push whose hooks only log what they were called with; ``releases`` gets the records.

    With ``beside``, another push writes this into the record meanwhile.
    """

    repository: Repository
    releases: Path
    log: list[str] = field(default_factory=list)
    fails_at: str = ""
    beside: str = ""
    with_what: BaseException = field(default_factory=KeyboardInterrupt)

    def __call__(self, *image_pushes: ImagePush) -> list[PushedImage]:
        hooks = PushHooks(
            check_taken=self._check_taken,
            platform_indexes=lambda _: (),
            test=self._test,
            sign=self._sign,
            records=self._records,
        )
        return Transaction(self.repository, hooks).run(image_pushes)

    def _note(self, what: str) -> None:
        self.log.append(what)
        if what == self.fails_at:
            raise self.with_what

    def _check_taken(self, pushed: PushedImage) -> None:
        self._note(f"taken {pushed.image_push.name}")

    def _test(self, pushed: PushedImage) -> None:
        self._note(f"test {pushed.image_push.name}")

    def _sign(self, pushed: PushedImage) -> None:
        self._note(f"sign {pushed.image_push.name}")

    def _records(self, pushed: Sequence[PushedImage]) -> list[RecordFile]:
        self._note("records")
        found = [
            RecordFile(path=path, text=each.root.digest, before=None)
            for each in pushed
            if not (path := self._record(each.image_push)).exists()
        ]
        if self.beside:
            [record] = found
            record.path.parent.mkdir(parents=True, exist_ok=True)
            record.path.write_text(self.beside, encoding="utf-8")
        return found

    def _record(self, image_push: ImagePush) -> Path:
        return self.releases / image_push.name / f"{image_push.immutable}.json"

    def tags(self) -> dict[str, str]:
        """Every tag of the repository with what it names."""
        return {tag: self.repository.resolve(tag) for tag in self.repository.tags()}

    def recorded(self) -> list[str]:
        return sorted(path.name for path in self.releases.rglob("*") if path.is_file())


def unmoved(push: Push, before: dict[str, str]) -> None:
    """Assert that nothing has changed that anybody could see."""
    push.repository = Repository(
        push.repository.host, "ascend", ca=push.repository.ca, retries=RETRIES
    )
    assert push.tags() == before
    assert push.recorded() == ["full-1.json"]
