"""LiteLLM's real proxy sends built contexts for everybody who is named, in both forms; a limit refuses with 429 and a body that says why,
and nothing is sent; what fails, a database that says nothing and names that nobody should have fail no request."""

from __future__ import annotations

import importlib
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from popkit_retention.core.policy.models import models_of
from popkit_retention.usage.configured_database import open_store
from popkit_retention.usage.records import DAY_S, Tokens
from popkit_retention.usage.transcript_usage import used_of
from tests.context.hostile import HOSTILE, Way
from tests.patience import until
from tests.usage.records import used

from . import litellm_proxy
from .litellm_team import CONFIG, DANA, OURS, Team, home_of, running
from .providers import CACHE_READ, INPUT, OUTPUT, TEXT

LONG = [{"role": role, "content": f"{role} {number} " * 40} for number in range(12) for role in ("user", "assistant")]
LONG += [{"role": "user", "content": "And now?"}]


@pytest.fixture(scope="module")
def forks() -> Iterator[litellm_proxy.Forks]:
    """The proxy, loaded: one takes seconds of processor time, so the tests with one stay in this file."""
    if reason := litellm_proxy.why_not():
        pytest.skip(reason)
    forks = litellm_proxy.Forks()
    yield forks
    forks.close()


@pytest.fixture(scope="module")
def team(forks: litellm_proxy.Forks, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    folder = tmp_path_factory.mktemp("proxy")
    environ = home_of(folder, {"month_tokens": 1_000})  # used up in every session: the least is sent
    with open_store(environ) as store:
        tomorrow = time.time() + DAY_S  # it counts in this month, and in the one that may begin meanwhile
        store.write([used("before", "before", tomorrow, user=DANA, tokens=Tokens(5_000, 0, 0, 0, 0))])
    with running(forks, folder, environ, "tests.context.clients.unlucky.popkit_context") as team:
        yield team


def is_built(arrived: list[str]) -> bool:
    return len(arrived) < len(LONG) and arrived[-1].endswith(LONG[-1]["content"])


@pytest.mark.parametrize("stream", [False, True])
def test_a_chat_completion_with_a_user_goes_with_a_built_context(team: Team, stream: bool):
    session = f"session-chat-{stream}"
    answer = team.openai.chat.completions.create(
        model="gpt", messages=LONG, user=DANA, stream=stream, extra_headers={"x-litellm-session-id": session}
    )
    text = "".join(chunk.choices[0].delta.content or "" for chunk in answer) if stream else answer.choices[0].message.content
    assert text.strip() == TEXT
    assert is_built(team.arrived())
    until(lambda: team.used(session).requests == 1, "what the call used is booked")
    used = team.used(session)
    assert (used.input_tokens, used.cache_read_tokens, used.output_tokens, used.unpriced) == (INPUT, CACHE_READ, OUTPUT, 1)


@pytest.mark.parametrize("stream", [False, True])
def test_a_message_in_anthropics_form_with_a_user_goes_with_a_built_context(team: Team, stream: bool):
    session = f"session-message-{stream}"
    answer = team.anthropic.messages.create(
        model="claude",
        max_tokens=64,
        messages=LONG,
        metadata={"user_id": DANA},
        stream=stream,
        extra_headers={"x-claude-code-session-id": session, "anthropic-beta": "context-management-2025-06-27"},
        thinking={"type": "enabled", "budget_tokens": 1_024},
    )
    assert (list(answer)[-1].type == "message_stop") if stream else answer.content[0].text == TEXT
    assert is_built(team.arrived())
    assert team.api.last.body["thinking"] == {"type": "enabled", "budget_tokens": 1_024}
    assert "context-management-2025-06-27" in team.api.last.headers["anthropic-beta"]
    until(lambda: team.used(session).requests == 1, "what the call used is booked")
    used = team.used(session)
    assert (used.input_tokens, used.cache_read_tokens, used.output_tokens, used.unpriced) == (INPUT, CACHE_READ, OUTPUT, 0)


@pytest.mark.parametrize("stream", [False, True])
def test_a_response_with_a_user_goes_with_a_built_context(team: Team, stream: bool):
    session = f"session-response-{stream}"
    headers = {"x-litellm-session-id": session}
    answer = team.openai.responses.create(model="gpt", input=LONG, user=DANA, stream=stream, extra_headers=headers)
    assert (list(answer)[-1].type == "response.completed") if stream else answer.output_text == TEXT
    assert team.api.last.path.endswith("/responses")
    items = team.api.last.body["input"]
    assert len(items) < len(LONG)
    assert LONG[-1]["content"] in json.dumps(items[-1])
    until(lambda: team.used(session).requests == 1, "what the call used is booked")
    used = team.used(session)
    assert (used.input_tokens, used.cache_read_tokens, used.output_tokens) == (INPUT, CACHE_READ, OUTPUT)


def test_a_response_whose_history_the_provider_holds_says_so_in_its_header(team: Team):
    raw = team.openai.responses.with_raw_response.create(model="gpt", input="And now?", user=DANA, previous_response_id="resp_0")
    assert "OpenAI holds the history" in json.loads(raw.headers["x-popkit"])["unbuilt"]


def test_metadata_can_force_layers_to_enter_whole(team: Team):
    forced = {"popkit": {"force_include_tiers": ["tier4"]}}
    team.openai.chat.completions.create(model="gpt", messages=LONG, user=DANA, extra_body={"metadata": forced})
    assert team.arrived() == [message["content"] for message in LONG]
    assert "force_include_tiers" not in team.api.last.raw.decode()
    forced["popkit"]["force_include_tiers"] = ["all"]
    with pytest.raises(Exception, match="force_include_tiers takes tier1, tier2, tier3, tier4, not 'all'") as refused:
        team.openai.chat.completions.create(model="gpt", messages=LONG, user=DANA, extra_body={"metadata": forced})
    assert refused.value.status_code == 400


def test_an_anthropic_message_for_another_provider_s_model_gets_a_built_context(team: Team):
    session = "session-message-gpt"
    model, headers = "claude-chat", {"x-claude-code-session-id": session}
    team.anthropic.messages.create(model=model, max_tokens=64, messages=LONG, metadata={"user_id": DANA}, extra_headers=headers)
    assert is_built(team.arrived())
    assert team.api.last.path.endswith("/chat/completions")
    until(lambda: team.used(session).requests == 1, "what the call used is booked")


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("form", ["openai", "anthropic"])
def test_response_headers_report_an_exhausted_limit_and_faulty_messages(team: Team, form: str, stream: bool):
    orphan = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "gone", "content": "x"}]}
    if form == "openai":
        raw = team.openai.chat.completions.with_raw_response.create(
            model="gpt", messages=[*LONG, {"role": "assistant", "content": ""}, *LONG[-1:]], user=DANA, stream=stream
        )
        fault = f"message {len(LONG)}: no content"
    else:
        raw = team.anthropic.messages.with_raw_response.create(
            model="claude", max_tokens=64, messages=[*LONG, orphan], metadata={"user_id": DANA}, stream=stream
        )
        fault = f"message {len(LONG)}: a result without the call before it"
    list(raw.parse()) if stream else raw.parse()
    header = json.loads(raw.headers["x-popkit"])
    assert header["faults"] == [fault]
    assert (header["exceeded"]["scope"], header["exceeded"]["unit"], header["exceeded"]["limit"]) == ("month", "tokens", 1_000)
    assert header["exceeded"]["used_percent"] >= 500


