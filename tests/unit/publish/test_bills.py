# SPDX-License-Identifier: Apache-2.0
"""SBOMs out of a registry, of published targets, and of targets that are not built."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cannery.common.errors import EngineError, FileError, UsageError
from cannery.publish.attestations import (
    SLSA,
    SPDX,
    attestation_manifest,
    encoded,
    index_entry,
)
from cannery.publish.scan import bills, published_bills
from cannery.registry.oci import INDEX, MANIFEST, digest_of
from tests.unit.http_servers import Handler, answering
from tests.unit.matrices import Checkout
from tests.unit.publications import keep, record

IMAGE = "sha256:" + "ab" * 32
SBOM: dict[str, Any] = {"spdxVersion": "SPDX-2.3", "packages": []}


def stored(*predicates: tuple[str, dict[str, Any]]) -> tuple[dict[str, tuple[str, bytes]], str]:
    """What a registry has of an image with these attestations, by digest, and its index."""
    manifest, blobs = attestation_manifest("x", IMAGE, dict(predicates))
    index = encoded({"mediaType": INDEX, "manifests": [index_entry(IMAGE, manifest).to_json()]})
    result = {each.digest: ("application/octet-stream", each.content) for each in blobs}
    result[manifest.digest] = (MANIFEST, manifest.content)
    result[digest_of(index)] = (INDEX, index)
    return result, digest_of(index)


@pytest.fixture
def registry() -> Iterator[tuple[str, dict[str, tuple[str, bytes]]]]:
    """The host of a registry, and what it has."""
    content: dict[str, tuple[str, bytes]] = {}

    class Registry(Handler):
        def answer(self) -> None:
            kind, body = content.get(self.path.rpartition("/")[2], ("", b""))
            headers = {"Docker_Content_Digest": digest_of(body)} if body else {}
            self.reply(200 if body else 404, body, Content_Type=kind, **headers)

    with answering(Registry) as address:
        yield address.removeprefix("http://"), content


Hub = tuple[str, dict[str, tuple[str, bytes]]]


def test_the_sbom_of_an_image_in_a_registry(checkout: Checkout, registry: Hub) -> None:
    host, content = registry
    more, digest = stored((SLSA, {}), (SPDX, SBOM))
    content.update(more)
    [result] = bills(checkout.project, [f"{host}/ascend@{digest}"], None)
    assert result.document["predicate"] == SBOM


def test_an_image_without_an_sbom(checkout: Checkout, registry: Hub) -> None:
    host, content = registry
    more, digest = stored((SLSA, {}))
    content.update(more)
    with pytest.raises(UsageError, match=r"has no SBOM\. 'build\.py push' adds one"):
        bills(checkout.project, [f"{host}/ascend@{digest}"], None)


def test_all_invalid_references_at_once(checkout: Checkout, registry: Hub) -> None:
    host, _ = registry
    names = [f"{host}/ascend", f"{host}/ascend:none", "none.json"]
    with pytest.raises(UsageError) as caught:
        bills(checkout.project, names, None)
    first, second, third = map(str, caught.value.problems)
    assert first.startswith(f"{host}/ascend has neither a tag nor a digest.")
    assert second.startswith(f"{host}/ascend:none does not exist.")
    assert third == "there is no file none.json."


def test_an_invalid_index(checkout: Checkout, registry: Hub) -> None:
    host, content = registry
    body = b'{"manifests": 7}'
    content[digest_of(body)] = (INDEX, body)
    with pytest.raises(FileError, match="is not a manifest"):
        bills(checkout.project, [f"{host}/ascend@{digest_of(body)}"], None)


def test_published_targets(
    checkout: Checkout, registry: Hub, capsys: pytest.CaptureFixture[str]
) -> None:
    host, content = registry
    more, digest = stored((SPDX, SBOM))
    content.update(more)
    project = checkout.project
    target, *others = project.matrix().targets
    pushed = replace(record(), target=target, registry=host, repository="ascend", digest=digest)
    keep(project.releases, pushed)
    [result] = published_bills(project, (), None)
    assert (result.name, result.notes) == (target, (f"image {host}/ascend@{digest}",))
    assert f"{others[0]} is not published" in capsys.readouterr().err


def no_engine(_: object) -> None:
    raise EngineError("there is no engine.")


def test_the_sbom_of_an_unbuilt_target_is_from_its_lock(
    checkout: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cannery.publish.scan.local_images", no_engine)
    project = checkout.project
    target = next(iter(project.matrix().targets))
    [result] = bills(project, [target], None)
    assert result.name == target
    assert result.notes[0].startswith("its image is not on this machine")
    assert "pkg:pypi/" in json.dumps(result.document)


def test_an_invalid_sbom_file_is_an_error(checkout: Checkout, tmp_path: Path) -> None:
    path = tmp_path / "sbom.json"
    path.write_text("{\n]", encoding="utf-8")
    with pytest.raises(FileError, match=r"sbom\.json:2:1: the file is not JSON"):
        bills(checkout.project, [str(path)], None)
