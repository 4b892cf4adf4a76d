# SPDX-License-Identifier: Apache-2.0
"""The client against a real registry: what it keeps, what it lists, and whom it believes."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from cannery.common.errors import EngineError
from cannery.registry.client import Repository
from cannery.registry.http import Http, RegistryError
from cannery.registry.oci import CONFIG, MANIFEST, Descriptor, Document, image_manifest

from .conftest import HURRIED, Login
from .servers import Authority, Between, Fault, Server, registry


def descriptor_of(media_type: str, content: bytes) -> Descriptor:
    return Document(media_type=media_type, content=content).descriptor()


def put_image(repository: Repository, *tags: str) -> Document:
    config = descriptor_of(CONFIG, b"{}")
    repository.put_blob(config, lambda: io.BytesIO(b"{}"))
    document = image_manifest(config, [], {"made": "for a test"})
    for version in (document.digest, *tags):
        repository.put_manifest(version, document)
    return document


def test_a_blob_comes_back_as_it_was(repository: Repository) -> None:
    content = os.urandom(3_000_000)
    blob = descriptor_of("application/octet-stream", content)
    assert not repository.has("blobs", blob.digest)
    repository.put_blob(blob, lambda: io.BytesIO(content))
    assert repository.has("blobs", blob.digest)
    assert repository.read_blob(blob, b"".join) == content


def test_a_blob_that_is_not_what_it_should_be_is_not_taken(repository: Repository) -> None:
    blob = descriptor_of("application/octet-stream", b"one")
    with pytest.raises(RegistryError, match=r"refuses the blob .* DIGEST_INVALID"):
        repository.put_blob(blob, lambda: io.BytesIO(b"two"))
    assert not repository.has("blobs", blob.digest)


def test_a_blob_is_read_again_from_its_start(repository: Repository, line: Between) -> None:
    content = os.urandom(300_000)
    blob = descriptor_of("application/octet-stream", content)
    repository.put_blob(blob, lambda: io.BytesIO(content))
    line.faults.append(Fault("^GET .*/blobs/", status=503, times=2))
    assert repository.read_blob(blob, b"".join) == content
    assert line.count("^GET .*/blobs/") == 3


def test_manifests_and_tags(repository: Repository) -> None:
    assert repository.resolve("none") == ""
    assert repository.manifest("none") is None
    document = put_image(repository, "one", "two")
    assert repository.resolve("one") == document.digest
    assert repository.manifest("two") == document
    assert document.media_type == MANIFEST


def test_a_registry_of_this_machine_without_tls(tmp_path: Path, login: Login) -> None:
    with registry(tmp_path / "plain", login=True) as server:
        login(server.host)
        repository = Repository(server.host, "ascend", retries=HURRIED)
        put_image(repository, "one")
        assert repository.resolve("one")


def test_the_password_goes_to_no_other_place(line: Between, authority: Authority) -> None:
    http = Http(line.host, ca=authority.file, retries=HURRIED)
    assert http.request("GET", "/v2/").status_code == 200
    seen: dict[str, str] = {}

    def send(method: str, url: str, **more: dict[str, str]) -> object:
        seen[url] = more["headers"].get("Authorization", "")
        raise EngineError("far enough")

    http._send = send  # type: ignore[assignment]
    for url in ("https://elsewhere.example.com/upload", f"https://{line.host}/v2/"):
        with pytest.raises(EngineError):
            http.once("PUT", url)
    assert seen["https://elsewhere.example.com/upload"] == ""
    assert seen[f"https://{line.host}/v2/"].startswith("Basic ")


def test_a_registry_that_speaks_no_tls_is_taken_on_this_machine_only(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cannery.common.http.is_loopback", lambda _: False)
    with pytest.raises(RegistryError, match="has no TLS"):
        Repository(server.host, "ascend", retries=HURRIED).resolve("one")


def test_certificates_of_the_engine_are_believed(
    line: Between, authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "certs.d" / line.host
    folder.mkdir(parents=True)
    (folder / "ca.crt").write_bytes(authority.file.read_bytes())
    monkeypatch.setattr("cannery.registry.http._CERTIFICATES", tmp_path / "certs.d")
    assert Repository(line.host, "ascend", retries=HURRIED).resolve("one") == ""


def test_a_file_without_certificates(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("no certificate", encoding="utf-8")
    with pytest.raises(EngineError, match="has no certificates that can be read"):
        Repository("registry.example.com", "ascend", ca=tmp_path / "ca.pem")
