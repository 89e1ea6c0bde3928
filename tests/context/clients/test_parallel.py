"""Calls at the same time: each conversation goes on from its own last build, one build after the other."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from popkit_retention.context.build_types import ContextBuildOptions, ContextResult
from popkit_retention.context.conversations import Conversations, mark_of
from popkit_retention.context.sources import Sources
from tests.patience import HANG_S

from .callers import KINDS, MODEL, QUESTION, Backend, Kind, id_of, in_threads, with_a_mark
from .providers import Providers

ANTHROPIC, ANTHROPIC_ASYNC = KINDS[0], KINDS[1]
every_client = pytest.mark.parametrize("kind", KINDS, ids=id_of)
AT_ONCE = 8


class Alone:
    """A build that notices another one of the same conversation beside it."""

    def __init__(self) -> None:
        self._inside: set[tuple[str, str]] = set()

    def __call__(self, options: ContextBuildOptions, sources: Sources) -> ContextResult:
        key = (str(options.session_id), mark_of(options.messages))
        assert key not in self._inside
        self._inside.add(key)
        threading.Event().wait(0.01)  # long enough for the others to come
        self._inside.discard(key)
        return with_a_mark(options, sources)


def fronts(api: Providers) -> list[str]:
    """What stands in front of each request: the number of the build in its conversation."""
    return sorted(seen.messages[0]["content"].rpartition(" ")[2] for seen in api.requests)


@every_client
def test_each_build_goes_on_from_what_the_one_before_handed_on(api: Providers, kind: Kind):
    backend = Backend(api)
    for _ in range(3):
        kind.ask(backend.client(kind, session_id="s1"))
    assert fronts(api) == ["1", "2", "3"]


def test_parallel_calls_of_a_session_in_threads_are_built_one_after_the_other(api: Providers):
    backend = Backend(api, Alone())
    with backend.client(ANTHROPIC, session_id="s1") as client:
        in_threads(lambda number: ANTHROPIC.create(client), AT_ONCE)
    assert fronts(api) == sorted(str(number + 1) for number in range(AT_ONCE))


@pytest.mark.parametrize("kind", [KINDS[1], KINDS[3]], ids=id_of)
def test_parallel_calls_of_a_session_in_tasks_are_built_one_after_the_other(api: Providers, kind: Kind):
    backend = Backend(api, Alone())

    async def ask() -> None:
        async with backend.client(kind, session_id="s1") as client:
            await asyncio.gather(*[kind.create(client) for _ in range(AT_ONCE)])

    asyncio.run(ask())
    assert fronts(api) == sorted(str(number + 1) for number in range(AT_ONCE))


def test_different_sessions_do_not_wait_for_each_other(api: Providers):
    ready = threading.Barrier(2, timeout=HANG_S)

    def meet(options: ContextBuildOptions, sources: Sources) -> ContextResult:
        ready.wait()  # fails unless both are in here
        return with_a_mark(options, sources)

    backend = Backend(api, meet)
    with backend.client(ANTHROPIC) as client:
        in_threads(lambda number: ANTHROPIC.create(client, extra_body={"popkit": {"session_id": f"s{number}"}}), 2)
    assert fronts(api) == ["1", "1"]


def test_a_build_does_not_hold_up_the_loop(api: Providers):
    """What else runs in it goes on while a build waits for just that."""
    began, went_on = threading.Event(), threading.Event()

    def waits(options: ContextBuildOptions, sources: Sources) -> ContextResult:
        began.set()
        assert went_on.wait(HANG_S)
        return with_a_mark(options, sources)

    async def ask() -> None:
        async with Backend(api, waits).client(ANTHROPIC_ASYNC) as client:
            call = asyncio.ensure_future(ANTHROPIC_ASYNC.create(client))
            while not began.is_set():
                await asyncio.sleep(0.01)
            went_on.set()
            await call

    asyncio.run(ask())
    assert fronts(api) == ["1"]


def test_conversations_of_one_session_are_told_apart_by_how_they_begin(api: Providers):
    backend = Backend(api)
    other = [{"role": "user", "content": "a subagent's task"}]
    for messages in (QUESTION, other, [*QUESTION, {"role": "assistant", "content": "so"}, {"role": "user", "content": "on"}], other):
        ANTHROPIC.ask(backend.client(ANTHROPIC, session_id="s1"), messages=messages)
    assert fronts(api) == ["1", "1", "2", "2"]


def test_two_conversations_that_begin_alike_each_go_on_from_their_own_last_build(api: Providers):
    """As those of parallel agents of one template do."""
    backend = Backend(api)
    one, other = ([*QUESTION, {"role": "assistant", "content": text}, {"role": "user", "content": "on"}] for text in "ab")
    for messages in (QUESTION, QUESTION, one, other, one, one, other):
        ANTHROPIC.ask(backend.client(ANTHROPIC, session_id="s1"), messages=messages)
    assert [seen.messages[0]["content"].rpartition(" ")[2] for seen in api.requests] == ["1", "2", "3", "4", "4", "5", "5"]


def test_users_share_nothing(api: Providers):
    backend = Backend(api)
    for user in ("dana", "kim"):
        ANTHROPIC.ask(backend.client(ANTHROPIC, user_id=user, session_id="s1"))
    assert fronts(api) == ["1", "1"]


def test_a_conversation_without_a_session_is_a_session_of_its_own(api: Providers):
    backend = Backend(api)
    for text in ("one", "one", "two"):
        ANTHROPIC.ask(backend.client(ANTHROPIC), messages=[{"role": "user", "content": text}])
    one, again, two = [caller.session_id for caller, _ in backend.ledger.builds]
    assert one == again != two
    assert fronts(api) == ["1", "1", "2"]


def test_a_build_that_fails_leaves_the_state_as_it_was(api: Providers):
    broken = {"now": False}

    def sometimes(options: ContextBuildOptions, sources: Sources) -> ContextResult:
        if broken["now"]:
            raise ValueError
        return with_a_mark(options, sources)

    backend = Backend(api, sometimes)
    for broken["now"] in (False, True, False):
        ANTHROPIC.ask(backend.client(ANTHROPIC, session_id="s1"))
    assert [len(seen.messages) for seen in api.requests] == [len(QUESTION) + 2, len(QUESTION), len(QUESTION) + 2]
    assert api.last.messages[0]["content"].endswith(" 2")


def turn(known: Conversations, *digests: str, appended: bool = True) -> Any:
    """A turn of a conversation of these messages; what was handed on to it."""
    with known.turn(("dana",), digests) as one:
        one.hand_on({"over": "".join(digests)}, appended)
    return one.state and one.state["over"]


def test_only_so_many_conversations_are_remembered_those_used_last():
    known = Conversations(most=2)
    assert [turn(known, key) for key in ("a", "b", "a", "c")] == [None, None, "a", None]
    assert len(known) == 2
    assert turn(known, "b") is None
    assert turn(known, "c") == "c"


def test_of_conversations_that_begin_alike_the_newest_builds_are_remembered():
    known = Conversations(most_alike=2)
    for texts in ("ab", "ac", "ad"):
        turn(known, *texts)
    assert turn(known, *"adx") == "ad"
    assert turn(known, *"acx") == "ac"
    assert len(known) == 2


def test_a_build_goes_on_from_the_one_that_shares_the_most_with_it():
    known = Conversations()
    assert [turn(known, *texts) for texts in ("a", "abc", "axy", "abcde", "axyz", "abd")] == [None, "a", "abc", "abc", "axy", "abcde"]


def test_a_conversation_branched_before_a_cut_continues_from_what_was_sent_then():
    known = Conversations()
    turn(known, *"abc")
    assert turn(known, *"abcde", appended=False) == "abc"
    assert turn(known, *"abcxy") == "abc"
    assert turn(known, *"abcdefg") == "abcde"


def test_a_conversation_is_the_same_wherever_its_cache_breakpoint_is():
    text = "How does it work?"
    as_block = [{"role": "user", "content": [{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}]}]
    system = {"role": "system", "content": "of no account"}
    assert mark_of([{"role": "user", "content": text}]) == mark_of(as_block) == mark_of([system, *as_block])
    assert mark_of(as_block) != mark_of([{"role": "user", "content": text + "?"}])


def test_the_model_that_a_call_names_is_recorded(api: Providers):
    backend = Backend(api)
    ANTHROPIC.ask(backend.client(ANTHROPIC), model="another")
    assert [model for _, model, _ in backend.ledger.answers] == ["another"] != [MODEL]
