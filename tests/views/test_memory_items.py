"""What people read of memory fits, and moves no cursor, whatever is remembered."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popkit_retention.core import text
from popkit_retention.memory import item_changes, item_report, item_views
from popkit_retention.memory.items import KINDS, LEVELS, MARKERS, SOURCES, TIERS, Item
from tests.views.test_width import HOSTILE

NOW = 1_800_000_000.0
TIMES = st.floats(0, NOW)
ITEMS = st.builds(
    Item, HOSTILE, HOSTILE, kind=st.sampled_from(KINDS) | HOSTILE, source=st.sampled_from(SOURCES), confidence=st.floats(0, 1),
    episode=HOSTILE, speaker=HOSTILE, place=st.integers(0, 10**9), writes=st.integers(0, 10**6), sessions=st.integers(0, 10**6),
    access_count=st.integers(0, 10**6), last_accessed=TIMES, tier=st.sampled_from(TIERS), previous_tier=st.sampled_from(("", *TIERS)),
    tier_since=TIMES, level=st.sampled_from(LEVELS), original=st.booleans(), score=st.floats(0, 1), held=st.booleans(), key=st.booleans(),
    marked_at=st.none() | TIMES, marked_by=st.sampled_from(("", *MARKERS)), details=st.dictionaries(HOSTILE, HOSTILE, max_size=3),
)  # fmt: skip


def lawful(lines: list[text.Line]) -> None:
    for columns in (text.NARROWEST, text.WIDTH):
        for line in text.laid_out(lines, columns):
            assert text.clean(line) == line
            assert text.width(line) <= columns


@given(st.lists(ITEMS, max_size=5))
def test_no_list_is_wide(items: list[Item]) -> None:
    lawful(item_views.by_tier(items, NOW))
    lawful(item_views.in_order(items, NOW))
    for word in ("add", "pin", "unpin", "promote", "demote", "restore", "forget", "undo"):
        lawful(item_changes.changed(word, items, NOW, "popkit memory"))


@given(st.lists(ITEMS, max_size=5))
def test_every_item_is_listed_once(items: list[Item]) -> None:
    assert len([line for line in text.laid_out(item_views.by_tier(items, NOW)) if line.startswith("  ")]) == len(items)
    assert len(item_views.in_order(items, NOW)) == len(items)


def test_where_there_is_little_room_beside_an_id_the_text_is_below_it() -> None:
    item = Item("m3fa7b2c91d", "run the tests with make check", kind="note", tier="HOT")
    assert text.laid_out(item_views.in_order([item], NOW), 40) == ["  m3fa7b2c91d  HOT  note", "    run the tests with make check"]
    assert text.laid_out(item_views.in_order([item], NOW), 70) == ["  m3fa7b2c91d  HOT  note     run the tests with make check"]


@given(ITEMS, HOSTILE, st.lists(HOSTILE, max_size=3), st.floats(0, 1))
def test_no_explanation_is_wide(item: Item, project: str, reasons: list[str], share: float) -> None:
    lawful(item_report.show(item, project, NOW, "popkit memory"))
    decision = {"tier": item.tier, "action": "retain", "marks": item.held, "reasons": reasons}
    for coming in (None, {**decision, "at": NOW + 1e6 * share}):
        found = {"item": item.to_json(), "signals": {"confidence": share}, "profile": item.profile, "score": share, "retention": share,
                 "decision": decision, "next": coming, "hold": project, "taught_in": reasons, "sessions": reasons,
                 "learnt_at": {"commit": project, "files": [{"file": each, "state": "renamed", "path": each} for each in reasons]},
                 "log": [{"at": NOW, "action": "HOT to WARM", "reasons": reasons}]}  # fmt: skip
        lawful(item_report.why(found, NOW, "popkit memory"))


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, ""),
        ({"held": True}, "pinned"),
        ({"key": True, "level": "summary"}, "key, summary"),
        ({"marked_at": NOW - 3_600}, "gone in 23 h"),
        ({"marked_at": NOW - 86_400}, "gone with the next run"),
        ({"marked_at": NOW - 3_600, "marked_by": "user"}, "gone in 23 h"),
        ({"marked_at": NOW - 3_600, "marked_by": "tool"}, "by an agent, gone in 23 h"),
        ({"marked_at": NOW - 3_600, "marked_by": "job"}, "by the job, gone in 23 h"),
        ({"marked_at": NOW - 86_400, "marked_by": "policy"}, "by policy, gone with the next run"),
    ],
)
def test_anything_out_of_the_ordinary_is_described_in_a_few_words(fields: dict, words: str) -> None:
    assert item_views.standing(Item("m1", "x", **fields), NOW) == words
