"""Laws of a compaction without a model, whatever was said and done before it."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from popkit_retention.core.hosts.claude_code import TOOLS
from popkit_retention.core.policy import compacting, planning
from popkit_retention.core.policy.compacting import CALLS, INPUT, NEWEST, NEWEST_TOKENS, RESULT, CompactionResult, is_long
from popkit_retention.core.policy.list_text import handle_of_list
from popkit_retention.core.policy.messages import result_tokens
from popkit_retention.core.policy.placeholder import handle_in
from popkit_retention.core.policy.returning import put_back
from tests.examples import examples
from tests.policy.compactable import (
    FEW,
    HISTORIES,
    SHARES,
    Talk,
    archived,
    assert_valid,
    calls_in,
    handle_of,
    plain,
    talked,
    words,
)
from tests.policy.conversing import NEVER, SURE

many = settings(max_examples=examples(20, 2_000))


def _calibrated(history: list, profile: str, unseen: int, calibration: float) -> Talk:
    talk = talked(history, profile, unseen)
    talk.state.calibration = calibration
    return talk


TALKS = st.builds(
    _calibrated, HISTORIES, st.sampled_from(["auto", "auto", "spec"]), st.sampled_from([0, 0, 2, 6]), st.sampled_from([1.0, 0.6, 1.7])
)
MODELS = st.sampled_from([NEVER, SURE])


def newest_tokens(messages: list) -> int:
    """Tokens of the newest calls and their results."""
    uses = [use.tokens for message in messages for use in message.uses]
    return sum(uses[-NEWEST:]) + sum([result_tokens(shown.text) for message in messages for shown in message.results][-NEWEST:])


def without_lists(done: CompactionResult) -> list:
    return [message for message in done.messages if handle_of_list(message) not in archived(done)]


def names(done: CompactionResult) -> list[tuple[str, str, str]]:
    return [(left.kind, left.id, left.handle) for left in done.left]


def archive_and_answer_together_give_the_conversation_back_byte_for_byte(talk: Talk, given: list, done: CompactionResult):
    is_same = json.dumps(plain(put_back(done.messages, archived(done).get, TOOLS))) == json.dumps(plain(given))
    assert is_same, "the texts are too long for a comparison that says where"


def what_remains_is_a_conversation_that_every_provider_accepts_and_all_words_are_in_it(talk: Talk, given: list, done: CompactionResult):
    assert_valid(done.messages)
    assert words(done.messages, archived(done)) == words(given)
    given_ids, ids = list(calls_in(given)), list(calls_in(done.messages))
    assert ids == [id for id in given_ids if id in set(ids)], "in their order"
    for message in done.messages:
        for use in message.uses:
            assert set(use.input) == set(calls_in(given)[use.id][0])


def what_must_remain_remains_whole(talk: Talk, given: list, done: CompactionResult):
    remaining, conversation, last = calls_in(done.messages), talk.conversation, planning.last_words(talk.conversation)
    for at, (id, whole) in enumerate(calls_in(given).items()):
        result = talk.state.live.get(id) or talk.state.expired[id]
        must = {
            "last": len(calls_in(given)) - at == 1,
            "newest": len(calls_in(given)) - at <= NEWEST and newest_tokens(given) <= NEWEST_TOKENS / talk.state.calibration,
            "pinned": result.pinned,
            "unseen": not conversation.is_seen(id),
        }
        if any(must.values()):
            assert remaining.get(id) == whole, must
        if ((result.tier == "preserved" and not result.ended) or id in last) and not is_long(result):
            assert remaining[id][1:] == whole[1:], "its result stands whole, whatever of its input has left"


@many
@given(TALKS, SHARES, SHARES, MODELS)
def test_the_target_is_met_or_nothing_more_could_go_and_a_smaller_one_keeps_no_more(talk: Talk, one: float, other: float, model):
    share, larger = sorted((one, other))
    done, least, dead = talk.compact(share, model), talk.compact(0.0, model), talk.compact(1.0, model)
    assert done.before == dead.before
    assert least.after <= done.after <= talk.compact(larger, model).after <= done.before
    if done.met:
        assert done.after <= share * done.before + done.beside + 1
    else:
        assert done.after > share * done.before + done.beside - 1
        assert plain(without_lists(done)) == plain(without_lists(least)), "lists have their share of the target, whether it is met or not"
    if dead.after <= share * dead.before - 1:
        assert plain(done.messages) == plain(dead.messages), "no more than what is dead was needed"
    assert dead.met
    for left in dead.left:
        assert left.kind == RESULT, "where all may stand only what is dead leaves"
        assert talk.state.expired[left.id].ended
        assert left.why


@many
@given(TALKS, st.lists(st.integers(1, 40).map("T{}".format), max_size=6).map(tuple))
def test_of_what_was_asked_for_by_id_just_that_leaves(talk: Talk, only: tuple[str, ...]):
    given, done = talk.messages, talk.compact(0.1, only=only)
    assert {(left.kind, left.id in only) for left in done.left} <= {(RESULT, True)}
    gone, whole, remaining = {left.id for left in done.left}, calls_in(given), calls_in(done.messages)
    assert list(remaining) == list(whole)
    for id in whole:
        assert (remaining[id] == whole[id]) is (id not in gone)
    for id in {*only} & {*whole} - gone:
        result = talk.state.live.get(id) or talk.state.expired[id]
        is_short = result.tokens < 60 or len(whole[id][1]) < 200
        assert result.pinned or handle_in(whole[id][1]) or is_short, "it is pinned, or hardly longer than its placeholder"
    assert_valid(done.messages)
    assert plain(put_back(done.messages, archived(done).get, TOOLS)) == plain(given)


def whatever_left_can_be_found_by_its_handle_in_what_remains_or_in_what_left_with_it(talk: Talk, given: list, done: CompactionResult):
    encoded = json.dumps(plain(done.messages))
    folds = [json.dumps(left.content) for left in done.left if left.kind == CALLS]
    for left in done.left:
        assert left.handle in encoded or any(left.handle in fold for fold in folds)
        assert left.label.strip()
        assert left.why
        assert (left.kind == CALLS) is (left.id == "")
        assert isinstance(left.content, {RESULT: str, INPUT: dict, CALLS: list}[left.kind])
    assert len({left.handle for left in done.left}) == len(done.left)


LAWS = (
    archive_and_answer_together_give_the_conversation_back_byte_for_byte,
    what_remains_is_a_conversation_that_every_provider_accepts_and_all_words_are_in_it,
    what_must_remain_remains_whole,
    whatever_left_can_be_found_by_its_handle_in_what_remains_or_in_what_left_with_it,
)


@many
@given(TALKS, SHARES, MODELS)
def test_the_laws_hold_for_any_target_and_compacting_is_pure(talk: Talk, share: float, model):
    """The result follows from its input, which it does not change."""
    given = talk.messages
    before, state = json.dumps(plain(given)), json.dumps(talk.state.to_json())
    done, again = (compacting.compact(given, talk.conversation, model, share, handle_of) for _ in range(2))
    assert plain(done.messages) == plain(again.messages)
    assert names(done) == names(again)
    assert json.dumps(plain(given)) == before
    assert json.dumps(talk.state.to_json()) == state
    for law in LAWS:
        law(talk, given, done)


@many
@given(TALKS, st.lists(st.tuples(FEW, SHARES), min_size=1, max_size=2), SHARES, MODELS)
def test_the_laws_hold_for_repeated_compactions_and_the_archives_give_all_back(talk: Talk, rest: list, share: float, model):
    whole = plain(talk.messages)
    compactions = [talk.compact(share, model)]
    for more, again in rest:
        talk.went_on_with(compactions[-1])
        standing_then = len(talk.rows)
        talked(more, talk=talk)
        given = talk.messages
        whole += plain(given[standing_then:])
        compactions.append(talk.compact(again, model))
        assert_valid(compactions[-1].messages)
        assert words(compactions[-1].messages, talk.lists_after(compactions[-1])) == words(given, talk.lists)
        assert plain(put_back(compactions[-1].messages, archived(compactions[-1]).get, TOOLS)) == plain(given)
    assert plain(put_back(compactions[-1].messages, archived(*compactions).get, TOOLS)) == whole
