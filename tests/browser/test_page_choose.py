# SPDX-License-Identifier: Apache-2.0
"""Choosing images: with the keyboard, by what can be linked, and by what the counts promise."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Open
from tests.browser.site import PUBLISHED, Site, make_site
from tests.unit.catalogues import release


def shown(page: Page) -> list[str]:
    """The ids of the cards that can be seen, from the top."""
    cards = page.locator("#cards > li:visible")
    return [str(each.get_attribute("data-id")) for each in cards.all()]


def box(page: Page, facet: str, value: str) -> str:
    return f'input[name="{facet}"][value="{value}"]'


def tab_to(page: Page, selector: str) -> None:
    """Press Tab until the element has the focus."""
    for _ in range(80):
        page.keyboard.press("Tab")
        if page.locator(selector).first.evaluate("each => each === document.activeElement"):
            return
    raise AssertionError(f"Tab never comes to {selector}")


def test_all_images_are_shown_at_first(open_page: Open, site: Site) -> None:
    page = open_page()
    assert shown(page) == [*site.targets]
    expect(page.locator("#count")).to_have_text(f"All {len(site.targets)} images")
    expect(page.locator("#table")).to_be_hidden()
    expect(page.locator("#nothing")).to_be_hidden()


def test_the_whole_matrix_is_on_one_page(open_site: Callable[..., Page], tmp_path: Path) -> None:
    site = make_site(tmp_path, release, whole=True)
    page = open_site(site)
    expect(page.locator("#cards > li:visible")).to_have_count(len(site.targets))
    page.fill("#q", "vllm")
    wanted = [name for name in site.targets if "vllm" in name]
    assert len(wanted) > 3
    expect(page.locator("#cards > li:visible")).to_have_count(len(wanted))
    expect(page.locator("#count")).to_have_text(f"{len(wanted)} images of {len(site.targets)}")


def test_the_keyboard_is_enough(open_page: Open, site: Site) -> None:
    page = open_page()
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#images")).to_be_focused()

    page = open_page()
    tab_to(page, "#q")
    page.keyboard.type("TORCH_NPU 2.3.1.Post2")
    wanted = [each.id for each in site.targets.values() if each.torch == "2.3.1"]
    assert shown(page) == wanted
    tab_to(page, box(page, "python", "3.11"))
    page.keyboard.press("Space")
    [only] = [name for name in wanted if site.targets[name].python.minor == "3.11"]
    assert shown(page) == [only]
    expect(page.locator("#count")).to_have_text(f"1 image of {len(site.targets)}")
    page.keyboard.press("Space")
    assert shown(page) == wanted
    tab_to(page, f'[id="name-{wanted[0]}"] a')
    tab_to(page, f'[id="{wanted[0]}"] button[data-copy]')
    tab_to(page, f'[id="{wanted[0]}"] summary')
    page.keyboard.press("Enter")
    expect(page.locator(f'[id="{wanted[0]}"] details').first).to_have_attribute("open", "")


def test_the_focus_can_be_seen_wherever_it_is(open_page: Open) -> None:
    page = open_page()
    seen = set()
    for _ in range(70):
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
    assert {"INPUTcheckbox", "INPUTradio", "INPUTsearch", "SELECTselect-one"} <= seen


def test_every_count_is_what_choosing_it_gives(open_page: Open, site: Site) -> None:
    page = open_page()
    choices = page.locator(".facet input")
    assert choices.count() > 20
    for each in choices.all():
        number = int(each.locator("xpath=../b").inner_text())
        assert number > 0
        each.check()
        assert len(shown(page)) == number
        each.uncheck()
    assert len(shown(page)) == len(site.targets)


def test_what_would_give_nothing_is_switched_off(open_page: Open, site: Site) -> None:
    page = open_page()
    page.locator(box(page, "chip", "a3")).check()
    pythons = {each.python.minor for each in site.targets.values() if each.chip == "a3"}
    for each in page.locator('input[name="python"]').all():
        here = each.get_attribute("value") in pythons
        assert each.is_enabled() == here
        line = each.locator("xpath=..").evaluate("e => getComputedStyle(e).textDecorationLine")
        assert (line == "line-through") != here
    # Within one facet more can be had, so its other values stay.
    assert page.locator(box(page, "chip", "910b")).is_enabled()
    # Choosing only what is on never ends with nothing.
    while page.locator(".facet input:enabled:not(:checked)").count():
        page.locator(".facet input:enabled:not(:checked)").first.check()
        assert shown(page)


def test_several_values_of_a_facet_are_either(open_page: Open, site: Site) -> None:
    page = open_page()
    page.locator(box(page, "torch", "2.1.0")).check()
    page.locator(box(page, "torch", "none")).check()
    wanted = [each.id for each in site.targets.values() if each.torch in ("2.1.0", "")]
    assert shown(page) == wanted


def test_a_choice_can_be_linked(open_page: Open) -> None:
    page = open_page()
    page.locator(box(page, "cann", "8.0.T39")).check()
    page.locator(box(page, "python", "3.9")).check()
    page.locator("#q").fill("deepspeed")
    page.locator("#sort").select_option("torch")
    page.locator("#view-table, input[name=view][value=table]").check()
    address = page.url.partition("#")[2]
    assert address == "q=deepspeed&sort=torch&view=table&python=3.9&cann=8.0.T39"
    other = open_page(address)
    assert other.locator("#q").input_value() == "deepspeed"
    assert other.locator("#sort").input_value() == "torch"
    expect(other.locator("#table")).to_be_visible()
    other.locator("input[name=view][value=cards]").check()
    page.locator("input[name=view][value=cards]").check()
    assert shown(other) == shown(page) != []


@pytest.mark.parametrize(
    "at", ["python=9.9&sort=colour&view=none", "%F0%28", "q=%3Cimg%20src=x%3E"]
)
def test_an_address_that_makes_no_sense_does_no_harm(open_page: Open, site: Site, at: str) -> None:
    page = open_page(at)
    if at.startswith("q="):
        assert shown(page) == []
        expect(page.locator("#nothing")).to_be_visible()
        page.locator("#nothing button").click()
        expect(page.locator("#q")).to_be_focused()
    assert shown(page) == [*site.targets]


def test_an_image_can_be_linked_and_is_shown_whatever_was_chosen(open_page: Open) -> None:
    page = open_page(PUBLISHED)
    expect(page.locator(f'[id="name-{PUBLISHED}"] a')).to_be_focused()
    expect(page.locator(f'[id="{PUBLISHED}"]')).to_be_in_viewport()
    page.locator(box(page, "chip", "a3")).check()
    assert PUBLISHED not in shown(page)
    page.locator(f'svg a[href="#{PUBLISHED}"]').click()
    assert PUBLISHED in shown(page)
    expect(page.locator(f'[id="{PUBLISHED}"]')).to_be_in_viewport()


def test_orders(open_page: Open, site: Site) -> None:
    page = open_page()
    page.locator("#sort").select_option("pushed")
    assert shown(page)[0] == PUBLISHED
    assert shown(page)[1:] == [name for name in site.targets if name != PUBLISHED]
    page.locator("#sort").select_option("torch")
    versions = [tuple(map(int, (site.targets[n].torch or "0").split("."))) for n in shown(page)]
    assert versions == sorted(versions, reverse=True)
    page.locator("#sort").select_option("matrix")
    assert shown(page) == [*site.targets]


def test_the_picture_follows_the_choice(open_page: Open, site: Site) -> None:
    page = open_page()
    assert page.locator("svg .dim").count() == 0
    page.locator(box(page, "chip", "a3")).check()
    dim = page.locator("svg a.dim").evaluate_all("all => all.map((e) => e.dataset.ids)")
    assert {*dim} == {each.id for each in site.targets.values() if each.chip != "a3"}


def test_the_commands_are_for_the_host_that_is_chosen(open_page: Open) -> None:
    page = open_page()
    card = page.locator(f'[id="{PUBLISHED}"]')
    card.locator("summary").first.click()
    run = card.locator("pre:visible", has_text="docker run")
    assert run.count() == 1
    assert "/dev/davinci0" in run.inner_text()
    page.locator("#cards-8").check()
    assert run.count() == 1
    assert "/dev/davinci7" in run.inner_text()
    page.locator("#runtime-ascend").check()
    assert "--runtime ascend" in run.inner_text()
    assert page.url.endswith("#cards=8&runtime=ascend")
    assert card.locator("pre:visible", has_text="kind: Job").count() == 2  # Kubernetes and Volcano


def test_without_scripts_there_is_everything_but_the_choice(open_page: Open, site: Site) -> None:
    page = open_page(java_script_enabled=False)
    expect(page.locator("#choose")).to_be_hidden()
    expect(page.locator("[data-copy]").first).to_be_hidden()
    assert page.locator("#table tbody tr:visible").count() == len(site.targets)
    assert len(shown(page)) == len(site.targets)
    card = page.locator(f'[id="{PUBLISHED}"]')
    card.locator("summary").first.click()
    expect(card.locator("pre", has_text="docker run").first).to_be_visible()
    page.locator("#language-zh").check()
    expect(page.locator("#images .zh")).to_be_visible()
    expect(page.locator("#images .en")).to_be_hidden()