@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_also_recorded_by_a_host_behind_the_proxy_is_not_booked_twice(team: Team, tmp_path: Path, stream: bool):
    session = f"session-twice-{stream}"
    asked = {"model": "claude", "max_tokens": 64, "messages": LONG, "metadata": {"user_id": DANA}}
    answer = team.anthropic.messages.create(**asked, stream=stream, extra_headers={"x-claude-code-session-id": session})
    message = next(iter(answer)).message if stream else answer
    until(lambda: team.used(session).requests == 1, "what the call used is booked")
    entry = {"type": "assistant", "timestamp": "2026-11-20T10:00:00Z", "message": message.model_dump(mode="json")}
    recorded = used_of(json.dumps(entry).encode(), session, DANA, "/shop", models_of({}))
    assert recorded is not None
    with open_store(team.environ) as store:
        store.write([recorded])
    assert team.used(session).requests == 1


def test_a_user_of_claude_code_is_booked_under_one_name_in_every_session(team: Team):
    person = f"user_{'7f' * 32}_account_0f8c1e9a-3b1d-4c55-9e0a-5d2a7b6c4e11"
    for session in ("5a1f0c3e-7b2d-4f6a-8c9e-1d2b3a4c5e6f", "c0ffee00-7b2d-4f6a-8c9e-1d2b3a4c5e6f"):
        team.anthropic.messages.create(
            model="claude",
            max_tokens=64,
            messages=LONG,
            metadata={"user_id": f"{person}_session_{session}"},
            extra_headers={"x-claude-code-session-id": session},
        )
        until(lambda: team.used(session).requests == 1, "what the call used is booked")  # noqa: B023  asked before the next session
    with open_store(team.environ) as store:
        assert store.of_user(person, "").requests == 2


