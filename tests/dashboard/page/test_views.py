"""Memory, retention, budgets and stats by clicks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, expect

from popkit_retention.core import units
from popkit_retention.governance.controller import Controller
from popkit_retention.governance.domains import USER
from popkit_retention.usage.configured_database import open_store
from popkit_retention.usage.records import CLIENT, RequestUsage, Tokens
from tests.cli.conftest import *  # noqa: F403  `filled` and what it stands on
from tests.cli.remembered import Remembered
from tests.dashboard.page.homes import PLACE, SESSION, Home
from tests.dashboard.page.served import Served, Visit

Visits = Callable[..., Visit]
# Renders the way to more of a list: (shown, total, limit).
MORE = """async ([shown, total, limit]) => {
  const { html, render } = await import('/vendor/preact-htm.js');
  const { More } = await import('/parts/states.js');
  const place = document.createElement('div');
  const ask = (more) => { place.dataset.asked = more; };
  const list = { shown, total, limit, step: 50, most: 120, ask, rest: 'popkit memory list --all' };
  render(html`<${More} ...${list} />`, place);
  place.querySelector('button')?.click();
  return [place.textContent.trim().replaceAll(/\\s+/g, ' '), place.dataset.asked ?? ''];
}"""


def book(home: Home, session: str, user: str, tokens: int = 1_000, dollars: float | None = 0.5, number: int = 1) -> None:
    """A request of a session that has no transcript here."""
    spent = Tokens(input=tokens, output=10)
    used = RequestUsage(CLIENT, f"{session}-{number}", session, user, "claude-opus-5", home.at - 100, spent, dollars, "/their/shop")
    with open_store(home.environ()) as store:
        store.write([used])


def answers(seen: Visit, path: str, **more: object) -> None:
    """From now on the server's answer has these fields besides."""
    answer = seen.fetch(path)
    seen.page.route(re.compile(re.escape(path.partition("?")[0])), lambda route: route.fulfill(json={**answer, **more}))


@pytest.fixture
def remembering(browser: Browser, filled: Remembered) -> Iterator[Visit]:
    """A page over a memory: what two sessions taught, and three things that the user said."""
    with Served({**filled.env, "POPKIT_CLOCK": str(filled.now)}) as running:
        seen = Visit(browser, running, "#/memory")
        yield seen
        seen.close()


def test_memory_shows_its_items_by_tier_and_the_document_that_sessions_get(remembering: Visit) -> None:
    page = remembering.page
    expect(page.get_by_role("heading", name="MEMORY.md as it would be now")).to_be_visible()
    project = remembering.fetch("/api/memory/projects")["projects"][0]
    answer = remembering.fetch(f"/api/memory?project={project['project']}")
    expect(page.locator(".items > li")).to_have_count(answer["total"])
    for each in answer["tiers"]:
        row = page.get_by_role("row", name=re.compile(each["tier"], re.IGNORECASE))
        expect(row.get_by_role("cell")).to_have_text([f"{each['items']:,}", units.tokens(each["tokens"])])
    expect(page.get_by_label("MEMORY.md", exact=True)).to_contain_text("Run the tests with make check")
    page.get_by_role("searchbox", name="Search the items").fill("uuids")
    expect(page.locator(".items > li")).to_have_count(1)
    expect(page.locator(".items > li")).to_contain_text("Ids are UUIDs of version 7")


def test_an_item_is_pinned_released_forgotten_and_brought_back(remembering: Visit) -> None:
    page = remembering.page
    page.get_by_role("searchbox", name="Search the items").fill("uuids")
    item = page.locator(".items > li")
    expect(item).to_have_count(1)
    for press, after in (("Pin", "Unpin"), ("Unpin", "Pin"), ("Forget", "Bring back"), ("Bring back", "Forget")):
        item.get_by_role("button", name=press, exact=True).click()
        dialog = page.get_by_role("dialog", name=press)
        expect(dialog.locator(".sum")).not_to_be_empty()
        dialog.get_by_role("button", name=press, exact=True).click()
        expect(item.get_by_role("button", name=after, exact=True)).to_be_visible()
    expect(item).not_to_contain_text("Marked for deletion")


def test_a_session_is_held_with_a_reason_and_released_where_holds_are_listed(home: Home, visit: Visits) -> None:
    seen = visit(PLACE)
    page = seen.page
    page.get_by_role("button", name="Hold", exact=True).click()
    dialog = page.get_by_role("dialog", name="Hold")
    dialog.get_by_role("button", name="Hold", exact=True).click()
    expect(dialog).to_be_visible()  # a hold needs a reason
    dialog.get_by_role("textbox", name="Why it is held").fill("for the audit in June")
    dialog.get_by_role("button", name="Hold", exact=True).click()
    assert "for the audit in June" in seen.status()
    expect(page.locator("main").get_by_role("button", name="Release").first).to_be_visible()
    seen.view("retention")
    holds = page.locator("#holds .items > li")
    expect(holds).to_have_count(2)  # of the memory and of the archive
    expect(holds.first).to_contain_text("for the audit in June")
    expect(holds.first).to_contain_text(SESSION)
    for left in (1, 0):
        page.locator("#holds").get_by_role("button", name="Release").first.click()
        page.get_by_role("dialog").get_by_role("button", name="Release", exact=True).click()
        expect(page.locator("#holds").get_by_role("button", name="Release")).to_have_count(left)
    expect(page.locator("#log .log-words").first).to_contain_text(re.compile("releas", re.IGNORECASE))
    expect(page.locator("#log tbody tr")).to_have_count(4)


