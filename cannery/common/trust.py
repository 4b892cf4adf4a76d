# SPDX-License-Identifier: Apache-2.0
"""Which certificates HTTPS trusts, for all connections of build.py itself."""

from __future__ import annotations

import ssl
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from requests.adapters import HTTPAdapter

from cannery.common.errors import EngineError, Problem

UNKNOWN_ISSUER = (18, 19, 20, 21)
"""OpenSSL's codes (X509_V_ERR) for certificates whose issuer is not among the trusted ones."""


class Trusting(HTTPAdapter):
    """Connects to servers, and to proxies, that ``context`` trusts."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self._context = context
        super().__init__()

    def init_poolmanager(self, *arguments: Any, **more: Any) -> None:
        super().init_poolmanager(*arguments, **more, ssl_context=self._context)

    def proxy_manager_for(self, proxy: Any, **more: Any) -> Any:
        return super().proxy_manager_for(proxy, **more, ssl_context=self._context)


def trusting(files: Iterable[Path]) -> ssl.SSLContext:
    """Trusts the certificates of this machine (or of SSL_CERT_FILE) and those in ``files``.

    Raises:
        EngineError: one of the files has no certificates.
    """
    context = ssl.create_default_context()
    for file in files:
        try:
            context.load_verify_locations(file)
        except (OSError, ssl.SSLError) as error:
            what = f"{file} has no certificates that can be read: {error}."
            fix = "It must be a text file with certificates in PEM form."
            raise EngineError(Problem(what=what, fix=fix)) from error
    return context


def causes(error: BaseException) -> Iterator[BaseException]:
    """``error`` and all that led to it, which urllib3 partly keeps in the arguments."""
    waiting, seen = [error], set[int]()
    while waiting:
        each = waiting.pop()
        if id(each) not in seen:
            seen.add(id(each))
            yield each
            inner = (each.__context__, each.__cause__, *each.args)
            waiting += [cause for cause in inner if isinstance(cause, BaseException)]


def distrust(error: BaseException) -> ssl.SSLCertVerificationError | None:
    """The reason in ``error`` why a certificate is not trusted, if that is what is wrong."""
    found = (each for each in causes(error) if isinstance(each, ssl.SSLCertVerificationError))
    return next(found, None)


def innermost(error: BaseException) -> str:
    """The innermost error as text, without those that it was wrapped in."""
    while (inner := error.__cause__ or error.__context__) is not None:
        error = inner
    return str(error) or type(error).__name__
