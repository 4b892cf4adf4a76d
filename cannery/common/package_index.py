# SPDX-License-Identifier: Apache-2.0
"""The package index of builds, locks and downloads, and its certificates."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from cannery.common.errors import Problem, UsageError

_SYSTEM_CA = Path("/etc/ssl/certs/ca-certificates.crt")
_CA_VARIABLES = ("PIP_CERT", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")
_INDEX_VARIABLES = ("UV_DEFAULT_INDEX", "PIP_INDEX_URL")

_LOGIN = re.compile(r"://([^/]+)@")
"""Matches the user name and the password in a URL, valid or not."""


@dataclass(frozen=True, kw_only=True)
class PackageIndex:
    """A file of certificates, and the URL of an index; empty for the default one.

    Both enter a build as secrets, so neither is in a layer or in an image's history. ``proxy`` is
    that of build steps, empty for the one that docker is configured with, and ``no_proxy`` has the
    hosts that are asked without it. ``apt_mirror`` is asked by apt in place of every other server;
    empty for those of the bases.
    """

    ca: Path | None
    index_url: str
    proxy: str = ""
    no_proxy: str = ""
    apt_mirror: str = ""

    def redacted(self, text: str) -> str:
        """``text`` with asterisks in place of the logins in the URLs of index, proxy and mirror."""
        urls = (self.index_url, self.proxy, self.apt_mirror)
        logins = [login for url in urls if (login := _LOGIN.search(url))]
        secrets = [form for login in logins for form in (login[1], unquote(login[1]))]
        # Some programs keep the user name and show the password in another notation.
        secrets += [secret.partition(":")[2] for secret in secrets]
        for secret in filter(None, secrets):
            text = text.replace(secret, "****")
        return text


def package_index(
    ca: Path | None, index_url: str, environ: Mapping[str, str] = os.environ
) -> PackageIndex:
    """The given index and certificates, else those of pip and uv here.

    Raises:
        UsageError: the variable of another program names certificates that are no file.
    """
    name = next((name for name in _CA_VARIABLES if environ.get(name)), "")
    path = ca or (Path(environ[name]) if name else _SYSTEM_CA)
    if name and not path.is_file() and not ca:
        what = f"there is no file {path}, named by {name}."
        raise UsageError(Problem(what=what, fix="Name one, unset it, or use --ca FILE."))
    index = index_url or next((environ[n] for n in _INDEX_VARIABLES if environ.get(n)), "")
    return PackageIndex(ca=path if path.is_file() else None, index_url=index)
