"""No reference stands in a compacted conversation to something that has left: what referred to it is whole again."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hooks.utils.hosts.claude_code import TOOLS
from hooks.utils.policy import compacting
from hooks.utils.policy.messages import USER, put_back
from tests.examples import examples
from tests.policy.compactable import CODE, DEEDS, SHARES, Talk, archived, assert_valid, plain, refer, standing, talked, words
from tests.policy.conversing import NEVER, SURE

WHOLE = CODE * 20
TALKS = st.builds(talked, DEEDS, st.sampled_from(["auto", "spec"]), st.sampled_from([0, 0, 3]))
many = settings(max_examples=examples(200, 2_000))


def has_left(talk: Talk, done: compacting.Compacted, named: str) -> bool:
    """Whether what a reference names stands no more as it stood."""
    before, after = standing(talk.messages), standing(done.messages)
    id = named.removeprefix("call ")
    part = 0 if named.startswith("call ") else 1
    return id not in after or after[id][part] not in (before[id][part], talk.wholes.get(id))


@many
@given(TALKS, SHARES, st.sampled_from([NEVER, SURE]))
def test_a_reference_stands_only_where_what_it_names_does(talk: Talk, share: float, model):
    done = talk.compact(share, model, wholes=talk.wholes)
    before, after = standing(talk.messages), standing(done.messages)
    for id, event in talk.conversation.entered.items():
        if id in after and after[id][1] == before[id][1]:
            assert not any(has_left(talk, done, named) for named in event.leans_on if named in before)
    assert_valid(done.messages)
    assert words(done.messages, archived(done)) == words(talk.messages)


@many
@given(TALKS, SHARES, st.sampled_from([NEVER, SURE]))
def test_archive_and_answer_give_the_conversation_back_with_these_whole(talk: Talk, share: float, model):
    done = talk.compact(share, model, wholes=talk.wholes)
    given = talk.messages
    for message in given:
        for shown in message.results:
            if shown.id in done.made_whole:
                shown.text = talk.wholes[shown.id]
    is_same = json.dumps(plain(put_back(done.messages, archived(done).get, TOOLS))) == json.dumps(plain(given))
    assert is_same, "the texts are too long for a comparison that says where"
    assert not done.met or done.after <= share * done.before + 1
    assert len(done.made_whole) == len({*done.made_whole})


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
    assert standing(done.messages)["T14"][1] == WHOLE
    assert standing(done.messages)["T1"][1] != CODE * 60
    assert done.met, "what is whole again counts"


def test_where_the_source_stands_the_reference_does():
    talk = referring()
    done = talk.compact(1.0, wholes=talk.wholes)
    assert standing(done.messages)["T14"] == standing(talk.messages)["T14"]
    assert done.made_whole == []


def test_a_reference_whose_whole_nobody_has_stands_as_it_is():
    talk = referring()
    done = talk.compact(0.3)
    assert standing(done.messages)["T14"] == standing(talk.messages)["T14"]
    assert done.made_whole == []


def test_what_leaves_itself_leaves_as_it_was_where_the_source_still_stood():
    talk = referring()
    done = talk.compact(0.0, only=("T14",), wholes=talk.wholes)
    assert done.made_whole == []


@pytest.mark.parametrize("named", ["T1", "T99"])
def test_a_source_that_the_person_takes_out_makes_it_whole_and_so_does_one_that_is_not_there(named: str):
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
