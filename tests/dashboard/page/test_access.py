"""Everybody can use the page: screen readers (axe), the keyboard alone, a narrow screen, less motion."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.dashboard.page.homes import PLACE, Home
from tests.dashboard.page.served import NARROW, VIEWS, WIDE, Visit
from tests.reclaim.shops import EXPIRED

Visits = Callable[..., Visit]
AXE = Axe()
GRAVE = ("serious", "critical")


def looked_at(page: Page, what: str, schemes: tuple[str, ...]) -> None:
    """Let axe look at a page in these schemes of colours; its counts are printed."""
    expect(page.locator(".skeleton")).to_have_count(0)
    for scheme in schemes:
        page.emulate_media(color_scheme=scheme)
        report = AXE.run(page).response
        grave = {each["id"]: [node["html"][:200] for node in each["nodes"]] for each in report["violations"] if each["impact"] in GRAVE}
        lesser = [each["id"] for each in report["violations"] if each["impact"] not in GRAVE]
        print(f"axe, {what}, {scheme}: {len(report['passes'])} rules passed, {len(grave)} serious or critical, lesser: {lesser or 'none'}")
        assert grave == {}, (what, scheme)


# Colours are the same however wide the page is.
@pytest.mark.parametrize(("size", "schemes"), [(WIDE, ("light", "dark")), (NARROW, ("light",))], ids=["wide", "narrow"])
def test_axe_finds_nothing_serious_in_any_view(home: Home, visit: Visits, size: dict, schemes: tuple[str, ...]) -> None:
    home.clear()
    seen = visit("", viewport=size)
    page = seen.page
    expect(page.locator(".row")).to_have_count(1)
    for view in VIEWS:
        seen.view(view)
        looked_at(page, f"{view}, {size['width']} px", schemes)
        assert not seen.scrolls_sideways(), view
    page.goto(f"{page.url.split('#')[0]}{PLACE}")
    expect(page.locator(".readout")).to_be_visible()
    for summary in page.locator("summary").all():
        summary.click()
    page.get_by_role("button", name=re.compile("^T1 Read old.ts")).click()
    expect(page.get_by_role("complementary", name="Why T1")).to_contain_text("Tier")
    looked_at(page, f"session with reasons and tables, {size['width']} px", schemes)
    assert not seen.scrolls_sideways()
    page.get_by_role("complementary", name="Why T1").get_by_role("button", name="Close").click()
    page.get_by_role("button", name="Undo the last clear").click()
    looked_at(page, f"dialog, {size['width']} px", schemes)


def test_the_keyboard_alone_does_everything(home: Home, visit: Visits) -> None:
    seen = visit()
    page, keys = seen.page, seen.page.keyboard
    expect(page.locator(".row")).to_have_count(1)
    keys.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    keys.press("Enter")
    expect(page.locator("main")).to_be_focused()
    for _ in range(4):  # search, project, running only, the session
        keys.press("Tab")
    expect(page.get_by_role("link", name=re.compile("please fix it"))).to_be_focused()
    keys.press("Enter")
    expect(page.get_by_role("heading", name="please fix it")).to_be_focused()
    keys.press("Tab")
    expect(page.get_by_role("button", name="Clear", exact=True)).to_be_focused()
    # The bars are one stop: the arrow keys move in them.
    bars = page.get_by_role("list", name=re.compile("^Results")).get_by_role("button")
    for _ in range(40):
        keys.press("Tab")
        if bars.last.evaluate("each => each === document.activeElement"):
            break
    expect(bars.last).to_be_focused()
    keys.press("Home")
    expect(bars.first).to_be_focused()
    keys.press("ArrowDown")
    expect(bars.nth(1)).to_be_focused()
    keys.press("ArrowUp")
    keys.press("Enter")
    expect(page.get_by_role("heading", name="Why T1")).to_be_focused()
    keys.press("Escape")
    expect(page.get_by_role("complementary")).to_have_count(0)
    expect(bars.first).to_be_focused()


def test_the_keyboard_alone_clears(home: Home, visit: Visits) -> None:
    seen = visit(PLACE)
    page, keys = seen.page, seen.page.keyboard
    page.get_by_role("button", name="Clear", exact=True).focus()
    keys.press("Enter")
    expect(page.get_by_role("dialog", name="Clear")).to_be_visible()
    keys.press("Escape")
    expect(page.get_by_role("dialog", name="Clear")).not_to_be_visible()
    expect(page.get_by_role("button", name="Clear", exact=True)).to_be_focused()
    assert home.noted().only == []
    keys.press("Enter")
    expect(page.get_by_role("dialog").get_by_role("button", name="Cancel")).to_be_focused()
    keys.press("Tab")
    keys.press("Enter")
    assert "resumed" in seen.status()
    assert set(home.noted().only) == EXPIRED


@pytest.mark.parametrize("closes", ["requestClose", "close"])
def test_a_button_pressed_as_its_dialog_closes_opens_it_again(closes: str, visit: Visits) -> None:
    page = visit(PLACE).page
    page.get_by_role("button", name="Clear", exact=True).click()
    expect(page.get_by_role("dialog", name="Clear")).to_be_visible()
    page.evaluate(
        """closes => {
            document.querySelector("dialog[open]")[closes]();
            [...document.querySelectorAll("button")].find((each) => each.textContent.trim() === "Clear").click();
        }""",
        closes,
    )
    page.evaluate("new Promise((done) => setTimeout(done, 100))")
    expect(page.get_by_role("dialog", name="Clear")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog", name="Clear")).not_to_be_visible()
    expect(page.get_by_role("button", name="Clear", exact=True)).to_be_focused()


def test_the_focus_is_always_seen(visit: Visits) -> None:
    seen = visit()
    expect(seen.page.locator(".row")).to_have_count(1)
    for _ in range(12):
        seen.page.keyboard.press("Tab")
        drawn = seen.page.evaluate(
            "getComputedStyle(document.activeElement).outlineStyle !== 'none' || document.activeElement === document.body"
        )
        assert drawn, seen.page.evaluate("document.activeElement.outerHTML")


def test_the_scheme_is_the_systems_until_one_is_chosen_and_then_stays(visit: Visits) -> None:
    seen = visit("", color_scheme="dark")
    ground = "getComputedStyle(document.documentElement).backgroundColor"
    dark = seen.page.evaluate(ground)
    seen.page.emulate_media(color_scheme="light")
    light = seen.page.evaluate(ground)
    assert dark != light
    seen.page.get_by_role("button", name="Colours: system. Change").click()
    expect(seen.page.get_by_role("button", name="Colours: dark. Change")).to_be_visible()
    assert seen.page.evaluate(ground) == dark
    seen.page.reload()
    assert seen.page.evaluate(ground) == dark
    expect(seen.page.get_by_role("button", name="Colours: dark. Change")).to_be_visible()


def test_who_wants_less_motion_gets_none(visit: Visits) -> None:
    seen = visit("", reduced_motion="reduce")
    seen.page.route("**/api/memory/**", lambda route, _request: None)
    seen.page.get_by_role("link", name="Memory").click()
    bone = seen.page.locator(".bone").first
    expect(bone).to_be_visible()
    expect(bone).to_have_css("animation-name", "none")
    seen.page.emulate_media(reduced_motion="no-preference")
    expect(bone).to_have_css("animation-name", "breathe")


def test_what_changes_is_announced_where_screen_readers_listen(visit: Visits) -> None:
    seen = visit(PLACE)
    assert seen.page.locator(".notices").get_attribute("aria-live") == "polite"
    expect(seen.page.get_by_label("What to do now").locator("[aria-live=polite]")).to_contain_text("Clear now")
    # The countdown ticks in silence.
    assert seen.page.locator(".cache").first.evaluate("each => each.closest('[aria-live], [role=status], [role=alert]')") is None