def test_a_request_that_names_nobody_goes_as_it_came(team: Team):
    team.openai.chat.completions.create(model="gpt", messages=LONG)
    assert team.api.last.messages == LONG
    team.anthropic.messages.create(model="claude", max_tokens=64, messages=LONG)
    assert team.arrived() == [message["content"] for message in LONG]


def test_a_callback_that_fails_fails_no_request_and_says_so_once(team: Team):
    """The second callback fails at every request, so what the first has built goes."""
    for _ in range(2):
        team.openai.chat.completions.create(model="gpt", messages=LONG, user=DANA)
        assert is_built(team.arrived())
    assert team.proxy.log.count("building a context failed, so the original messages were sent (ValueError in unlucky.py:") == 1
    assert "Traceback" not in team.proxy.log


def test_no_caller_can_name_a_folder_of_the_proxys_machine(team: Team, tmp_path: Path):
    (tmp_path / "harbour.py").write_text("BERTHS = 17\n")
    question = [{"role": "user", "content": f"How many berths are there in {tmp_path}/harbour.py?"}]
    for extra in ({"metadata": {"project": str(tmp_path)}}, {"popkit": {"project": str(tmp_path)}}):
        team.openai.chat.completions.create(model="gpt", messages=question, user=DANA, extra_body=extra)
        assert "BERTHS" not in team.api.last.raw.decode()


# --- a limit that refuses --------------------------------------------------------------------------------------------------------------


# Two answers of this size go, the third is refused.
LIMIT = 2 * (INPUT + CACHE_READ + OUTPUT)


