"""What PopKit was worth: over all sessions of this machine, in three periods, in tokens and in money."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from popkit_retention.core import efficiency_tracker as tracker
from popkit_retention.core import text, units
from popkit_retention.core.efficiency_tracker import EfficiencyMetrics, sums_since
from popkit_retention.core.io.system import day_of, days_before
from popkit_retention.core.policy import figures
from popkit_retention.core.policy.context import Counts
from popkit_retention.core.policy.ledger import Ledger
from popkit_retention.core.state import journal, past, reconciling, session, stale_ledgers, store
from popkit_retention.core.state.rebuild import newest_days
from popkit_retention.core.views import amounts, savings
from popkit_retention.core.views.stats import stats_lines
from tests.reclaim.earlier import answer
from tests.views.written import BEGAN, STEP_S, Written

DAY_S = 86_400.0
LEFT_OUT = 10_000 * 299.5 / 1_000  # tokens, of the entry below
KEPT = round(LEFT_OUT)
USD = 5 / 1e6  # a token, of the model below


class Machine:
    """Sessions on one machine."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.home = folder, folder / "popkit"

    def session(self, name: str, at: float, model: str = "claude-opus-4-8", requests: int = 3) -> Written:
        """One of which a result entered shorter, and so many requests went without it."""
        written = Written(self.folder / "p", session=name)
        written.now, written.model = at, model
        written.say("go")
        id = written.grep("one")
        self._note(written, journal.entered(id, [], "abcd2345", 11_000, 1_000, 300, ["noise"], written.now - STEP_S / 4))
        self.go_on(written, requests)
        session.update(str(self.home), name, transcript=str(written.path), project=written.project)
        return written

    def advised(self, written: Written, tokens: int) -> None:
        self._note(written, journal.advised(tokens, written.now))

    def _note(self, written: Written, entry: dict) -> None:
        store.journal(written.site(self.home).paths(), entry)

    def go_on(self, written: Written, requests: int = 1) -> None:
        for number in range(requests):
            written.grep(f"more {number}")

    def ask(self, written: Written, now: float | None = None, words: str = "stats --json") -> str:
        return answer(words, written.site(self.home), str(written.path), written.now if now is None else now)

    def worth(self, written: Written, now: float | None = None) -> dict:
        return json.loads(self.ask(written, now))["worth"]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def _units(requests: int) -> float:
    return LEFT_OUT * (1.25 + (requests - 1) * 0.1)


def test_each_period_has_what_was_saved_in_it_and_all_are_over_all_sessions(machine: Machine) -> None:
    for name, days_ago in (("today", 0), ("yesterday", 1), ("last-week", 5), ("long-ago", 40)):
        written = machine.session(name, BEGAN - days_ago * DAY_S)
        machine.ask(written)
    worth = machine.worth(machine.session("here", BEGAN), BEGAN + 100)
    each = _units(3)
    sessions = {"yesterday": 3, "week": 4, "installed": 5}
    for period, number in sessions.items():
        assert worth[period]["kept_out_tokens"] == number * KEPT
        assert worth[period]["saved_by_usd"]["kept_out"] == pytest.approx(number * each * USD, rel=1e-4)
    assert worth["installed"]["net_usd"] == worth["installed"]["saved_usd"]
    assert worth["yesterday"]["since"] == days_before(day_of(BEGAN), 1)


def test_a_day_later_what_was_today_is_yesterday_and_then_of_the_week(machine: Machine) -> None:
    written = machine.session("here", BEGAN)
    by_day = [machine.worth(written, BEGAN + number * DAY_S) for number in (0, 1, 2, 6, 7)]
    assert [bool(each["yesterday"]["net_usd"]) for each in by_day] == [True, True, False, False, False]
    assert [bool(each["week"]["net_usd"]) for each in by_day] == [True, True, True, True, False]
    assert len({each["installed"]["net_usd"] for each in by_day}) == 1


