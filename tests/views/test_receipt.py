"""The receipt as people read it: as files, for a person to look at, and what holds however few columns and rows there are."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popkit_retention.core import text
from popkit_retention.core.operations.receipts import find_receipt
from popkit_retention.core.policy.compacting import CALLS, INPUT, NEEDED_ROOM, RESULT
from popkit_retention.core.policy.remaining import NOT_TEXT
from popkit_retention.core.state import journal, receipts
from popkit_retention.core.views import receipt

GOLDENS = Path(__file__).parent / "goldens"
NOW = 10_000.0
EDITED, AGAIN = "its file was edited: Edit cart.ts", "a newer run of the same thing: npm test -- --runInBand src/shop"
# Label, tokens, what of it left and why, in which state.
LEFT: list[tuple[str, int, list[tuple[str, str]], str]] = [
    ("Read src/shop/checkout/payment/providers/cart.ts", 9_120, [(RESULT, EDITED)], "archived"),
    ("Bash cd /home/dev/shop && npm test -- --runInBand src/shop", 5_230, [(RESULT, AGAIN)], "archived"),
    ("Bash npm test -- --runInBand src/shop", 4_980, [(RESULT, AGAIN)], "back"),
    ('Grep "total" src', 2_410, [(RESULT, NEEDED_ROOM)], "archived"),
    ("Write src/shop/checkout/totals.ts", 1_830, [(INPUT, "its effect is on disk")], "archived"),
    ("Read docs/large/オンラインショップ.md", 1_200, [(RESULT, NEEDED_ROOM)], "gone"),
    *((f"Bash echo step {n}", 60 + n, [(CALLS, NEEDED_ROOM)], "archived") for n in range(40)),
]


def receipt_data(left: list[Any] = LEFT, **more: Any) -> dict[str, Any]:
    """A receipt of a compaction at the limit of the window, ten minutes ago."""
    rows = [
        {"id": f"toolu_{n}", "number": n + 3, "label": label, "tokens": tokens, "left": [[kind, "abcd2345", why] for kind, why in parts]}
        for n, (label, tokens, parts, _) in enumerate(left)
    ]
    [found] = receipts.receipts([journal.compacted("auto", 120_000, 13_000, [], NOW - 600, 48_000)], [receipts.noted(rows, NOW - 600)])
    for call, (_, _, _, state) in zip(found["calls"], left):
        call["state"] = state
    return {**found, **more}


EARLIER = [
    receipt_data(LEFT[:n], why=why, at=NOW - 3_600 * (n + 1)) for n, why in enumerate(["manual", "asked", "cold", "clear", "auto"], 1)
]


@pytest.mark.parametrize(("columns", "rows"), [(40, 40), (49, 40), (76, 40), (100, 40), (68, 11)])
def test_the_receipt_in_the_pane(columns: int, rows: int, golden) -> None:
    found = [receipt_data(), *EARLIER]
    head = text.laid_out(receipt.pane_head(found, NOW), columns)
    drawn = [*head, *text.laid_out(receipt.pane_lines(found, NOW, columns, rows - len(head), "/popkit"), columns)]
    golden(GOLDENS / f"receipt-{columns}x{rows}.txt", "\n".join(drawn) + "\n")


@pytest.mark.parametrize("everything", [False, True])
def test_the_receipt_in_words(everything: bool, golden) -> None:
    drawn = text.laid_out(receipt.lines([receipt_data(LEFT[:9], summarised=True), *EARLIER[:2]], [], NOW, everything, "popkit context"))
    golden(GOLDENS / f"receipt-{'all' if everything else 'newest'}.txt", "\n".join(drawn) + "\n")


@pytest.mark.parametrize("everything", [False, True])
def test_what_left_subagents_in_words(everything: bool, golden) -> None:
    of_agents = [receipt_data(LEFT[:3], agent="a1b2c3"), receipt_data(LEFT[:2], agent="d4e5f6", at=NOW - 3_600)]
    drawn = text.laid_out(receipt.lines([receipt_data(LEFT[:2])], of_agents, NOW, everything, "popkit context"))
    golden(GOLDENS / f"receipt-agents-{'all' if everything else 'newest'}.txt", "\n".join(drawn) + "\n")


def test_where_only_a_subagent_lost_something_undoing_it_is_not_mentioned() -> None:
    drawn = " ".join(text.laid_out(receipt.lines([], [receipt_data(LEFT[:2], agent="a1b2c3")], NOW, False, "/popkit")))
    assert "in agent a1b2c3, because the context was nearly full" in drawn
    assert "undo" not in drawn


def test_where_all_was_put_back_undoing_it_is_not_mentioned() -> None:
    back = [(label, tokens, reasons, "back") for label, tokens, reasons, _ in LEFT[:2]]
    for left, is_offered in ((back, False), ([*back, LEFT[3]], True)):
        drawn = " ".join(text.laid_out(receipt.lines([receipt_data(left)], [], NOW, False, "/popkit")))
        assert ("undo" in drawn) == is_offered


def test_a_receipt_of_a_picture_alone_counts_no_results() -> None:
    one = receipt_data([("An image that you showed", 1_600, [(receipts.SHOWN, NOT_TEXT)], "archived")])
    drawn = text.laid_out(receipt.lines([one, {**one, "at": NOW - 3_600}], [], NOW, False, "popkit context"))
    assert " ".join(drawn).count("result") == 1  # of those that can be put back
    assert "10 min ago, because the context was nearly full: ~168k to ~61k tokens." in drawn
    assert "60 min ago, because the context was nearly full: ~107k tokens" in drawn


def test_of_nothing_that_left_it_says_so() -> None:
    assert receipt.pane_head([], NOW) == receipt.pane_lines([], NOW, 70, 40, "/popkit") == []
    assert "has taken anything out" in " ".join(text.laid_out(receipt.lines([], [], NOW, False, "/popkit")))


@given(st.sampled_from([40, 49, 76, 100]), st.integers(-5, 60), st.integers(1, len(LEFT)))
def test_no_line_is_too_wide_and_what_has_no_room_is_counted(columns: int, rows: int, many: int) -> None:
    shown = text.laid_out(receipt.pane_lines([receipt_data(LEFT[:many])], NOW, columns, rows, "/popkit"), columns)
    assert max(map(text.width, shown)) <= columns
    named = [line for line in shown if re.match(r" *~\S+  T\d", line)]
    more = re.search(r"and (\d+) more: /popkit why$", shown[-1])
    assert len(named) + (int(more[1]) if more else 0) == many
    assert len(named) >= min(many, receipt.LEAST)
    assert len(shown) <= max(rows, 4 * receipt.LEAST + 1)
    assert not shown[-1].endswith(NEEDED_ROOM[-10:]), "no reason stands without a result below it"


def test_a_call_is_found_by_its_number_or_its_id_on_the_newest_receipt_that_has_it() -> None:
    older, newer = receipt_data(at=1.0), receipt_data(LEFT[:2], at=2.0)
    assert [find_receipt([newer, older], word) for word in ("T4", "4", "toolu_1")] == [(newer, newer["calls"][1])] * 3
    assert find_receipt([newer, older], "T5") == (older, older["calls"][2])
    assert find_receipt([newer, older], "T500") is find_receipt([newer, older], "toolu") is None


def test_a_call_that_left_whole_says_when_and_why_it_left_and_how_it_comes_back() -> None:
    found = receipt_data()
    lines = text.laid_out(receipt.why_lines(found, found["calls"][10], NOW, "/popkit"))
    joined = " ".join(" ".join(lines).split())
    assert "T13 Bash echo step 4" in joined
    assert "Left 10 min ago, because the context was nearly full, ~64 tokens" in joined
    assert f"Because the whole call was taken out {NEEDED_ROOM}" in joined
    assert "Back popkit restore abcd2345 or /popkit restore T13 --in-place" in joined
    gone = next(call for call in found["calls"] if call["state"] == "gone")
    assert "Back gone for good" in " ".join(" ".join(text.laid_out(receipt.why_lines(found, gone, NOW, "/popkit"))).split())
