# SPDX-License-Identifier: Apache-2.0
"""A registry that lies: digests are those of the bytes, and what it names has limits."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO

import pytest
import zstandard

from cannery.common.errors import CanneryError, FileError
from cannery.common.references import Reference
from cannery.matrix.project import Project
from cannery.publish.attestations import PREDICATE, SPDX
from cannery.publish.policy import Publishing
from cannery.publish.promote import Promotion
from cannery.publish.scan import bills
from cannery.registry import transfer
from cannery.registry.client import Repository
from cannery.registry.http import RETRIES, RegistryError
from cannery.registry.image_archive import unpacked
from cannery.registry.oci import (
    ATTESTED,
    CONFIG,
    INDEX,
    LAYERS,
    MANIFEST,
    Descriptor,
    Document,
    digest_of,
    document,
    image_index,
    image_manifest,
    manifest_contents,
)
from cannery.registry.transfer import TagMover, closure, read_back, read_tags
from tests.unit.http_servers import Handler, answering
from tests.unit.matrices import CHECKOUT

BRIEF = replace(RETRIES, tries=2, pause=0.001)
BLOB = b"{}"


def image(name: str) -> Document:
    config = Descriptor(media_type=CONFIG, digest=digest_of(BLOB), size=len(BLOB))
    return image_manifest(config, [], {"name": name})


A, B = image("a"), image("b")
PLATFORM = "linux/arm64"


@dataclass
class Store:
    """The manifests of a registry by tag and by digest, and what it says of them."""

    documents: dict[str, Document] = field(default_factory=dict)
    digest_header: Callable[[Document], str] = lambda document: document.digest
    written: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def keep(self, *documents: Document, **tags: Document) -> None:
        self.documents |= {document.digest: document for document in (*documents, *tags.values())}
        self.documents |= tags


class Registry(Handler):
    """Answers from ``store``, which each test makes."""

    store: Store

    def answer(self) -> None:
        kind, name = self.path.split("/")[-2:]
        if self.path == "/v2/":
            self.reply(200, b"")
        elif kind == "blobs":
            self.reply(200, BLOB if name == digest_of(BLOB) else b"other")
        elif self.command == "PUT":
            content = self.rfile.read(int(self.headers["Content-Length"]))
            stored = Document(media_type=self.headers["Content-Type"], content=content)
            self.store.written.append(name)
            self.store.documents[name] = self.store.documents[stored.digest] = stored
            self.reply(201, b"", Docker_Content_Digest=self.store.digest_header(stored))
        elif name in self.store.documents:
            self.store.asked.append(name)
            document = self.store.documents[name]
            headers = {"Content_Type": document.media_type}
            if digest := self.store.digest_header(document):
                headers["Docker_Content_Digest"] = digest
            body = b"" if self.command == "HEAD" else document.content
            self.reply(200, body, **headers)
        else:
            self.reply(404, b"")

    do_HEAD = do_PUT = do_POST = answer  # noqa: N815


@pytest.fixture
def store() -> Store:
    Registry.store = Store()
    return Registry.store


@pytest.fixture
def repository(store: Store) -> Iterator[Repository]:
    with answering(Registry) as url:
        yield Repository(url.rpartition("/")[2], "ascend", retries=BRIEF)


HEADERS: Mapping[str, Callable[[Document], str]] = {
    "right": lambda document: document.digest,
    "of another image": lambda _: B.digest,
    "absent": lambda _: "",
    "sha512": lambda _: "sha512:" + "0" * 128,
    "upper case": lambda document: document.digest.upper(),
    "any text": lambda _: "latest\x1b[2J",
}


@pytest.mark.parametrize("header", HEADERS.values(), ids=HEADERS)
def test_a_digest_is_that_of_the_bytes(
    store: Store, repository: Repository, header: Callable[[Document], str]
) -> None:
    store.keep(one=A)
    store.digest_header = header
    assert repository.resolve("one") == A.digest
    assert repository.resolve(A.digest) == A.digest
    assert repository.resolve("none") == ""
    assert repository.put_manifest("two", A) in (A.digest, B.digest)


@pytest.mark.parametrize("header", HEADERS.values(), ids=HEADERS)
def test_other_bytes_under_a_pinned_digest_are_refused(
    store: Store, repository: Repository, header: Callable[[Document], str]
) -> None:
    store.documents[A.digest] = B
    store.digest_header = header
    for ask in (repository.resolve, repository.manifest):
        with pytest.raises(RegistryError, match="does not match its digest"):
            ask(A.digest)
    with pytest.raises(RegistryError, match="does not match its digest"):
        closure(repository, A.digest)


def promotion(repository: Repository, digest: str) -> Promotion:
    place = Reference(registry=repository.host, repository=repository.name)
    return Promotion(
        source=repository,
        destination=repository,
        image=replace(place, digest=digest),
        place=replace(place, tag="prod"),
        publishing=Publishing(repository="ascend", immutable="", moving=""),
        allow=("unrecorded",),
    )


@pytest.mark.parametrize("header", HEADERS.values(), ids=HEADERS)
def test_promote_holds_a_pinned_digest(
    store: Store, repository: Repository, header: Callable[[Document], str]
) -> None:
    """HEAD of the pinned digest names another image, which must not get the tag."""
    store.keep(A, B, prod=A)
    before = dict(store.documents)
    store.documents[A.digest] = B
    store.digest_header = header
    with pytest.raises(CanneryError, match="does not match its digest"):
        promotion(repository, A.digest).run([])
    assert store.written == []
    assert store.documents["prod"] == before["prod"]


@pytest.mark.parametrize("header", [HEADERS["absent"], HEADERS["upper case"]])
def test_a_tag_moves_without_the_optional_header(
    store: Store, repository: Repository, header: Callable[[Document], str]
) -> None:
    store.keep(A)
    store.digest_header = header
    assert promotion(repository, A.digest).run([]) == (A.digest, ("prod",))
    assert store.documents["prod"] == A


def test_a_tag_that_names_other_bytes_than_were_put_is_an_error(
    store: Store, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer to PUT and to HEAD has the right digest, and the tag names another image."""
    store.keep(A, B)
    store.digest_header = lambda _: A.digest
    put = Repository.put_manifest

    def swapped(self: Repository, version: str, document: Document) -> str:
        digest = put(self, version, document)
        store.documents[version] = B
        return digest

    monkeypatch.setattr(Repository, "put_manifest", swapped)
    with pytest.raises(CanneryError, match=f"was set to {A.digest} but names {B.digest}"):
        TagMover(repository, read_tags(repository, ["prod"]), {A.digest}).move({"prod": A})


