"""Sessions by clicks: find one, see what its context holds, ask why, pin, clear, undo, hold."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from popkit_retention.core import units
from popkit_retention.core.views import verdicts
from popkit_retention.dashboard.instance import Instance
from popkit_retention.dashboard.session_operations import CLEARED_LATER
from popkit_retention.usage.configured_database import open_store
from popkit_retention.usage.records import Snapshot
from tests.dashboard.page.homes import FOLDED, PLACE, SESSION, Home
from tests.dashboard.page.served import PATIENCE_S, Held, Served, Visit
from tests.reclaim.shops import EXPIRED

Visits = Callable[..., Visit]


def report_of(seen: Visit) -> dict:
    """What the panel is drawn from."""
    return seen.fetch(f"/api/sessions/{SESSION}")["report"]


def sum_of_clear(seen: Visit) -> str:
    words = verdicts.verdict(report_of(seen)).removeprefix("Clear now: ")
    return words[0].upper() + words[1:] + ". " + CLEARED_LATER + "."


def test_a_file_leads_the_browser_to_the_page(home: Home, served: Served, browser: Browser) -> None:
    page = browser.new_page()
    page.set_default_timeout(PATIENCE_S * 1000)
    page.goto(Instance(home.environ()).browser_file(served.address))
    expect(page.locator("a.brand")).to_be_visible()
    assert page.url == f"http://127.0.0.1:{served.port}/"
    page.close()


def test_the_address_opens_the_list_and_keeps_its_token_to_itself(visit: Visits) -> None:
    seen = visit()
    expect(seen.page.get_by_role("heading", level=1)).to_have_text("Sessions")
    expect(seen.page).to_have_title("1 running · Sessions · PopKit")
    assert "token" not in seen.page.url
    row = seen.page.get_by_role("link", name=re.compile("please fix it"))
    expect(row).to_contain_text("shop")
    expect(row).to_contain_text("4%")
    row.click()
    expect(seen.page.get_by_role("heading", level=1, name="please fix it")).to_be_focused()
    assert seen.page.url.endswith(PLACE)


def test_a_session_shows_by_which_strategy_its_contexts_are_assembled(home: Home, visit: Visits) -> None:
    breakdown = {f"tier{number}": {"tokens": number * 1_000, "items": number} for number in (1, 2, 3, 4)} | {"total": 10_000}
    strategy = {"budgetRange": "60-80%", "tier1Messages": 1, "tier2Items": "all", "tier3Mode": "full", "tier4Messages": 12}
    snapshot = Snapshot(str(uuid.uuid4()), SESSION, "dana", breakdown, 10_000, 31.5, strategy, home.at - 5, 68.5, 25_000)
    with open_store(home.environ()) as store:
        store.write(snapshots=[snapshot])
    card = visit(PLACE).page.get_by_role("region", name="Context").first
    expect(card).to_contain_text("31.5% of the budget is used, so the rules for 60-80% remaining hold; 12 earlier exchanges were sent.")
    expect(card).to_contain_text("Above 40% used, those for 40-60% will.")
    history = card.locator("dl[aria-labelledby=strategy] .figure-row", has_text="History")
    expect(history).to_contain_text("5 newest exchanges, 60% in all")
    expect(history).to_contain_text("then 2 newest exchanges, 50% in all")


def test_a_session_tells_what_the_panel_tells(home: Home, visit: Visits) -> None:
    seen = visit(PLACE)
    session = seen.page.get_by_role("article")
    report = report_of(seen)
    expired, taken = report["expired"], report["reclaimable"]["now"]
    expect(session.get_by_label("What to do now").locator("p").first).to_have_text(verdicts.verdict(report).replace(": ", ""))
    expect(seen.page).to_have_title("Clear now · please fix it · PopKit")
    share = f"in 30 results ({expired['tokens'] / 37_000:.0%} of the context)"
    for words in (
        "37,000 of 1,000,000 tokens (4%)",
        units.long_tokens(expired["tokens"]),
        share,
        units.long_tokens(taken["tokens"]),
        "Cache cold",
    ):
        expect(session).to_contain_text(words)
    expect(session.get_by_role("region", name="Results by tier")).not_to_be_visible()
    session.locator("summary", has_text="By lifetime").click()
    for tier, have in report["tiers"].items():
        cells = [
            cell
            for sums in (have["live"], have["expired"])
            for cell in (str(sums["items"]), units.tokens(sums["tokens"]) if sums["items"] else "")
        ]
        expect(session.get_by_role("row", name=re.compile(tier, re.IGNORECASE)).get_by_role("cell")).to_have_text(cells)
    session.get_by_text("Terminal view").click()
    shown = " ".join(session.get_by_label("The panel").inner_text().split())
    assert f"Expired: {units.long_tokens(expired['tokens'])} {share}" in shown
    assert f"Reclaimable: {units.long_tokens(taken['tokens'])}, from 3 expired results" in shown


def test_what_the_last_compaction_lost_is_read_when_somebody_opens_it(visit: Visits) -> None:
    session = visit(PLACE).page.get_by_role("article")
    expect(session).not_to_contain_text("has not been compacted")
    session.get_by_text("What the last compaction lost").click()
    expect(session).to_contain_text("This session has not been compacted.")


def tokens_of(seen: Visit, number: int) -> int:
    return seen.fetch(f"/api/sessions/{SESSION}/results/{number}")["row"]["tokens"]


def test_every_result_has_a_bar_that_says_what_became_of_it(visit: Visits) -> None:
    seen = visit(PLACE)
    bars = seen.page.get_by_role("list", name=re.compile("^Results")).get_by_role("button")
    expect(bars).to_have_count(FOLDED)
    for name in ("T2 to T4 2 Edit, 1 Read", "T9 to T30 22 times Bash mkdir -p …"):
        seen.page.get_by_role("button", name=re.compile(f"^{name}, expired, still in the context, .* Show each$")).press("Enter")
    expect(bars).to_have_count(34)
    expect(bars.nth(8)).to_be_focused()
    size = units.long_tokens(tokens_of(seen, 1))
    expect(bars.first).to_have_accessible_name(f"T1 Read old.ts, expired, still in the context, {size}, edited at T2. Why?")
    seen.page.get_by_role("group", name="Which results").get_by_role("button", name="Would be cleared").click()
    expect(bars).to_have_count(len(EXPIRED))
    seen.page.get_by_role("group", name="Which results").get_by_role("button", name="Live").click()
    expect(bars).to_have_count(4)


def test_the_chart_is_a_table_too_and_is_read_with_the_arrow_keys(visit: Visits) -> None:
    seen = visit(PLACE)
    chart = seen.page.locator("#over-time")
    walk = chart.get_by_role("group", name=re.compile("^Tokens of the context"))
    walk.focus()
    walk.press("End")
    expect(chart.locator(".readout")).to_contain_text("Request 35, ")
    walk.press("ArrowLeft")
    expect(chart.locator(".readout")).to_contain_text("Request 34, ")
    chart.get_by_role("button", name="By layer").click()
    chart.get_by_text("Show as a table").click()
    table = chart.get_by_role("table")
    expect(table.get_by_role("columnheader")).to_have_text(["Request", "Time", "In all", "System and current request", "Files", "History"])
    expect(table.get_by_role("row")).to_have_count(36)


def test_a_bar_opens_the_reasons_and_a_pin_keeps_the_result(home: Home, visit: Visits) -> None:
    seen = visit(PLACE)
    seen.page.get_by_role("button", name=re.compile("^T31 Read lib.ts")).click()
    why = seen.page.get_by_role("complementary", name="Why T31")
    size = units.long_tokens(tokens_of(seen, 31))
    expect(why).to_contain_text(f"file contents, {size} (estimate)")
    expect(why).to_contain_text("when its file is edited or changes on disk")
    assert seen.confirm("Pin") == f"Its {size} stay in the context until you unpin it."
    assert "T31" in seen.status()
    expect(seen.page.get_by_role("button", name=re.compile("^T31 Read lib.ts.*pinned"))).to_be_visible()
    assert home.state().pins == ["read-lib"]
    # What takes it back is offered beside what came of it.
    seen.page.get_by_role("status").get_by_role("button", name="Unpin").click()
    seen.page.get_by_role("dialog").get_by_role("button", name="Unpin", exact=True).click()
    expect(seen.page.get_by_role("button", name=re.compile("^T31 Read lib.ts.*pinned"))).not_to_be_visible()
    assert home.state().pins == []


def test_nothing_is_done_before_the_sum_was_agreed_to(home: Home, visit: Visits) -> None:
    before = home.transcript.read_bytes()
    seen = visit(PLACE)
    for leave in (lambda dialog: dialog.get_by_role("button", name="Cancel").click(), lambda dialog: seen.page.keyboard.press("Escape")):
        seen.page.get_by_role("button", name="Clear", exact=True).click()
        dialog = seen.page.get_by_role("dialog", name="Clear")
        expect(dialog.locator(".sum")).to_have_text(sum_of_clear(seen))
        leave(dialog)
        expect(dialog).not_to_be_visible()
    assert home.transcript.read_bytes() == before


def test_a_clear_is_noted_until_the_session_is_resumed_and_can_be_cancelled(home: Home, visit: Visits) -> None:
    before = home.transcript.read_bytes()
    seen = visit(PLACE)
    expected = sum_of_clear(seen)
    assert seen.confirm("Clear") == expected
    assert "resumed" in seen.status()
    assert set(home.noted().only) == EXPIRED
    todo = seen.page.get_by_label("What to do now")
    expect(todo.get_by_role("button", name="Clear", exact=True)).not_to_be_visible()
    seen.confirm("Cancel the clear")
    expect(todo.get_by_role("button", name="Clear", exact=True)).to_be_visible()
    assert home.noted().only == []
    assert home.transcript.read_bytes() == before


def test_the_bars_stay_where_they_are_when_the_chart_above_them_comes(visit: Visits) -> None:
    """Else a click on one can miss it."""
    seen = visit()
    held = Held(seen.page, "**/series", times=1)
    with seen.page.expect_request("**/series"):
        seen.page.get_by_role("link", name=re.compile("please fix it")).click()
    bar = seen.page.get_by_role("button", name=re.compile("^T5 Glob"))
    expect(bar).to_be_visible()
    expect(seen.page.get_by_text("Loading the chart")).to_be_attached()
    before = bar.bounding_box()["y"]
    held[0].continue_()
    expect(seen.page.locator(".readout")).to_be_visible()
    assert bar.bounding_box()["y"] == pytest.approx(before, abs=12)


def test_a_cleared_result_is_put_back_from_its_reasons(home: Home, visit: Visits) -> None:
    home.clear()
    seen = visit(PLACE)
    seen.page.get_by_role("button", name=re.compile("^T5 Glob")).click()
    expect(seen.page.get_by_role("complementary", name="Why T5")).to_be_visible()
    assert seen.confirm("Put back") == f"{units.long_tokens(tokens_of(seen, 5))} come back in place."
    assert "resumed" in seen.status()
    assert home.noted().back == [home.cleared()["found"]]


def test_sessions_are_found_by_words_and_project_and_shown_in_pages(home: Home, visit: Visits) -> None:
    home.with_others(230)
    seen = visit()
    rows = seen.page.locator(".row")
    expect(rows).to_have_count(100)
    expect(seen.page.locator(".view-head")).to_contain_text("231 in all")
    seen.page.get_by_role("button", name="Show 100 more").click()
    expect(rows).to_have_count(200)
    seen.page.get_by_role("button", name="Show 31 more").click()
    expect(rows).to_have_count(231)
    search = seen.page.get_by_role("searchbox")
    search.fill("errand 117")
    expect(rows).to_have_count(1)
    search.fill("no such words")
    expect(seen.page.get_by_text("No matching sessions")).to_be_visible()
    search.fill("")
    seen.page.get_by_role("combobox", name="Project").select_option(label="api")
    expect(rows.first).to_contain_text("api")
    expect(seen.page.locator(".view-head")).to_contain_text("77 in all")


def test_what_the_session_does_is_on_the_page_within_moments(home: Home, visit: Visits) -> None:
    seen = visit(PLACE)
    bars = seen.page.get_by_role("list", name=re.compile("^Results")).get_by_role("button")
    expect(bars).to_have_count(FOLDED)
    with home.transcript.open("a") as file:
        file.write("\n".join(_one_call_more(home.transcript)) + "\n")
    expect(bars.last).to_have_accessible_name(re.compile("^T35 Bash npm test, live"))


def _one_call_more(transcript: Path) -> list[str]:
    """The lines of the last call, as another one."""
    lines = transcript.read_text().splitlines()
    last = max(number for number, line in enumerate(lines) if '"new-test"' in line)
    copied = [line.replace("new-test", "newer-test") for line in lines[last - 1 : last + 1]]
    uuid = re.findall(r'"uuid": ?"([^"]+)"', "".join(lines))[-1]
    first, second = (re.search(r'"uuid": ?"([^"]+)"', line)[1] for line in copied)
    parent = re.search(r'"parentUuid": ?"([^"]+)"', copied[0])[1]
    copied = [line.replace(f'"{first}"', '"uuid-next"').replace(f'"{second}"', '"uuid-after"') for line in copied]
    return [copied[0].replace(f'"{parent}"', f'"{uuid}"', 1), copied[1]]


def test_a_link_to_no_session_says_so_and_one_that_was_cut_off_leads_to_the_list(visit: Visits) -> None:
    seen = visit()
    for hash, is_shown in (("#/session/nobody", True), ("#/session/%E0%A4%A", False), ("#/session/..%2F..%2Fetc", True)):
        seen.page.goto(f"{seen.page.url.split('#')[0]}{hash}")
        expect(seen.page.get_by_text("Could not load this")).to_have_count(int(is_shown))
        expect(seen.page.get_by_role("link", name=re.compile("please fix it"))).to_be_visible()


def test_the_list_keeps_a_link_to_its_session(visit: Visits) -> None:
    seen = visit(PLACE)
    expect(seen.page.get_by_role("link", name=re.compile("please fix it"))).to_have_attribute("href", f"#/session/{SESSION}")
    expect(seen.page.get_by_role("link", name=re.compile("please fix it"))).to_have_attribute("aria-current", "page")


def test_the_words_of_marks_over_a_chart_never_cover_each_other(visit: Visits) -> None:
    code = "async (marks) => (await import('/charts/areas.js')).labelled(marks, 400)"
    spans = [[], [200], [395], [200, 210], [200, 205, 210], [60, 130, 132, 134, 390], list(range(50, 400, 7))]
    page = visit().page
    for ats in spans:
        labels = page.evaluate(code, [{"at": at, "words": "compacted"} for at in ats])
        extents = [
            (each["at"] - 70, each["at"]) if each["side"] == "end" else (each["at"], each["at"] + 70) for each in labels if each["side"]
        ]
        assert len(extents) >= min(2, len(ats)), ats
        assert all(one[1] <= other[0] for one, other in zip(extents, extents[1:])), ats
        assert all(left >= 0 and right <= 400 for left, right in extents), ats


def test_on_a_narrow_screen_the_table_by_tier_is_whole(visit: Visits) -> None:
    page = visit(PLACE, viewport={"width": 400, "height": 800}).page
    page.locator("summary", has_text="By lifetime").click()
    table = page.get_by_role("region", name="Results by tier")
    assert table.evaluate("each => each.scrollWidth <= each.clientWidth")


def test_what_came_of_a_clear_is_in_the_columns_of_the_panel(visit: Visits) -> None:
    seen = visit(PLACE)
    seen.confirm("Clear")
    lines = seen.page.get_by_role("status").get_by_label("Noted")
    expect(lines).to_contain_text("Leaves    ~")
    assert lines.evaluate("each => each.scrollWidth <= each.clientWidth")
