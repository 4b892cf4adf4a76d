# SPDX-License-Identifier: Apache-2.0
"""The one rule for redirects: at most 5, never to less safety, and no secrets to another origin."""

from __future__ import annotations

from typing import Any
from urllib.parse import urljoin

import requests

from cannery.common.urls import is_safe, origin, public

_MOST = 5

OPEN_HEADERS = frozenset(
    {"accept", "accept-encoding", "connection", "content-length", "content-type", "host"}
    | {"if-range", "range", "referer", "transfer-encoding", "user-agent", "proxy-authorization"}
)
"""The headers, in lower case, that another origin gets: they are no secrets, or for a proxy."""


class UnsafeRedirectError(requests.exceptions.InvalidURL):
    """A server redirects to where nothing is sent."""


class Session(requests.Session):
    """Follows redirects by the rule."""

    def __init__(self) -> None:
        super().__init__()
        self.max_redirects = _MOST

    def get_redirect_target(self, resp: requests.Response) -> str | None:
        """The next address, if there is one and it is valid."""
        target = super().get_redirect_target(resp)
        if target is not None:
            try:
                require_as_safe(resp.url, target)
            except UnsafeRedirectError:
                resp.close()
                raise
        return target

    def rebuild_auth(self, prepared_request: Any, response: Any) -> None:
        """Take out what only the origin before may get."""
        before, now = response.request.url, prepared_request.url
        if origin(before) != origin(now):
            for name in [*prepared_request.headers]:
                if name.lower() not in OPEN_HEADERS:
                    del prepared_request.headers[name]


def require_as_safe(before: str, now: str) -> None:
    """Raise UnsafeRedirectError if the server at ``before`` may not send a client on to ``now``."""
    try:
        now = urljoin(before, now)
        schemes = origin(before)[0], origin(now)[0]
    except ValueError as error:
        raise UnsafeRedirectError("it redirects to an invalid address") from error
    if schemes == ("https", "http") or (is_safe(before) and not is_safe(now)):
        raise UnsafeRedirectError(f"it redirects to an address without TLS, {public(now)}")
