"""What PopKit was worth: over all sessions of this machine, in three periods, in tokens and in money."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hooks.utils import efficiency_tracker as tracker
from hooks.utils.answers import ledgers, text
from hooks.utils.answers.command import answer
from hooks.utils.answers.stats import stats_lines
from hooks.utils.efficiency_tracker import EfficiencyMetrics
from hooks.utils.policy.context import Counts
from hooks.utils.policy.ledger import Ledger
from hooks.utils.state import days, journal, live, session, settling, store, sweeping
from tests.answers.written import BEGAN, STEP_S, Written

DAY_S = 86_400.0
LEFT_OUT = 10_000 * 299.5 / 1_000  # tokens, of the entry below


class Machine:
    """Sessions on one machine."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.home = folder, folder / "popkit"

    def session(self, name: str, at: float, model: str = "claude-opus-4-8", requests: int = 3) -> Written:
        """One of which a result entered shorter, and so many requests went without it."""
        made = Written(self.folder / "p", session=name)
        made.now, made.model = at, model
        made.say("go")
        id = made.grep("one")
        self._note(made, journal.entered(id, [], "abcd2345", 11_000, 1_000, 300, ["noise"], made.now - STEP_S / 4))
        self.go_on(made, requests)
        session.update(str(self.home), name, transcript=str(made.path), project=made.project)
        return made

    def advised(self, made: Written, tokens: int) -> None:
        self._note(made, journal.advised(tokens, made.now))

    def _note(self, made: Written, entry: dict) -> None:
        store.journal(made.site(self.home).paths(), entry)

    def go_on(self, made: Written, requests: int = 1) -> None:
        for number in range(requests):
            made.grep(f"more {number}")

    def ask(self, made: Written, now: float | None = None, words: str = "stats --json") -> str:
        return answer(words, made.site(self.home), str(made.path), made.now if now is None else now)

    def worth(self, made: Written, now: float | None = None) -> dict:
        return json.loads(self.ask(made, now))["worth"]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def _units(requests: int) -> float:
    return LEFT_OUT * (1.25 + (requests - 1) * 0.1)


def test_each_period_has_what_was_saved_in_it_and_all_are_over_all_sessions(machine: Machine) -> None:
    for name, days_ago in (("today", 0), ("yesterday", 1), ("last-week", 5), ("long-ago", 40)):
        made = machine.session(name, BEGAN - days_ago * DAY_S)
        machine.ask(made)
    found = machine.worth(machine.session("here", BEGAN), BEGAN + 100)
    each = _units(3)
    assert {period: round(found[period]["tokens"]["kept_out"] / each, 3) for period in found} == {"yesterday": 3, "week": 4, "installed": 5}
    assert found["installed"]["usd"]["net"] == pytest.approx(5 * each * 5 / 1e6, rel=1e-4), "5 dollars a million"
    assert found["yesterday"]["since"] == days.days_before(days.day_of(BEGAN), 1)


def test_a_day_later_what_was_today_is_yesterday_and_then_of_the_week(machine: Machine) -> None:
    made = machine.session("here", BEGAN)
    told = [machine.worth(made, BEGAN + number * DAY_S) for number in (0, 1, 2, 6, 7)]
    assert [bool(each["yesterday"]["tokens"]["net"]) for each in told] == [True, True, False, False, False]
    assert [bool(each["week"]["tokens"]["net"]) for each in told] == [True, True, True, True, False]
    assert len({each["installed"]["tokens"]["net"] for each in told}) == 1


def test_a_session_over_several_days_has_its_part_in_each(machine: Machine) -> None:
    made = machine.session("here", BEGAN, requests=1)
    made.now += 3 * DAY_S
    made.tokens = 0  # nothing is left in the cache
    machine.go_on(made)
    found = machine.worth(made)
    assert found["week"]["tokens"] == pytest.approx(found["installed"]["tokens"], abs=0.2)
    assert found["week"]["usd"] == pytest.approx(found["installed"]["usd"], abs=1e-5)
    assert found["installed"]["tokens"]["kept_out"] == pytest.approx(2 * LEFT_OUT * 1.25, abs=1)
    assert found["yesterday"]["tokens"]["kept_out"] == pytest.approx(LEFT_OUT * 1.25, abs=1), "written again, when it was cold"


def test_sessions_that_went_on_since_are_reckoned_again_before_the_sums_are_told(machine: Machine) -> None:
    other, here = machine.session("other", BEGAN), machine.session("here", BEGAN)
    first = machine.worth(here)["installed"]["tokens"]["kept_out"]
    assert first == pytest.approx(_units(3), abs=1), "of the other one nothing is stored yet"
    machine.ask(other)
    machine.go_on(other)
    assert machine.worth(here)["installed"]["tokens"]["kept_out"] == pytest.approx(_units(4) + _units(3), abs=1)


