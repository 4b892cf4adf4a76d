# SPDX-License-Identifier: Apache-2.0
"""The vendor's signatures, with certificates of the tests."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from cannery.common.errors import ArtifactError, EngineError, FileError
from cannery.fetch.fetcher import Terms
from tests.fetch.fetches import a_file, fetcher, in_zip, zipped
from tests.fetch.server import Files, serving

CONTENT = b"#!/bin/sh\n" + b"payload" * 1000
_CA = """\
[ca]
default_ca = own
[own]
database = {folder}/index.txt
crlnumber = {folder}/crlnumber
default_md = sha256
default_crl_days = 30
"""


@dataclass(frozen=True)
class Vendor:
    """A root certificate, a signer, and revocation lists without and with the signer."""

    folder: Path

    @property
    def root(self) -> Path:
        return self.folder / "root.pem"

    def openssl(self, *words: str) -> None:
        subprocess.run(["openssl", *words], cwd=self.folder, check=True, capture_output=True)

    def sign(self, content: bytes) -> bytes:
        (self.folder / "content").write_bytes(content)
        self.openssl(
            *("cms", "-sign", "-binary", "-in", "content", "-signer", "signer.pem"),
            *("-inkey", "signer.key", "-outform", "DER", "-out", "content.cms"),
        )
        return (self.folder / "content.cms").read_bytes()

    def revocations(self, name: str) -> bytes:
        return (self.folder / f"{name}.crl").read_bytes()


@pytest.fixture(scope="module")
def vendor(tmp_path_factory: pytest.TempPathFactory) -> Vendor:
    vendor = Vendor(tmp_path_factory.mktemp("vendor"))
    key = ("-newkey", "rsa:2048", "-nodes")
    vendor.openssl(
        "req", "-x509", *key, "-keyout", "root.key", "-out", "root.pem", "-subj", "/CN=R"
    )
    vendor.openssl("req", *key, "-keyout", "signer.key", "-out", "signer.csr", "-subj", "/CN=S")
    vendor.openssl(
        *("x509", "-req", "-in", "signer.csr", "-CA", "root.pem", "-CAkey", "root.key"),
        *("-CAcreateserial", "-out", "signer.pem"),
    )
    (vendor.folder / "index.txt").touch()
    (vendor.folder / "crlnumber").write_text("01\n", encoding="ascii")
    (vendor.folder / "ca.cnf").write_text(_CA.format(folder=vendor.folder), encoding="utf-8")
    own = ("ca", "-config", "ca.cnf", "-cert", "root.pem", "-keyfile", "root.key")
    vendor.openssl(*own, "-gencrl", "-out", "good.crl")
    vendor.openssl(*own, "-revoke", "signer.pem")
    vendor.openssl(*own, "-gencrl", "-out", "revoked.pem")
    vendor.openssl("crl", "-in", "revoked.pem", "-outform", "DER", "-out", "revoked.crl")
    return vendor


@pytest.fixture(scope="module")
def server() -> Iterator[Files]:
    with serving() as files:
        yield files


def fetched(server: Files, root: Path, ca: Path | None, **members: bytes) -> str:
    """What the record says of the signature of a zip with ``members``; ``_`` is for a dot."""
    archive = zipped({name.replace("_", "."): each for name, each in members.items()})
    server.content = {"toolkit.zip": archive}
    own = fetcher(root, terms=Terms(cann_ca=ca))
    found = own.fetch(in_zip(CONTENT, archive, [server.address("toolkit.zip")]))
    record = own.store.record(found.sha256)
    assert record
    return record.signature


def test_a_valid_signature(vendor: Vendor, server: Files, tmp_path: Path) -> None:
    inner = zipped({"toolkit.run": CONTENT})
    members = {"a_zip": inner, "a_zip_cms": vendor.sign(inner)}
    good = {**members, "a_zip_crl": vendor.revocations("good")}
    assert fetched(server, tmp_path / "1", vendor.root, **members) == "verified"
    assert fetched(server, tmp_path / "2", vendor.root, **good) == "verified"
    assert fetched(server, tmp_path / "3", None, **good).startswith("not verified: cannery.toml")


@pytest.mark.parametrize("kind", ["content", "damaged", "issuer", "revoked", "list"])
def test_a_signature_that_is_not_valid(
    kind: str, vendor: Vendor, server: Files, tmp_path: Path
) -> None:
    inner = zipped({"toolkit.run": CONTENT})
    members = {"a_zip": inner, "a_zip_cms": vendor.sign(inner)}
    ca = vendor.root
    if kind == "content":
        members["a_zip"] = zipped({"toolkit.run": CONTENT + b"\n"})
    elif kind == "damaged":
        members["a_zip_cms"] = b"no signature"
    elif kind == "issuer":
        ca = vendor.folder / "signer.pem"
    else:
        lists = {"revoked": vendor.revocations("revoked"), "list": b"no list"}
        members["a_zip_crl"] = lists[kind]
    with pytest.raises(ArtifactError, match=r"the signature of toolkit.zip is not valid. openssl"):
        fetched(server, tmp_path, ca, **members)
    assert not [*tmp_path.glob("sha256/*/*")]


def test_a_signature_beside_a_file(vendor: Vendor, server: Files, tmp_path: Path) -> None:
    file = a_file(CONTENT, [server.address("toolkit.run")])
    server.content = {"toolkit.run": CONTENT, "toolkit.run.cms": vendor.sign(CONTENT)}
    own = fetcher(tmp_path / "1", terms=Terms(cann_ca=vendor.root))
    record = own.store.record(own.fetch(file).sha256)
    assert record
    assert record.signature == "verified"
    server.content["toolkit.run.cms"] = vendor.sign(b"another file")
    with pytest.raises(ArtifactError, match=r"the signature of toolkit.run is not valid"):
        fetcher(tmp_path / "2", terms=Terms(cann_ca=vendor.root)).fetch(file)
    del server.content["toolkit.run.cms"]
    assert fetcher(tmp_path / "3", terms=Terms(cann_ca=vendor.root)).fetch(file).path.exists()


def test_without_the_certificate_or_openssl(
    vendor: Vendor, server: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    members = {"toolkit_run": CONTENT, "toolkit_run_cms": vendor.sign(CONTENT)}
    with pytest.raises(FileError, match=r"named in cannery.toml as sources.cann-ca"):
        fetched(server, tmp_path, tmp_path / "no.pem", **members)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EngineError, match=r"openssl, which verifies signatures, cannot be run"):
        fetched(server, tmp_path, vendor.root, **members)
