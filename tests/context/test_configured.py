"""The user's own service: what it builds is kept, limits hold, memory and files enter, and what is not to be had fails nothing."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from popkit_retention.context.configured_service import configured_service
from popkit_retention.context.newest_snapshot import get_context_status
from popkit_retention.context.project_memory import REST_S, ProjectMemory
from popkit_retention.context.provider_forms import Provider
from popkit_retention.context.requests import AnswerUsage, Caller, Request
from popkit_retention.context.service import ContextService
from popkit_retention.core.state.memory import project_of
from popkit_retention.memory import Memory
from popkit_retention.memory.items import AGENT, USER
from popkit_retention.usage import postgres
from popkit_retention.usage.configured_database import open_store
from tests.context.hostile import Way
from tests.patience import HANG_S, until

MODEL = "claude-opus-4-5"
DANA = Caller("dana", "s1")


class Place:
    """A user's folder, a project beside it, and what is configured."""

    def __init__(self, base: Path) -> None:
        self.home, self.project = base / "home", base / "project"
        self.project.mkdir()
        self.environ = {"POPKIT_HOME": str(self.home), "LOGNAME": "dana"}

    def configure(self, **context: Any) -> None:
        self.home.mkdir(exist_ok=True)
        (self.home / "retention-config.json").write_text(json.dumps({"retention": {"context": context}}))

    @contextmanager
    def service(self) -> Iterator[ContextService]:
        service = configured_service(self.environ)
        try:
            yield service
        finally:
            service.close()

    def remember(self, *texts: str, source: str = USER) -> None:
        project_of(str(self.home), str(self.project)).turn_on(1.0)
        memory = Memory.of(self.environ, str(self.project))
        for text in texts:
            memory.add(text, source=source)
        memory.close()


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def conversation(exchanges: int, last: str = "And now?") -> list[dict[str, Any]]:
    messages = [{"role": role, "content": f"{role} {number} " * 40} for number in range(exchanges) for role in ("user", "assistant")]
    return [*messages, {"role": "user", "content": last}]


def request(messages: list[dict[str, Any]]) -> Request:
    return Request(Provider.ANTHROPIC, MODEL, messages)


def test_what_was_built_and_used_is_in_the_users_database(place: Place):
    with place.service() as service:
        assert service.build(DANA, request(conversation(3)))
        service.answered(DANA, MODEL, AnswerUsage(input=100, cache_read=50, cache_write=30, cache_write_1h=10, output=20))
        assert service._usage.flush(HANG_S)
    status = get_context_status("s1", place.environ)
    assert status.tier_breakdown.total > 0
    with open_store(place.environ) as store:
        used = store.of_session("s1")
    assert (used.requests, used.input_tokens, used.cache_read_tokens, used.cache_write_tokens, used.output_tokens) == (1, 100, 50, 30, 20)
    assert (used.unpriced, used.usd > 0) == (0, True)


def test_a_session_over_its_limit_sends_the_least(place: Place):
    place.configure(session_tokens=1_000)
    messages = conversation(12)
    with place.service() as service:
        service.answered(DANA, MODEL, AnswerUsage(input=2_000))
        assert service._usage.flush(HANG_S)
    with place.service() as service:
        for session in ("s1", "another"):
            until(lambda: service._usage.used_percent("dana", session) is not None, "what is used")  # noqa: B023
        pruned, whole = service.build(DANA, request(messages)), service.build(DANA._replace(session_id="another"), request(messages))
        assert service._usage.flush(HANG_S)
    assert len(pruned or messages) < len(whole or messages)
    assert pruned is not None
    assert "And now?" in json.dumps(pruned[-1])
    assert get_context_status("s1", place.environ).budget_used_percent == pytest.approx(200)


