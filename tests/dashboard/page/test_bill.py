"""The bill by clicks."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Route, expect

from popkit_retention.bill.digests import FILE
from popkit_retention.core.policy.lost_cache import PAUSE
from popkit_retention.core.state import hidden_tools
from popkit_retention.core.views.cache_lifetime import lifetime_phrases
from tests.bill.conversations import DOCS, LINEAR, OTHER, breakdown
from tests.bill.test_bill_command import Shop
from tests.bill.test_lifetimes import lifetime
from tests.dashboard.page.served import Served, Visit


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    """A project whose sessions do without one tool of a server."""
    rules = tmp_path / "shop" / "CLAUDE.md"
    opened = Shop(tmp_path, known=breakdown(memoryFiles=[{"path": str(rules), "type": "Project", "tokens": 1_700}]))
    rules.write_text("# Shop\n\n## Deploying\n\n" + "Ask first. " * 500)
    hidden_tools.hide(str(opened.home), str(opened.project), LINEAR[0], {"name": LINEAR[0], "tokens": 1_200, "at": time.time()})
    return opened


@pytest.fixture
def served(shop: Shop) -> Iterator[Served]:
    now = max(digest["ended"] for digest in shop.digests) + 60
    environ = {"CLAUDE_CONFIG_DIR": str(shop.folder / "claude"), "POPKIT_HOME": str(shop.home), "POPKIT_CLOCK": str(now)}
    with Served({**os.environ, **environ}) as running:
        yield running


def test_the_bill_says_what_is_always_sent_what_could_go_and_what_was_paid(browser: Browser, served: Served) -> None:
    seen = Visit(browser, served, "#/sessions")
    seen.view("bill")
    page, before, paid = seen.page, seen.page.locator("#before"), seen.page.locator("#paid")
    expect(before.locator("tbody tr").first).to_be_visible()
    answer = seen.fetch("/api/bill")
    words = answer["phrases"]
    expect(before.locator("tbody tr")).to_have_count(len(answer["bill"]["rows"]))
    for row, phrase in zip(answer["bill"]["rows"], words["rows"]):
        line = before.locator("tbody tr").filter(has=page.get_by_role("rowheader", name=f"{phrase['words']} {phrase['used']}".strip()))
        expect(line).to_contain_text(f"{row['tokens']:,}" if row["tokens"] else "-")
    # A server opens to its tools, each with its use.
    page.get_by_role("button", name=f"MCP server {OTHER} (2 tools)").click()
    expect(before.get_by_role("rowheader", name=f"{DOCS[0]} last used")).to_be_visible()
    expect(before.get_by_role("rowheader", name=f"{DOCS[1]} never used")).to_be_visible()
    proposed = answer["bill"]["proposals"]
    expect(page.locator("#proposals code")).to_have_text(
        [*(f"popkit bill {word} {row['name']}" for row in proposed for word in ("hide", "defer")), *(run for _, run in words["drafts"])]
    )
    assert len(words["drafts"]) == 1
    expect(page.locator("#hidden code")).to_have_text(f"popkit bill show {LINEAR[0]}")
    expect(page.locator("#lost")).to_contain_text("No request wrote")
    # What the conversation was made of stands below it until it is folded.
    kinds = [phrase["words"] for phrase in words["kinds"]]
    assert "results of Read (3 calls)" in kinds
    expect(paid.get_by_role("rowheader", name="Results of Read (3 calls)")).to_be_visible()
    expect(paid.locator("tbody tr")).to_have_count(len(words["parts"]) + len(kinds))
    seen.fits()
    paid.get_by_role("button", name="The conversation").click()
    expect(paid.locator("tbody tr")).to_have_count(len(words["parts"]))
    seen.fits()
    seen.close()


def test_what_has_no_room_among_the_kinds_opens_with_its_sum(browser: Browser, served: Served) -> None:
    seen = Visit(browser, served, "#/bill")
    page = seen.page
    expect(page.locator("#paid tbody tr").first).to_be_visible()
    answer = seen.fetch("/api/bill")
    row = {"kind": "result", "tokens": 1, "used": [1, 1.0], "parts": []}
    names = [f"Tool{number}" for number in range(11)]
    answer["bill"]["whole"]["kinds"] = [{**row, "name": name, "usd": 0.01} for name in names]
    answer["phrases"]["kinds"] = [{"words": name, "used": "", "parts": []} for name in names]
    page.route("**/api/bill", lambda route: route.fulfill(json=answer))
    page.get_by_role("button", name="Refresh").click()
    rows = page.locator("#paid tbody tr")
    expect(rows.filter(has_text="3 more")).to_contain_text("$0.03")
    expect(page.get_by_role("rowheader", name="Tool10")).to_have_count(0)
    page.get_by_role("button", name="3 more").click()
    expect(page.get_by_role("rowheader", name="Tool10")).to_be_visible()
    seen.close()


def test_lost_caches_say_why_how_often_and_what_would_prevent_it(browser: Browser, served: Served) -> None:
    seen = Visit(browser, served, "#/bill")
    page = seen.page
    expect(page.locator("#lost")).to_contain_text("No request wrote")
    answer = seen.fetch("/api/bill")
    lost = {"times": 3, "tokens": 57_000, "usd": 1.25, "unpriced": 0}
    misses = {**answer["misses"], "lost": lost, "causes": [{**lost, "cause": PAUSE, "details": [["6 h", 2]]}]}
    page.route("**/api/bill", lambda route: route.fulfill(json={**answer, "misses": misses}))
    page.get_by_role("button", name="Refresh").click()
    for words in (*answer["causes"][PAUSE], "6 h (2)", "57k", "$1.25"):
        expect(page.locator("#lost tbody tr")).to_contain_text(words)
    seen.fits()
    seen.close()


def test_the_lifetime_of_the_cache_that_pays_is_said_with_what_sets_it(browser: Browser, served: Served) -> None:
    seen = Visit(browser, served, "#/bill")
    page = seen.page
    expect(page.locator("#paid tbody tr").first).to_be_visible()
    answer = seen.fetch("/api/bill")
    answer["phrases"].update(lifetime_phrases({"main": lifetime(), "subagents": None}))
    page.route("**/api/bill", lambda route: route.fulfill(json=answer))
    page.get_by_role("button", name="Refresh").click()
    expect(page.locator("#lifetime")).to_contain_text("An hour pays for your sessions")
    expect(page.locator("#lifetime code")).to_have_text(["~/.claude/settings.json", '"promptCacheTtl": "1h"'])
    seen.fits()
    seen.close()


def test_while_transcripts_are_being_read_it_says_how_far_and_then_shows_the_bill(browser: Browser, served: Served) -> None:
    seen = Visit(browser, served)
    page = seen.page
    answers = [{"reading": share, "projects": [], "causes": {}} for share in (0.0, 0.4)]

    def answer(route: Route) -> None:
        if answers:
            route.fulfill(json=answers.pop(0))
        else:
            route.continue_()

    page.route("**/api/bill", answer)
    page.goto(served.address + "#/bill")
    expect(page.get_by_role("status").filter(has_text="Reading your transcripts: 40% done.")).to_be_visible()
    expect(page.locator("#before tbody tr").first).to_be_visible()
    expect(page.get_by_text("Reading your transcripts")).to_have_count(0)
    seen.close()


def test_where_nothing_can_be_kept_it_says_why_and_what_to_do(browser: Browser, shop: Shop, served: Served) -> None:
    (shop.home / FILE / "in the way").mkdir(parents=True)
    seen = Visit(browser, served, "#/bill")
    alert = seen.page.get_by_role("alert").filter(has_text=FILE)
    expect(alert).to_be_visible()
    (shop.home / FILE / "in the way").rmdir()
    (shop.home / FILE).rmdir()
    time.sleep(2.1)
    seen.page.get_by_role("button", name="Try again").click()
    expect(seen.page.locator("#before tbody tr").first).to_be_visible()
    seen.close()
