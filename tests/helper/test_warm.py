"""What the helper answers about keeping the prompt cache warm: when, what, and why no longer."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hooks.utils.helper.prompt_cache import LINE
from popkit_retention.usage.configured_database import open_store
from popkit_retention.usage.ingestion import catch_up
from tests.patience import until
from tests.views.written import Written

from .asking import SESSION, Helper

ANSWERED = {"reason": "answer", "turn_ms": 3_600_000, "model": "claude-opus-4-8", "limits": []}
DUE = {"due": True, "model": "claude-opus-4-8", "limits": []}
LIFETIME_MS = 300_000


class Asked(Helper):
    """Its session has one turn; requests follow every half a second, at most two in a row."""

    def __init__(self, folder: Path, seconds_ago: float = 100.0, every_s: str = "0.5", **config: Any) -> None:
        self.written = Written(folder, session=SESSION, project=str(folder / "shop"))
        self.turn(seconds_ago)
        (folder / "popkit").mkdir()
        self.every_s = every_s
        super().__init__(folder, transcript=self.written.path, config={"keep_warm": "on", **config})

    def start(self) -> None:
        self.env["POPKIT_WARM_S"] = self.every_s
        super().start()

    def turn(self, seconds_ago: float) -> None:
        self.written.now = time.time() - seconds_ago - 20
        self.written.say("go")
        self.written.read("src/a.ts")
        self.written.ends()

    def warm(self, **more: Any) -> dict[str, Any]:
        return self.ask("/warm", {**DUE, **more})

    def warmed(self, read: int = 20_500, prompt: int = 20_600, **more: Any) -> dict[str, Any]:
        usage = {"input_tokens": 0, "cache_read_input_tokens": read, "cache_creation_input_tokens": prompt - read, "output_tokens": 4}
        return self.ask(
            "/warmed", {"model": DUE["model"], "limits": [], "answered": True, "reason": "", "error": "", "usage": usage, **more}
        )

    def show(self) -> dict[str, Any]:
        return json.loads(self.ask("/command", {"words": "warm show --json", "columns": 70})["text"])


@pytest.fixture
def helper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    running = Asked(tmp_path_factory.mktemp("h"))
    yield running
    running.stop()


@pytest.fixture
def helper_of(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    started: list[Asked] = []

    def start(**how: Any) -> Asked:
        started.append(Asked(tmp_path_factory.mktemp("h"), **how))
        return started[-1]

    yield start
    for one in started:
        one.stop()


def test_off_is_how_it_comes(helper_of: Any):
    helper = helper_of(keep_warm="off")
    assert helper.ask("/warm", ANSWERED) == {}
    assert helper.warm() == {}


def test_after_a_turn_it_says_when_shortly_before_the_cache_expires(helper_of: Any):
    helper = helper_of(seconds_ago=100, every_s="")
    wait = helper.ask("/warm", ANSWERED)["in_ms"]
    assert 0 < wait < LIFETIME_MS - 100_000
    assert helper.show()["next_s"] is not None


def test_when_the_time_has_come_it_says_what_and_not_before(helper_of: Any):
    assert helper_of().warm() == {"prompt": LINE}
    assert "in_ms" in helper_of(every_s="").warm()


def test_a_turn_that_was_broken_off_begins_nothing(helper: Asked):
    for reason in ("aborted", "error", "refusal"):
        assert helper.ask("/warm", {**ANSWERED, "reason": reason}) == {}


def test_an_answer_that_the_transcript_lacks_is_waited_for(helper: Asked):
    assert helper.ask("/warm", {**ANSWERED, "turn_ms": 10}) == {"in_ms": 2_000}
    assert helper.warm() == {"in_ms": 2_000}
    helper.turn(0)
    assert helper.warm() != {"in_ms": 2_000}


def test_what_was_sent_is_booked_and_the_next_follows_until_the_row_has_cost_a_fifth(helper: Asked):
    for number in (1, 2):
        assert helper.show()["most"] == 2
        until(lambda: helper.warm() == {"prompt": LINE}, "the time has come")
        answer = helper.warmed()
        assert ("in_ms" in answer) == (number < 2)
    booked = [entry for entry in helper.journal() if entry["event"] == "warmed"]
    assert [(entry["prompt"], entry["read"], entry["created"], entry["output"]) for entry in booked] == [(20_600, 20_500, 100, 4)] * 2
    shown = helper.show()
    assert (shown["sent"]["requests"], shown["sent"]["in_a_row"], shown["ended"]) == (2, 2, "too dear")
    assert shown["sent"]["usd"] > 0
    assert helper.warm() == {}
    assert helper.failures() == ""


def test_for_a_cache_that_lasts_an_hour_nothing_is_sent(helper_of: Any):
    helper = helper_of()
    helper.written.for_an_hour = True
    helper.turn(50)
    assert helper.ask("/warm", ANSWERED) == {}
    assert helper.warm() == {}
    assert helper.show()["ended"] == "hour"


def test_what_was_sent_is_booked_as_usage_at_the_price_that_the_journal_has(helper: Asked):
    assert helper.warm() == {"prompt": LINE}
    helper.warmed()
    (entry,) = [entry for entry in helper.journal() if entry["event"] == "warmed"]
    environ = {"POPKIT_HOME": str(helper.home), "LOGNAME": "alice"}
    assert catch_up(environ) == 1
    with open_store(environ) as store:
        assert store.of_session(SESSION) == (1, 0, 20_500, 100, 4, entry["usd"], 0)


def test_the_next_turn_begins_a_new_row(helper: Asked):
    helper.warm()
    helper.warmed()
    helper.turn(0)
    assert helper.show()["sent"] == {**helper.show()["sent"], "requests": 1, "in_a_row": 0}


def test_limits_in_number_and_money_hold(helper_of: Any):
    assert helper_of(keep_warm_usd=0).warm() == {}
    helper = helper_of(keep_warm_usd=0.02)  # one costs about $0.01
    assert helper.warm() == {"prompt": LINE}
    assert helper.warmed() == {}
    assert helper.show()["ended"] == "dollars"
    helper = helper_of(keep_warm_requests=1)
    assert helper.warm() == {"prompt": LINE}
    assert helper.warmed() == {}
    assert helper.show()["ended"] == "in a row"


@pytest.mark.parametrize(
    ("answered", "ended"),
    [
        ({"read": 900}, "miss"),
        ({"answered": False, "reason": "api-error", "error": "overloaded", "usage": {}}, "error"),
        ({"answered": False, "reason": "nothing-to-fork", "usage": {}}, "error"),
    ],
)
def test_a_miss_or_an_error_ends_it_until_the_next_turn(helper: Asked, answered: dict[str, Any], ended: str):
    helper.warm()
    assert helper.warmed(**answered) == {}
    assert helper.warm() == {}
    assert helper.show()["ended"] == ended
    helper.turn(0)
    assert "in_ms" in helper.ask("/warm", ANSWERED)


def test_an_answer_without_words_is_an_answer(helper: Asked):
    helper.warm()
    assert "in_ms" in helper.warmed(answered=False, reason="empty-reply")


def test_a_cold_cache_is_left_alone(helper_of: Any):
    helper = helper_of(seconds_ago=400)
    assert helper.warm() == {}
    assert helper.show()["ended"] == "cold"


def test_another_model_ends_it(helper: Asked):
    assert "in_ms" in helper.ask("/warm", ANSWERED)
    assert helper.warm(model="claude-haiku-5-5") == {}
    assert helper.warm() == {}
    assert helper.show()["ended"] == "model"


def test_a_limit_of_the_plan_that_is_nearly_used_up_ends_it(helper: Asked):
    assert helper.warm(limits=[{"kind": "five_hour", "percentUsed": 12.5}]) == {"prompt": LINE}
    assert helper.warm(limits=[{"kind": "five_hour", "percentUsed": 81}]) == {}
    assert helper.warm() == {}
    assert (helper.show()["ended"], helper.show()["about"]) == ("rate limit", "five_hour")


def test_what_comes_back_after_another_turn_is_booked_and_ends_nothing_of_it(helper: Asked):
    helper.warm()
    helper.turn(0)
    assert helper.warmed(read=900) == {}
    assert helper.show()["sent"]["requests"] == 1
    assert "in_ms" in helper.ask("/warm", ANSWERED)


def test_a_model_without_a_price_is_not_kept(helper_of: Any):
    helper = helper_of()
    helper.written.model = "claude-unheard-of-1"
    helper.turn(-50)
    assert helper.ask("/warm", ANSWERED) == {}
    assert helper.show()["ended"] == "unpriced"


def test_the_word_of_the_session_beats_the_configuration(helper: Asked):
    helper.ask("/command", {"words": "warm off", "columns": 70})
    assert helper.warm() == {}
    helper.ask("/command", {"words": "warm on", "columns": 70})
    assert helper.warm() == {"prompt": LINE}


@pytest.mark.parametrize("asked", [{}, {"limits": 7, "model": 3, "turn_ms": "x"}, {"limits": [None, {"percentUsed": "x"}], "due": 1}])
def test_whatever_it_is_asked_it_answers(helper: Asked, asked: dict[str, Any]):
    assert isinstance(helper.ask("/warm", asked), dict)
    assert isinstance(helper.ask("/warmed", {**asked, "usage": [1], "answered": "yes"}), dict)
    assert helper.failures() == ""
