# SPDX-License-Identifier: Apache-2.0
"""The catalogue in a real browser, opened from the disk, with no network to be had."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Playwright, sync_playwright

from tests.browser.site import Site, make_site
from tests.programs import need
from tests.unit.catalogues import release

BROWSERS = ("chromium", "google-chrome", "chromium-browser")

Open = Callable[..., Page]
"""Opens the page in a window of its own; takes what ``Browser.new_context`` does, and ``at``, what
follows '#' in the address."""


def launched(playwright: Playwright) -> Browser:
    """The browser of this machine."""
    path = need("the page in a browser", *BROWSERS)
    # Chromium has no sandbox for root.
    options = ["--no-sandbox"] if os.geteuid() == 0 else []
    return playwright.chromium.launch(executable_path=path, args=options)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = launched(playwright)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return make_site(tmp_path_factory.mktemp("site"), release)


@pytest.fixture
def open_site(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Opens the page of a site, and sees that it asked for nothing and that nothing went wrong."""
    asked: list[str] = []
    wrong: list[str] = []
    with ExitStack() as stack:

        def open_page(site: Site, at: str = "", **options: Any) -> Page:
            context = browser.new_context(**{"locale": "en-GB", **options})
            stack.callback(context.close)
            context.set_offline(True)
            page = context.new_page()
            page.set_default_timeout(60_000)
            page.on("request", lambda request: asked.append(request.url.partition("#")[0]))
            page.on("pageerror", lambda error: wrong.append(str(error)))
            page.on("console", lambda said: wrong.append(said.text))
            page.goto(site.url + (f"#{at}" if at else ""))
            return page

        yield open_page
        files = {url for url in asked if url.startswith("file:") and url.endswith("/index.html")}
        assert {*asked} - files - {"data:,"} == set()
        assert wrong == []


@pytest.fixture
def open_page(open_site: Callable[..., Page], site: Site) -> Open:
    return lambda at="", **options: open_site(site, at, **options)
