"""What keeping the cache warm can cost at most, whatever happens to clocks, windows and helpers: all real but the clocks."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from hooks.utils.helper.prompt_cache import LINE
from tests.kit.forks import Function, Running
from tests.views.written import BEGAN, Written

from .asking import SESSION, Helper

MODEL = "claude-opus-4-8"
# A read costs a tenth: two requests in a row, each about a cent.
IN_A_ROW, CENT = 2, 0.0107
FIRST = BEGAN


class Clocks:
    """The time of day, and what has gone by since the machine was started."""

    def __init__(self, path: Path, day: float) -> None:
        self.path, self.day, self.gone = path, day, 1_000.0
        self.set_by(0)

    def pass_by(self, seconds: float) -> None:
        self.gone += seconds
        self.set_by(seconds)

    def set_by(self, seconds: float) -> None:
        """Sets the time of day, forward or back."""
        self.day += seconds
        beside = self.path.with_suffix(".new")
        beside.write_text(json.dumps([self.day, self.gone]))
        beside.replace(self.path)


class Window(Helper):
    """A window of a session with a helper of its own. The timer of its mod is `due`."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        super().__init__(machine.folder, transcript=machine.written.path, config={"keep_warm": "on", **machine.config})

    def _started(self, words: list[str]) -> Running:
        return self.forks.start(Function("tests.helper.clocked:popkit", [str(self.machine.clocks.path), words]), self.env)

    def turn_ends(self) -> dict[str, Any]:
        return self.ask("/warm", {"reason": "answer", "turn_ms": 60_000, "model": MODEL, "limits": []})

    def due(self, **more: Any) -> dict[str, Any]:
        return self.ask("/warm", {"due": True, "model": MODEL, "limits": [], **more})

    def warmed(self, read: int = 20_500, prompt: int = 20_600, **more: Any) -> dict[str, Any]:
        usage = {"input_tokens": 0, "cache_read_input_tokens": read, "cache_creation_input_tokens": prompt - read, "output_tokens": 4}
        defaults = {"model": MODEL, "limits": [], "answered": True, "reason": "", "error": "", "usage": usage}
        return self.ask("/warmed", {**defaults, **more})

    def show(self) -> dict[str, Any]:
        return json.loads(self.ask("/command", {"words": "warm show --json", "columns": 70})["text"])

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


class Machine:
    """A session, the windows that hold it, and the clocks of its machine."""

    def __init__(self, folder: Path, config: dict[str, Any]) -> None:
        self.folder, self.config = folder, config
        self.written = Written(folder, session=SESSION, project=str(folder / "shop"))
        self.clocks = Clocks(folder / "clocks.json", BEGAN)
        self.windows: list[Window] = []
        self.turn()

    def turn(self) -> None:
        """A turn begins and is answered."""
        self.written.now = self.clocks.day
        self.written.say("go")
        self.written.ends(f"answer at {self.written.now}")
        self.clocks.pass_by(self.written.now - self.clocks.day)

    def window(self) -> Window:
        self.windows.append(Window(self))
        return self.windows[-1]

    def sent(self) -> int:
        """How many requests were handed out in all."""
        lines = self.windows[0].journal()
        return sum(entry["event"] == "warming" for entry in lines)


@pytest.fixture
def machine_with(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Machine]]:
    machines: list[Machine] = []

    def start(**config: Any) -> Machine:
        machines.append(Machine(tmp_path_factory.mktemp("h"), config))
        return machines[-1]

    yield start
    for one in machines:
        for window in one.windows:
            window.process.send_signal(signal.SIGCONT)
            assert window.failures() == ""
            window.stop()


@pytest.fixture
def machine(machine_with: Callable[..., Machine]) -> Machine:
    return machine_with()


def waits(machine: Machine, answer: dict[str, Any]) -> dict[str, Any]:
    """The timer's time goes by; it was set for less than the cache lives."""
    assert 0 < answer["in_ms"] < 300_000
    machine.clocks.pass_by(answer["in_ms"] / 1000)
    return answer


# --- clocks ------------------------------------------------------------------------------------------------------------------------


def test_where_nothing_happens_a_row_is_sent_one_shortly_before_each_expiry(machine: Machine):
    window = machine.window()
    answer = waits(machine, window.turn_ends())
    for number in range(1, IN_A_ROW + 1):
        assert window.due() == {"prompt": LINE}
        machine.clocks.pass_by(3)
        answer = window.warmed()
        assert ("in_ms" in answer) == (number < IN_A_ROW)
        if "in_ms" in answer:
            waits(machine, answer)
    assert machine.sent() == IN_A_ROW
    assert window.show()["ended"] == "too dear"