@pytest.fixture(scope="module")
def refusing(forks: litellm_proxy.Forks, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    folder = tmp_path_factory.mktemp("proxy")
    with running(forks, folder, home_of(folder, {"session_tokens": LIMIT, "on_exceeded": "refuse"})) as team:
        yield team


@pytest.fixture
def refused() -> tuple[type[Exception], ...]:
    """What a client of either form raises at a 429."""
    import anthropic
    import openai

    return openai.RateLimitError, anthropic.RateLimitError


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("form", ["openai", "anthropic"])
def test_once_a_limit_is_used_up_the_proxy_answers_429_and_sends_nothing(refusing: Team, refused, form: str, stream: bool):
    session = f"session-{form}-{stream}"

    def ask() -> object:
        headers = {"x-litellm-session-id": session}
        if form == "openai":
            answer = refusing.openai.chat.completions.create(model="gpt", messages=LONG, user=DANA, stream=stream, extra_headers=headers)
        else:
            answer = refusing.anthropic.messages.create(
                model="claude", max_tokens=64, messages=LONG, metadata={"user_id": DANA}, stream=stream, extra_headers=headers
            )
        return list(answer) if stream else answer

    for number in (1, 2):
        ask()
        until(lambda: refusing.used(session).requests == number, "what the call used is recorded")  # noqa: B023  asked before the next call
    sent = len(refusing.api.requests)
    with pytest.raises(refused) as raised:
        ask()
    assert raised.value.status_code == 429
    assert len(refusing.api.requests) == sent
    response = json.dumps(raised.value.response.json())
    assert "the limit of this session is used up (" in response
    assert f" of {LIMIT} tokens)" in response
    assert "popkit budget set session_tokens=" in response


PAID = {
    "responses": lambda client, headers: client.responses.create(model="gpt", input="hello", user=DANA, extra_headers=headers),
    "embeddings": lambda client, headers: client.embeddings.create(
        model="gpt", input="hello", user=DANA, extra_headers=headers, encoding_format="float"
    ),
}


@pytest.mark.parametrize("path", PAID)
def test_other_requests_that_cost_are_booked_and_refused_too(refusing: Team, refused, path: str):
    session = f"session-{path}"
    with open_store(refusing.environ) as store:
        store.write([used(f"before-{path}", session, time.time(), user=DANA, tokens=Tokens(LIMIT, 0, 0, 0, 0))])
    sent = len(refusing.api.requests)
    with pytest.raises(refused) as raised:
        PAID[path](refusing.openai, {"x-litellm-session-id": session})
    assert raised.value.status_code == 429
    assert len(refusing.api.requests) == sent
    PAID[path](refusing.openai, {"x-litellm-session-id": f"another-{path}"})
    until(lambda: refusing.used(f"another-{path}").requests == 1, "what the call used is booked")


def test_another_session_goes_on(refusing: Team):
    refusing.openai.chat.completions.create(model="gpt", messages=LONG, user=DANA, extra_headers={"x-litellm-session-id": "another"})


@pytest.mark.parametrize("form", ["openai", "anthropic"])
def test_requests_one_after_the_other_are_refused_once_what_was_used_is_logged(refusing: Team, refused, form: str):
    headers = {"x-litellm-session-id": f"session-hurried-{form}"}
    before = len(refusing.api.requests)

    def ask() -> None:
        if form == "openai":
            refusing.openai.chat.completions.create(model="gpt", messages=LONG, user=DANA, extra_headers=headers)
        else:
            asked = {"model": "claude", "max_tokens": 64, "messages": LONG, "metadata": {"user_id": DANA}}
            refusing.anthropic.messages.create(**asked, extra_headers=headers)

    with pytest.raises(refused):  # noqa: PT012  which of them is refused is what is asked
        for _ in range(20):
            ask()
    # LiteLLM logs an answer beside sending it, so one more may be on its way.
    assert len(refusing.api.requests) - before <= 4


# --- a database that says nothing, and callers with names that nobody should have ------------------------------------------------------


@pytest.fixture(scope="module")
def attacked(forks: litellm_proxy.Forks, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    folder = tmp_path_factory.mktemp("proxy")
    nobody = Way()
    environ = home_of(folder, {"month_tokens": 1_000_000})
    environ["POPKIT_DATABASE_URL"] = f"postgresql://dana:hunter2@127.0.0.1:{nobody.port}/none"
    environ["PYTHONPATH"] = os.pathsep.join([str(litellm_proxy.ROOT), str(litellm_proxy.ROOT / "power-mode"), str(driver(folder))])
    with running(forks, folder, environ) as team:
        yield team
    assert nobody.sockets, "the proxy has asked the silent server"
    nobody.close()


def test_a_proxy_without_the_driver_of_its_database_does_not_start(forks: litellm_proxy.Forks, tmp_path: Path):
    environ = {**home_of(tmp_path, {"month_tokens": 260_000}), "POPKIT_DATABASE_URL": "postgresql://dana:hunter2@127.0.0.1:1/none"}
    printed = forks.last_words(CONFIG.format(url="http://127.0.0.1:1", key=litellm_proxy.KEY, callbacks=OURS), tmp_path, **environ)
    assert "pip install '/path/of/popkit[postgres]'" in printed
    assert "hunter2" not in printed


def driver(folder: Path) -> Path:
    """A folder with the driver for PostgreSQL of this Python, which the proxy's own does not have."""
    libraries = folder / "driver"
    libraries.mkdir()
    for name in ("pg8000", "scramp", "asn1crypto", "dateutil"):
        place = Path(importlib.import_module(name).__file__ or "")
        place = place.parent if place.name == "__init__.py" else place
        (libraries / place.name).symlink_to(place)
        for metadata in place.parent.glob(f"{name}-*.dist-info"):  # it asks for its own version
            (libraries / metadata.name).symlink_to(metadata)
    return libraries


# Half a surrogate is no JSON that a client can send.
@pytest.mark.parametrize("name", [name for kind, name in HOSTILE.items() if kind != "half a surrogate"], ids=lambda name: repr(name)[:12])
def test_every_request_is_answered_whoever_asks_while_the_database_is_silent(attacked: Team, name: str):
    extra = {"metadata": {"session_id": name, "user_id": name}, "litellm_session_id": name}
    answer = attacked.openai.chat.completions.create(model="gpt", messages=LONG[-1:], user=name, extra_body=extra)
    assert answer.choices[0].message.content == TEXT
    chunks = attacked.openai.chat.completions.create(model="gpt", messages=LONG[-1:], user=name, extra_body=extra, stream=True)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices).strip() == TEXT
    message = attacked.anthropic.messages.create(model="claude", max_tokens=64, messages=LONG[-1:], metadata={"user_id": name})
    assert message.content[0].text == TEXT
    assert [seen.messages[-1]["role"] for seen in attacked.api.requests[-3:]] == ["user"] * 3
    assert "Traceback" not in attacked.proxy.log
    assert "building a context failed" not in attacked.proxy.log


@pytest.mark.parametrize("value", [7, 1.5, True, ["dana"], {"a": {"b": 1}}], ids=repr)
def test_user_names_that_are_not_texts_name_nobody(attacked: Team, value: object):
    extra = {"metadata": {"session_id": value, "user_id": value}, "popkit": {"user_id": value}}
    answer = attacked.openai.chat.completions.create(model="gpt", messages=LONG[-1:], extra_body=extra)
    assert answer.choices[0].message.content == TEXT
    assert attacked.api.last.messages == LONG[-1:]
    assert "building a context failed" not in attacked.proxy.log


def test_what_the_proxy_says_of_it_holds_no_credentials(attacked: Team):
    assert "hunter2" not in attacked.proxy.log
