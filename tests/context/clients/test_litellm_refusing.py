"""LiteLLM's real proxy where a limit refuses: 429 with a body that says why, in both forms, and nothing is sent."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from popkit_retention.usage.database import open_store
from tests.patience import until

from . import litellm_proxy
from .providers import CACHE_READ, INPUT, OUTPUT, Providers
from .test_litellm import CONFIG, DANA, LONG, Team

# Two answers of this size go, the third is refused.
LIMIT = 2 * (INPUT + CACHE_READ + OUTPUT)
REFUSING = {"retention": {"context": {"session_tokens": LIMIT, "on_exceeded": "refuse"}}}


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    if reason := litellm_proxy.why_not():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("proxy")
    environ = {"POPKIT_HOME": str(folder / "popkit"), "LOGNAME": DANA}
    (folder / "popkit").mkdir()
    (folder / "popkit" / "retention-config.json").write_text(json.dumps(REFUSING))
    with Providers() as api, litellm_proxy.running(CONFIG.format(url=api.url, key=litellm_proxy.KEY), folder, **environ) as proxy:
        team = Team(proxy, api, environ)
        yield team
        team.openai.close()
        team.anthropic.close()


@pytest.fixture
def refused() -> tuple[type[Exception], ...]:
    """What a client of either form raises at a 429."""
    import anthropic
    import openai

    return openai.RateLimitError, anthropic.RateLimitError


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("form", ["openai", "anthropic"])
def test_once_a_limit_is_used_up_the_proxy_answers_429_and_sends_nothing(team: Team, refused, form: str, stream: bool):
    session = f"session-{form}-{stream}"

    def ask() -> object:
        headers = {"x-litellm-session-id": session}
        if form == "openai":
            made = team.openai.chat.completions.create(model="gpt", messages=LONG, user=DANA, stream=stream, extra_headers=headers)
        else:
            made = team.anthropic.messages.create(
                model="claude", max_tokens=64, messages=LONG, metadata={"user_id": DANA}, stream=stream, extra_headers=headers
            )
        return list(made) if stream else made

    for number in (1, 2):
        ask()
        until(lambda: used(team, session) == number, "what the call used is recorded")  # noqa: B023  asked before the next call
    sent = len(team.api.requests)
    with pytest.raises(refused) as told:
        ask()
    assert told.value.status_code == 429
    assert len(team.api.requests) == sent
    said = json.dumps(told.value.response.json())
    assert "the limit of this session is used up (" in said
    assert f" of {LIMIT} tokens)" in said
    assert "popkit budget set session_tokens=" in said


def used(team: Team, session: str) -> int:
    with open_store(team.environ) as store:
        return store.of_session(session).requests


def test_another_session_goes_on(team: Team):
    team.openai.chat.completions.create(model="gpt", messages=LONG, user=DANA, extra_headers={"x-litellm-session-id": "another"})


@pytest.mark.parametrize("form", ["openai", "anthropic"])
def test_requests_one_after_the_other_are_refused_once_what_was_used_is_logged(team: Team, refused, form: str):
    headers = {"x-litellm-session-id": f"session-hurried-{form}"}
    before = len(team.api.requests)

    def ask() -> None:
        if form == "openai":
            team.openai.chat.completions.create(model="gpt", messages=LONG, user=DANA, extra_headers=headers)
        else:
            asked = {"model": "claude", "max_tokens": 64, "messages": LONG, "metadata": {"user_id": DANA}}
            team.anthropic.messages.create(**asked, extra_headers=headers)

    with pytest.raises(refused):  # noqa: PT012  which of them is refused is what is asked
        for _ in range(20):
            ask()
    # LiteLLM logs an answer beside sending it, so one more may be on its way.
    assert len(team.api.requests) - before <= 4
