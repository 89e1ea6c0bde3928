"""A page with thousands of sessions: it draws a hundred at a time, finds any of them, and the server's memory is bounded."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import expect

from tests.dashboard.page.homes import Home
from tests.dashboard.page.served import Served, Visit

# Sessions in the ordinary run, and with --slow.
FEW, MANY = 2_000, 10_000
MOST_KB = 10  # a session, beyond what a server needs that knows none


def resident_mb(served: Served) -> float:
    """The memory of a server."""
    status = Path(f"/proc/{served.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s*(\d+)", status)[1]) / 1024


def test_a_page_with_thousands_of_sessions(
    home: Home, served: Served, visit: Callable[..., Visit], count: Callable[[int, int], int]
) -> None:
    many = count(FEW, MANY)
    before = resident_mb(served)
    home.with_others(many - 1)
    seen = visit()
    rows, head = seen.page.locator(".row"), seen.page.locator(".view-head")
    expect(head).to_contain_text(f"{many:,} in all")
    expect(rows).to_have_count(100)
    paint, list_ms = seen.page.evaluate(
        "[performance.getEntriesByName('first-contentful-paint')[0].startTime,"
        " performance.getEntriesByType('resource').find(({ name }) => name.includes('/api/sessions?')).responseEnd]"
    )
    for shown in range(200, 600, 100):
        seen.page.get_by_role("button", name="Show 100 more").click()
        expect(rows).to_have_count(shown)
    seen.page.mouse.wheel(0, 1_000_000)
    expect(rows.last).to_be_in_viewport()
    expect(rows.last).to_contain_text("errand 498: look at the orders")
    seen.page.get_by_role("searchbox").fill(f"errand {many - 124}")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text(f"errand {many - 124}")
    seen.page.get_by_role("searchbox").fill("")
    seen.page.get_by_role("combobox", name="Project").select_option(label="api")
    expect(head).to_contain_text(f"{many // 3:,} in all")
    for offset in range(0, many, 500):
        assert len(seen.fetch(f"/api/sessions?limit=100&offset={offset}")["sessions"]) == 100
    grown = resident_mb(served) - before
    print(f"{many:,} sessions: first paint {paint:.0f} ms, list after {list_ms:.0f} ms, every fifth page asked for: {grown:.0f} MB more")
    assert grown < many * MOST_KB / 1000
