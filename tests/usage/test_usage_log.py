"""What clients write down stands in the database, and limits that are used up are told. Whatever a caller calls users, sessions,
projects and agents: the request goes out built, and what it used is in the log."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from popkit_retention.clients import with_context
from popkit_retention.clients.coverage import say_uncovered
from popkit_retention.context import ContextBuildOptions, Provider, build_context
from popkit_retention.context.configured_service import configured_service
from popkit_retention.context.newest_snapshot import get_context_status
from popkit_retention.context.requests import AnswerUsage, Caller, Request
from popkit_retention.context.service import ContextService
from popkit_retention.context.usage_log import DatabaseLog, snapshot_of
from popkit_retention.usage.configured_database import open_store
from tests.context.clients.callers import KINDS, QUESTION, Backend, Kind, id_of
from tests.context.clients.providers import TEXT, Providers
from tests.context.hostile import HOSTILE
from tests.patience import HANG_S, until
from tests.usage.homes import House, answer, append
from tests.usage.records import NOW, rows, snapshot

CALLER = Caller("alice", "s1", agent="reviewer")
REQUEST = Request(Provider.ANTHROPIC, "claude-opus-5", [{"role": "user", "content": "the question"}])


@pytest.fixture
def limited(tmp_path: Path) -> dict[str, str]:
    limits = {"session_tokens": 1_000, "month_usd": 10.0}
    (tmp_path / "retention-config.json").write_text(json.dumps({"retention": {"context": limits}}))
    return {"POPKIT_HOME": str(tmp_path)}


@pytest.fixture
def log(limited: dict[str, str]) -> Iterator[DatabaseLog]:
    opened = DatabaseLog(limited)
    yield opened
    opened.close()


def test_a_build_leaves_a_snapshot_without_contents(limited: dict[str, str], log: DatabaseLog) -> None:
    service = ContextService(build_context, log=log)
    assert service.build(CALLER, REQUEST) == REQUEST.messages
    assert log.flush(HANG_S)
    status = get_context_status("s1", limited)
    assert status.current_context["agent"] == "reviewer"
    assert status.current_context["model"] == "claude-opus-5"
    assert status.tier_breakdown.total == status.current_context["totalTokens"] > 0
    assert b"the question" not in b"".join(path.read_bytes() for path in Path(limited["POPKIT_HOME"]).glob("usage.sqlite*"))


def test_what_calls_use_is_booked_and_fills_the_limit(limited: dict[str, str], log: DatabaseLog) -> None:
    until(lambda: log.used_percent("alice", "s1") == 0.0, "the first answer")
    log.answered(CALLER, "claude-fable-5-2", AnswerUsage(100, 200, 150, 50, 50))
    assert log.flush(HANG_S)
    with open_store(limited) as store:
        usage = store.of_session("s1")
    assert usage[:5] == (1, 100, 200, 150, 50)
    assert usage.usd == pytest.approx((100 + 200 * 0.025 + 100 * 1.25 + 50 * 2) * 8 / 1e6 + 50 * 40 / 1e6)
    until(lambda: log.used_percent("alice", "s1") == 50.0, "the thread to ask again")


def test_a_limit_that_is_set_meanwhile_holds_at_once(limited: dict[str, str], log: DatabaseLog) -> None:
    log.answered(CALLER, "claude-fable-5-2", AnswerUsage(100))
    assert log.flush(HANG_S)
    until(lambda: log.used_percent("alice", "s1") == 10.0, "the first answer")
    changed = {"context": {"session_tokens": 200}}
    (Path(limited["POPKIT_HOME"]) / "retention-config.json").write_text(json.dumps({"retention": changed}))
    until(lambda: log.used_percent("alice", "s1") == 50.0, "the new limit")


def test_a_model_without_a_price_costs_nobody_knows_what(limited: dict[str, str], log: DatabaseLog) -> None:
    log.answered(CALLER, "gpt-of-tomorrow", AnswerUsage(100))
    assert log.flush(HANG_S)
    with open_store(limited) as store:
        assert store.of_session("s1")[5:] == (0.0, 1)


def test_a_snapshot_is_what_the_build_said() -> None:
    built = build_context(ContextBuildOptions(messages=REQUEST.messages, budgetPercent=30.0))
    row = snapshot_of(built, "s", "alice", NOW, "m", "/shop", "main")
    assert (row.budget_percent, row.budget_remaining_percent) == (30.0, 70.0)
    assert row.pruning_strategy["budgetRange"] == "60-80%"
    assert set(row.tier_breakdown) == set(snapshot().tier_breakdown)


@pytest.mark.usefixtures("collected")
def test_what_sessions_of_the_host_use_fills_the_months_limit_too(tmp_path: Path) -> None:
    house = House(tmp_path)
    house.configure(month_tokens=30)
    append(house.begin(), answer("m1"))
    log = DatabaseLog(house.environ, itertools.count(NOW).__next__)
    until(lambda: log.used_percent("alice", "another") == 50.0, "the session to be booked")
    log.close()


@pytest.mark.server
@pytest.mark.usefixtures("collected")
def test_a_server_that_cannot_be_told_of_sessions_fails_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    house = House(tmp_path)
    house.configure(month_tokens=30, database="postgresql://127.0.0.1:1/x")
    append(house.begin(), answer("m1"))
    log = DatabaseLog(house.environ)
    assert log.used_percent("alice", "another") is None
    until(lambda: house.used().requests == 1, "the session to be booked here")
    log.close()
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


def test_without_limits_no_transcript_is_read(tmp_path: Path) -> None:
    house = House(tmp_path)
    append(house.begin(), answer("m1"))
    log = DatabaseLog(house.environ)
    assert log.used_percent("alice", "another") is None
    log.close()
    assert house.used().requests == 0


# --- hostile names ------------------------------------------------------------------------------------------------------------------------

USAGE = {"anthropic": {}, "openai": {"stream_options": {"include_usage": True}}}


@pytest.fixture
def api() -> Iterator[Providers]:
    with Providers() as running:
        yield running


def written(environ: dict[str, str]) -> list[int]:
    """How many snapshots and requests the store holds."""
    with open_store(environ) as store:
        return rows(store)


@pytest.mark.parametrize("kind", KINDS, ids=id_of)
def test_a_request_goes_out_built_and_is_booked_whatever_its_caller_is_called(
    api: Providers, environ: dict[str, str], kind: Kind, caplog: pytest.LogCaptureFixture
):
    service = configured_service(environ)
    log = service._usage
    assert isinstance(log, DatabaseLog)
    say_uncovered(kind.name)  # once in a process
    caplog.clear()
    for sent, (which, name) in enumerate(HOSTILE.items()):
        for stream in (False, True):
            client = with_context(kind.make(api), user_id=name, session_id=name, project=name, agent=name, service=service)
            answer = kind.ask(client, stream=stream, **(USAGE[kind.name] if stream else {}))
            assert (kind.streamed_text(answer) if stream else kind.text(answer)) == TEXT, which
        assert log.flush(HANG_S), which
        assert [record.getMessage() for record in caplog.records if record.name.startswith("popkit")] == [], which
        assert written(environ) == [2 * sent + 2] * 2, which
    service.close()
    assert [seen.messages[-1]["content"] for seen in api.requests] == [QUESTION[-1]["content"]] * 2 * len(HOSTILE)


@pytest.mark.parametrize("kind", KINDS, ids=id_of)
@pytest.mark.parametrize("field", ["user_id", "session_id", "project", "agent"])
@pytest.mark.parametrize("value", [7, b"dana", ["dana"]], ids=repr)
def test_what_is_no_text_is_refused_with_the_field_and_nothing_goes(api: Providers, kind: Kind, field: str, value: object):
    backend = Backend(api)
    with pytest.raises(TypeError, match=f"{field} takes a text, not"):
        with_context(kind.make(api), **{"user_id": "dana", field: value}, service=backend.service)
    with pytest.raises(TypeError, match=f"{field} takes a text, not"):
        kind.ask(backend.client(kind), extra_body={"popkit": {field: value}})
    assert api.requests == []
