"""A session replayed with a cache of five minutes and with one of an hour: what was recorded stays what it was, and what is shown of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popkit_retention.bill import statement
from popkit_retention.bill.lifetimes import LEAST_REQUESTS, compared, replayed
from popkit_retention.bill.sums import of_models
from popkit_retention.core import text
from popkit_retention.core.policy.lost_cache import Interval, SentRequest, losses
from popkit_retention.core.policy.models import Models
from popkit_retention.core.policy.usage import Usage
from popkit_retention.core.views import cache_lifetime
from tests.bill.lifetimes import lifetime

GOLDENS = Path(__file__).parent / "goldens"
DAY_S = 86_400
PRICED = {"read": 0.1, "write_5m": 1.25, "write_1h": 2.0, "input": 5, "output": 25}
MODELS = Models({"claude-opus-4-6": PRICED, "claude-opus-9": {name: PRICED[name] for name in ("read", "write_5m", "write_1h")}})


def session(pauses: list[float], added: list[int], lives_s: int, cuts: frozenset[int] = frozenset(), model: str = "claude-opus-4-6"):
    """The requests of a session with a cache that lives so long: after each pause a prompt that is larger. At `cuts` a compaction came."""
    at, held, prompt = 1_790_000_000.0, 0, 20_000
    requests = []
    for number, (pause, more) in enumerate(zip([0.0, *pauses], added)):
        at += pause
        between = Interval()
        between.compaction = number in cuts
        prompt = 9_000 if number in cuts else prompt + more
        read = 0 if number in cuts or pause > lives_s else min(held, prompt)
        requests.append(SentRequest(Usage(prompt, at, model, lives_s, read, prompt - read), 100, between))
        held = prompt
    return requests


def lost(requests: list[SentRequest]) -> dict:
    return {id(loss.usage): loss for loss in losses(requests, lambda at: 0, MODELS)}


def reads(requests: list[SentRequest]) -> list[tuple[int, int]]:
    """(tokens read with five minutes, with an hour) of each request."""
    return [(row[0], row[2]) for row, _ in replayed(requests, lost(requests))]


def digest(requests: list[SentRequest], **more: object) -> dict:
    at = [sent.usage.at for sent in requests]
    used = of_models(requests, 0, lost(requests))
    return {"session": "s", "host": "Claude Code", "used": used, "began": at[0], "ended": at[-1], **more}


def told(some: dict, is_priced: bool = True) -> dict:
    """What a hundred such sessions say."""
    found = compared([some] * LEAST_REQUESTS, MODELS, is_priced, 30 * DAY_S)
    assert found is not None
    return found


PAUSES = st.lists(st.sampled_from([1, 60, 299, 300, 301, 1_800, 3_600, 3_601, 50_000]), max_size=12)
SIZES = st.lists(st.integers(0, 40_000), min_size=13, max_size=13)
LIVES = st.sampled_from([300, 3_600])
CUTS = st.frozensets(st.integers(1, 12), max_size=2)


@given(PAUSES, SIZES, LIVES, CUTS)
def test_with_the_lifetime_that_it_had_a_session_reads_and_writes_what_it_did(pauses, added, lives_s, cuts):
    requests = session(pauses, added, lives_s, cuts)
    place = 0 if lives_s == 300 else 2
    for sent, (row, _) in zip(requests, replayed(requests, lost(requests))):
        assert row[place : place + 2] == [sent.usage.read, sent.usage.created]


@given(PAUSES, SIZES, CUTS)
def test_it_is_the_same_whichever_lifetime_it_was_recorded_with(pauses, added, cuts):
    five, hour = (session(pauses, added, lives_s, cuts) for lives_s in (300, 3_600))
    # What is so little that it is no loss is not known to be one.
    assert all(abs(one - other) < 1_000 for some, others in zip(reads(five), reads(hour)) for one, other in zip(some, others))


@given(PAUSES, SIZES, LIVES, CUTS)
def test_an_hour_reads_no_less_and_both_send_the_same(pauses, added, lives_s, cuts):
    requests = session(pauses, added, lives_s, cuts)
    for sent, (row, _) in zip(requests, replayed(requests, lost(requests))):
        read_5m, written_5m, read_1h, written_1h = row
        assert 0 <= read_5m <= read_1h
        assert read_5m + written_5m == read_1h + written_1h == sent.usage.tokens


@given(st.lists(st.integers(1, 300), max_size=12), SIZES, LIVES, CUTS)
def test_an_hour_never_pays_where_all_pauses_are_under_five_minutes(pauses, added, lives_s, cuts):
    found = told(digest(session(pauses, added, lives_s, cuts)))
    assert found["pays"] in ("5m", "")
    assert found["pauses"] == 0


@given(PAUSES, SIZES, LIVES)
def test_five_minutes_never_pay_less_where_a_pause_becomes_shorter_than_they_are(pauses, added, lives_s):
    def saved_by_an_hour(some: list[float]) -> float:
        requests = session(some, added, 300)
        return sum(five * 1.15 - hour * 1.9 for five, hour in ((row[1], row[3]) for row, _ in replayed(requests, lost(requests))))

    shorter = [60 if 300 < pause <= 3_600 else pause for pause in pauses]
    assert saved_by_an_hour(shorter) <= saved_by_an_hour(pauses) + 1e-6


def test_a_pause_that_only_an_hour_bridges_is_counted_and_worked_out_by_hand():
    # 100,000 tokens are written, 1,000 more ten minutes later: with five minutes all are written again, with an hour 100,000 are read.
    requests = session([600.0], [80_000, 1_000], 300)
    ((first, _), (second, is_bridged)) = replayed(requests, lost(requests))
    assert (first, second, is_bridged) == ([0, 100_000, 0, 100_000], [0, 101_000, 100_000, 1_000], True)
    five, hour = 1.25 * 201_000 + 5 * 200, 2.0 * 101_000 + 0.1 * 100_000 + 5 * 200
    found = told(digest(requests))
    assert (found["pays"], found["has"], found["pauses"], found["requests"]) == ("1h", "5m", 100, 200)
    assert found["share"] == pytest.approx(1 - hour / five, abs=1e-4)


def test_what_other_sessions_kept_of_a_prompt_stays_read():
    requests = session([600.0], [80_000, 1_000], 300)
    found = requests[1].usage
    found.read, found.created = 5_000, found.tokens - 5_000
    assert reads(requests) == [(0, 0), (5_000, 100_000)]


def test_two_lifetimes_that_hardly_differ_are_equally_good():
    requests = session([60.0, 9 * DAY_S], [80_000, 1_000, 1_000], 300)
    nearly = Models({"claude-opus-4-6": {**PRICED, "write_1h": 1.26}})
    found = compared([digest(requests)] * LEAST_REQUESTS, nearly, True, 30 * DAY_S)
    assert found is not None
    assert found["pays"] == ""
    assert 0 < found["share"] < 0.01


def test_a_month_is_not_told_from_less_than_a_few_days_nor_to_whoever_has_a_plan():
    short, long = session([600.0], [80_000, 1_000], 300), session([600.0, 9 * DAY_S], [80_000, 1_000, 1_000], 300)
    assert told(digest(short))["usd_per_month"] is None
    of_nine_days = told(digest(long))
    assert of_nine_days["usd_per_month"] > 0
    assert told(digest(long), is_priced=False) == {**of_nine_days, "usd_per_month": None}


def test_without_a_price_the_share_is_told():
    pauses = [600.0, 9 * DAY_S]
    unpriced = told(digest(session(pauses, [80_000, 1_000, 1_000], 300, model="claude-opus-9")))
    assert unpriced == {**told(digest(session(pauses, [80_000, 1_000, 1_000], 300))), "usd_per_month": None}


def test_too_few_requests_give_no_comparison():
    requests = session([600.0], [80_000, 1_000], 300)
    new = [digest(requests)] * 50
    assert compared(new, MODELS, True, DAY_S) is not None
    assert compared(new[1:], MODELS, True, DAY_S) is None, "too few requests"
    assert compared(new, Models({}), True, DAY_S) is None
    for used in (nothing := digest(requests))["used"]:
        used.update(plain=0, output=0, lifetimes=[0, 0, 0, 0])
    assert compared([nothing] * 50, MODELS, True, DAY_S) is None
    assert statement.cache_lifetime([digest(requests, host="Codex")] * 50, MODELS, True, DAY_S) == {"main": None, "subagents": None}
    assert cache_lifetime.lifetime_lines({"main": None, "subagents": None}) == []


def test_subagents_have_a_lifetime_of_their_own():
    main, agent = session([600.0], [80_000, 1_000], 300), session([60.0], [80_000, 1_000], 3_600)
    found = statement.cache_lifetime([digest(main), digest(agent, session="s/a1")] * 50, MODELS, True, DAY_S)
    assert (found["main"]["pays"], found["subagents"]["pays"]) == ("1h", "5m")


SHOWN = {
    "an-hour": {"main": lifetime(), "subagents": None},
    "five-minutes": {"main": lifetime(pays="5m", has="1h", usd_per_month=None), "subagents": lifetime(pays="5m", has="5m", share=0.21)},
    "both": {"main": lifetime(), "subagents": lifetime(pays="5m", has="1h")},
    "the-same": {"main": lifetime(pays="", share=0.004), "subagents": None},
    "has-it": {"main": lifetime(has="1h"), "subagents": lifetime(pays="")},
}


@pytest.mark.parametrize("name", SHOWN)
def test_people_read_which_pays_by_how_much_and_what_to_set(name: str, golden):
    shown = text.laid_out(cache_lifetime.lifetime_lines(SHOWN[name]), 72)
    golden(GOLDENS / f"lifetime-{name}.txt", "\n".join(map(str, shown)) + "\n")


@pytest.mark.parametrize("name", SHOWN)
def test_the_page_says_the_same_as_the_terminal(name: str):
    shown = " ".join(map(str, text.laid_out(cache_lifetime.lifetime_lines(SHOWN[name]), 200)))
    told = {whose: one for whose, one in SHOWN[name].items() if one}
    phrases = cache_lifetime.lifetime_phrases(SHOWN[name])
    assert len(phrases["lifetime"]) == len(told)
    assert all(sentence in shown for sentence in [*phrases["lifetime"], *phrases["lifetime_settings"]])
    assert len(phrases["lifetime_settings"]) == sum(one["pays"] not in ("", one["has"]) for one in told.values())
