# SPDX-License-Identifier: Apache-2.0
"""The client against a real registry: keys of published images, certificates, and errors."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from cannery.building.planning import published_key, published_repository
from cannery.common.errors import EngineError, UsageError
from cannery.registry.client import Repository
from cannery.registry.http import RegistryError
from cannery.registry.oci import CONFIG, Descriptor, Document, image_index, image_manifest

from .conftest import HURRIED, Login
from .servers import Authority, Between, Fault, Server, free_port, registry

ARM, INTEL = "linux/arm64", "linux/amd64"
KEY = {"config": {"Labels": {"io.cannery.key": "sha256:1"}}}


def put_image(repository: Repository, config: Any, tag: str = "") -> Document:
    """Store an image whose config holds ``config``."""
    content = json.dumps(config).encode()
    blob = Document(media_type=CONFIG, content=content).descriptor()
    repository.put_blob(blob, lambda: io.BytesIO(content))
    result = image_manifest(blob, [], {})
    repository.put_manifest(tag or result.digest, result)
    return result


CONFIGS: dict[str, tuple[Any, str]] = {
    "a key": (KEY, "sha256:1"),
    "no key": ({"config": {"Labels": {"a": "b"}}}, ""),
    "no labels": ({"config": {}}, ""),
    "labels that are null": ({"config": {"Labels": None}}, ""),
    "no config": ({}, ""),
}


@pytest.mark.parametrize(("config", "key"), CONFIGS.values(), ids=CONFIGS)
def test_the_key_is_in_the_config(repository: Repository, config: Any, key: str) -> None:
    put_image(repository, config, "full")
    assert published_key(repository, "full", ARM) == key


def test_each_platform_of_an_index_has_its_key(repository: Repository) -> None:
    arm = put_image(repository, KEY)
    intel = put_image(repository, {"config": {"Labels": {"io.cannery.key": "sha256:2"}}})
    index = image_index([arm.descriptor(ARM), intel.descriptor(INTEL)], {})
    repository.put_manifest("both", index)
    assert published_key(repository, "both", ARM) == "sha256:1"
    assert published_key(repository, "both", INTEL) == "sha256:2"
    assert published_key(repository, "both", "linux/riscv64") == ""


@pytest.mark.parametrize(
    ("config", "output"),
    [
        ([], "the config sha256:.* is not an object"),
        ("text", "the config sha256:.* is not an object"),
        ({"config": ["Labels"]}, "full is not an image that can be read"),
    ],
    ids=str,
)
def test_an_invalid_config_of_an_image_is_refused(
    repository: Repository, config: Any, output: str
) -> None:
    put_image(repository, config, "full")
    with pytest.raises(RegistryError, match=output):
        published_key(repository, "full", ARM)


def test_an_index_whose_image_is_gone(repository: Repository, line: Between) -> None:
    arm = put_image(repository, KEY)
    repository.put_manifest("both", image_index([arm.descriptor(ARM)], {}))
    line.faults.append(Fault(f"^GET .*/manifests/{arm.digest}", status=404))
    with pytest.raises(RegistryError, match="both is not an image that can be read"):
        published_key(repository, "both", ARM)


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (401, "rejects the login that docker has stored for it: 401"),
        (403, "denies access: 403"),
        (500, "full cannot be read: 500"),
        (503, "has answered 503 3 times"),
        (429, "its rate limit is reached"),
    ],
)
def test_a_refusal_is_never_a_missing_tag(
    repository: Repository, line: Between, status: int, message: str
) -> None:
    put_image(repository, KEY, "full")
    line.faults.append(Fault("^GET .*/manifests/full", status=status))
    with pytest.raises(RegistryError, match=message) as caught:
        published_key(repository, "full", ARM)
    assert caught.value.status == status
    assert (f"docker login {line.host}" in str(caught.value)) == (status in (401, 403))


def test_credentials_are_those_of_docker_login(
    repository: Repository, line: Between, login: Login
) -> None:
    put_image(repository, KEY, "full")
    login("elsewhere.example.com")
    stranger = Repository(line.host, "ascend", ca=repository.ca, retries=HURRIED)
    with pytest.raises(RegistryError, match="docker has stored none for it") as caught:
        published_key(stranger, "full", ARM)
    assert caught.value.status == 401


def test_an_unreachable_registry_is_reported() -> None:
    repository = Repository(f"127.0.0.1:{free_port()}", "ascend", retries=HURRIED)
    with pytest.raises(
        RegistryError, match=r"cannot be reached or breaks off: .*refused"
    ) as caught:
        published_key(repository, "full", ARM)
    assert caught.value.status == 0


def test_an_untrusted_certificate_is_refused(repository: Repository, line: Between) -> None:
    stranger = Repository(line.host, "ascend", retries=HURRIED)
    with pytest.raises(RegistryError, match=r"the certificate of .* is not trusted: .* --ca FILE"):
        published_key(stranger, "full", ARM)


class Elsewhere(Authority):
    """Issues certificates that are not for this machine."""

    def issue(self, folder: Path) -> Path:
        path = folder / "server.pem"
        made = self.ca.issue_cert("elsewhere.example.com")
        made.private_key_and_cert_chain_pem.write_to_path(str(path))
        return path


def test_a_certificate_for_another_name(tmp_path: Path, authority: Authority) -> None:
    """The message does not offer --ca, which would not help."""
    elsewhere = Elsewhere(ca=authority.ca, file=authority.file)
    with registry(tmp_path / "other", authority=elsewhere) as server:
        stranger = Repository(server.host, "ascend", ca=authority.file, retries=HURRIED)
        with pytest.raises(RegistryError, match=r"is not trusted: .*not valid for") as caught:
            published_key(stranger, "full", ARM)
        assert "needs a valid certificate for this name" in str(caught.value)
        assert "--ca" not in str(caught.value)


def test_a_repository_by_its_name(
    tmp_path: Path, authority: Authority, login: Login, repository: Repository, line: Between
) -> None:
    put_image(repository, KEY, "full")
    result = published_repository(f"{line.host}/ascend", authority.file)
    assert published_key(result, "full", ARM) == "sha256:1"
    with registry(tmp_path / "plain", login=True) as server:
        login(server.host)
        plain = published_repository(f"{server.host}/team/ascend", None)
        assert published_key(plain, "full", ARM) is None


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ascend", "'ascend' does not name a registry"),
        ("registry.example.com", "does not name a repository"),
        ("registry.example.com/ascend:full", r"has a tag .* Write registry.example.com/ascend\."),
        ("https://registry.example.com/ascend", "invalid image reference"),
    ],
)
def test_invalid_names_of_repositories(name: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        published_repository(name, None)


@pytest.mark.parametrize("text", [None, "no certificate"], ids=["no file", "no certificate"])
def test_an_unreadable_file_of_certificates_is_refused(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "ca.pem").write_text(text, encoding="utf-8")
    with pytest.raises(EngineError, match="has no certificates that can be read"):
        published_repository("registry.example.com/ascend", tmp_path / "ca.pem")


def test_an_answer_without_a_manifest_is_refused(repository: Repository, line: Between) -> None:
    line.faults.append(Fault("^GET .*/manifests/full", status=200))
    with pytest.raises(RegistryError, match="full is not an image that can be read"):
        published_key(repository, "full", ARM)


def descriptor_of(media_type: str, content: bytes) -> Descriptor:
    return Document(media_type=media_type, content=content).descriptor()


def test_a_blob_with_another_digest_is_refused(repository: Repository) -> None:
    blob = descriptor_of("application/octet-stream", b"one")
    with pytest.raises(RegistryError, match=r"refuses the blob .* DIGEST_INVALID"):
        repository.put_blob(blob, lambda: io.BytesIO(b"two"))
    assert not repository.has("blobs", blob.digest)


def test_a_registry_of_this_machine_without_tls(tmp_path: Path, login: Login) -> None:
    with registry(tmp_path / "plain", login=True) as server:
        login(server.host)
        repository = Repository(server.host, "ascend", retries=HURRIED)
        put_image(repository, KEY, "one")
        assert repository.resolve("one")


def test_plain_http_on_this_machine_only(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cannery.common.http.is_loopback", lambda _: False)
    with pytest.raises(RegistryError, match="has no TLS"):
        Repository(server.host, "ascend", retries=HURRIED).resolve("one")


def test_certificates_of_the_engine_are_trusted(
    line: Between, authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "certs.d" / line.host
    folder.mkdir(parents=True)
    (folder / "ca.crt").write_bytes(authority.file.read_bytes())
    monkeypatch.setattr("cannery.registry.http._CERTIFICATES", tmp_path / "certs.d")
    assert Repository(line.host, "ascend", retries=HURRIED).resolve("one") == ""