def test_a_subagent_that_went_on_is_reckoned_too(machine: Machine) -> None:
    main, here = machine.session("main", BEGAN), machine.session("here", BEGAN)
    machine.ask(main)
    agent = Written(main.path.with_suffix("") / "subagents", session="agent-sub1")
    paths = main.site(machine.home).paths("sub1")
    agent.say("go")
    id = agent.grep("one")
    live.reconcile(main.site(machine.home), str(agent.path), "sub1")
    store.journal(paths, journal.entered(id, [], "abcd2345", 11_000, 1_000, 300, ["noise"], agent.now - STEP_S / 4))
    machine.go_on(agent)
    assert machine.worth(here)["installed"]["tokens"]["kept_out"] == pytest.approx(2 * _units(3) + _units(1), abs=1)


def test_those_that_are_too_large_for_one_question_come_one_by_one_and_are_said_to_be_missing_until_then(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    others, here = [machine.session(name, BEGAN) for name in ("one", "two", "three")], machine.session("here", BEGAN)
    for other in others:
        machine.ask(other)
    for other in others:
        machine.go_on(other)
    monkeypatch.setattr(settling, "BYTES", 10)
    assert "Not in it yet: what 2 sessions did lately." in " ".join(machine.ask(here, words="stats").split())
    assert [json.loads(machine.ask(here))["behind"] for _ in range(3)] == [1, 0, 0]


def test_what_was_saved_stays_when_the_transcript_and_the_state_are_gone(machine: Machine) -> None:
    made, here = machine.session("gone", BEGAN), machine.session("here", BEGAN)
    machine.ask(made)
    before = machine.worth(here)
    made.path.unlink()
    assert machine.worth(here) == before
    sweeping._note_past(str(machine.home), "gone")
    folder = machine.home / "sessions" / "gone"
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    assert machine.worth(here) == before


def test_a_rebuild_gives_the_same_days(machine: Machine) -> None:
    made = machine.session("here", BEGAN)
    first = live.reconcile(made.site(machine.home), str(made.path)).state.counts
    (machine.home / "sessions" / "here" / "main.state.json").unlink()
    again = live.reconcile(made.site(machine.home), str(made.path)).state.counts
    assert (first.days, first.ledger, first.settled) == (again.days, again.ledger, made.path.stat().st_size)


def test_of_a_context_the_days_of_its_last_week_are_kept() -> None:
    by_day = {days.days_before("2026-03-10", number): {"charged": 1.0 + number} for number in range(40)}
    table = days.newest_days(by_day)
    assert sorted(table) == [f"{days.days_before('2026-03-10', number)} charged" for number in range(7, -1, -1)]
    assert days.sums_since(table, "2026-03-09")["charged"] == 3.0
    assert days.newest_days({}) == days.newest_days({"": {"charged": 1.0}}) == {}


def test_a_negative_net_is_shown_as_such(machine: Machine) -> None:
    made = machine.session("here", BEGAN, requests=1)
    machine.advised(made, 20_000)
    machine.go_on(made, 2)
    found = machine.worth(made)["installed"]
    assert found["tokens"]["net"] < 0
    assert found["usd"]["net"] == pytest.approx(found["tokens"]["net"] * 5 / 1e6, abs=1e-4)
    assert "Net -" in machine.ask(made, words="stats").splitlines()[3]
    assert ", -$0." in machine.ask(made, words="stats").splitlines()[3]


def test_of_a_model_that_has_no_price_only_tokens_are_said(machine: Machine) -> None:
    made = machine.session("here", BEGAN, model="somebody-elses-model")
    found = machine.worth(made)["installed"]
    assert found["tokens"]["kept_out"] == found["unpriced"] > 0
    assert set(found["usd"].values()) == {0.0}
    lines = machine.ask(made, words="stats").splitlines()
    assert lines[3].endswith("input tokens since installed")
    assert "No price is known for" in " ".join(lines)
    assert "$" not in next(line for line in lines if line.startswith("Did not enter"))


def test_what_was_stored_before_causes_were_told_apart_comes_from_clears() -> None:
    counts = Counts()
    counts.ledger = {"saved": 900.0, "charged": 400.0, "net": 500.0, "clears": 1}
    found = tracker.worth(tracker.metrics_of(counts), BEGAN)
    assert found["installed"]["tokens"] == {"kept_out": 0, "kept_warm": 0, "cleared": 900, "memory": 0, "charged": 400, "net": 500}
    assert found["installed"]["unpriced"] == 1_300
    assert found["week"]["tokens"]["net"] == 0, "of which days it is nobody knows"


def test_days_that_are_none_count_for_nothing() -> None:
    metrics = tracker.metrics_of({"days": {"2026-09-21 charged": "many", "2026-09-21": 7, "x charged": 3, "2026-09-21 other": 9}})
    assert tracker.worth(metrics, BEGAN)["week"]["tokens"]["charged"] in (0, 3)


def test_where_nothing_was_done_there_is_no_table() -> None:
    none = EfficiencyMetrics()
    found = {**dict.fromkeys(("session", "project", "all"), none.to_json()), "worth": tracker.worth(none, BEGAN)}
    lines = stats_lines({**found, "contexts": {}, "prices_dated": "", "behind": 0})
    assert lines[3] == "Net: nothing has been saved or charged yet"
    assert not any("API" in line for line in lines)


def _periods(kept_out: float, kept_warm: float, cleared: float, charged: float, usd: float = 5.0, memory: float = 0.0) -> dict:
    sums = {"kept_out": kept_out, "kept_warm": kept_warm, "cleared": cleared, "memory": memory, "charged": charged}
    sums["net"] = kept_out + kept_warm + cleared + memory - charged
    period = {"since": "", "unpriced": 0.0, "tokens": sums, "usd": {name: amount * usd / 1e6 for name, amount in sums.items()}}
    return dict.fromkeys(("yesterday", "week", "installed"), period)


@pytest.mark.parametrize("columns", [60, 70, 110])
def test_the_table_fits_and_no_two_figures_touch(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "WIDTH", columns)
    for amount in (0.2, 7, 12_345, 999_999, 123_456_789, 9e12):
        for usd in (0.1, 5.0):
            lines = ledgers.table(_periods(amount, amount, amount, 9 * amount, usd))
            assert max(map(len, lines)) <= columns
            assert all(len(line[14:].split()) == 6 for line in lines[1:])


def test_memory_has_a_row_where_it_spared_anything() -> None:
    names = [line[:14].strip() for line in ledgers.table(_periods(1, 2, 3, 4))]
    assert names == ["", "Did not enter", "Kept warm", "Cleared", "Cost", "Net"]
    assert [line[:14].strip() for line in ledgers.table(_periods(1, 2, 3, 4, memory=5))] == [*names[:4], "By memory", *names[4:]]


def test_what_memory_spared_and_cost_is_told_with_its_net() -> None:
    ledger = {**Ledger().to_json(), "memory_tokens": 500, "spared": 2, "saved_memory": 900.0, "charged_memory": 1_000.0}
    ledger |= {"saved": 900.0, "charged": 1_000.0, "net": -100.0}
    assert ledgers.in_words(ledger) == "Saved: memory spared ~2 look-ups; net -100 input tokens (900 saved, 1,000 memory charged)"
    metrics = {**EfficiencyMetrics().to_json(), "ledger": ledger}
    found = {**dict.fromkeys(("session", "project", "all"), metrics), "worth": _periods(0, 0, 0, 1_000, memory=900), "prices_dated": ""}
    told = {line[:28].strip(): line[28:].split() for line in stats_lines({**found, "contexts": {}, "behind": 0}, details=True)}
    assert told["saved: memory (estimate)"] == ["900"] * 3
    assert told["charged: memory"] == ["1,000"] * 3
    assert told["net: memory"] == told["net"] == ["-100"] * 3
    short = stats_lines({**found, "contexts": {}, "behind": 0})
    assert any(line.strip().startswith("net: memory") for line in short)


@pytest.mark.parametrize(
    ("dollars", "said"),
    [
        (0, "$0.00"), (0.0004, "$0.00"), (-0.0004, "$0.00"), (0.003, "$0.003"), (-0.003, "-$0.003"), (0.0096, "$0.01"), (12.344, "$12.34"),
        (-99.99, "-$99.99"), (123.4, "$123"), (-9_999, "-$9,999"), (12_300, "$12.3k"), (1_234_567, "$1.23M"),
    ],
)  # fmt: skip
def test_money_is_said_in_a_few_columns(dollars: float, said: str) -> None:
    assert ledgers._usd(dollars) == said


def test_a_ledger_of_nothing_but_the_door_is_told_in_a_sentence() -> None:
    ledger = {**Ledger().to_json(), "kept_out_tokens": 4_000, "kept_warm": 1, "saved": 5_000.0, "charged": 90.0, "charged_warming": 90.0}
    assert ledgers.in_words({**ledger, "net": 4_910.0}) == (
        "Saved: ~4,000 tokens did not enter, kept warm once; net +4,910 input tokens (5,000 saved, 90 keeping warm charged)"
    )
