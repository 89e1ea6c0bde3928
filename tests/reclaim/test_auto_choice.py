"""The user's answer decides whether the conversation compacts by itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from popkit_retention.core.policy.least_needed import COLD_TARGET, LONG
from popkit_retention.core.reclaim import auto_compaction
from popkit_retention.core.state import reconciling
from tests.reclaim.shops import Shop, worked


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    shop = Shop(tmp_path)
    shop.write(worked(str(shop.project)))
    return shop


def test_the_newest_answer_holds_and_other_answers_stay(shop: Shop) -> None:
    consents = Path(shop.site().lasting_home, auto_compaction.FILE)
    assert auto_compaction.setting(shop.site()) == auto_compaction.ASK
    auto_compaction.choose(shop.site(), True)
    assert auto_compaction.setting(shop.site()) == auto_compaction.ON
    consents.write_text(json.dumps({**json.loads(consents.read_text()), "another": "yes"}))
    auto_compaction.choose(shop.site(), False)
    assert auto_compaction.setting(shop.site()) == auto_compaction.OFF
    assert json.loads(consents.read_text())["another"] == "yes"


@pytest.mark.parametrize("configured", [auto_compaction.ON, auto_compaction.OFF])
@pytest.mark.parametrize("answer", [True, False])
def test_a_configuration_that_does_not_ask_holds_whatever_was_answered(shop: Shop, configured: str, answer: bool) -> None:
    auto_compaction.choose(shop.site(), answer)
    shop.configure(compact_when_cold=configured)
    assert auto_compaction.setting(shop.site()) == configured


def test_where_compactions_are_off_none_happens_by_itself(shop: Shop) -> None:
    auto_compaction.choose(shop.site(), True)
    shop.configure(compact="off")
    assert auto_compaction.setting(shop.site()) == auto_compaction.OFF


def test_between_turns_a_long_conversation_has_a_share_of_its_own(shop: Shop) -> None:
    rebuilt = reconciling.reconcile(shop.site(), str(shop.transcript))
    goal = auto_compaction.goal(shop.site(), rebuilt, [])
    assert goal is not None
    assert (goal.share, goal.left, goal.long) == (COLD_TARGET, 0, LONG)


@pytest.mark.parametrize("most", [0, 1.0, 4])
def test_of_a_conversation_that_nobody_knows_nothing_of_the_bound_is_used_up(shop: Shop, most: float) -> None:
    shop.configure(auto_misses=most)
    bound = auto_compaction.bound(shop.site(), None)
    assert (bound.most, bound.look_ups, bound.requests, bound.taken) == (most, 0, 0, 0.0)
    assert bound.left == most


@pytest.mark.parametrize(
    ("text", "setting"),
    [
        ('{"compact_when_cold": "yes"}', auto_compaction.ON),
        ('{"compact_when_cold": "no"}', auto_compaction.OFF),
        ('{"compact_when_cold": "perhaps"}', auto_compaction.ASK),
        ('{"another": "yes"}', auto_compaction.ASK),
        ('{"compact_when', auto_compaction.ASK),
        ("[]", auto_compaction.ASK),
    ],
)
def test_an_answer_that_was_kept_holds_and_anything_else_is_none(shop: Shop, text: str, setting: str) -> None:
    Path(shop.site().lasting_home, auto_compaction.FILE).write_text(text)
    assert auto_compaction.setting(shop.site()) == setting


def test_an_answer_is_kept_as_a_word(shop: Shop) -> None:
    for on, word in ((True, "yes"), (False, "no")):
        auto_compaction.choose(shop.site(), on)
        assert json.loads(Path(shop.site().lasting_home, auto_compaction.FILE).read_text()) == {"compact_when_cold": word}
