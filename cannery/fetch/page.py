# SPDX-License-Identifier: Apache-2.0
"""Reads a small text from a file or a web address."""

from __future__ import annotations

from pathlib import Path

from cannery.common.errors import EngineError, MatrixError, Problem
from cannery.common.sources import Address
from cannery.common.yaml_limits import MAX_BYTES, read_limited
from cannery.fetch.http import Client, Timeouts, TransferError


def read_page(place: str, ca: Path | None) -> str:
    """The text at ``place``, a path or an address; certificates in ``ca`` are trusted, too.

    Raises:
        FileError: the file cannot be read.
        EngineError: the server does not send it.
        MatrixError: it is no text in UTF-8.
    """
    if not place.startswith(("https://", "http://")):
        return read_limited(Path(place), place)
    fix = "Save the page as a file, and name that instead."
    try:
        content = Client(ca, Timeouts()).small(Address(url=place), MAX_BYTES)
    except TransferError as error:
        raise EngineError(Problem(what=f"{place} cannot be read: {error}.", fix=fix)) from error
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise MatrixError(Problem(what=f"{place} is no text in UTF-8.", fix=fix)) from error