def test_a_session_over_several_days_has_its_part_in_each(machine: Machine) -> None:
    written = machine.session("here", BEGAN, requests=1)
    written.now += 3 * DAY_S
    written.tokens = 0  # nothing is left in the cache
    machine.go_on(written)
    worth = machine.worth(written)
    assert worth["week"]["net_usd"] == pytest.approx(worth["installed"]["net_usd"], abs=1e-5)
    assert worth["installed"]["saved_usd"] == pytest.approx(2 * LEFT_OUT * 1.25 * USD, rel=1e-3)
    assert worth["yesterday"]["saved_usd"] == pytest.approx(LEFT_OUT * 1.25 * USD, rel=1e-3), "written again, when it was cold"
    assert (worth["yesterday"]["kept_out_tokens"], worth["week"]["kept_out_tokens"]) == (0, KEPT), "it was kept out once"


def test_sessions_that_went_on_since_are_reckoned_again_before_the_sums_are_shown(machine: Machine) -> None:
    other, here = machine.session("other", BEGAN), machine.session("here", BEGAN)
    first = machine.worth(here)["installed"]["saved_usd"]
    assert first == pytest.approx(_units(3) * USD, rel=1e-3), "of the other one nothing is stored yet"
    machine.ask(other)
    machine.go_on(other)
    assert machine.worth(here)["installed"]["saved_usd"] == pytest.approx((_units(4) + _units(3)) * USD, rel=1e-3)


def test_a_subagent_that_went_on_is_reckoned_too(machine: Machine) -> None:
    main, here = machine.session("main", BEGAN), machine.session("here", BEGAN)
    machine.ask(main)
    agent = Written(main.path.with_suffix("") / "subagents", session="agent-sub1")
    paths = main.site(machine.home).paths("sub1")
    agent.say("go")
    id = agent.grep("one")
    reconciling.reconcile(main.site(machine.home), str(agent.path), "sub1")
    store.journal(paths, journal.entered(id, [], "abcd2345", 11_000, 1_000, 300, ["noise"], agent.now - STEP_S / 4))
    machine.go_on(agent)
    worth = machine.worth(here)["installed"]
    assert worth["saved_usd"] == pytest.approx((2 * _units(3) + _units(1)) * USD, rel=1e-3)
    assert worth["kept_out_tokens"] == 3 * KEPT