@pytest.mark.parametrize("asleep_s", [60, 3_600, 90_000])
def test_a_machine_that_slept_past_the_caches_life_sends_nothing(machine: Machine, asleep_s: int):
    window = machine.window()
    waits(machine, window.turn_ends())
    machine.clocks.pass_by(asleep_s)
    assert window.due() == {}
    assert (machine.sent(), window.show()["ended"]) == (0, "cold")


def test_a_machine_that_slept_for_a_moment_goes_on(machine: Machine):
    window = machine.window()
    answer = window.turn_ends()
    machine.clocks.pass_by(60)
    assert window.due()["in_ms"] == pytest.approx(answer["in_ms"] - 60_000, abs=2)
    machine.clocks.pass_by(answer["in_ms"] / 1000 - 60)
    assert window.due() == {"prompt": LINE}


@pytest.mark.parametrize("by_s", [-86_400, -7_200, -200, 100, 250, 7_200, 86_400])
@pytest.mark.parametrize("when", ["before the first", "between two"])
def test_a_clock_that_was_set_sends_nothing_until_the_next_turn(machine: Machine, by_s: int, when: str):
    window = machine.window()
    waits(machine, window.turn_ends())
    if when == "between two":
        assert window.due() == {"prompt": LINE}
        waits(machine, window.warmed())
    before = machine.sent()
    machine.clocks.set_by(by_s)
    for _ in range(10):
        window.due()
        machine.clocks.pass_by(60)
    assert machine.sent() == before
    machine.turn()
    is_behind = by_s < -600  # the transcript still has times that are to come
    assert ("in_ms" in window.turn_ends()) == (not is_behind)
    assert window.show()["ended"] == ("clock" if is_behind else "")


def test_a_clock_that_is_set_back_again_and_again_lengthens_no_row(machine: Machine):
    window = machine.window()
    window.turn_ends()
    for _ in range(60):
        machine.clocks.pass_by(45)
        machine.clocks.set_by(-40)
        if window.due() == {"prompt": LINE}:
            window.warmed()
    assert machine.sent() <= IN_A_ROW


# --- windows -----------------------------------------------------------------------------------------------------------------------


def test_two_windows_of_one_session_send_one_row_between_them(machine: Machine):
    windows = machine.window(), machine.window()
    first_answers = [window.turn_ends() for window in windows]
    machine.clocks.pass_by(first_answers[0]["in_ms"] / 1000)
    for number in range(1, 6):
        with ThreadPoolExecutor() as at_once:
            answers = list(at_once.map(Window.due, windows))
        handed = [window for window, answer in zip(windows, answers) if answer == {"prompt": LINE}]
        assert len(handed) == (1 if number <= IN_A_ROW else 0)
        for window in handed:
            window.warmed()
        machine.clocks.pass_by(280)
    assert machine.sent() == IN_A_ROW


def test_a_window_whose_session_goes_on_in_another_one_sends_nothing(machine: Machine):
    old, new = machine.window(), machine.window()
    waits(machine, old.turn_ends())
    machine.turn()
    answer = new.turn_ends()
    assert old.due() == {}, "it would ask over a prompt that is over"
    waits(machine, answer)
    assert old.due() == {}
    assert new.due() == {"prompt": LINE}


def test_while_one_is_under_way_no_window_sends_another(machine: Machine):
    one, other = machine.window(), machine.window()
    one.turn_ends()
    waits(machine, other.turn_ends())
    assert one.due() == {"prompt": LINE}
    for _ in range(7):
        machine.clocks.pass_by(9)
        assert "prompt" not in other.due()
        assert "prompt" not in one.due()
    assert machine.sent() == 1


# --- helpers -----------------------------------------------------------------------------------------------------------------------


def test_a_helper_that_is_killed_between_decision_and_answer_costs_one_request_at_most(machine: Machine):
    waits(machine, machine.window().turn_ends())
    for _ in range(8):
        window = machine.windows[-1]
        window.due()
        window.kill()
        machine.clocks.pass_by(10)
        machine.window()
    assert machine.sent() == 1
    machine.clocks.pass_by(100)
    assert machine.windows[-1].due() == {}
    assert machine.windows[-1].show()["ended"] == "lost"


def test_a_helper_that_is_stopped_holds_up_none_and_sends_no_second_one(machine: Machine):
    held, other = machine.window(), machine.window()
    held.turn_ends()
    waits(machine, other.turn_ends())
    held.process.send_signal(signal.SIGSTOP)
    assert other.due() == {"prompt": LINE}
    held.process.send_signal(signal.SIGCONT)
    assert "prompt" not in held.due()
    assert machine.sent() == 1