def test_retention_tells_policies_in_words_and_what_is_stored(home: Home, visit: Visits) -> None:
    home.clear()
    seen = visit()
    seen.view("retention")
    answer = seen.fetch("/api/retention")
    for policy in answer["policies"]:
        card = seen.page.locator(f"#policy-{policy['domain']}")
        for words in (*policy["sentences"], *policy["words"]):
            expect(card).to_contain_text(words, ignore_case=True)
        expect(card).to_contain_text("Nothing is deleted until you run popkit retention gc")
        expect(card.get_by_text("older_than_days").last).not_to_be_visible()
    hot = answer["zones"][0]
    expect(seen.page.locator("#zones")).to_contain_text(units.counted(hot["records"], "record"))
    expect(seen.page.locator("#log")).to_contain_text("complete and unaltered" if answer["log_whole"] else "broken")


def test_stats_say_what_the_terminal_says_and_draw_it_by_day(home: Home, visit: Visits) -> None:
    seen = visit()
    seen.view("stats")
    answer = seen.fetch("/api/stats?days=30")
    expect(seen.page.locator(".headline")).to_have_text(answer["headline"])
    seen.page.get_by_role("button", name="7 days").click()
    expect(seen.page.get_by_role("button", name="7 days")).to_have_attribute("aria-pressed", "true")


def test_a_session_of_another_machine_tells_what_it_used_and_no_more(home: Home, visit: Visits) -> None:
    book(home, "theirs", "erik", tokens=4_000)
    book(home, "theirs", "erik", tokens=5_000, number=2)
    seen = visit("#/session/theirs")
    session = seen.page.get_by_role("article")
    expect(session.locator(".session-head")).to_contain_text("2 requests")
    expect(session.get_by_label("What it used", exact=True).last).to_contain_text("9,000 tokens")
    expect(session.get_by_role("heading", level=2)).to_have_text(["What it used", "Over time"])
    for wrong in ("tool call", "nothing", "Nothing", "By tier"):
        expect(session).not_to_contain_text(wrong)


def test_usage_is_shown_of_everybody_or_of_one_user(home: Home, visit: Visits) -> None:
    home.configure(context={"user": "dana", "month_tokens": 20_000})
    book(home, "s-dana", "dana", tokens=6_990)
    book(home, "s-erik", "erik", tokens=990)
    seen = visit("#/budgets")
    card = seen.page.locator("#usage")
    expect(card.get_by_role("heading")).to_have_text("Usage by day")
    expect(card).to_contain_text("The last 30 days, in tokens: $1.00 at the prices of the API")
    expect(seen.page.locator("#limits")).to_contain_text(
        "7,000 tokens of 20,000 tokens used (35.0%). With 65.0% left, contexts are built as for 60–80% of the budget."
    )
    seen.page.get_by_role("combobox", name="User").select_option("erik")
    expect(card.get_by_role("heading")).to_have_text("Usage of erik by day")
    expect(card).to_contain_text("The last 30 days, in tokens: $0.50 at the prices of the API")
    expect(seen.page.locator("#limits")).to_contain_text("1,000 tokens of 20,000 tokens used (5.0%)")


def test_a_limit_of_which_nothing_is_used_is_told_apart_from_none(home: Home, visit: Visits) -> None:
    seen = visit()
    answers(seen, "/api/budgets", configured={"month_usd": 50.0, "session_tokens": 2_000_000})
    seen.view("budgets")
    limits = seen.page.locator("#limits")
    for words in ("Nothing has been used yet", "Limit per month: $50.00", "Limit per session: 2,000,000 tokens"):
        expect(limits).to_contain_text(words)
    expect(limits).not_to_contain_text("No limit is set")


def test_requests_of_unknown_price_are_reported(home: Home, visit: Visits) -> None:
    book(home, "s-dana", "dana")
    seen = visit()
    days = seen.fetch("/api/budgets")["usage"]
    answers(seen, "/api/budgets", usage=[{**day, "unpriced": 3} if day["usd"] else day for day in days])
    seen.view("budgets")
    expect(seen.page.locator("#usage")).to_contain_text("$0.50 at the prices of the API, plus 3 requests of unknown price")


def test_a_list_is_shown_in_parts_as_far_as_the_server_tells_it(visit: Visits) -> None:
    page = visit().page
    expected = {
        (50, 200, 50): ["Show 50 more: 50 of 200 are shown", "100"],
        (100, 200, 100): ["Show 20 more: 100 of 200 are shown", "120"],
        (120, 200, 120): ["The first 120 of 200 are shown. To see all: popkit memory list --all", ""],
        (50, 200, 100): ["", ""],
        (50, 50, 50): ["", ""],
    }
    assert {list_of: page.evaluate(MORE, list(list_of)) for list_of in expected} == expected


def test_a_value_of_a_policy_is_shown_as_it_was_set(home: Home, visit: Visits) -> None:
    with Controller(home.environ(), USER, now=lambda: home.at) as controller:
        controller.configure("memory", {"older_than_days": 7.5})
    seen = visit()
    seen.view("retention")
    row = seen.page.locator("#policy-memory .pairs .figure-row", has_text="older_than_days")
    expect(row).to_contain_text("7.5")


def test_what_memory_saved_and_what_it_cost_are_told_apart(home: Home, visit: Visits) -> None:
    seen = visit()
    names = {"gains": {"memory": "memory"}, "causes": {"memory": "memory"}}
    answers(seen, "/api/stats?days=30", saved_by_usd={"memory": 5.0, "other": 0.007}, cost_by_usd={"memory": 0.3}, **names)
    seen.view("stats")
    causes = seen.page.locator("#causes .named-bars li")
    expect(causes).to_have_text(
        [re.compile("Saved by memory.*\\$5.00"), re.compile("Saved by other.*\\$0.007"), re.compile("Cost of memory.*\\$0.30")]
    )
