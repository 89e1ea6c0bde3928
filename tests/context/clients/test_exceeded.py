"""A limit that is used up: the answer says so, or nothing is sent; messages that a provider would refuse are named where it answers."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from popkit_retention.clients import with_context
from popkit_retention.context import BudgetExceeded, build_context
from popkit_retention.context.configured_service import configured_service
from popkit_retention.context.service import ContextService
from popkit_retention.context.usage_log import LimitCheck
from popkit_retention.usage import postgres
from popkit_retention.usage.budgets import Standing
from popkit_retention.usage.configured_database import open_store, unchecked_this_month
from popkit_retention.usage.records import Tokens
from tests.context.hostile import Way
from tests.kit.forks import Forks, Function
from tests.patience import until
from tests.usage.records import used

from .callers import KINDS, MODEL, QUESTION, Backend, Kind, Ledger, id_of
from .providers import CACHE_READ, CACHE_WRITE, INPUT, OUTPUT, Fails, Providers

EVERY = pytest.mark.parametrize("kind", KINDS, ids=id_of)
FULL = Standing("session", "s1", "tokens", 1_200, 1_000)
ORPHAN = {
    "anthropic": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "gone", "content": "secret words"}]},
    "openai": {"role": "tool", "tool_call_id": "gone", "content": "secret words"},
}


class Limited(Ledger):
    """Books with a limit that is used up."""

    def __init__(self, refuses: bool) -> None:
        super().__init__(120.0)
        self.refuses = refuses

    def check_limits(self, user_id: str, session_id: str) -> LimitCheck:
        return LimitCheck(FULL, self.refuses)


@EVERY
@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_says_in_its_field_popkit_that_a_limit_is_used_up(api: Providers, kind: Kind, stream: bool):
    answer = kind.ask(Backend(api, ledger=Limited(False)).client(kind), stream=stream)
    message = answer[0] if stream else answer
    message = getattr(message, "message", message)
    assert message.popkit == {"exceeded": {**FULL._asdict(), "used_percent": 120.0}}
    assert len(api.requests) == 1


@EVERY
def test_without_anything_to_say_an_answer_is_the_packages_own(api: Providers, kind: Kind):
    assert not hasattr(kind.ask(Backend(api).client(kind)), "popkit")


@EVERY
def test_a_limit_that_refuses_raises_its_own_error_before_anything_is_sent(api: Providers, kind: Kind):
    backend = Backend(api, ledger=Limited(True))
    with pytest.raises(BudgetExceeded, match=r"1,200 tokens of 1,000 tokens.*popkit budget set session_tokens=") as refused:
        kind.ask(backend.client(kind, fallback_model="another"))
    assert refused.value.standing == FULL
    assert api.requests == []
    assert backend.ledger.builds == []


@EVERY
def test_messages_that_a_provider_would_refuse_go_unchanged_and_the_answer_says_why(api: Providers, kind: Kind):
    messages = [*QUESTION, ORPHAN[kind.name]]
    answer = kind.ask(Backend(api, build_context).client(kind), messages=messages)
    assert api.last.messages[-1] == messages[-1]
    assert answer.popkit == {"faults": ["message 3: a result without the call before it"]}


@EVERY
def test_where_the_provider_does_refuse_them_its_error_says_why_too(api: Providers, kind: Kind):
    api.answers.append(Fails(400))
    with pytest.raises(Exception, match="400") as refused:
        kind.ask(Backend(api, build_context).client(kind), messages=[*QUESTION, ORPHAN[kind.name]])
    assert refused.value.popkit == {"faults": ["message 3: a result without the call before it"]}


# --- the user's own limits ----------------------------------------------------------------------------------------------------------------


def configured(folder: Path, **context: Any) -> dict[str, str]:
    (folder / "retention-config.json").write_text(json.dumps({"retention": {"context": context}}))
    return {"POPKIT_HOME": str(folder), "LOGNAME": "dana"}


@pytest.mark.parametrize("limit", [{"session_tokens": 1_000}, {"month_tokens": 1_000}, {"session_usd": 0.01}, {"month_usd": 0.01}])
@pytest.mark.parametrize("refuses", [False, True])
def test_each_limit_warns_by_default_and_refuses_where_it_is_told_to(tmp_path: Path, limit: dict[str, float], refuses: bool):
    environ = configured(tmp_path, **limit, **({"on_exceeded": "refuse"} if refuses else {}))
    service = configured_service(environ)
    ask = service._usage.check_limits
    with open_store(environ) as store:
        assert ask("dana", "s1") == LimitCheck()
        store.write([used("1", "s1", user="dana", tokens=Tokens(1_000, 0, 0, 0, 0), usd=0.02, at=service._usage._clock())])
        if refuses:  # what others have used counts at once
            assert ask("dana", "s1").exceeded.used_percent >= 100
            assert ask("erik", "s2") == LimitCheck()
    service._usage._budgets._known.clear()
    until(lambda: ask("dana", "s1").exceeded, "what was used is known, which a build that only warns does not wait for long")
    assert ask("dana", "s1").refuses is refuses
    service.close()


EACH = INPUT + CACHE_READ + CACHE_WRITE + OUTPUT  # tokens of an answer


@pytest.fixture(scope="module")
def forks() -> Iterator[Forks]:
    """A server's workers: forks of a process that has loaded everything, the clients' packages too."""
    forks = Forks(installed=True)
    yield forks
    forks.close()


@pytest.mark.parametrize("limit", ["session_tokens", "month_tokens"])
def test_many_workers_exceed_a_limit_by_at_most_one_request_each(api: Providers, forks: Forks, tmp_path: Path, limit: str):
    workers, allowed = 6, 20
    environ = configured(tmp_path, **{limit: allowed * EACH}, on_exceeded="refuse")
    done = forks.run_together([Function("tests.context.clients.worker:ask_until_refused", [api.url])] * workers, environ)
    sent = [int(each.out) for each in done]
    with open_store(environ) as store:
        spent = store.of_session("s1")
    assert spent.requests == sum(sent) == len(api.requests)
    assert allowed <= spent.requests < allowed + workers


def test_a_database_that_does_not_answer_refuses_nobody_and_answers_say_so(
    api: Providers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr(postgres, "PATIENCE_S", 0.2)
    nobody = Way()
    environ = {
        **configured(tmp_path, session_tokens=1, on_exceeded="refuse"),
        "POPKIT_DATABASE_URL": f"postgresql://dana:hunter2@127.0.0.1:{nobody.port}/none",
    }
    service = configured_service(environ)
    for number, kind in enumerate(KINDS):
        answer = kind.ask(with_context(kind.make(api), user_id="dana", session_id="s1", service=service))
        assert answer.popkit["unchecked"]["requests"] == number + 1
        assert answer.popkit["unchecked"]["since"].endswith("Z")
    service.close()
    nobody.close()
    assert [record.getMessage().count("limits cannot be checked: PostgreSQL at 127.0.0.1") for record in caplog.records].count(1) == 1
    assert "hunter2" not in caplog.text
    found = unchecked_this_month(environ, time.time())
    assert (found.requests, "cannot be used" in found.why) == (len(KINDS), True)


def test_an_async_client_is_refused_in_its_own_task(api: Providers):
    import anthropic

    async def ask() -> None:
        service = ContextService(build_context, log=Limited(True))
        async with with_context(anthropic.AsyncAnthropic(base_url=api.url, api_key="none"), user_id="dana", service=service) as client:
            with pytest.raises(BudgetExceeded):
                await client.messages.create(model=MODEL, max_tokens=64, messages=QUESTION)

    asyncio.run(ask())
