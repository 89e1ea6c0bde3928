"""What the page shows when there is nothing yet, when something is wrong, and when its server has gone."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.dashboard.page.homes import FOLDED, PLACE, SESSION, Home
from tests.dashboard.page.served import VIEWS, Held, Served, Visit

Visits = Callable[..., Visit]
DETAIL = re.compile(f"/api/sessions/{SESSION}$")
CHANGES = re.compile(r"/api/changes\b")
EMPTY = {
    "sessions": ("No sessions yet", "Start Claude Code in a project"),
    "memory": ("Nothing is remembered yet", "popkit memory on"),
    "retention": ("Nothing is held", "choose Hold"),
    "budgets": ("No limit is set", "To set one"),
    "bill": ("No sessions yet", "The bill begins"),
    "stats": ("PopKit has saved and cost nothing yet", "Figures appear"),
}


@pytest.fixture
def nothing(browser: Browser, tmp_path: Path):
    """A page over a home with nothing in it."""
    with Served(Home(tmp_path).environ()) as running:
        seen = Visit(browser, running)
        yield seen
        seen.close()


def test_where_there_is_nothing_each_view_says_how_it_comes(nothing: Visit) -> None:
    assert set(EMPTY) == set(VIEWS)
    for view in VIEWS:
        nothing.view(view)
        for words in EMPTY[view]:
            expect(nothing.page.locator("main")).to_contain_text(words)
        if view == "budgets":
            expect(nothing.page.locator("#limits code")).to_have_text(nothing.fetch("/api/budgets")["how"])


def test_while_something_is_loading_its_shape_is_there(visit: Visits) -> None:
    seen = visit()
    held = Held(seen.page, "**/api/sessions/*", times=1)
    with seen.page.expect_request("**/api/sessions/*"):
        seen.page.get_by_role("link", name=re.compile("please fix it")).click()
    expect(seen.page.get_by_text("Loading the session")).to_be_attached()
    held[0].continue_()
    expect(seen.page.get_by_role("heading", name="please fix it")).to_be_visible()
    expect(seen.page.locator(".skeleton")).to_have_count(0)


def test_what_is_wrong_is_shown_with_what_to_do_and_can_be_tried_again(visit: Visits) -> None:
    seen = visit()
    words = "The folder cannot be read. Make it yours with chown."
    seen.page.route("**/api/retention", lambda route: route.fulfill(status=500, json={"error": words}))
    seen.page.get_by_role("link", name="Retention").click()
    expect(seen.page.get_by_role("alert").get_by_text(words)).to_be_visible()
    seen.page.unroute("**/api/retention")
    seen.page.get_by_role("button", name="Try again").click()
    expect(seen.page.get_by_role("heading", name="Holds")).to_be_visible()


def test_what_is_known_stays_while_the_server_is_away(served: Served, visit: Visits) -> None:
    seen = visit(PLACE)
    expect(seen.page.get_by_text("37,000 of 1,000,000 tokens (4%)").first).to_be_visible()
    expect(seen.page.locator(".connection")).to_have_text("Live")
    served.stop()
    banner = seen.page.locator(".stale")
    expect(banner).to_contain_text(re.compile(r"The connection is lost\. What you see is from \d+ \w+ \d\d:\d\d"))
    expect(seen.page).to_have_title(re.compile("^Not connected"))
    expect(seen.page.get_by_text("37,000 of 1,000,000 tokens (4%)").first).to_be_visible()
    # What is done meanwhile is not done, and says so.
    seen.page.get_by_role("button", name="Hold", exact=True).click()
    dialog = seen.page.get_by_role("dialog")
    dialog.get_by_role("textbox", name="Why it is held").fill("for the audit")
    dialog.get_by_role("button", name="Hold", exact=True).click()
    assert "does not answer" in seen.status()


def test_another_server_needs_its_own_address_and_then_everything_is_fetched_again(home: Home, served: Served, visit: Visits) -> None:
    seen = visit(PLACE)
    bars = seen.page.get_by_role("list", name=re.compile("^Results")).get_by_role("button")
    expect(bars).to_have_count(FOLDED)
    expect(seen.page.locator(".connection")).to_have_text("Live")
    served.stop()
    expect(seen.page.locator(".stale")).to_contain_text("The connection is lost")
    home.clear()
    served.start()
    expect(seen.page.locator(".stale")).to_contain_text("Open the new address that popkit dashboard printed")
    other = seen.context.new_page()
    other.goto(served.address)
    expect(seen.page.locator(".stale")).to_have_count(0)
    expect(seen.page.get_by_role("button", name=re.compile("^T1 Read old.ts, cleared"))).to_be_visible()
    # Changes go with the new server's token.
    seen.confirm("Undo the last clear")
    assert "resumed" in seen.status()
    assert set(home.noted().back) == set(home.cleared().values()) != set()


def test_the_banner_says_when_the_server_answered_last_whatever_is_found_then(served: Served, visit: Visits) -> None:
    seen = visit()
    expect(seen.page.locator(".connection")).to_have_text("Live")
    before = seen.page.evaluate("new Date().toISOString()")
    with seen.page.expect_response(CHANGES):
        pass
    served.stop()
    banner = seen.page.locator(".stale")
    expect(banner).to_contain_text("It reconnects automatically once popkit dashboard is running.")
    lost = banner.locator("time").get_attribute("datetime")
    assert lost >= before
    served.start()
    expect(banner).to_contain_text("The dashboard was restarted, so this page can no longer connect.")
    assert banner.locator("time").get_attribute("datetime") == lost


def test_many_pages_of_one_browser_are_all_kept_up(home: Home, served: Served, visit: Visits) -> None:
    first = visit(PLACE)
    more = [first.context.new_page() for _ in range(6)]  # together more than the six connections that a browser has with a server
    for page in more:
        page.goto(f"http://127.0.0.1:{served.port}/{PLACE}")
    for page in more:
        expect(page.get_by_text("37,000 of 1,000,000 tokens (4%)").first).to_be_visible()
        expect(page.locator(".connection")).to_have_text("Live")
    home.clear()
    for page in more:
        expect(page.get_by_role("button", name=re.compile("^T1 Read old.ts, cleared"))).to_be_visible()


def test_a_page_that_has_lost_its_server_finds_it_again_by_itself_and_asks_again(visit: Visits) -> None:
    page = visit(PLACE).page
    expect(page.locator(".connection")).to_have_text("Live")
    page.route(CHANGES, lambda route: route.abort())
    expect(page.locator(".stale")).to_contain_text("The connection is lost")
    with page.expect_request(DETAIL):  # what may have changed meanwhile
        page.unroute(CHANGES)
    expect(page.locator(".connection")).to_have_text("Live")
    expect(page.locator(".stale")).to_have_count(0)


def test_a_page_that_has_lost_its_server_tries_again_when_it_is_told_to(home: Home, visit: Visits) -> None:
    page = visit(PLACE, clock=home.at).page
    expect(page.locator(".connection")).to_have_text("Live")
    page.route(CHANGES, lambda route: route.abort())
    expect(page.locator(".stale")).to_contain_text("The connection is lost")
    page.clock.pause_at(home.at + 3_600)  # nothing happens there by itself
    with page.expect_event("requestfailed", lambda request: CHANGES.search(request.url)):
        page.get_by_role("button", name="Try now").click()
    page.unroute(CHANGES)
    page.get_by_role("button", name="Try now").click()
    expect(page.locator(".connection")).to_have_text("Live")


def test_before_the_first_answer_the_page_says_that_it_is_connecting(visit: Visits) -> None:
    page = visit().page
    held = Held(page, re.compile("/api/changes$"))  # the first one, which has no token
    page.reload()
    expect(page.locator(".connection")).to_have_text("Connecting")
    expect(page.get_by_text("Loading the sessions")).to_be_attached()
    held[0].continue_()
    expect(page.locator(".connection")).to_have_text("Live")
    expect(page.locator(".row")).to_have_count(1)