def test_what_a_helper_before_has_handed_out_is_booked_by_the_next(machine: Machine):
    first = machine.window()
    waits(machine, first.turn_ends())
    assert first.due() == {"prompt": LINE}
    first.kill()
    second = machine.window()
    assert "in_ms" in second.warmed(), "the row goes on"
    shown = second.show()["sent"]
    assert (shown["requests"], shown["in_a_row"]) == (1, 1)
    assert shown["usd"] == pytest.approx(CENT, abs=0.002)


def test_a_row_that_was_sent_stays_sent_however_often_helpers_are_restarted(machine: Machine):
    waits(machine, machine.window().turn_ends())
    for _ in range(6):
        window = machine.windows[-1]
        if window.due() == {"prompt": LINE}:
            window.warmed()
        window.kill()
        machine.clocks.pass_by(280)
        machine.window()
    assert machine.sent() == IN_A_ROW


# --- money -------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("what_comes", ["answered", "lost", "failed", "killed"])
def test_a_session_costs_no_more_than_its_limit_over_all_turns_windows_and_restarts(machine_with: Any, what_comes: str):
    machine = machine_with(keep_warm_usd=5 * CENT)
    machine.window()
    for turn in range(12):
        window = machine.windows[-1] if turn % 3 else machine.window()
        machine.turn()
        answer = window.turn_ends()
        if "in_ms" not in answer:
            continue
        waits(machine, answer)
        if window.due() == {"prompt": LINE}:
            if what_comes == "answered":
                window.warmed()
            elif what_comes == "failed":
                window.warmed(answered=False, reason="api-error", error="overloaded", usage={})
            elif what_comes == "killed":
                window.kill()
                machine.window()
        machine.clocks.pass_by(120)
    assert 1 <= machine.sent() <= 5
    assert machine.windows[-1].show()["sent"]["usd"] <= 5 * CENT + 1e-9
    assert machine.windows[-1].show()["ended"] == "dollars"


def test_caches_that_are_never_found_cost_one_writing_beyond_the_limit_at_most(machine_with: Any):
    machine = machine_with(keep_warm_usd=0.2)
    window = machine.window()
    for _ in range(12):
        machine.turn()
        answer = window.turn_ends()
        if "in_ms" in answer:
            waits(machine, answer)
            if window.due() == {"prompt": LINE}:
                assert window.warmed(read=0) == {}
    writing = 20_600 * 1.25 * 5e-6
    assert machine.windows[-1].show()["sent"]["usd"] <= 0.2 + writing + 0.001


def test_a_cheaper_model_or_another_price_makes_nothing_that_was_spent_cheaper(machine_with: Any):
    machine = machine_with(keep_warm_usd=2.5 * CENT)
    window = machine.window()
    for _ in range(2):
        waits(machine, window.turn_ends())
        assert window.due() == {"prompt": LINE}
        window.warmed()
        machine.turn()
    spent = window.show()["sent"]["usd"]
    models = {"claude-opus": {"input": 0.05, "output": 0.25}, "claude-haiku": {"input": 0.01, "output": 0.05}}
    config = {"keep_warm": "on", **machine.config, "models": models}
    (window.home / "retention-config.json").write_text(json.dumps({"retention": config}))
    machine.written.model = "claude-haiku-5-5"
    machine.turn()
    assert window.show()["sent"]["usd"] == spent


def test_another_model_ends_a_row_in_every_window(machine: Machine):
    one, other = machine.window(), machine.window()
    one.turn_ends()
    waits(machine, other.turn_ends())
    assert one.due(model="claude-haiku-5-5") == {}
    assert other.due() == {}
    assert (machine.sent(), other.show()["ended"]) == (0, "model")


def test_where_it_cannot_be_written_down_nothing_is_sent(machine: Machine):
    window = machine.window()
    waits(machine, window.turn_ends())
    journal = window.home / "sessions" / SESSION / "main.journal.jsonl"
    journal.mkdir()
    answer = window.due()
    assert "prompt" not in answer
    journal.rmdir()
    (window.home / "hooks.log").unlink()
    assert machine.sent() == 0


def test_the_word_off_in_one_window_holds_in_all(machine: Machine):
    one, other = machine.window(), machine.window()
    waits(machine, one.turn_ends())
    other.ask("/command", {"words": "warm off", "columns": 70})
    assert one.due() == {}
    assert machine.sent() == 0
