"""The specification's four monitoring queries, over any store."""

from __future__ import annotations

from popkit_retention.memory.items import ARCHIVE, COLD, HOT, KEYWORDS, SUMMARY, WARM
from popkit_retention.memory.reports import Compressed, monitor

from .remembering import DAY, NOW, Remembering


def test_items_are_counted_by_tier_and_level(remembering: Remembering):
    for number, tier in enumerate((WARM, WARM, WARM, COLD, COLD, ARCHIVE)):
        remembering.keep(f"m{number}", tier=tier)
    remembering.keep("s1", tier=COLD, level=SUMMARY, text="y" * 29, score=0.25)
    remembering.keep("s2", tier=COLD, level=SUMMARY, text="y" * 58, score=0.75, project="other")
    remembering.keep("k1", tier=COLD, level=KEYWORDS, text="y" * 29, score=0.5)
    found = monitor(remembering.store, NOW)
    assert list(found.tiers.items()) == [(COLD, 5), (WARM, 3), (ARCHIVE, 1)]
    assert found.levels == [Compressed(SUMMARY, 2, 15.0, 0.5), Compressed(KEYWORDS, 1, 10.0, 0.5)]
    assert monitor(remembering.store, NOW, "other").tiers == {COLD: 1}


def test_candidates_are_those_of_the_specification(remembering: Remembering):
    for number in range(12):
        remembering.keep(f"h{number:02}", tier=HOT, created_at=NOW - 2 * DAY, score=0.59 - number / 100)
    remembering.keep("good", tier=HOT, created_at=NOW - 2 * DAY, score=0.6)
    remembering.keep("young", tier=HOT, created_at=NOW - DAY / 2, score=0.1)
    for number in range(6):
        remembering.keep(f"w{number}", tier=WARM, score=0.8 + number / 100, access_count=5)
    remembering.keep("rare", tier=WARM, score=0.9, access_count=4)
    found = monitor(remembering.store, NOW)
    assert [item.id for item in found.demotion] == [f"h{number:02}" for number in range(11, 1, -1)]
    assert [item.id for item in found.archive] == ["w5", "w4", "w3", "w2", "w1"]
    told = found.to_json()["archive"]
    assert told[0] == {"id": "w5", "project": remembering.project, "score": 0.8 + 5 / 100, "accesses": 5, "preview": "the text of w5"}
