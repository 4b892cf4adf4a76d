# SPDX-License-Identifier: Apache-2.0
"""Keeps what files of others say from controlling the terminal."""

from __future__ import annotations

import re

_LOGIN = re.compile(r"(?:(?<=//)|^)[^/@\s]+@")
"""Matches a user name and a password before a host, with or without a scheme."""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def printable(text: str) -> str:
    """``text`` with a question mark for each character that controls a terminal."""
    return _CONTROL.sub("?", text)


def without_login(address: str) -> str:
    """``address`` with asterisks in place of a user name and a password."""
    return _LOGIN.sub("****@", address)
