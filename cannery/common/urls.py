# SPDX-License-Identifier: Apache-2.0
"""URLs: whose they are, whether anybody can listen on the way, and how they are shown."""

from __future__ import annotations

import re
from contextlib import suppress
from ipaddress import ip_address
from urllib.parse import urlsplit

_LOGIN = re.compile(r"(?:(?<=//)|^)[^/@\s]+@")
"""Matches a user name and a password before a host, with or without a scheme."""

_PORTS = {"http": 80, "https": 443}


def origin(url: str) -> tuple[str, str, int]:
    """The scheme, the host and the port of ``url``: who gets what is sent there.

    Raises:
        ValueError: it is not a valid URL of the web.
    """
    parts = urlsplit(url)
    if parts.scheme not in _PORTS or not parts.hostname:
        raise ValueError(f"{public(url)!r} is not an address of the web")
    return parts.scheme, parts.hostname, parts.port or _PORTS[parts.scheme]


def public(url: str) -> str:
    """``url`` without a login and without its query, both of which may be secret."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "an invalid address"
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()


def without_login(address: str) -> str:
    """``address`` with asterisks in place of a user name and a password."""
    return _LOGIN.sub("****@", address)


def is_loopback(host: str) -> bool:
    """Whether ``host``, perhaps with a port, is this machine: nobody can listen in between."""
    with suppress(ValueError):
        name = urlsplit(f"//{host}").hostname or ""
        return name == "localhost" or ip_address(name).is_loopback
    return False


def is_safe(url: str) -> bool:
    """Whether nobody between here and the server can read or change what it sends."""
    with suppress(ValueError):
        parts = urlsplit(url)
        return parts.scheme == "https" or is_loopback(parts.netloc.rpartition("@")[2])
    return False
