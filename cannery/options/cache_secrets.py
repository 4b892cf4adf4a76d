# SPDX-License-Identifier: Apache-2.0
"""Finds secrets in the caches that --cache-from and --cache-to name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

_SECRET = re.compile(r"(?:^|,)[^=,]*(?:secret|token|password)[^=,]*=([^,]+)", re.IGNORECASE)
"""Matches a field of a cache that holds a secret, such as ``secret_access_key``."""


def without_secrets(text: str, replacement: Callable[[str], str] = lambda _: "****") -> str:
    """A cache as buildx takes it, ``type=...``, with another text in place of each secret."""

    def replaced(match: re.Match[str]) -> str:
        return match[0].removesuffix(match[1]) + replacement(match[1])

    return _SECRET.sub(replaced, text)


def have_secrets(caches: Iterable[str]) -> bool:
    """Whether any of ``caches`` has a secret."""
    return any(map(_SECRET.search, caches))
