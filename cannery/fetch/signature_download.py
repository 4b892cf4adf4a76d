# SPDX-License-Identifier: Apache-2.0
"""Gets the signature and the revocation list that a server may have beside a file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from cannery.common.sources import Address
from cannery.fetch.http import Client, TransferError
from cannery.fetch.unzip import LARGEST_SIGNATURE, Signed


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
