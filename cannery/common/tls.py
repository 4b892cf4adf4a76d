# SPDX-License-Identifier: Apache-2.0
"""Trust in the certificates of servers."""

from __future__ import annotations

import ssl
from collections.abc import Iterable
from pathlib import Path

from cannery.common.errors import EngineError, Problem


def tls_context(files: Iterable[Path]) -> ssl.SSLContext:
    """Trusts the certificates of this machine (or of SSL_CERT_FILE) and those in ``files``."""
    context = ssl.create_default_context()
    for file in files:
        try:
            context.load_verify_locations(file)
        except (OSError, ssl.SSLError) as error:
            what = f"{file} has no certificates that can be read: {error}."
            fix = "It must be a text file with certificates in PEM form."
            raise EngineError(Problem(what=what, fix=fix)) from error
    return context
