# SPDX-License-Identifier: Apache-2.0
"""A server of files for the tests of a module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.fetch.fetches import CONTENT
from tests.fetch.server import Files, serving


@pytest.fixture(scope="module")
def server() -> Iterator[Files]:
    with serving() as files:
        yield files


@pytest.fixture
def files(server: Files) -> Files:
    """The server with one file, and without faults."""
    server.content = {"a/toolkit.run": CONTENT}
    server.faults.clear()
    server.requests.clear()
    return server