@pytest.mark.server
def test_a_database_that_does_not_answer_fails_nothing(place: Place, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(postgres, "PATIENCE_S", 0.2)
    nobody = Way()
    place.configure(database=f"postgresql://127.0.0.1:{nobody.port}/nothing", session_tokens=1_000)
    with place.service() as service:
        assert service.build(DANA, request(conversation(3)))
        service.answered(DANA, MODEL, AnswerUsage(input=1))
    nobody.close()


def test_without_a_home_nothing_is_kept_and_contexts_are_built(caplog: pytest.LogCaptureFixture):
    service = configured_service({"POPKIT_HOME": "a relative path"})
    assert service.build(DANA, request(conversation(3)))
    assert 'no limits apply, and no builds are recorded: POPKIT_HOME is "a relative path"' in caplog.text


def test_memory_of_the_project_enters_where_it_is_on(place: Place):
    place.remember("The staging database is called harbour-blue.")
    with place.service() as service:
        messages = conversation(1, "What is the staging database called?")
        with_it = service.build(DANA._replace(project=str(place.project)), request(messages))
        without = service.build(DANA, request(messages))
    assert "harbour-blue" in json.dumps(with_it)
    assert "harbour-blue" not in json.dumps(without)


def test_what_an_agent_added_stays_out_until_the_user_accepts_it(place: Place):
    place.remember("The staging database is called harbour-blue.", source=AGENT)
    memory = ProjectMemory(place.environ, str(place.project))
    assert memory.relevant("What is the staging database called?", None) == []
    kept = Memory.of(place.environ, str(place.project))
    kept.accept([item.id for item in kept.waiting()])
    kept.close()
    assert [found.text for found in memory.relevant("What is the staging database called?", None)] == [
        "The staging database is called harbour-blue."
    ]


def test_memory_that_is_off_stays_out(place: Place):
    place.remember("The staging database is called harbour-blue.")
    project_of(str(place.home), str(place.project)).turn_off(2.0)
    assert ProjectMemory(place.environ, str(place.project)).relevant("What is the staging database called?", None) == []


def test_the_memory_that_answers_a_request_comes_first_and_is_not_counted_as_used(place: Place):
    place.remember("The staging database is called harbour-blue.", "Releases are cut on Thursdays.", "Tests run with make check.")
    memory = ProjectMemory(place.environ, str(place.project))
    [first] = memory.relevant("Which day are releases cut?", 1)
    items = memory.relevant("Which day are releases cut?", None)
    assert first.text == "Releases are cut on Thursdays."
    assert (len(items), items[0]) == (3, first)
    assert all(0 <= each.score <= 1 for each in items)
    kept = Memory.of(place.environ, str(place.project))
    assert [item.access_count for item in kept.list()] == [0, 0, 0]
    kept.close()


def test_a_store_that_cannot_be_used_is_done_without_and_left_alone_for_a_while(place: Place):
    place.remember("The staging database is called harbour-blue.")
    store = place.home / "memory.sqlite"
    whole, now = store.read_bytes(), 1_000.0
    store.write_bytes(b"no database" * 1_000)
    memory = ProjectMemory(place.environ, str(place.project), lambda: now)
    assert memory.relevant("anything", None) == []
    store.write_bytes(whole)
    assert memory.relevant("anything", None) == []
    now += REST_S
    assert [item.text for item in memory.relevant("anything", None)] == ["The staging database is called harbour-blue."]


def test_within_a_turn_the_memory_is_not_even_opened(place: Place):
    with socket.create_server(("127.0.0.1", 0)) as server:
        place.home.mkdir(exist_ok=True)
        settings = {"memory": {"store": f"neo4j://127.0.0.1:{server.getsockname()[1]}"}}
        (place.home / "retention-config.json").write_text(json.dumps({"retention": settings}))
        project_of(str(place.home), str(place.project)).turn_on(1.0)
        called = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "make"}}
        answered = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "done"}
        turn = [*conversation(1), {"role": "assistant", "content": [called]}, {"role": "user", "content": [answered]}]
        with place.service() as service:
            assert service.build(DANA._replace(project=str(place.project)), request(turn))
        server.setblocking(False)
        with pytest.raises(BlockingIOError):
            server.accept()


def test_files_that_the_conversation_refers_to_enter(place: Place):
    (place.project / "harbour.py").write_text("BERTHS = 17\n")
    with place.service() as service:
        messages = conversation(1, "How many berths are there in harbour.py?")
        built = service.build(DANA._replace(project=str(place.project)), request(messages))
        again = service.build(DANA, request(messages))
    assert "BERTHS = 17" in json.dumps(built)
    assert "BERTHS = 17" not in json.dumps(again)