def test_sessions_too_large_for_one_question_come_singly_and_are_missing_until_then(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    others, here = [machine.session(name, BEGAN) for name in ("one", "two", "three")], machine.session("here", BEGAN)
    for other in others:
        machine.ask(other)
    for other in others:
        machine.go_on(other)
    monkeypatch.setattr(stale_ledgers, "SETTLED_BYTES", 10)
    assert "Not included yet: what 2 sessions did lately." in " ".join(machine.ask(here, words="stats").split())
    assert [json.loads(machine.ask(here))["behind"] for _ in range(3)] == [1, 0, 0]


def test_what_was_saved_stays_when_the_transcript_and_the_state_are_gone(machine: Machine) -> None:
    written, here = machine.session("gone", BEGAN), machine.session("here", BEGAN)
    machine.ask(written)
    before = machine.worth(here)
    written.path.unlink()
    assert machine.worth(here) == before
    past.note_past(str(machine.home), "gone")
    folder = machine.home / "sessions" / "gone"
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    assert machine.worth(here) == before


def test_a_rebuild_gives_the_same_days(machine: Machine) -> None:
    written = machine.session("here", BEGAN)
    first = reconciling.reconcile(written.site(machine.home), str(written.path)).state.counts
    (machine.home / "sessions" / "here" / "main.state.json").unlink()
    again = reconciling.reconcile(written.site(machine.home), str(written.path)).state.counts
    assert (first.days, first.ledger, first.settled) == (again.days, again.ledger, written.path.stat().st_size)


def test_of_a_context_the_days_of_its_last_week_are_kept() -> None:
    by_day = {days_before("2026-03-10", number): {"charged": 1.0 + number} for number in range(40)}
    table = newest_days(by_day)
    assert sorted(table) == [f"{days_before('2026-03-10', number)} charged" for number in range(7, -1, -1)]
    assert sums_since(table, "2026-03-09")["charged"] == 3.0
    assert newest_days({}) == newest_days({"": {"charged": 1.0}}) == {}


def test_a_negative_net_is_shown_as_such(machine: Machine) -> None:
    written = machine.session("here", BEGAN, requests=1)
    machine.advised(written, 20_000)
    machine.go_on(written, 2)
    worth = machine.worth(written)["installed"]
    assert worth["net_usd"] < 0 < worth["cost_usd"]
    assert worth["net_usd"] == pytest.approx(worth["saved_usd"] - worth["cost_usd"], abs=2e-6)
    assert machine.ask(written, words="stats").splitlines()[3] == f"Net {amounts.usd(worth['net_usd'])} since installed (API-equivalent)"
    assert amounts.usd(worth["net_usd"]).startswith("-$0.")


def test_without_a_price_cost_and_net_say_so_and_tokens_do_not_take_their_place(machine: Machine) -> None:
    written = machine.session("here", BEGAN, model="somebody-elses-model")
    worth = machine.worth(written)["installed"]
    assert (worth["kept_out_tokens"], worth["unpriced"]) == (KEPT, True)
    assert {worth["cost_usd"], worth["net_usd"], worth["saved_usd"], *worth["saved_by_usd"].values()} == {None}
    lines = machine.ask(written, words="stats").splitlines()
    assert lines[3] == "Net: no price is known for the models that were used"
    assert "Requests to a model whose price is not known are not in the money." in " ".join(lines)
    assert not any("$" in line for line in lines)
    assert [line.split() for line in lines if line.startswith("Net  ")] == [["Net", "-", "-", "-"]] * 2
    joined = " ".join(machine.ask(written, words="retention").split())
    assert f"This session: kept out {units.long_tokens(KEPT)}, cost and net unknown (no price is known for its model)" in joined


def test_of_several_models_the_priced_ones_are_in_the_money_and_the_rest_is_missing(machine: Machine) -> None:
    """The rest is shown as missing."""
    machine.ask(machine.session("there", BEGAN, model="somebody-elses-model"))
    written = machine.session("here", BEGAN)
    worth = machine.worth(written)["installed"]
    assert (worth["kept_out_tokens"], worth["unpriced"]) == (2 * KEPT, True)
    assert worth["net_usd"] == pytest.approx(_units(3) * USD, rel=1e-3)
    assert "Requests to a model whose price is not known" in " ".join(machine.ask(written, words="stats").split())


def test_entries_older_than_causes_count_as_clears_at_no_known_price() -> None:
    """They were stored before causes were distinguished."""
    counts = Counts()
    counts.ledger = {"saved": 900.0, "charged": 400.0, "net": 500.0, "clears": 1, "reclaimed_tokens": 70}
    found = tracker.worth(tracker.metrics_of(counts), BEGAN)
    assert (found["installed"]["cleared_tokens"], found["installed"]["net_usd"], found["installed"]["unpriced"]) == (70, None, True)
    assert found["week"]["net_usd"] == 0, "of which days it is nobody knows"


def test_days_that_are_none_count_for_nothing() -> None:
    metrics = tracker.metrics_of({"days": {"2026-09-21 usd_charged": "many", "2026-09-21": 7, "x usd_charged": 3, "2026-09-21 other": 9}})
    assert tracker.worth(metrics, BEGAN)["week"]["cost_usd"] in (0, 3)


def test_where_nothing_was_done_there_is_no_table() -> None:
    none = EfficiencyMetrics()
    lines = text.laid_out(stats_lines((none, none, none), tracker.worth(none, BEGAN), "", 0))
    assert lines[3] == "Net: PopKit has saved and cost nothing yet"
    assert not any("Since" in line for line in lines)


def _periods(tokens: float, usd: float, cost: float, memory: float = 0.0) -> dict:
    sums = {"kept_out_tokens": tokens, "reclaimed_tokens": tokens, "usd_charged": cost, "usd_memory": memory}
    period = {"since": "", **figures.of({**sums, **dict.fromkeys(("usd_kept_out", "usd_cleared"), usd)})}
    return dict.fromkeys(("yesterday", "week", "installed"), period)


@pytest.mark.parametrize("columns", [40, 49, 60, 70, 110])
def test_the_table_fits_and_no_two_figures_touch(columns: int) -> None:
    for tokens in (0.2, 7, 12_345, 999_999, 123_456_789, 9e12):
        for usd in (0.001, 7.2, 1_234.5, 9e7):
            lines = text.laid_out(savings.ledger_table(_periods(tokens, usd, 9 * usd)), columns)
            assert max(map(len, lines)) <= columns
            assert {len(line[16:].split()) for line in lines[1:]} == {0, 3}


def test_memory_has_a_row_where_it_saved_anything() -> None:
    names = [line[:16].strip() for line in text.laid_out(savings.ledger_table(_periods(1, 2, 3)))]
    assert names == ["", "Kept out", "Cleared", "Saved by", "smaller results", "clears", "Cost", "Net"]
    assert [line[:16].strip() for line in text.laid_out(savings.ledger_table(_periods(1, 2, 3, memory=5)))] == [
        *names[:6],
        "memory",
        *names[6:],
    ]


def test_what_memory_spared_and_cost_is_shown_with_its_net() -> None:
    ledger = {**Ledger().to_json(), "memory_tokens": 500, "spared": 2, "usd_memory": 0.9, "usd_charged": 1.0, "usd_charged_memory": 1.0}
    of_session = figures.of_ledger(ledger)
    assert savings.ledger_in_words(of_session) == "This session: memory spared ~2 look-ups, cost $1.00, net -$0.10"
    metrics, worth = EfficiencyMetrics(ledger=ledger), _periods(0, 0, 1.0, memory=0.9)
    lines = text.laid_out(stats_lines((metrics, metrics, metrics), worth, "", 0, contexts={}))
    rows = [(line[:28].strip(), line[28:].split()) for line in lines]
    assert ("memory", ["$0.90"] * 3) in rows
    assert ("memory", ["$1.00"] * 3) in rows
    assert ("Net of memory", ["-$0.10"] * 3) in rows
    assert ("Net", ["-$0.10"] * 3) in rows
    assert any(line.startswith("Net of memory") for line in text.laid_out(stats_lines((metrics, metrics, metrics), worth, "", 0)))


@pytest.mark.parametrize(
    ("dollars", "words"),
    [
        (0, "$0.00"), (0.0004, "$0.00"), (-0.0004, "$0.00"), (0.003, "$0.003"), (-0.003, "-$0.003"), (0.0096, "$0.01"), (12.344, "$12.34"),
        (-99.99, "-$99.99"), (123.4, "$123"), (-9_999, "-$9,999"), (12_300, "$12.3k"), (1_234_567, "$1.23M"),
    ],
)  # fmt: skip
def test_money_fits_in_a_few_columns(dollars: float, words: str) -> None:
    assert amounts._dollars(dollars) == words


def test_a_ledger_of_nothing_but_the_door_is_summed_up_in_a_sentence() -> None:
    ledger = {
        **Ledger().to_json(),
        "kept_out_tokens": 4_000,
        "usd_kept_out": 0.02,
        "usd_charged": 0.1,
    }
    assert savings.ledger_in_words(figures.of_ledger(ledger)) == ("This session: kept out ~4,000 tokens, cost $0.10, net -$0.08")
