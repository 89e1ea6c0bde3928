"""Keeping the prompt cache warm in the real client: what is sent between two turns, what ends it, and that it leaves no trace."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from hooks.utils.helper.prompt_cache import LINE
from tests import patience

from . import installs
from .client import ClientHome, Run
from .scripted_api import Recorded, ScriptedApi, call, say
from .terminal import ClientTerminal
from .test_mod import BIG, ROOT, Session, sent

# Seconds between requests here, and how long it is watched that no other follows.
EVERY_S, WATCHED_S = 2, 5
READ = call(("Read", {"file_path": BIG, "limit": 200}))
SCRIPTS = {
    "first": [READ, say("read it")],
    "missing": [READ, say("read it"), say("ok", cache_read_input_tokens=9, cache_creation_input_tokens=13_000)],
    "second": [say("still there")],
}


class Warm(Session):
    def begin(self, **config: Any) -> None:
        """With a configuration, and two seconds between requests."""
        self.popkit.mkdir(parents=True)
        (self.popkit / "retention-config.json").write_text(json.dumps({"retention": config}))
        self.home.extra_env["POPKIT_WARM_S"] = str(EVERY_S)

    def talk(self, *steps: str | Callable[[], object]) -> Run:
        """One process: prompts, and between them what is waited for."""

        def prompts() -> Iterator[str]:
            for step in steps:
                if isinstance(step, str):
                    yield step
                else:
                    step()

        self.runs.append(self.home.run_headless(prompts(), plugin_dir=ROOT))
        assert self.runs[-1].returncode == 0
        return self.runs[-1]

    def warming(self) -> list[Recorded]:
        return [turn for turn in self.api.turns() if LINE in turn.text]

    def warmed(self) -> list[dict[str, Any]]:
        paths = self.popkit.glob("sessions/*/main.journal.jsonl")
        return [entry for path in paths for entry in map(json.loads, path.read_text().splitlines()) if entry["event"] == "warmed"]

    def until(self, number: int) -> Callable[[], None]:
        """Waits until so many have been sent and booked."""

        return lambda: patience.until(lambda: len(self.warmed()) >= number, f"{number} requests kept the cache warm")


def watch() -> None:
    time.sleep(WATCHED_S)


@pytest.fixture
def session(clients: dict[str, installs.Installed], tmp_path: Path, api: ScriptedApi) -> Warm:
    warm = Warm(ClientHome(tmp_path, clients["newest"], api.url), api)
    api.scripts.update(SCRIPTS)
    return warm


def test_between_two_turns_the_last_request_goes_out_again_with_one_line_and_leaves_no_trace(session: Warm):
    session.begin(keep_warm="on", keep_warm_requests=1)
    shown = []
    show = lambda: shown.append(session.popkit_says("context", "warm", "show"))  # noqa: E731
    session.talk("go [[SCRIPT:first]]", session.until(1), watch, show, "more [[SCRIPT:second]]")
    last, ours, after = session.api.turns()[-3:]
    assert session.warming() == [ours], "no more follow than the limit allows"
    assert "(keep_warm_requests)" in " ".join(shown[0].split())

    # What the turn sent, its answer, and one line.
    assert sent(ours)[: len(sent(last))] == sent(last)
    assert [message["role"] for message in ours.body["messages"][len(last.body["messages"]) :]] == ["assistant", "user"]
    assert ours.body["messages"][-1]["content"] == LINE
    for name in ("model", "system", "tools", "thinking", "output_config", "max_tokens"):
        assert ours.body.get(name) == last.body.get(name), name

    # The next turn begins with what the one before has sent, and nobody tells of what went between.
    assert sent(after)[: len(sent(last))] == sent(last)
    assert sent(after)[: len(sent(ours)) - 1] == sent(ours)[:-1]
    assert LINE not in after.text
    assert LINE not in session.home.transcript_path(session.id).read_text()

    [entry] = session.warmed()
    assert entry["read"] > 0.9 * entry["prompt"]
    assert session.log() == ""


def test_the_word_begins_it_and_the_word_ends_it(session: Warm):
    session.begin()
    counts = []

    def count() -> None:
        counts.append(len(session.warming()))

    session.talk(
        *("go [[SCRIPT:first]]", watch, count),
        *("/popkit warm on", session.until(1), "/popkit warm off", count, lambda: over(session), count),
        "more [[SCRIPT:second]]",
    )
    by_default, then, at_last = counts
    assert by_default == 0
    assert then >= 1
    assert at_last <= then + 1, "but for one that was under way"


def over(session: Warm) -> None:
    """Waits until no more are sent."""

    def is_over() -> bool:
        before = len(session.warming())
        watch()
        return len(session.warming()) == before

    patience.until(is_over, "the requests to end")


@dataclass
class Played:
    """A session that misses the cache, is compacted, and has a turn that begins while it is kept warm. `counts`: how many requests had
    kept it warm when; `held`: the one that the provider takes its time for."""

    session: Warm
    counts: dict[str, int] = field(default_factory=dict)
    held: list[dict[str, Any]] = field(default_factory=list)

    def count(self, when: str) -> None:
        self.counts[when] = len(self.session.warming())

    def play(self) -> None:
        session, asked, released = self.session, threading.Event(), threading.Event()
        answer = session.api.answer

        def takes_its_time(body: dict[str, Any], kind: str) -> dict[str, Any]:
            if LINE in json.dumps(body["messages"][-1]) and not self.held:
                self.held.append(body)
                asked.set()
                released.wait(patience.HANG_S)
            return answer(body, kind)

        def hold() -> None:
            session.api.answer = takes_its_time
            assert asked.wait(patience.HANG_S / 2), "nothing keeps the cache warm"

        session.talk(
            *("go [[SCRIPT:missing]]", session.until(1), watch, "more [[SCRIPT:first]]", session.until(2)),
            *("/compact", lambda: self.count("compacted"), watch, lambda: self.count("watched")),
            *("more [[SCRIPT:first]]", hold, "more [[SCRIPT:second]]", released.set, lambda: more(session)),
        )
        self.count("ended")
        watch()
        self.count("over")


def more(session: Warm) -> None:
    """Waits until one more has been sent and booked."""
    session.until(len(session.warmed()) + 1)()


@pytest.fixture(scope="module")
def played(clients: dict[str, installs.Installed], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Played]:
    with ScriptedApi() as api:
        session = Warm(ClientHome(tmp_path_factory.mktemp("warm"), clients["newest"], api.url), api)
        api.scripts.update(SCRIPTS)
        session.begin(keep_warm="on")
        kept_warm = Played(session)
        kept_warm.play()
        yield kept_warm


def test_where_the_cache_was_not_found_no_other_follows_until_the_next_turn(played: Played):
    before, after, *_ = played.session.warmed()
    assert before["read"] == 9
    assert after["read"] > 0.9 * after["prompt"]
    assert "did not find the cache" not in played.session.popkit_says("context", "warm", "show")


def test_a_compaction_ends_it_and_so_does_the_end_of_the_session(played: Played):
    counts = played.counts
    assert counts["compacted"] == counts["watched"]
    assert counts["watched"] < counts["ended"] == counts["over"]


def test_a_turn_that_begins_while_one_is_under_way_is_neither_held_up_nor_changed(played: Played):
    requests = played.session.api.turns()
    held = next(number for number, request in enumerate(requests) if request.body is played.held[0])
    before, after = [number for number, request in enumerate(requests) if LINE not in request.text][-2:]
    assert before < held < after
    assert sent(requests[after])[: len(sent(requests[before]))] == sent(requests[before])
    assert LINE not in requests[after].text
    assert "[[SCRIPT:second]]" in requests[after].text


def test_in_a_terminal_the_word_shows_the_sum_first(session: Warm):
    session.begin()
    with ClientTerminal(session.home, plugin_dir=ROOT, columns=120) as terminal:
        terminal.wait_ready()
        terminal.send("go [[SCRIPT:first]]")
        terminal.wait("read it")
        terminal.wait_idle()
        terminal.send("/popkit warm on")
        terminal.wait("The prompt cache is kept warm from now on")
        terminal.wait("none of your sessions is known yet")
        terminal.wait("one every 4 min 40 s")
        terminal.wait(lambda _: session.warmed())
        terminal.send("/popkit warm show")
        terminal.wait("in this session, $")
    assert len(session.warming()) >= 1
