"""Whatever callers put into messages comes to the builder as plain data, and arrives as it would have; a user of Claude Code has one
name; the example of docs/design/context.md that builds by hand runs as it stands there."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popkit_retention.clients.session_user import made_plain, person_of
from popkit_retention.context.build_types import ContextBuildOptions, ContextResult, ContextTier
from popkit_retention.context.builder import build_context
from popkit_retention.context.sources import Sources

from .callers import BUILT, KINDS, MODEL, QUESTION, Backend, Kind, Ledger, id_of, result, with_a_mark
from .providers import Providers

TEXT = (Path(__file__).resolve().parents[3] / "docs" / "design" / "context.md").read_text(encoding="utf-8")


def test_the_example_builds_each_request_on_the_one_before(api: Providers) -> None:
    example = re.search(r"\n# By hand\n\n```python\n(.*?)```", TEXT, re.DOTALL)
    assert example is not None
    # Closed here: globals are a cycle, and the collector may come to a socket in it before it comes to the client that would close it.
    with KINDS[0].make(api) as client:
        namespace: dict[str, Any] = {"client": client, "messages": [], "MODEL": "claude-opus-4-8"}
        exec(example[1], namespace)  # noqa: S102  our own example
    first, second = api.requests
    assert [message["role"] for message in second.messages] == ["user", "assistant", "user"]
    assert second.messages[: len(first.messages)] == first.messages
    assert namespace["built"].appended


DEVICE, ACCOUNT = "7f" * 32, "0f8c1e9a-3b1d-4c55-9e0a-5d2a7b6c4e11"
SESSIONS = ("5a1f0c3e-7b2d-4f6a-8c9e-1d2b3a4c5e6f", "c0ffee00-7b2d-4f6a-8c9e-1d2b3a4c5e6f")


def as_json(account: str, session: str) -> str:
    return json.dumps({"device_id": DEVICE, "account_uuid": account, "session_id": session, "team": "blue"})


@pytest.mark.parametrize("account", [ACCOUNT, ""])
def test_a_user_is_the_same_in_every_session_and_either_form(account: str) -> None:
    joined = [f"user_{DEVICE}_account_{account}_session_{session}" for session in SESSIONS]
    in_json = [as_json(account, session) for session in SESSIONS]
    assert {person_of(named) for named in (*joined, *in_json)} == {f"user_{DEVICE}_account_{account}"}


@pytest.mark.parametrize(
    "other", ["dana", "user_session_1", "a_session_b", "{", "{}", "[1]", '{"device_id": "a"}', '{"session_id": "s"}', "7"]
)
def test_any_other_name_stays_as_it_is(other: str) -> None:
    assert person_of(other) == other


ANTHROPIC, OPENAI = KINDS[0], KINDS[2]
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
WEATHER = {"type": "object", "properties": {"place": {"type": "string"}}}
ANTHROPIC_TURNS: list[dict[str, Any]] = [
    {"role": "user", "content": [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}]},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"place": "Bergen"}}]},
    {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "rain", "cache_control": {"type": "ephemeral"}}],
    },
]
OPENAI_TURNS: list[dict[str, Any]] = [
    {"role": "system", "content": "Answer in one line."},
    {"role": "user", "content": [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}]},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}],
    },
    {"role": "tool", "tool_call_id": "call_1", "content": "rain"},
]


class Reading:
    """A build that keeps what it was given, and proves that it was plain."""

    def __init__(self) -> None:
        self.options: list[ContextBuildOptions] = []

    def __call__(self, options: ContextBuildOptions, sources: Sources) -> ContextResult:
        json.dumps([options.messages, options.system, options.tools])
        self.options.append(options)
        return with_a_mark(options, sources)


@pytest.fixture
def reading() -> Reading:
    return Reading()


@pytest.fixture
def backend(api: Providers, reading: Reading) -> Backend:
    return Backend(api, reading)


def test_images_tools_and_results_of_anthropic_come_to_the_builder_and_arrive(backend: Backend, reading: Reading):
    tools = [{"name": "weather", "input_schema": WEATHER}]
    ANTHROPIC.ask(backend.client(ANTHROPIC), messages=ANTHROPIC_TURNS, tools=tools, system="Answer in one line.")
    [options] = reading.options
    assert (options.messages, options.tools, options.system) == (ANTHROPIC_TURNS, tools, "Answer in one line.")
    assert backend.api.last.messages[2:] == ANTHROPIC_TURNS
    assert backend.api.last.body["tools"] == tools


def test_images_tools_and_foreign_contents_reach_the_builder_and_the_provider(backend: Backend, reading: Reading):
    tools = [{"type": "function", "function": {"name": "weather", "parameters": WEATHER}}]
    OPENAI.ask(backend.client(OPENAI), messages=OPENAI_TURNS, tools=tools)
    [options] = reading.options
    assert (options.messages, options.tools, options.system) == (OPENAI_TURNS, tools, None)
    assert backend.api.last.messages[2:] == OPENAI_TURNS


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.name}-{kind.asynchronous}")
def test_an_answer_may_be_put_into_the_next_request_as_it_came(backend: Backend, reading: Reading, kind: Any):
    """Both packages take the objects that they give."""
    answer = kind.ask(backend.client(kind))
    message = {"role": "assistant", "content": answer.content} if kind.name == "anthropic" else answer.choices[0].message
    after = [*QUESTION, message, {"role": "user", "content": "third"}]
    kind.ask(kind.make(backend.api), messages=after)
    kind.ask(backend.client(kind), messages=after)
    plain_request, wrapped = backend.api.requests[-2:]
    assert wrapped.messages[2:] == plain_request.messages
    assert reading.options[-1].messages == plain_request.messages


def test_messages_that_can_be_read_only_once_arrive_whole(backend: Backend, reading: Reading):
    def content() -> Any:
        yield {"type": "text", "text": "from an iterator"}

    ANTHROPIC.ask(backend.client(ANTHROPIC), messages=({"role": "user", "content": content()} for _ in range(1)))
    whole = [{"role": "user", "content": [{"type": "text", "text": "from an iterator"}]}]
    assert reading.options[0].messages == whole
    assert backend.api.last.messages[2:] == whole


def test_extra_body_overrides_the_built_messages(backend: Backend, reading: Reading):
    other = [{"role": "user", "content": "said in extra_body"}]
    ANTHROPIC.ask(backend.client(ANTHROPIC), extra_body={"messages": other, "model": "another"})
    assert (reading.options[0].messages, reading.options[0].model) == (other, "another")
    assert backend.api.last.messages[0]["content"] == f"{BUILT} 1"
    assert backend.api.last.messages[2:] == other


def test_what_a_build_may_know_of_a_request_and_its_caller(backend: Backend, reading: Reading):
    backend.ledger.percent = 42.0
    client = backend.client(ANTHROPIC, session_id="s1", project="/somewhere", agent="planner", max_context_tokens=9_000)
    ANTHROPIC.ask(client)
    [options] = reading.options
    assert (options.user_id, options.session_id, options.project, options.agent) == ("dana", "s1", "/somewhere", "planner")
    assert (options.model, options.provider.value, options.max_tokens, options.budget_used_percent) == (MODEL, "anthropic", 9_000, 42.0)


def test_a_build_that_leaves_nothing_sends_the_original_messages(api: Providers):
    ANTHROPIC.ask(Backend(api, lambda options, sources: result([], {}, options)).client(ANTHROPIC))
    assert api.last.messages == QUESTION


@pytest.mark.parametrize("used_percent", [None, 95.0, 120.0])
def test_the_shipped_builder_sends_images_tools_and_foreign_contents_it_keeps_whole(api: Providers, used_percent: float | None):
    backend = Backend(api, build_context, Ledger(used_percent))
    long = [{"role": role, "content": f"{role} {number} " * 40} for number in range(12) for role in ("user", "assistant")]
    for kind, turns, call in ((ANTHROPIC, ANTHROPIC_TURNS, "toolu_1"), (OPENAI, OPENAI_TURNS, "call_1")):
        system = [turn for turn in turns if turn["role"] == "system"]
        answered = [*turns[len(system) :], {"role": "assistant", "content": "rain"}, {"role": "user", "content": "And tomorrow?"}]
        kind.ask(backend.client(kind), messages=[*system, *long, *answered])
        arrived = api.last.messages
        assert arrived[: len(system)] == system
        assert "And tomorrow?" in json.dumps(arrived[-1])
        assert json.dumps(arrived).count(call) in (0, 2)
        assert (len(arrived) == len(system) + len(long) + len(answered)) == (used_percent is None)


_PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
)


@given(_PLAIN)
def test_plain_data_stays_the_very_object(value: object):
    assert made_plain(value) is value


@given(_PLAIN)
def test_tuples_and_iterators_become_lists_of_the_same(value: object):
    assert made_plain((value, iter([value]))) == [value, [value]]


@pytest.mark.parametrize("kind", KINDS, ids=id_of)
def test_a_call_can_force_layers_to_enter_whole(api: Providers, kind: Kind):

    forced: list[list[ContextTier]] = []

    def noting(options: ContextBuildOptions, sources: Sources) -> ContextResult:
        forced.append(options.force_include_tiers)
        return with_a_mark(options, sources)

    backend = Backend(api, noting)
    kind.ask(backend.client(kind), extra_body={"popkit": {"force_include_tiers": ["tier4"]}})
    kind.ask(backend.client(kind))
    assert forced == [[ContextTier.HISTORY], []]
    for value, error in (("tier4", TypeError), (["all"], ValueError)):
        with pytest.raises(error, match="force_include_tiers takes"):
            kind.ask(backend.client(kind), extra_body={"popkit": {"force_include_tiers": value}})
