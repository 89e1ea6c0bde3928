"""A build that fails changes nothing, and a model that fails is replaced once where another may answer."""

from __future__ import annotations

import asyncio
import importlib
import logging
import threading
import time
from typing import Any

import pytest

from popkit_retention.clients.coverage import say_uncovered
from popkit_retention.clients.failures import may_pass_elsewhere
from popkit_retention.context.build_types import ContextBuildOptions, ContextResult
from popkit_retention.context.sources import Sources
from tests.patience import HANG_S

from .callers import BUILT, FALLBACK, KINDS, MODEL, QUESTION, Backend, Kind, Ledger, id_of
from .providers import OUTPUT, TEXT, Breaks, Fails, FailsWithin, Providers, Waits

every_client = pytest.mark.parametrize("kind", KINDS, ids=id_of)
CONTENT = "a content of the user's"
USAGE = {"anthropic": {}, "openai": {"stream_options": {"include_usage": True}}}


def fails(options: ContextBuildOptions, sources: Sources) -> ContextResult:
    raise ValueError(f"cannot build {CONTENT}")


class Torn(Ledger):
    """Books that cannot be written."""

    def answered(self, *_: Any) -> None:
        raise OSError(f"no room for {CONTENT}")


@pytest.fixture
def backend(api: Providers) -> Backend:
    return Backend(api)


@every_client
def test_where_building_fails_the_request_goes_as_it_came_to_the_byte(api: Providers, kind: Kind):
    kind.ask(kind.make(api))
    assert kind.text(kind.ask(Backend(api, fails).client(kind))) == TEXT
    plain, wrapped = api.requests
    assert wrapped.raw == plain.raw


def test_a_build_that_fails_is_reported_once_without_a_word_of_its_content(api: Providers, caplog: pytest.LogCaptureFixture):
    backend = Backend(api, fails)
    say_uncovered(KINDS[0].name)  # once in a process
    caplog.clear()
    for _ in range(3):
        KINDS[0].ask(backend.client(KINDS[0]))
    [warning] = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert warning.getMessage().startswith(
        "PopKit: building a context failed, so the original messages were sent (ValueError in test_failing.py:"
    )
    assert CONTENT not in caplog.text


@every_client
def test_usage_that_cannot_be_written_fails_no_call(api: Providers, kind: Kind, caplog: pytest.LogCaptureFixture):
    backend = Backend(api, ledger=Torn())
    assert kind.text(kind.ask(backend.client(kind))) == TEXT
    assert kind.streamed_text(kind.ask(backend.client(kind), stream=True, **USAGE[kind.name])) == TEXT
    assert "the usage of a call could not be recorded (OSError" in caplog.text
    assert CONTENT not in caplog.text


@every_client
@pytest.mark.parametrize("status", [408, 409, 429, 500, 503, 529])
def test_where_a_model_fails_the_fallback_model_gets_the_same_messages(backend: Backend, kind: Kind, status: int):
    backend.api.answers.append(Fails(status))
    assert kind.text(kind.ask(backend.client(kind, fallback_model=FALLBACK))) == TEXT
    first, second = backend.api.requests
    assert backend.api.models() == [MODEL, FALLBACK]
    assert second.messages == first.messages
    assert second.messages[0]["content"] == f"{BUILT} 1"
    assert [model for _, model, _ in backend.ledger.answers] == [FALLBACK]


@every_client
@pytest.mark.parametrize(
    ("statuses", "options", "call", "asked"),
    [
        *(([status], {"fallback_model": FALLBACK}, {}, [MODEL]) for status in (400, 401, 403, 404, 413, 422)),  # for the caller to mend
        ([529], {}, {}, [MODEL]),
        ([529, 500], {"fallback_model": FALLBACK}, {}, [MODEL, FALLBACK]),
        ([529], {"fallback_model": FALLBACK}, {"model": FALLBACK}, [FALLBACK]),
    ],
)
def test_a_failure_for_which_no_other_model_may_answer_is_the_callers(backend: Backend, kind: Kind, statuses, options, call, asked):
    backend.api.answers += map(Fails, statuses)
    with pytest.raises(Exception, match="scripted") as raised:
        kind.ask(backend.client(kind, **options), **call)
    assert raised.value.status_code == statuses[-1]
    assert backend.api.models() == asked


@every_client
def test_the_fallback_model_is_asked_when_the_package_has_tried_again_in_vain(backend: Backend, kind: Kind):
    backend.api.answers += [Fails(500), Fails(500)]
    assert kind.text(kind.ask(backend.client(kind, fallback_model=FALLBACK, max_retries=1))) == TEXT
    assert backend.api.models() == [MODEL, MODEL, FALLBACK]


@every_client
def test_a_call_may_name_its_own_fallback_model(backend: Backend, kind: Kind):
    backend.api.answers.append(Fails(529))
    kind.ask(backend.client(kind, fallback_model=FALLBACK), extra_body={"popkit": {"fallback_model": "another"}})
    assert backend.api.models() == [MODEL, "another"]


