# SPDX-License-Identifier: Apache-2.0
"""Downloads the vendor's signatures (CMS, detached, DER), and verifies them with openssl."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from cannery.common.errors import ArtifactError, EngineError, FileError, Problem, file_error
from cannery.common.files import read_text
from cannery.common.process import run
from cannery.common.sources import Address
from cannery.fetch.http import Client, TransferError
from cannery.fetch.unzip import LARGEST_SIGNATURE, Signed

NOT_VERIFIED = "not verified: cannery.toml names no certificate (sources.cann-ca)"
VERIFIED = "verified"


def verify(signed: Signed, name: str, ca: Path | None) -> str:
    """Whether the signature of ``signed`` was verified with the certificates in ``ca``, as text.

    ``name`` is what people know the file as.

    Raises:
        ArtifactError: the signature is not valid, or its certificate was revoked.
        EngineError: openssl is not installed.
        FileError: ``ca`` cannot be read.
    """
    if ca is None:
        return NOT_VERIFIED
    trusted = signed.signature.with_name("trusted.pem")
    argv = ["openssl", "cms", "-verify", "-inform", "DER", "-binary", "-no_check_time"]
    argv += ["-purpose", "any", "-content", str(signed.content), "-in", str(signed.signature)]
    argv += ["-CAfile", str(trusted), "-out", "/dev/null"]
    text = _certificates(ca)
    if signed.revocations:
        text += _revocations(signed.revocations, name)
        argv.append("-crl_check")
    try:
        trusted.write_text(text, encoding="utf-8")
    except OSError as error:
        raise file_error("write", trusted, error) from error
    code, said = _openssl(argv)
    if code:
        raise _refused(name, said)
    return VERIFIED


def _certificates(ca: Path) -> str:
    try:
        return read_text(ca)
    except FileNotFoundError as error:
        what = f"there is no file {ca}, named in cannery.toml as sources.cann-ca."
        raise FileError(Problem(what=what, fix="Correct the path.")) from error


def _revocations(path: Path, name: str) -> str:
    """The revocation list ``path``, in whatever form it is, as PEM."""
    for form in ("PEM", "DER"):
        code, said = _openssl(["openssl", "crl", "-inform", form, "-in", str(path)])
        if not code:
            return said
    raise _refused(name, said)


def _openssl(argv: list[str]) -> tuple[int, str]:
    try:
        return run(argv, capture=True)
    except EngineError as error:
        fix = "Install openssl, or remove sources.cann-ca from cannery.toml to go without."
        what = "the program openssl, which verifies signatures, cannot be run."
        raise EngineError(Problem(what=what, fix=fix)) from error


def _refused(name: str, said: str) -> ArtifactError:
    lines = [line for line in said.strip().splitlines() if "rror" in line] or [said.strip()]
    what = f"the signature of {name} is not valid. openssl says: {'; '.join(lines)[:500]}"
    fix = "The file was not stored. Compare the certificate in sources.cann-ca with Huawei's."
    return ArtifactError(Problem(what=what, fix=fix))


def signed_beside(client: Client, address: Address, content: Path, folder: Path) -> Signed | None:
    """``content``, which is from ``address``, with its signature; None if the server has none.

    Raises:
        TransferError: the server does not say whether it has one.
    """
    signature = _small(client, address, ".cms", folder)
    if signature is None:
        return None
    revocations = _small(client, address, ".crl", folder)
    return Signed(content=content, signature=signature, revocations=revocations)


def _small(client: Client, address: Address, suffix: str, folder: Path) -> Path | None:
    parts = urlsplit(address.url)
    url = parts._replace(path=parts.path + suffix).geturl()
    path = folder / f"beside{suffix}"
    try:
        path.write_bytes(client.small(replace(address, url=url), LARGEST_SIGNATURE))
    except TransferError as error:
        if error.is_absent:
            return None
        raise TransferError(f"its {suffix} file: {error}", final=True) from error
    return path