def chain(length: int, store: Store, *, wide: int = 1) -> Document:
    """An index in an index and so on, each of which names the next ``wide`` times."""
    inner = A
    store.keep(A)
    for _ in range(length):
        inner = image_index([inner.descriptor(PLATFORM)] * wide, {})
        store.keep(inner)
    return inner


def test_a_chain_of_indexes_has_a_limit_that_the_message_names(
    store: Store, repository: Repository
) -> None:
    root = chain(1500, store)
    with pytest.raises(RegistryError, match="indexes inside of each other, and 8 are the limit"):
        closure(repository, root.digest)
    assert len(store.asked) < 20


def test_each_digest_is_read_once(store: Store, repository: Repository) -> None:
    root = chain(7, store, wide=2)
    documents = closure(repository, root.digest)
    assert [d.digest for d in documents[:1]] == [A.digest]
    assert documents[-1] == root
    assert len(store.asked) == len(documents) == 8


def test_the_number_of_manifests_has_a_limit_that_the_message_names(
    store: Store, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer, "MOST_MANIFESTS", 20)
    images = [image(str(number)) for number in range(25)]
    root = image_index([manifest.descriptor(PLATFORM) for manifest in images], {})
    store.keep(root, *images)
    with pytest.raises(RegistryError, match="more than 20 manifests"):
        closure(repository, root.digest)
    assert len(store.asked) <= 20


def test_the_size_of_all_manifests_has_a_limit_that_the_message_names(
    store: Store, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer, "MOST_BYTES", 10_000)
    images = [image(str(number) + "x" * 4000) for number in range(5)]
    root = image_index([manifest.descriptor(PLATFORM) for manifest in images], {})
    store.keep(root, *images)
    with pytest.raises(RegistryError, match="manifests of more than 10,000 bytes"):
        closure(repository, root.digest)


BYTES = [bytes([number]) for number in range(4)]


