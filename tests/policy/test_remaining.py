"""The messages that stand after a compaction: no reference in them to something that has left, and beside what left the names that stand
for it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from popkit_retention.core.hosts.claude_code import TOOLS
from popkit_retention.core.policy import compacting
from popkit_retention.core.policy.compacting import CALLS, CompactionResult, pairs_of
from popkit_retention.core.policy.estimate import estimate_tokens
from popkit_retention.core.policy.left_names import names_of_left, room_for_names
from popkit_retention.core.policy.list_text import handle_of_fold
from popkit_retention.core.policy.messages import ASSISTANT, USER, texts_in
from popkit_retention.core.policy.outlines import NAME, possible_names
from popkit_retention.core.policy.placeholder import handle_in
from popkit_retention.core.policy.returning import put_back
from popkit_retention.core.policy.ways import Pair
from tests.examples import examples
from tests.policy.compactable import (
    CODE,
    HISTORIES,
    SHARES,
    SIZES,
    WORDS,
    Talk,
    archived,
    assert_valid,
    calls_in,
    handle_of,
    plain,
    refer,
    talk_of,
    talked,
    words,
)
from tests.policy.conversing import NEVER, SURE
from tests.policy.test_compacting_laws import MODELS, TALKS

WHOLE = CODE * 20
REFERRING = st.builds(talked, HISTORIES, st.sampled_from(["auto", "spec"]), st.sampled_from([0, 0, 3]))
many = settings(max_examples=examples(20, 2_000))


def has_left(talk: Talk, done: compacting.CompactionResult, named: str) -> bool:
    """Whether what a reference names stands no more as it stood."""
    before, after = calls_in(talk.messages), calls_in(done.messages)
    id = named.removeprefix("call ")
    part = 0 if named.startswith("call ") else 1
    return id not in after or after[id][part] not in (before[id][part], talk.wholes.get(id))


@many
@given(REFERRING, SHARES, st.sampled_from([NEVER, SURE]))
def test_a_reference_remains_only_beside_its_source(talk: Talk, share: float, model):
    """Archive and answer give back the whole of the others."""
    given, done = talk.messages, talk.compact(share, model, wholes=talk.wholes)
    before, after = calls_in(given), calls_in(done.messages)
    for id, event in talk.conversation.entered.items():
        if id in after and after[id][1] == before[id][1]:
            assert not any(has_left(talk, done, named) for named in event.leans_on if named in before)
    assert_valid(done.messages)
    assert words(done.messages, archived(done)) == words(given)
    assert not done.met or done.after <= share * done.before + done.beside + 1
    assert len(done.made_whole) == len({*done.made_whole})
    for message in given:
        for shown in message.results:
            if shown.id in done.made_whole:
                shown.text = talk.wholes[shown.id]
    is_same = json.dumps(plain(put_back(done.messages, archived(done).get, TOOLS))) == json.dumps(plain(given))
    assert is_same, "the texts are too long for a comparison that says where"


def referring(about: str = "T1") -> Talk:
    """A large file, much after it, and a Read of it again that entered as a reference."""
    talk = Talk()
    talk.say(USER, "go")
    talk.read("/p/src/cart.ts", text=CODE * 60)
    for number in range(12):
        talk.read(f"/p/src/other{number}.ts", text=f"{number}{CODE * 30}")
    refer(talk, about, "/p/docs/cart.md", WHOLE)
    for number in range(5):
        talk.read(f"/p/src/late{number}.ts", text=f"{number}{CODE * 2}")
    return talk


def test_what_referred_to_it_is_whole_once_the_source_has_left():
    talk = referring()
    done = talk.compact(0.3, wholes=talk.wholes)
    assert done.made_whole == ["T14"]
    assert calls_in(done.messages)["T14"][1] == WHOLE
    assert calls_in(done.messages)["T1"][1] != CODE * 60
    assert done.met, "what is whole again counts"


def test_where_the_source_remains_so_does_the_reference():
    talk = referring()
    done = talk.compact(1.0, wholes=talk.wholes)
    assert calls_in(done.messages)["T14"] == calls_in(talk.messages)["T14"]
    assert done.made_whole == []


def test_a_reference_whose_whole_nobody_has_remains_as_it_is():
    talk = referring()
    done = compacting.compact(talk.messages, talk.conversation, NEVER, 0.3, handle_of)
    assert calls_in(done.messages)["T14"] == calls_in(talk.messages)["T14"]
    assert done.made_whole == []


def test_what_leaves_itself_leaves_as_it_was_where_the_source_still_stood():
    talk = referring()
    done = talk.compact(0.0, only=("T14",), wholes=talk.wholes)
    assert done.made_whole == []


@pytest.mark.parametrize("named", ["T1", "T99"])
def test_a_reference_is_made_whole_if_its_source_is_removed_or_missing(named: str):
    """As when the person takes the source out."""
    talk = referring(named)
    done = talk.compact(1.0, NEVER, ("T1",), wholes=talk.wholes)
    assert [left.id for left in done.left] == ["T1"]
    assert done.made_whole == ["T14"]


def test_a_reference_to_what_was_written_is_whole_once_that_call_is_a_stub():
    talk = Talk()
    talk.say(USER, "go")
    talk.write("/p/src/cart.ts", CODE * 60)
    for number in range(12):
        talk.read(f"/p/src/other{number}.ts", text=f"{number}{CODE * 5}")
    refer(talk, "call T1", "/p/docs/cart.md", WHOLE)
    for number in range(5):
        talk.read(f"/p/src/late{number}.ts", text=f"{number}{CODE}")
    done = talk.compact(0.5, wholes=talk.wholes)
    assert has_left(talk, done, "call T1")
    assert done.made_whole == ["T14"]


# --- names -------------------------------------------------------------------------------------------------------------------------------

SHORT = "it took a while and went on as it was said\n" * 8  # no name in it


def beside(done: CompactionResult) -> list[str]:
    """The names behind each list, in order."""
    lines = [each.text for each in done.messages if handle_of_fold(each.text)]
    return [found[1] for line in lines if (found := re.search(r"; in them: (.*?): popkit restore", line))]


def compacted(*steps, quiet: int = 12, share: float = 0.0) -> CompactionResult:
    """A conversation that has words enough for names to have room, compacted."""
    return talk_of(lambda talk: talk.say(USER, WORDS * 400), *steps, quiet=quiet).compact(share)


def bash(command: str, text: str = SHORT):
    return lambda talk: talk.bash(command, text)


# --- where they stand -----------------------------------------------------------------------------------------------------------------


def test_a_list_has_the_names_of_its_calls():
    done = compacted(bash("ls", "cartTotalsOf formatPrice2 " + SHORT))
    assert beside(done) == ["cartTotalsOf formatPrice2"]
    assert [left.kind for left in done.left].count(CALLS) == 1


def test_each_list_has_those_of_its_own_calls():
    next_words = "and now the next thing"
    done = compacted(bash("ls", "cartTotalsOf " + SHORT), lambda t: t.say(ASSISTANT, next_words), bash("pwd", "formatPrice2 " + SHORT))
    assert beside(done) == ["cartTotalsOf", "formatPrice2"]


def test_a_placeholder_has_the_names_of_its_result_behind_all_that_it_says():
    run = bash("npm test", f"{SHORT * 3}\nexpectedTotal12\nTests: 3 failed, 9 passed")
    shown = calls_in(compacted(run).messages)["T1"][1]
    assert handle_in(shown)
    assert shown.endswith(" -- expectedTotal12")


def test_a_stub_has_the_names_of_its_input():
    content = "shippingCosts3 " + SHORT * 4
    talk = talk_of(lambda t: t.say(USER, WORDS * 400), lambda t: t.write("/p/a.py", content), quiet=12)
    done = talk.compact(0.985, SURE)
    field = calls_in(done.messages)["T1"][0]["content"]
    assert handle_in(field) == done.left[0].handle
    assert field.endswith("]\nshippingCosts3")
    assert plain(put_back(done.messages, archived(done).get, TOOLS)) == plain(talk.messages)


def test_a_name_is_listed_once_with_the_newest_call_that_held_it():
    done = compacted(
        bash("ls", "cartTotalsOf " + SHORT), lambda t: t.say(ASSISTANT, "next"), bash("pwd", "cartTotalsOf " + SHORT)
    )  # fmt: skip
    assert beside(done) == ["cartTotalsOf"]
    assert "left out Bash pwd; " in next(each.text for each in done.messages if "cartTotalsOf" in each.text)


@pytest.mark.parametrize(
    "mention",
    [
        lambda talk: talk.say(ASSISTANT, "cartTotalsOf() is wrong"),
        lambda talk: talk.call("AskUserQuestion", {"questions": ["cartTotalsOf?"]}, "yes"),
        lambda talk: talk.call("AskUserQuestion", {"questions": ["which?"]}, "cartTotalsOf"),
    ],
)
def test_a_name_that_is_still_in_the_context_is_not_listed(mention):
    assert beside(compacted(bash("ls", "cartTotalsOf " + SHORT), mention)) == []


def test_where_a_clear_was_asked_for_only_placeholders_replace_what_left():
    talk = talk_of(bash("ls", "cartTotalsOf " + SHORT), quiet=12)
    assert "cartTotalsOf" not in str(plain(talk.compact(0.0, only=("T1",)).messages))


# --- which come first -----------------------------------------------------------------------------------------------------------------


def first_of(*steps) -> str:
    """The name that is chosen where there is room for one alone."""
    talk = talk_of(*steps, quiet=12)
    pairs = pairs_in(talk)
    chosen = names_of_left(pairs, {pair.use.id for pair in pairs}, possible_names([]), 13)
    (name,) = [name for each in chosen.values() for name in each]
    return name


def pairs_in(talk: Talk) -> list[Pair]:
    return list(pairs_of(talk.messages, talk.conversation, NEVER).values())


def test_what_was_shown_lately_comes_before_what_was_shown_long_ago():
    quiet = [bash("true", SHORT) for _ in range(20)]
    assert first_of(bash("ls", "cartTotalsOf9"), *quiet, bash("pwd", "formatPrice12")) == "formatPrice12"


def test_what_many_calls_showed_comes_before_what_one_did():
    assert first_of(*[bash("ls", "cartTotalsOf9")] * 3, bash("pwd", "formatPrice12")) == "cartTotalsOf9"


def test_what_a_call_was_made_with_comes_before_what_it_found():
    assert first_of(bash("grep cartTotalsOf9", "formatPrice12")) == "cartTotalsOf9"


def test_a_short_name_comes_before_a_long_one():
    assert first_of(bash("ls", "src/checkout/cartTotalsOf9 formatPrice12")) == "formatPrice12"


# --- what is none ---------------------------------------------------------------------------------------------------------------------


def test_keys_chance_plain_words_and_numbers_are_no_names():
    texts = (
        "sk_live_abcdefghijklmnopqrst", "AKIAIOSFODNN7EXAMPLE", "ghp_16C7e42F292c6912E7710c838347Ae178B4a", "x8Kd93jQz71LmP0sVw2R",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQ\nab12CD34ef56\n-----END RSA PRIVATE KEY-----", "configuration", "well-known",
        "123456789012345",
    )  # fmt: skip
    assert beside(compacted(*(bash("ls", f"{text}\n{SHORT}") for text in texts))) == []


def test_the_password_of_a_command_is_no_name():
    done = compacted(bash("mysql -u root --password=correct_horse_9 shop_database_2", SHORT))
    assert "correct_horse_9" not in str(plain(done.messages))


def test_names_take_a_share_and_of_a_large_conversation_so_many_tokens():
    assert room_for_names(20_000, 1.0) == pytest.approx(700)
    assert room_for_names(1_000_000, 1.0) == 4_000
    assert room_for_names(1_000_000, 2.0) == 2_000, "measured tokens"


# --- laws -----------------------------------------------------------------------------------------------------------------------------


@settings(max_examples=examples(40, 1_000))
@given(TALKS, SHARES, MODELS)
def test_they_are_few_and_what_left_held_each_of_them(talk: Talk, share: float, model):
    done, pairs = talk.compact(share, model), pairs_in(talk)
    held = possible_names([text for pair in pairs for text in [*texts_in(pair.use.input), pair.shown.text]])
    room = room_for_names(done.before, 1.0)
    chosen = names_of_left(pairs, {pair.use.id for pair in pairs}, frozenset(), room)
    each = [name for some in chosen.values() for name in some]
    assert len(set(each)) == len(each)
    assert set(each) <= held
    assert all(re.search(NAME, name) for name in each)
    assert estimate_tokens(" ".join(each)) <= room
    listed = possible_names(beside(done))
    assert listed - {""} <= held


# --- what stays of drawn conversations ----------------------------------------------------------------------------------------------

EVENTS = (
    "user assistant read read read grep test failing passing error ask task other write edit big_edit failed_write failed_edit"
    " notebook turn pin clear restored quiet quiet together leaning fetched"
).split()


def drawn(number: int) -> tuple[list[tuple[str, int, str]], Talk]:
    """A conversation that is drawn by a number, and its events."""
    draw = Random(number)

    def below(most: int) -> int:
        return int(draw.random() * most)

    history = [(EVENTS[below(len(EVENTS))], below(3), list(SIZES)[below(len(SIZES))]) for _ in range(8 + below(10))]
    return history, talked(history, ("auto", "spec")[number % 2], unseen=(0, 0, 2)[number % 3])


def folded(text: str) -> str:
    return text if len(text) <= 160 else f"{text[:60]}…{text[-60:]} ({len(text)})"


def test_of_each_conversation_stays_what_the_golden_shows(golden):
    rows = []
    for number in range(24):
        history, talk = drawn(number)
        rows.append(f"# {number}: {' '.join(f'{event}{which}{size}' for event, which, size in history)}")
        for share, model, lost in ((0.0, NEVER, ()), (0.4, SURE, ()), (0.2, NEVER, ("T1", "T3"))):
            done = talk.compact(share, model, wholes=talk.wholes, lost=lost)
            rows.append(f"{share}: {done.before} → {done.after}, {'met' if done.met else 'not met'}, made whole {sorted(done.made_whole)}")
            rows += [f"  {left.kind} {left.id} {left.handle} {left.label}: {left.why}" for left in done.left]
            if share == 0.0:
                for message in done.messages:
                    inputs = [text for use in message.uses for text in texts_in(use.input)]
                    texts = [message.text, *inputs, *(shown.text for shown in message.results)]
                    rows += [f"    {message.role[0]} {folded(text)!r}" for text in texts if text]
    golden(Path(__file__).with_name("goldens") / "compacted.txt", "".join(f"{row}\n" for row in rows))
