# SPDX-License-Identifier: Apache-2.0
"""The page in a real browser, opened from the disk, without a network."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from make import page
from playwright.sync_api import Browser, Page, sync_playwright
from tests.samples import some_targets

Open = Callable[..., Page]
"""Opens the page in a window of its own; takes what ``Browser.new_context`` does, and ``at``, what
follows '#' in the address."""


@dataclass(frozen=True, kw_only=True)
class Site:
    """``index`` is the page of ``targets``, which are by their ids."""

    index: Path
    targets: dict[str, dict[str, Any]]


def make_site(folder: Path, targets: Sequence[dict[str, Any]]) -> Site:
    """A page of ``targets`` in ``folder``."""
    index = folder / "index.html"
    index.write_text(page(targets), encoding="utf-8")
    return Site(index=index, targets={each["id"]: each for each in targets})


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    names = ("chromium", "google-chrome", "chromium-browser")
    path = next((path for name in names if (path := shutil.which(name))), None)
    if path is None:
        pytest.fail("chromium is not installed; 'bash setup.sh --tests=full' installs it")
    # Chromium has no sandbox for root.
    options = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=options)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return make_site(tmp_path_factory.mktemp("site"), some_targets())


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
            page.goto(site.index.as_uri() + (f"#{at}" if at else ""))
            return page

        yield open_page
        files = {url for url in asked if url.startswith("file:") and url.endswith("/index.html")}
        assert {*asked} - files - {"data:,"} == set()
        assert wrong == []


@pytest.fixture
def open_page(open_site: Callable[..., Page], site: Site) -> Open:
    return lambda at="", **options: open_site(site, at, **options)