@every_client
def test_where_no_answer_comes_the_fallback_model_is_asked(backend: Backend, kind: Kind):
    backend.api.answers.append(Breaks())
    assert kind.text(kind.ask(backend.client(kind, fallback_model=FALLBACK))) == TEXT
    assert backend.api.models() == [MODEL, FALLBACK]


@pytest.mark.parametrize("name", ["anthropic", "openai"])
def test_an_answer_that_comes_too_late_does_not_count(name: str):
    package = importlib.import_module(name)
    assert may_pass_elsewhere(package.APITimeoutError(request=None))
    assert not may_pass_elsewhere(package.APIError("not understood", request=None, body=None))


@every_client
@pytest.mark.parametrize("failure", [Fails(529), FailsWithin(0), Breaks(0)], ids=["status", "event", "connection"])
def test_a_stream_that_fails_before_its_first_event_goes_on_from_the_fallback_model(backend: Backend, kind: Kind, failure: object):
    backend.api.answers.append(failure)
    events = kind.ask(backend.client(kind, fallback_model=FALLBACK), stream=True, **USAGE[kind.name])
    assert kind.streamed_text(events) == TEXT
    assert backend.api.models() == [MODEL, FALLBACK]
    assert [(model, used.output) for _, model, used in backend.ledger.answers] == [(FALLBACK, OUTPUT)]


@every_client
@pytest.mark.parametrize("failure", [FailsWithin(2), Breaks(2)], ids=["event", "connection"])
def test_a_stream_that_fails_later_is_the_callers(backend: Backend, kind: Kind, failure: object):
    backend.api.answers.append(failure)
    with pytest.raises(Exception):  # noqa: B017, PT011  each package has its own for each of them
        kind.ask(backend.client(kind, fallback_model=FALLBACK), stream=True)
    assert backend.api.models() == [MODEL]


def test_the_helper_that_reads_a_stream_goes_on_from_the_fallback_model(backend: Backend):
    backend.api.answers.append(FailsWithin(0))
    with (
        backend.client(KINDS[0], fallback_model=FALLBACK) as client,
        client.messages.stream(model=MODEL, max_tokens=64, messages=QUESTION) as stream,
    ):
        message = stream.get_final_message()
    assert (KINDS[0].text(message).strip(), message.model) == (TEXT, FALLBACK)


def test_a_raw_response_whose_stream_fails_goes_on_from_the_fallback_model(backend: Backend):
    for kind in (KINDS[0], KINDS[2]):
        backend.api.answers.append(FailsWithin(0))
        with backend.client(kind, fallback_model=FALLBACK) as client:
            resource = client.messages if kind.name == "anthropic" else client.chat.completions
            more = {"max_tokens": 64} if kind.name == "anthropic" else {}
            raw = resource.with_raw_response.create(model=MODEL, messages=QUESTION, stream=True, **more)
            assert kind.streamed_text(list(raw.parse())) == TEXT
    assert backend.api.models() == [MODEL, FALLBACK] * 2


@pytest.mark.parametrize("kind", [KINDS[1], KINDS[3]], ids=id_of)
def test_a_call_that_is_cancelled_is_not_asked_again(backend: Backend, kind: Kind):
    ready = threading.Event()
    backend.api.answers.append(Waits(ready))

    async def cancel() -> None:
        async with backend.client(kind, fallback_model=FALLBACK) as client:
            call = asyncio.ensure_future(kind.create(client))
            while not backend.api.requests:
                await asyncio.sleep(0.01)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call

    asyncio.run(cancel())
    ready.set()
    assert backend.api.models() == [MODEL]


@pytest.mark.parametrize("kind", [KINDS[1], KINDS[3]], ids=id_of)
def test_a_machine_that_stops_for_a_while_as_a_client_connects_fails_no_test(backend: Backend, kind: Kind, monkeypatch: pytest.MonkeyPatch):
    """With a deadline for connecting, as the packages set one, an asynchronous client gives up there; tests set none."""
    connect = asyncio.BaseEventLoop.create_connection

    async def stalled(*args: Any, **kwargs: Any) -> Any:
        connecting = asyncio.ensure_future(connect(*args, **kwargs))
        await asyncio.sleep(0)
        time.sleep(0.3)  # nothing runs, as where the system gives the process no time
        return await connecting

    monkeypatch.setattr(asyncio.BaseEventLoop, "create_connection", stalled)
    assert kind.text(kind.ask(backend.client(kind))) == TEXT
    package = importlib.import_module(kind.name)
    with pytest.raises(package.APITimeoutError):
        kind.ask(backend.client(kind, timeout=package.Timeout(HANG_S, connect=0.1)))


def test_that_the_fallback_model_was_asked_is_logged(backend: Backend, caplog: pytest.LogCaptureFixture):
    backend.api.answers.append(Fails(529))
    KINDS[0].ask(backend.client(KINDS[0], fallback_model=FALLBACK))
    assert f"{MODEL} failed (OverloadedError), so {FALLBACK} is asked." in caplog.text
