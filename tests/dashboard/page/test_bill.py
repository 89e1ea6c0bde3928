"""The bill by clicks, on a wide and on a narrow page."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from hooks.utils.policy.lost_cache import PAUSE
from tests.bill.standing import breakdown
from tests.bill.test_bill_command import Shop
from tests.dashboard.page.served import NARROW, WIDE, Served, Visit


@pytest.mark.parametrize("viewport", [WIDE, NARROW], ids=["wide", "narrow"])
def test_the_bill_says_what_stands_what_could_go_and_what_was_paid(browser: Browser, tmp_path: Path, viewport: dict[str, int]) -> None:
    shop = Shop(tmp_path, known=breakdown())
    now = max(digest["ended"] for digest in shop.digests) + 60
    environ = {"CLAUDE_CONFIG_DIR": str(shop.folder / "claude"), "POPKIT_HOME": str(shop.home), "POPKIT_CLOCK": str(now)}
    with Served({**os.environ, **environ}) as running:
        seen = Visit(browser, running, "#/sessions", viewport=viewport)
        seen.view("bill")
        page = seen.page
        expect(page.locator("#before tbody tr").first).to_be_visible()
        told = seen.told("/api/bill")
        expect(page.locator("#before tbody tr")).to_have_count(len(told["bill"]["rows"]))
        for row, words in zip(told["bill"]["rows"], told["phrases"]["rows"]):
            line = page.locator("#before tbody tr").filter(has=page.get_by_role("rowheader", name=words, exact=True))
            expect(line).to_contain_text(f"{row['tokens']:,}" if row["tokens"] else "-")
        proposed = told["bill"]["proposals"]
        expect(page.locator("#proposals code")).to_have_text([f"popkit bill hide {row['name']}" for row in proposed])
        expect(page.locator("#paid tbody tr")).to_have_count(len(told["phrases"]["parts"]))
        expect(page.locator("#lost")).to_contain_text("No request wrote")
        assert not seen.scrolls_sideways()
        lost = {"times": 3, "tokens": 57_000, "usd": 1.25, "unpriced": 0}
        misses = {**told["misses"], "lost": lost, "causes": [{**lost, "cause": PAUSE, "details": [["6 h", 2]]}]}
        page.route("**/api/bill", lambda route: route.fulfill(json={**told, "misses": misses}))
        page.get_by_role("button", name="Refresh").click()
        for words in (*told["causes"][PAUSE], "6 h (2)", "57k", "$1.25"):
            expect(page.locator("#lost tbody tr")).to_contain_text(words)
        assert not seen.scrolls_sideways()
        if os.environ.get("SHOT"):
            page.screenshot(path=os.environ["SHOT"] + f"{viewport['width']}.png", full_page=True)
        seen.close()
