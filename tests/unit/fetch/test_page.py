# SPDX-License-Identifier: Apache-2.0
"""A page of a server has limits in size and in time."""

from __future__ import annotations

import time

import pytest

from cannery.common import http
from cannery.common.errors import EngineError
from cannery.fetch.http import read_page
from tests.unit.http_servers import Handler, answering


class Large(Handler):
    """Sends more than is read."""

    def answer(self) -> None:
        self.reply(200, b"x" * (5 << 20))


class Dripping(Handler):
    """Sends a byte at a time, each sooner than a connection is given up."""

    def answer(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "100")
        self.end_headers()
        try:
            for _ in range(100):
                self.wfile.write(b"x")
                time.sleep(0.05)
        except OSError:
            return


def test_a_large_page_is_refused() -> None:
    with answering(Large) as url, pytest.raises(EngineError, match="sends more than 4,194,304"):
        read_page(url, None)


def test_a_slow_page_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "LONGEST", 0.3)
    begun = time.monotonic()
    with answering(Dripping) as url, pytest.raises(EngineError, match="takes longer than"):
        read_page(url, None)
    assert time.monotonic() - begun < 4
