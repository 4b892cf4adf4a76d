# SPDX-License-Identifier: Apache-2.0
"""Copying: what the button puts into the clipboard, with and without leave to write there."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.browser.conftest import Open
from tests.samples import PUBLISHED

MIDNIGHT = datetime.fromisoformat("2030-01-01T00:00:00+00:00")
LEAVE = ["clipboard-read", "clipboard-write"]
NO_CLIPBOARD = "Object.defineProperty(navigator, 'clipboard', { value: undefined })"
REFUSED = "navigator.clipboard.writeText = () => Promise.reject(new Error('no'))"


def pasted(page: Page) -> str:
    """What the clipboard holds, as Ctrl+V gives it."""
    page.evaluate(
        """() => {
          const area = document.createElement("textarea");
          area.id = "pasted";
          document.body.append(area);
          area.focus();
        }"""
    )
    page.keyboard.press("Control+V")
    text = page.locator("#pasted").input_value()
    page.locator("#pasted").evaluate("area => area.remove()")
    return text


def stop_clock(page: Page) -> None:
    """Only ``page.clock.run_for`` lets time pass, however slow the machine is."""
    page.clock.install(time=MIDNIGHT)
    page.clock.pause_at(MIDNIGHT + timedelta(hours=1))


def copyables(page: Page) -> list[Locator]:
    card = page.locator(f'[id="{PUBLISHED}"]')
    expect(card.locator(".more")).to_be_visible()
    for summary in card.locator(".more summary").all():
        summary.click()
    # The page fills an opened part a moment later, in its "toggle" event.
    expect(card.locator(".more > details:has(> summary:only-child)")).to_have_count(0)
    return card.locator(".copyable:visible").all()


@pytest.mark.parametrize("script", ["", NO_CLIPBOARD, REFUSED])
def test_every_button_copies_the_text_beside_it(open_page: Open, script: str) -> None:
    page = open_page(PUBLISHED, permissions=LEAVE)
    if script:
        page.add_init_script(script)
        page.reload()
    stop_clock(page)
    texts = set()
    for each in copyables(page):
        each.locator("button").click()
        expect(each.locator(".done")).to_be_visible()
        page.clock.run_for(100)
        text = pasted(page)
        assert text == each.locator("code").text_content()
        texts.add(text)
        expect(page.locator("#said")).to_have_text("Copied")
    assert len(texts) >= 6
    assert any("\n" in text for text in texts)


def test_the_button_names_its_command_and_confirms_the_copy(open_page: Open) -> None:
    page = open_page(PUBLISHED, permissions=LEAVE)
    stop_clock(page)
    button = page.get_by_role("button", name=f"Copy (Pull it: {PUBLISHED})", exact=True)
    button.click()
    expect(button).to_have_count(0)  # while it says so
    expect(page.locator(f'[id="{PUBLISHED}"] .done').first).to_be_visible()
    page.clock.run_for(5000)
    expect(button).to_have_count(1)


def test_a_browser_refusing_to_copy_leaves_the_text_selected(open_page: Open) -> None:
    page = open_page(PUBLISHED, locale="zh-CN")
    page.add_init_script(f"{NO_CLIPBOARD}; document.execCommand = () => false")
    page.reload()
    page.locator(f'[id="{PUBLISHED}"] button[data-copy]').first.click()
    expect(page.locator("#said")).to_contain_text("Ctrl+C")
    selected = page.evaluate("getSelection().toString()")
    assert selected.startswith("docker pull --platform linux/arm64 ")
