"""The dialog about an operation and the message about what came of it, while other things happen."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import expect

from tests.dashboard.page.homes import PLACE, Home
from tests.dashboard.page.served import Held, Visit
from tests.reclaim.shops import EXPIRED

Visits = Callable[..., Visit]
SAY = "async (words) => (await import('/parts/operations.js')).say(words)"


def test_while_an_operation_is_done_its_dialog_stays(home: Home, visit: Visits) -> None:
    seen = visit(PLACE)
    page = seen.page
    held = Held(page, "**/operations")
    page.get_by_role("button", name="Clear", exact=True).click()
    dialog = page.get_by_role("dialog", name="Clear")
    with page.expect_request("**/operations"):
        dialog.get_by_role("button", name="Clear", exact=True).click()
    expect(dialog.get_by_role("button", name="Working…")).to_be_disabled()
    expect(dialog.get_by_role("button", name="Cancel")).to_be_disabled()
    page.keyboard.press("Escape")
    page.mouse.click(5, 5)
    expect(dialog).to_be_visible()
    assert home.noted().only == []
    held[0].continue_()
    expect(dialog).not_to_be_visible()
    assert "resumed" in seen.status()
    assert set(home.noted().only) == EXPIRED


def test_an_operation_that_is_done_closes_no_dialog_but_its_own(visit: Visits) -> None:
    seen = visit(PLACE)
    page = seen.page
    held = Held(page, "**/operations")
    page.get_by_role("button", name="Clear", exact=True).click()
    with page.expect_request("**/operations"):
        page.get_by_role("dialog", name="Clear").get_by_role("button", name="Clear", exact=True).click()
    page.evaluate("document.querySelector('dialog[open]').close()")  # as a browser does when Escape is pressed again and again
    page.get_by_role("button", name="Hold", exact=True).click()
    other = page.get_by_role("dialog", name="Hold")
    expect(other.get_by_role("button", name="Hold", exact=True)).to_be_enabled()
    held[0].continue_()
    assert "resumed" in seen.status()
    expect(other).to_be_visible()


def test_a_way_back_is_offered_with_the_message_of_its_own_operation_alone(visit: Visits) -> None:
    seen = visit(PLACE)
    page = seen.page
    page.get_by_role("button", name=re.compile("^T31 Read lib.ts")).click()
    why = page.get_by_role("complementary", name="Why T31")
    expect(why).to_contain_text("file contents")
    held = Held(page, "**/results/31")
    with page.expect_request("**/results/31"):
        seen.confirm("Pin")
    assert "T31" in seen.status()
    page.evaluate(SAY, "something else was done")
    expect(page.get_by_role("status").get_by_text("something else was done")).to_be_visible()
    held.let_go()
    expect(why.get_by_role("button", name="Unpin")).to_be_visible()
    expect(page.locator(".notice").get_by_role("button")).to_have_text(["Dismiss"])


def test_when_an_operation_removes_its_button_the_focus_moves_to_the_next_one(visit: Visits) -> None:
    page = visit(PLACE).page
    page.get_by_role("button", name="Hold", exact=True).press("Enter")
    page.get_by_label("Why it is held").fill("for the audit")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Release", exact=True).first).to_be_visible()
    expect(page.locator(".verdict .operations button:focus")).to_have_count(1)
    page.get_by_role("button", name="Dismiss").press("Enter")
    expect(page.locator("#session-title")).to_be_focused()