def test_the_number_of_blobs_has_a_limit_that_the_message_names(
    store: Store, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy asks the other registry about every one."""
    monkeypatch.setattr(transfer, "MOST_BLOBS", 3)
    config, *layers = [Descriptor(media_type=CONFIG, digest=digest_of(b), size=1) for b in BYTES]
    root = image_manifest(config, layers, {})
    store.keep(root)
    with pytest.raises(RegistryError, match="more than 3 blobs"):
        closure(repository, root.digest)


ENTRY: dict[str, Any] = A.descriptor(PLATFORM).to_json()
BAD: Mapping[str, tuple[dict[str, Any], str]] = {
    "sha512": ({**ENTRY, "digest": "sha512:" + "0" * 128}, "sha256"),
    "upper case": ({**ENTRY, "digest": A.digest.upper()}, "sha256"),
    "another size": ({**ENTRY, "size": 7}, "has .* bytes, and 7 were named"),
    "a size of 31 digits": ({**ENTRY, "size": 10**30}, "size"),
}


@pytest.mark.parametrize(("entry", "message"), BAD.values(), ids=BAD)
def test_a_wrong_entry_of_an_index_is_refused(
    store: Store, repository: Repository, entry: dict[str, Any], message: str
) -> None:
    root = document({"schemaVersion": 2, "mediaType": INDEX, "manifests": [entry]})
    store.keep(A, root)
    with pytest.raises(RegistryError, match=message):
        closure(repository, root.digest)


@pytest.mark.parametrize("size", [1, 3, 10**30])
def test_a_blob_of_another_size_is_refused(store: Store, repository: Repository, size: int) -> None:
    config = {"mediaType": CONFIG, "digest": digest_of(BLOB), "size": size}
    root = document({"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": []})
    store.keep(root)
    with pytest.raises(RegistryError, match=r"bytes|size"):
        read_back(repository, root.digest, {}, set())


AMBIGUOUS = {
    "an index with layers": {"mediaType": INDEX, "manifests": [ENTRY], "layers": []},
    "an image with manifests": {"mediaType": MANIFEST, "config": ENTRY, "manifests": []},
}


@pytest.mark.parametrize("content", AMBIGUOUS.values(), ids=AMBIGUOUS)
def test_a_document_that_is_an_index_and_an_image_is_neither(content: dict[str, Any]) -> None:
    """Clients read it in one way or the other (CVE-2021-41190)."""
    with pytest.raises(ValueError, match="both an index and an image"):
        manifest_contents(document(content))


def test_a_document_of_another_type_than_the_answer_names_is_refused(
    store: Store, repository: Repository
) -> None:
    lying = replace(A, media_type=INDEX)
    store.keep(lying)
    with pytest.raises(RegistryError, match=re.escape(f"is of the type {MANIFEST}")):
        closure(repository, A.digest)


def test_a_layer_that_is_larger_than_the_disk_is_not_copied(
    store: Store, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    layer = Descriptor(media_type=LAYERS["zstd"], digest=digest_of(b"huge"), size=1 << 40)
    config = Descriptor(media_type=CONFIG, digest=digest_of(BLOB), size=len(BLOB))
    root = image_manifest(config, [layer], {})
    store.keep(root)
    there = Repository(repository.host.replace("127.0.0.1", "localhost"), "there", retries=BRIEF)
    monkeypatch.setattr(Repository, "has", lambda *_: False)
    sent: list[str] = []

    def put_blob(
        _: Repository, blob: Descriptor, content: Callable[[], BinaryIO], *, mount: str
    ) -> None:
        with content() as stream:
            sent.append(blob.digest + mount + str(len(stream.read())))

    monkeypatch.setattr(Repository, "put_blob", put_blob)
    with pytest.raises(FileError, match="no space left"):
        transfer.copy(repository, there, [root])
    assert sent == [f"{config.digest}2"]


def test_a_layer_that_unpacks_to_more_than_a_limit_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("cannery.registry.image_archive.LARGEST", 1 << 20)
    content = zstandard.ZstdCompressor().compress(bytes(64 << 20))
    layer = Descriptor(media_type=LAYERS["zstd"], digest=digest_of(content), size=len(content))
    with pytest.raises(ValueError, match="unpacks to more than 1,048,576 bytes"):
        unpacked(layer, iter([content]))


def test_an_attested_sbom_of_a_terabyte_is_not_read(store: Store, repository: Repository) -> None:
    config = Descriptor(media_type=CONFIG, digest=digest_of(BLOB), size=len(BLOB))
    sbom = Descriptor(
        media_type="application/vnd.in-toto+json",
        digest=digest_of(b"sbom"),
        size=1 << 40,
        annotations={PREDICATE: SPDX},
    )
    statements = image_manifest(config, [sbom], {})
    store.keep(statements, one=image_index([statements.descriptor(ATTESTED)], {}))
    with pytest.raises(RegistryError, match="and 268,435,456 are the limit"):
        bills(Project(root=CHECKOUT), [repository.at("one")], None)


def test_a_layer_of_another_digest_is_refused(store: Store, repository: Repository) -> None:
    config = Descriptor(media_type=CONFIG, digest=digest_of(BLOB), size=len(BLOB))
    layer = Descriptor(media_type=LAYERS["zstd"], digest=digest_of(b"right"), size=5)
    root = image_manifest(config, [layer], {})
    store.keep(root)
    with pytest.raises(RegistryError, match="does not match its digest"):
        read_back(repository, root.digest, {}, set())


def test_the_store_of_the_tests_keeps_what_is_put(store: Store, repository: Repository) -> None:
    assert repository.put_manifest("one", A) == A.digest
    assert json.loads(store.documents["one"].content)["annotations"] == {"name": "a"}
