"""What is shown is the newest that is known: as the clock goes, as things change, and whichever answer is there first."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, expect

from tests.dashboard.page.clocked import RUNS_ON_S, Clocked
from tests.dashboard.page.homes import FOLDED, PLACE, SESSION, Home
from tests.dashboard.page.served import Held, Visit
from tests.patience import HANG_S

Visits = Callable[..., Visit]
DETAIL = re.compile(f"/api/sessions/{SESSION}$")
LIST = re.compile(r"/api/sessions\?")
CHANGES = re.compile(r"/api/changes\b")
TURN = """(away) => {
  Object.defineProperty(document, "hidden", { value: away, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
}"""
COLD_S = 320


@pytest.fixture
def clocked(tmp_path: Path) -> Iterator[Clocked]:
    served = Clocked(tmp_path)
    yield served
    served.close()


def test_when_the_cache_goes_cold_the_page_says_what_to_do_then(clocked: Clocked, browser: Browser) -> None:
    seen = clocked.visit(browser, PLACE)
    verdict = seen.page.get_by_label("What to do now")
    row = seen.page.get_by_role("link", name=re.compile("please fix it"))
    expect(verdict).to_contain_text("Not yet")
    expect(row).to_contain_text("Not yet")
    clocked.pass_by(COLD_S, seen)
    expect(verdict).to_contain_text("Clear now")
    expect(verdict.get_by_role("button", name="Clear", exact=True)).to_be_visible()
    expect(row).to_contain_text("Clear now")
    seen.close()


def test_the_cache_counts_down(clocked: Clocked, browser: Browser) -> None:
    seen = clocked.visit(browser, PLACE)
    words = seen.page.locator("#context .cache")
    expect(words).to_have_text(re.compile("^Cache warm, .+ left$"))
    shown = words.inner_text()
    seen.page.clock.run_for(1_000)
    expect(words).not_to_have_text(shown)
    clocked.pass_by(COLD_S, seen)
    expect(words).to_have_text("Cache cold")
    seen.close()


def test_while_a_session_runs_it_is_asked_for_each_minute(clocked: Clocked, browser: Browser) -> None:
    seen = clocked.visit(browser, PLACE)
    expect(seen.page.locator(".connection")).to_have_text("Live")
    expect(seen.page.get_by_label("What to do now")).to_contain_text("Not yet")
    for _ in range(2):
        with seen.page.expect_response(LIST), seen.page.expect_response(DETAIL):
            clocked.pass_by(60, seen)
    seen.close()


def test_a_refused_operation_is_followed_by_what_is_offered_now(clocked: Clocked, browser: Browser) -> None:
    seen = clocked.visit(browser, PLACE)
    seen.page.get_by_role("button", name="Clear anyway").click()
    clocked.shop.at += COLD_S  # of which the page has not heard
    seen.page.get_by_role("dialog").get_by_role("button", name="Clear anyway").click()
    assert "that is not offered now" in seen.status()
    expect(seen.page.get_by_label("What to do now").get_by_role("button", name="Clear", exact=True)).to_be_visible()
    seen.close()


def test_how_long_ago_something_was_goes_on_by_the_minute(clocked: Clocked, browser: Browser) -> None:
    clocked.shop.at += RUNS_ON_S + 3_600  # the session runs no more
    seen = clocked.visit(browser, PLACE)
    ages = (seen.page.locator(".row-when time"), seen.page.locator(".session-head time"))
    for words in ("60 min ago", "2 h ago"):
        for age in ages:
            expect(age).to_have_text(words)
        clocked.pass_by(3_600, seen)
    seen.close()


def test_under_fast_changes_views_ask_one_question_at_a_time_and_show_each_answer(home: Home, visit: Visits) -> None:
    seen = visit(PLACE)
    page = seen.page
    expect(page.locator(".connection")).to_have_text("Live")
    expect(page.locator(".bar-row")).to_have_count(FOLDED)
    held = Held(page, DETAIL)
    for _ in range(3):
        with page.expect_response(re.compile("/series$")):
            os.utime(home.transcript)
    assert len(held) == 1
    verdict, words = page.get_by_label("What to do now"), "the first answer"
    with page.expect_request(DETAIL):  # once more: the session has changed since
        held[0].fulfill(json={**seen.fetch(f"/api/sessions/{SESSION}"), "doubt": words})
    expect(verdict).to_contain_text(words)
    held[1].continue_()
    expect(verdict).not_to_contain_text(words)
    assert len(held) == 2


def test_the_list_says_of_a_session_what_the_session_says(home: Home, visit: Visits) -> None:
    page = visit(PLACE).page
    row, verdict = page.locator(".row-verdict"), page.get_by_label("What to do now")
    expect(verdict).to_contain_text("Clear now")
    expect(row).to_contain_text("Clear now")
    before = amount_of(verdict)
    expect(row).to_contain_text(before)
    home.clear()  # as an earlier version did: what is needed least stays
    expect(verdict).not_to_contain_text(before)
    expect(row).not_to_contain_text(before)
    expect(row).to_contain_text(amount_of(verdict) or "Nothing to do")


def amount_of(verdict: Locator) -> str:
    """Return the tokens that it names, "" for none. How many these are, depends on the length of the paths."""
    found = re.search(r"~[\d.]+k?", verdict.inner_text())
    return found.group() if found else ""


def test_a_session_that_has_gone_leaves_the_list(home: Home, visit: Visits) -> None:
    home.with_others(2)
    page = visit().page
    expect(page.locator(".connection")).to_have_text("Live")
    expect(page.locator(".row")).to_have_count(3)
    home.transcript.unlink()
    expect(page.locator(".row")).to_have_count(2)


def test_rows_stay_while_others_are_searched_for(home: Home, visit: Visits) -> None:
    home.with_others(2)
    page = visit().page
    expect(page.locator(".row")).to_have_count(3)
    held = Held(page, LIST)
    with page.expect_request(re.compile("q=errand")):
        page.get_by_role("searchbox").fill("errand")
    expect(page.locator(".row")).to_have_count(3)
    expect(page.locator(".skeleton")).to_have_count(0)
    held[0].continue_()
    expect(page.locator(".row")).to_have_count(2)


def test_who_types_keeps_the_focus_when_a_session_is_there(visit: Visits) -> None:
    page = visit().page
    held = Held(page, DETAIL)
    with page.expect_request(DETAIL):
        page.get_by_role("link", name=re.compile("please fix it")).click()
    page.get_by_role("searchbox").focus()
    held[0].continue_()
    expect(page.get_by_role("heading", name="please fix it")).to_be_visible()
    expect(page.locator("#timeline")).to_be_visible()
    expect(page.get_by_role("searchbox")).to_be_focused()


def test_a_page_whose_clock_is_wrong_goes_by_the_servers(clocked: Clocked, browser: Browser) -> None:
    seen = Visit(browser, clocked, PLACE, clock=clocked.shop.at - 3_600)
    expect(seen.page.locator(".connection")).to_have_text("Live")
    expect(seen.page.locator("#context .cache")).to_have_text(re.compile(r"^Cache warm, \d min .* left$"))
    assert seen.page.evaluate("import('/live.js').then(({ now }) => now())") == pytest.approx(clocked.shop.at, abs=HANG_S)
    seen.close()


def test_a_page_asks_while_it_is_looked_at_and_at_once_when_it_is_again(clocked: Clocked, browser: Browser) -> None:
    seen = clocked.visit(browser, PLACE)
    expect(seen.page.locator(".connection")).to_have_text("Live")
    expect(seen.page.get_by_label("What to do now")).to_contain_text("Not yet")
    with seen.page.expect_response(CHANGES):
        seen.page.clock.run_for(1_000)
    seen.page.evaluate(TURN, True)
    seen.page.wait_for_load_state("networkidle")
    asked: list[str] = []
    seen.page.on("request", lambda request: asked.append(request.url))
    seen.page.clock.run_for(10_000)
    os.utime(clocked.shop.transcript)
    assert not any(CHANGES.search(url) for url in asked)
    with seen.page.expect_response(CHANGES), seen.page.expect_response(DETAIL):
        seen.page.evaluate(TURN, False)
    with seen.page.expect_response(CHANGES):
        seen.page.clock.run_for(1_000)
    seen.close()


def test_what_changes_while_a_page_loads_is_on_it(home: Home, visit: Visits) -> None:
    page = visit(PLACE).page
    held = Held(page, LIST, times=1)
    with page.expect_request(LIST):
        page.reload()
    answer = held[0].fetch()
    home.with_others(1)
    held[0].fulfill(response=answer)
    expect(page.locator(".row")).to_have_count(2)
