# SPDX-License-Identifier: Apache-2.0
"""Both languages, narrow screens, light and dark, and what axe-core knows of accessibility."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.browser.conftest import Open, Site
from tests.samples import ROOT

AXE = ROOT / "npm" / "axe" / "node_modules" / "axe-core" / "axe.min.js"
LOCALES = {"en": "en-GB", "zh": "zh-CN"}
TAGS = {"en": "en", "zh": "zh-CN"}


def in_language(page: Page, language: str) -> None:
    """Assert that the page is in this language and no other one."""
    expect(page.locator("html")).to_have_attribute("lang", TAGS[language])
    expect(page.locator(f"#language-{language}")).to_be_checked()
    # The text that is laid out, and the cards further down, which are not.
    cards = page.locator(".card > summary").all_text_contents()
    said = "\n".join([page.locator("body").inner_text(), *cards])
    summary = {"en": "PyTorch 2.3.1 with", "zh": "基于 CANN"}[language]
    assert summary in said
    if language == "zh":
        assert not re.search(r"\b(the|and|for|is|not|with)\b", said)
    else:
        assert not re.search("[\u4e00-\u9fff]", said.replace("中文", ""))
    title = {"en": "Ascend images, a catalogue", "zh": "昇腾镜像目录"}[language]
    expect(page).to_have_title(title)
    option = {"en": "newest torch", "zh": "torch 从新到旧"}[language]
    expect(page.locator('option[value="torch"]')).to_have_text(option)


def reloaded_in_language(page: Page, language: str) -> None:
    """Assert that the page is in this language after it is loaded again.

    More than once, because the new page may read the browser's storage before the old page's last
    change has reached it: they can be in two processes.
    """
    for _ in range(100):
        page.reload()
        if page.locator("html").get_attribute("lang") == TAGS[language]:
            break
        page.wait_for_timeout(300)
    in_language(page, language)


@pytest.mark.parametrize(
    ("locale", "language"),
    [("zh-CN", "zh"), ("zh-TW", "zh"), ("en-US", "en"), ("de-DE", "en")],
)
def test_it_starts_in_the_language_of_the_browser(
    open_page: Open, locale: str, language: str
) -> None:
    in_language(open_page(locale=locale), language)


def test_a_language_is_switched_by_keyboard_and_remembered(open_page: Open, site: Site) -> None:
    page = open_page()
    page.locator("#language-en").focus()
    page.keyboard.press("ArrowRight")
    in_language(page, "zh")
    expect(page.locator("#count")).to_have_text(f"共 {len(site.targets)} 个")
    reloaded_in_language(page, "zh")
    page.locator("#language-en").check()
    reloaded_in_language(page, "en")


def test_a_browser_without_storage_still_shows_the_page(open_page: Open) -> None:
    page = open_page()
    page.add_init_script(
        "Object.defineProperty(window, 'localStorage', { get() { throw new Error('no'); } })"
    )
    page.reload()
    page.locator("#language-zh").check()
    in_language(page, "zh")


def open_all(page: Page) -> None:
    """Open all details, also those that are made when others are opened."""
    closed = page.locator("details:not([open])")
    while closed.count():
        closed.evaluate_all("all => all.forEach((each) => (each.open = true))")
        page.evaluate("new Promise((done) => setTimeout(done, 50))")


@pytest.mark.parametrize("language", LOCALES)
@pytest.mark.parametrize("width", [320, 390, 768, 1280])
def test_a_page_is_never_wider_than_the_screen(open_page: Open, language: str, width: int) -> None:
    viewport = {"width": width, "height": 800}
    page = open_page(locale=LOCALES[language], viewport=viewport)
    for view in ("cards", "table"):
        page.locator(f"#view-{view}").check()
        open_all(page)
        assert page.evaluate("document.scrollingElement.scrollWidth") <= width
        # Nor is anything cut off at its side.
        wide = page.evaluate(
            """(width) => [...document.querySelectorAll("body *")]
              .filter((each) => !each.closest(".scroller, .unseen, .skip, option"))
              .filter((each) => each.getBoundingClientRect().right > width + 0.5)
              .map((each) => each.outerHTML.slice(0, 200))""",
            width,
        )
        assert wide == []


def violations(page: Page) -> list[Any]:
    # Evaluated, and not added to the page, whose policy would not let it run.
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    assert len(found["passes"]) > 20
    return [
        {"rule": each["id"], "nodes": [(node["html"], node["any"]) for node in each["nodes"]][:3]}
        for each in found["violations"]
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("language", LOCALES)
def test_axe_finds_nothing(open_page: Open, language: str, scheme: str) -> None:
    if not AXE.is_file():
        pytest.fail(f"{AXE} is not here; run 'npm ci' in npm/axe")
    page = open_page(locale=LOCALES[language], color_scheme=scheme, reduced_motion="reduce")
    assert violations(page) == []
    page.locator('input[name="chip"][value="a3"]').check()
    page.locator("#view-table").check()
    assert violations(page) == []
    page.set_viewport_size({"width": 320, "height": 700})
    page.locator("#view-cards").check()
    open_all(page)
    assert violations(page) == []


def test_light_and_dark_are_not_the_same(open_page: Open) -> None:
    grounds = {
        open_page(color_scheme=scheme).evaluate("getComputedStyle(document.body).backgroundColor")
        for scheme in ("light", "dark")
    }
    assert len(grounds) == 2


def test_nothing_moves_for_who_asks_for_that(open_page: Open) -> None:
    moves = "getComputedStyle(document.querySelector('.pill')).transitionDuration"
    assert open_page(reduced_motion="reduce").evaluate(moves) == "0s"
    assert open_page(reduced_motion="no-preference").evaluate(moves) != "0s"
