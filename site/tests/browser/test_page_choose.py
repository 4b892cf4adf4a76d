# SPDX-License-Identifier: Apache-2.0
"""Choosing images: with the keyboard, by what can be linked, and by what the counts promise."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.browser.conftest import Open, Site, make_site
from tests.samples import PUBLISHED, all_targets

from images import FACETS, facets


def shown(page: Page) -> list[str]:
    """The ids of the cards, from the top."""
    return [str(each.get_attribute("id")) for each in page.locator("#list > .card").all()]


def value(facet: str, value: str) -> str:
    return f'input[name="{facet}"][value="{value}"]'


def tab_to(page: Page, selector: str) -> None:
    """Press Tab until the element has the focus."""
    for _ in range(80):
        page.keyboard.press("Tab")
        if page.locator(selector).first.evaluate("each => each === document.activeElement"):
            return
    raise AssertionError(f"Tab never comes to {selector}")


def of(site: Site, **wanted: str) -> set[str]:
    """The ids of the targets with these values."""
    return {name for name, each in site.targets.items() if wanted.items() <= facets(each).items()}


def test_all_images_are_shown_at_first_and_the_first_one_is_open(
    open_page: Open, site: Site
) -> None:
    page = open_page()
    assert {*shown(page)} == {*site.targets}
    recommended = [name for name, each in site.targets.items() if each["recommended"]]
    assert shown(page)[: len(recommended)] == recommended != []
    expect(page.locator("#list .badge")).to_have_count(len(recommended))
    expect(page.locator("#count")).to_have_text(f"All {len(site.targets)}")
    expect(page.locator("#list .card[open]")).to_have_count(1)
    expect(page.locator("#list .card").first.locator(".copyable:visible").first).to_be_visible()
    expect(page.locator("#nothing")).to_be_hidden()


def test_the_whole_matrix_is_on_one_page_of_few_elements(
    open_site: Callable[..., Page], tmp_path: Path
) -> None:
    site = make_site(tmp_path, all_targets())
    page = open_site(site)
    hundreds = len(site.targets) / 100
    assert len(shown(page)) == len(site.targets)
    assert page.locator("*").count() < 8000 * hundreds
    assert site.index.stat().st_size < 1_500_000 * hundreds
    page.locator("#view-table").check()
    expect(page.locator("#list tbody tr")).to_have_count(len(site.targets))
    assert page.locator("*").count() < 8000 * hundreds
    page.locator("#view-cards").check()
    page.fill("#q", "910b x86 train")
    assert {*shown(page)} == of(site, platform="linux/amd64", chip="910b") != set()


def test_the_keyboard_is_enough(open_page: Open, site: Site) -> None:
    page = open_page()
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#images")).to_be_focused()

    page = open_page()
    tab_to(page, "#q")
    page.keyboard.type("TORCH_NPU 2.3.1.Post2")
    wanted = of(site, torch="2.3.1")
    assert {*shown(page)} == wanted
    tab_to(page, value("python", ""))
    while not page.locator(value("python", "3.11")).is_checked():
        page.keyboard.press("ArrowRight")
    [only] = wanted & of(site, python="3.11")
    assert shown(page) == [only]
    expect(page.locator("#count")).to_have_text(f"1 of {len(site.targets)}")
    tab_to(page, f'[id="{only}"] button[data-copy]')
    tab_to(page, f'[id="{only}"] .more summary')
    page.keyboard.press("Enter")
    expect(page.locator(f'[id="{only}"] .more details').first).to_have_attribute("open", "")


def test_the_focus_can_be_seen_wherever_it_is(open_page: Open) -> None:
    page = open_page()
    page.locator("#more > summary").click()
    page.locator(".skip").focus()
    seen = set()
    for _ in range(40):
        page.keyboard.press("Tab")
        outline, what = page.evaluate(
            """() => {
              const on = document.activeElement;
              // What is laid over a choice hands its outline to what can be seen of it.
              const shown = [on, on.nextElementSibling, on.parentElement].filter(Boolean);
              const style = shown.map((each) => getComputedStyle(each));
              return [style.some((each) => each.outlineStyle !== "none"), on.tagName + on.type];
            }"""
        )
        assert outline, what
        seen.add(what)
    assert {"INPUTradio", "INPUTsearch", "SELECTselect-one", "BUTTONbutton"} <= seen


def test_every_count_matches_the_images_of_its_choice(open_page: Open, site: Site) -> None:
    page = open_page()
    page.locator("#more > summary").click()
    choices = page.locator('.facet input:not([value=""])')
    assert choices.count() > 20
    for each in choices.all():
        number = int(each.locator("xpath=../b").inner_text())
        assert number > 0
        each.check()
        assert len(shown(page)) == number
        page.locator(value(str(each.get_attribute("name")), "")).check()
    assert len(shown(page)) == len(site.targets)


def test_one_choice_a_row_gives_one_image_and_its_commands(open_page: Open, site: Site) -> None:
    page = open_page()
    own = facets(site.targets[PUBLISHED])
    for facet in FACETS:
        page.locator(value(facet, own[facet])).check()
    card = page.locator("#list > .card").first
    expect(card).to_have_attribute("id", PUBLISHED)
    expect(card.locator("pre:visible", has_text="docker pull")).to_have_count(1)
    expect(card.locator("pre:visible", has_text="docker run")).to_have_count(1)


def test_a_choice_incompatible_with_another_clears_the_other(open_page: Open, site: Site) -> None:
    page = open_page()
    page.locator(value("torch", "2.3.1")).check()
    page.locator(value("python", "3.9")).check()
    a3 = of(site, chip="a3")
    assert a3 == of(site, chip="a3", python="3.11") != set()
    other = page.locator(value("chip", "a3"))
    assert other.locator("xpath=..").get_attribute("class") == "pill none"
    other.check()
    assert {*shown(page)} == a3
    expect(page.locator("#dropped")).to_contain_text(": Python, torch.")
    for facet in ("torch", "python"):
        expect(page.locator(value(facet, ""))).to_be_checked()
    page.locator("form [data-reset]").click()
    expect(page.locator("#dropped")).to_be_hidden()
    assert {*shown(page)} == {*site.targets}


def test_a_choice_can_be_linked(open_page: Open) -> None:
    page = open_page()
    page.locator(value("cann", "8.0.T39")).check()
    page.locator(value("python", "3.9")).check()
    page.locator("#q").fill("deepspeed")
    page.locator("#sort").select_option("torch")
    page.locator("#view-table").check()
    address = page.url.partition("#")[2]
    assert address == "q=deepspeed&cann=8.0.T39&python=3.9&sort=torch&view=table"
    other = open_page(address)
    assert other.locator("#q").input_value() == "deepspeed"
    assert other.locator("#sort").input_value() == "torch"
    expect(other.locator("#list table")).to_be_visible()
    other.locator("#view-cards").check()
    page.locator("#view-cards").check()
    assert shown(other) == shown(page) != []


@pytest.mark.parametrize(
    "at", ["python=9.9&sort=colour&view=none", "%F0%28", "q=%3Cimg%20src=x%3E"]
)
def test_an_invalid_address_does_no_harm(open_page: Open, site: Site, at: str) -> None:
    page = open_page(at)
    if at.startswith("q="):
        assert shown(page) == []
        expect(page.locator("#nothing")).to_be_visible()
        page.locator("#nothing button").click()
        expect(page.locator("#q")).to_be_focused()
    assert {*shown(page)} == {*site.targets}


def test_an_image_can_be_linked_and_is_shown_whatever_was_chosen(open_page: Open) -> None:
    page = open_page(PUBLISHED)
    card = page.locator(f'[id="{PUBLISHED}"]')
    expect(card.locator("summary").first).to_be_focused()
    expect(card).to_be_in_viewport()
    page.locator(value("chip", "a3")).check()
    assert PUBLISHED not in shown(page)
    page.goto(page.url.partition("#")[0] + f"#{PUBLISHED}")
    expect(card).to_have_attribute("open", "")
    expect(card).to_be_in_viewport()


@pytest.mark.parametrize("width", [390, 1280])
def test_a_linked_image_begins_at_the_top_though_no_card_above_was_laid_out(
    open_page: Open, width: int
) -> None:
    page = open_page(viewport={"width": width, "height": 500})
    card = page.locator("#list > .card").nth(-4)
    page.evaluate("(id) => { location.hash = id; }", card.get_attribute("id"))
    expect(card).to_have_attribute("open", "")
    page.wait_for_timeout(1000)
    assert 0 <= card.evaluate("(each) => each.getBoundingClientRect().top") < 30


def test_a_row_of_the_table_leads_to_the_card(open_page: Open) -> None:
    page = open_page("view=table")
    page.locator("#list tbody a").last.click()
    expect(page.locator("#list > .card").last).to_have_attribute("open", "")
    expect(page.locator("#list > .card").last).to_be_in_viewport()


def test_details_are_made_when_they_are_opened(open_page: Open) -> None:
    page = open_page()
    card = page.locator("#list > .card").last
    assert card.locator("pre").count() == 0
    card.locator("summary").click()
    expect(card.locator("pre").first).to_be_visible()
    for number in range(card.locator(".more > details").count()):
        each = card.locator(".more > details").nth(number)
        assert each.locator(":not(summary)").count() == 0
        each.locator("summary").click()
        expect(each.locator(":not(summary)").first).to_be_attached()
    card.locator("summary").first.click()
    card.locator("summary").first.click()
    expect(card.locator(".facts")).to_have_count(1)  # not made twice


def test_orders(open_page: Open, site: Site) -> None:
    page = open_page()
    best = shown(page)
    page.locator("#sort").select_option("pushed")
    assert shown(page)[0] == PUBLISHED
    page.locator("#sort").select_option("torch")
    torch = [site.targets[name]["components"].get("torch", "0") for name in shown(page)]
    versions = [tuple(map(int, each.split("."))) for each in torch]
    assert versions == sorted(versions, reverse=True)
    page.locator("#sort").select_option("best")
    assert shown(page) == best


def test_the_commands_are_for_the_chosen_host(open_page: Open) -> None:
    page = open_page(PUBLISHED)
    card = page.locator(f'[id="{PUBLISHED}"]')
    run = card.locator("pre:visible", has_text="docker run")
    expect(run).to_have_count(1)
    assert "/dev/davinci0" in run.inner_text()
    page.locator("#cards-8").check()
    assert run.count() == 1
    assert "/dev/davinci7" in run.inner_text()
    page.locator("#runtime-ascend").check()
    assert "--runtime ascend" in run.inner_text()
    assert page.url.endswith("#cards=8&runtime=ascend")
    for name in ("Kubernetes", "Volcano, two nodes"):
        card.locator("summary", has_text=name).click()
    expect(card.locator("pre:visible", has_text="kind: Job")).to_have_count(2)


def test_the_sources_of_a_combination_are_links(open_page: Open) -> None:
    page = open_page(PUBLISHED)
    card = page.locator(f'[id="{PUBLISHED}"]')
    card.locator("summary", has_text="Why these versions").click()
    source = card.locator(".findings small a").first
    assert str(source.get_attribute("href")).startswith("https://")
    assert "://" not in card.locator(".findings").inner_text()


def test_without_scripts_every_image_is_there_with_its_command(open_page: Open, site: Site) -> None:
    page = open_page(java_script_enabled=False)
    expect(page.locator("#choose")).to_be_hidden()
    assert page.locator("tr:visible").count() == len(site.targets)
    expect(page.locator("tr", has_text="docker pull")).to_contain_text(PUBLISHED)
    assert page.locator("tr", has_text="python build.py").count() == len(site.targets) - 1
