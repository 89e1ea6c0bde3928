"""The report: one dict that every answer is drawn from, and the laws that hold in it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from popkit_retention.core.hosts.claude_code import TOOLS
from popkit_retention.core.operations import names
from popkit_retention.core.policy import events
from popkit_retention.core.policy.plans import REASONS, Selection
from popkit_retention.core.policy.ruleset import PROFILES, THRESHOLDS, TIERS
from popkit_retention.core.reclaim.outlook import Outlook, read
from popkit_retention.core.state import shipped
from popkit_retention.core.text import laid_out
from popkit_retention.core.views import clear, one_result, phrases, report, status_line, timeline
from popkit_retention.core.views.panel import notes, panel, reclaimable
from popkit_retention.core.views.results import detail_lines
from popkit_retention.core.views.shapes import Report, ResultRow
from tests.policy.scenario import Scenario
from tests.views.seen import SITE, planned, seen
from tests.views.written import Written

KEYS = {
    "schema", "session", "host", "project", "transcript", "enabled", "profile", "profile_source", "calls", "turns", "at", "context",
    "calibration", "scaled", "tiers", "expired", "reclaimable", "cleared", "by_host", "figures", "compactions", "compacted", "abandoned",
    "pins", "configured_pins",
    "agents", "partial_reads", "results", "doubt", "verdict",
}  # fmt: skip
ROW_KEYS = {
    "id", "number", "label", "tool", "kind", "tier", "basis", "tokens", "at", "turn", "age", "quiet_age", "error", "verdict", "shows",
    "subjects", "state", "pinned_by", "entered", "plan",
}  # fmt: skip


def _report(session: Scenario, now: float = 0.0, **conversation) -> dict:
    return report.build(seen(session, now, **conversation))


def _row(found: dict, number: int) -> dict:
    return names.find_result(found, f"T{number}")


def _busy(profile: str | None = None) -> Scenario:
    session = Scenario(profile=profile)
    session.read("/p/a.ts")
    session.grep("login")
    session.edit("/p/a.ts")
    session.bash_fails("npm test", "3 failed")
    session.bash("npm test", "9 passed")
    session.nothing(3)
    session.read("/p/b.ts", 1, 100)
    session.read("/p/b.ts", 50, 150)
    session.call("AskUserQuestion", {"query": "which"})
    session.bash_fails("mkdir /x", "denied")
    return session


def _planned(session: Scenario, **asked) -> dict:
    """What a dry run of a clear answers with a cold cache."""
    plan = planned(session, Selection(**asked), cold=True)
    return clear.clear_data(plan, plan, False, False, _report(session), True)


def test_the_line_under_the_prompt_says_what_the_report_does():
    found = _report(_busy())
    warm = {"ratio": 0.5, "measured": False, "cache_seconds_left": 241.0}
    first, *others = status_line.of_report({**found, "context": warm}, THRESHOLDS, "5 h 62%").split(" · ")
    assert (first, others[-2:]) == ("context ~50%", ["cache warm 4 min", "5 h 62%"])
    assert "cache" not in status_line.of_report({**found, "context": None}, THRESHOLDS, "")


def test_its_keys_are_the_documented_ones():
    data = _report(_busy())
    assert set(data) == KEYS
    for row in data["results"]:
        assert set(row) == ROW_KEYS | ({"expires"} if row["state"] == "live" else {"ended", "handle"})
    assert Report.__annotations__.keys() == KEYS
    assert ResultRow.__annotations__.keys() == ROW_KEYS | {"expires", "ended", "handle"}
    assert json.loads(json.dumps(data)) == data


CALLS = st.lists(st.sampled_from(["read", "grep", "edit", "test", "fail", "ask", "other", "turn", "commit", "compact", "pin"]), max_size=40)


@given(CALLS, st.sampled_from(sorted(PROFILES)), st.sampled_from([0.6, 1.0, 1.37]))
@settings(deadline=None)
def test_its_sums_are_those_of_its_results(calls, profile, calibration):
    session = Scenario(profile=profile)
    acts = {
        "read": lambda: session.read(f"/p/{session.steps % 3}.ts"),
        "grep": lambda: session.grep("x"),
        "edit": lambda: session.edit(f"/p/{session.steps % 3}.ts"),
        "test": lambda: session.bash("npm test"),
        "fail": lambda: session.bash_fails("npm test"),
        "ask": lambda: session.call("AskUserQuestion", {}),
        "other": session.nothing,
        "turn": session.new_turn,
        "commit": lambda: session.bash("git commit -m x", committed=["/p/1.ts"]),
        "compact": session.compact,
        "pin": lambda: session.pin("*.ts"),
    }
    for call in calls:
        acts[call]()
    session.state.calibration = calibration
    data = _report(session)
    live = [row for row in data["results"] if row["state"] == "live"]
    expired = [row for row in data["results"] if row["state"] == "expired"]
    assert {row["id"] for row in live} == set(session.live)
    assert {row["id"] for row in expired} == set(session.expired)
    for state, rows in (("live", live), ("expired", expired)):
        for tier in TIERS:
            mine = [row["tokens"] for row in rows if row["tier"] == tier]
            assert data["tiers"][tier][state] == {"items": len(mine), "tokens": sum(mine)}
    assert data["expired"] == {"items": len(expired), "tokens": sum(row["tokens"] for row in expired)}
    assert [row["number"] for row in data["results"]] == sorted(row["number"] for row in data["results"])
    whole = _planned(session, now=True)
    gone = [row for row in whole["results"] if row["state"] == "expired"]
    assert gone == whole["results"] or profile == "auto"
    stays = whole["kept"].values()
    assert len(gone) + sum(have["items"] for have in stays) == data["expired"]["items"]
    assert sum(row["tokens"] for row in gone) + sum(have["tokens"] for have in stays) == data["expired"]["tokens"]
    assert whole["tokens"] == whole["sum"]["leaves"]
    drawn = [line for line in laid_out(timeline.timeline_lines(data, None)) if line.startswith("T") and "[" in line]
    assert len(drawn) == len(data["results"])


def test_a_search_says_how_many_calls_and_seconds_it_has():
    session = Scenario()
    session.grep("login")
    session.nothing(2)
    data = _report(session, session.at + 100)
    expires = _row(data, 1)["expires"]
    assert (expires["at_call"], expires["calls_left"]) == (6, 3)
    assert expires["seconds_left"] == 300 - 102
    assert data["tiers"]["short"]["next"]["soonest"] == {"number": 1, "calls_left": 3, "seconds_left": 198}
    assert "T1 in 3 calls or 3 min" in "\n".join(laid_out(panel(data)))


def test_what_the_report_says_of_the_end_is_what_the_engine_does():
    """A search ends at the call that the report names, under every profile."""
    for profile in ("spec", "aggressive", "conservative"):
        session = Scenario(profile=profile)
        session.nothing(2)
        session.grep("login")
        at_call = _row(_report(session), 3)["expires"]["at_call"]
        session.nothing(at_call - 4)
        assert "T3" in session.live
        session.nothing()
        assert session.expired == {"T3": "ttl_calls"}


@pytest.mark.parametrize(
    ("number", "on"), [(5, ["rerun", "session_end"]), (9, ["edit", "commit", "reread"]), (11, ["manual"]), (12, ["success", "manual"])]
)
def test_each_kind_names_the_events_that_end_it(number, on):
    assert _row(_report(_busy()), number)["expires"]["on"] == on


def test_two_live_runs_of_one_name_are_named_once_and_the_newest_run_first():
    session = Scenario()
    session.bash("npm run build")
    session.bash("cd /p/web && npm test")
    session.bash("cd /p/api && npm test")
    assert len(session.live) == 3, "the runs are of different folders"
    (tier,) = (sums for sums in _report(session)["tiers"].values() if sums["live"]["items"])
    assert tier["next"]["names"] == ["npm test", "npm run build"]


def test_partial_reads_of_a_file_are_shown_together():
    data = _report(_busy())
    assert data["partial_reads"] == [{"path": "/p/b.ts", "lines": "lines 1-150", "reads": [9, 10]}]
    assert "  /p/b.ts lines 1-150 in 2 reads" in laid_out(detail_lines(data))


def test_an_expired_result_names_the_call_that_ended_it():
    ended = _row(_report(_busy()), 4)["ended"]
    assert (ended["trigger"], ended["at_call"], ended["by"], ended["by_number"]) == ("superseded", 5, "T5", 5)
    assert ended["reasons"][0] == "a newer run of the same thing: Bash npm test"


def test_a_pin_names_what_holds_the_result():
    session = _busy()
    session.pin("T9")
    session.pin("*.ts")
    data = _report(session)
    assert _row(data, 9)["pinned_by"] == "T9"
    assert _row(data, 10)["pinned_by"] == "*.ts"
    assert _row(data, 9)["expires"]["on"] == ["unpin"]
    assert phrases.ends_until(_row(data, 9)) == "pinned"


def test_a_result_that_a_pin_brought_back_is_over_again_once_it_is_let_go():
    session = Scenario()
    session.bash("npm test")
    session.bash("npm test")
    session.pin("T1")
    assert _row(_report(session), 1)["state"] == "live"
    session.unpin("T1")
    row = _row(_report(session), 1)
    assert (row["state"], row["ended"]["trigger"]) == ("expired", "superseded")


def _grow(session: Scenario) -> None:
    """None of its results is too small to be worth it."""
    for result in (*session.state.live.values(), *session.state.expired.values()):
        result.tokens = 20 * result.tokens + 200


@pytest.mark.parametrize("tier", TIERS)
def test_a_forced_tier_takes_its_live_results_but_none_that_is_pinned(tier):
    session = _busy()
    session.pin("T9")
    _grow(session)
    forced = _planned(session, tier=tier)
    taken = {row["id"] for row in forced["results"]}
    assert taken == {row["id"] for row in _report(session)["results"] if row["tier"] == tier and row["id"] != "T9"}
    assert {row["tier"] for row in forced["results"]} <= {tier}


def test_unasked_nothing_that_lives_would_go_by_lifetime():
    session = _busy("spec")
    _grow(session)
    assert {row["state"] for row in _planned(session, now=True)["results"]} == {"expired"}


def test_live_results_that_auto_would_clear_are_shown_with_their_chance_of_need():
    """Unasked."""
    session = _busy()
    session.read("/p/long.ts", 1, 900)
    session.nothing(150)
    planned = _planned(session)
    (row,) = [row for row in planned["results"] if row["label"] == "Read long.ts:1-900"]
    assert (row["state"], planned["profile"]) == ("live", "auto")
    assert row["need"] == round(shipped.need_model().probability(session.result("T13"), session.state, TOOLS), 4)
    assert all(0 <= row["need"] <= 1 for row in planned["results"])
    assert {row["need"] for row in _planned(session, tier="medium")["results"]} == {None}, "what is forced was not weighed"


@pytest.mark.parametrize(
    ("states", "says"),
    [
        (["expired"], "1 expired result"), (["live"], "1 result (1 live but unused)"),
        (["live", "expired"], "2 results (1 live but unused)"),
    ],
)  # fmt: skip
def test_of_what_would_leave_it_says_how_much_is_live(states: list[str], says: str):
    takes = {"items": len(states), "tokens": 900, "further": False}
    results = [{"state": state, "plan": {"action": "clear", "cold": "clear"}} for state in states]
    [line] = laid_out(reclaimable({"reclaimable": {"now": takes, "cold": takes}, "results": results}))  # type: ignore[typeddict-item]
    assert line == f"Reclaimable: ~900 tokens, from {says}"


def test_what_a_placeholder_replaced_is_neither_reclaimable_nor_expired():
    session = _busy()
    session.clear("T12")
    session.observe(events.Cleared({"T4": "abcd2345", "T12": "bcde3456"}))
    data = _report(session)
    assert {row["number"]: row["handle"] for row in data["results"] if row["state"] == "cleared"} == {4: "abcd2345", 12: "bcde3456"}
    assert data["cleared"]["items"] == 2
    assert data["expired"]["items"] == len([row for row in data["results"] if row["state"] == "expired"])
    assert data["tiers"]["preserved"]["expired"]["items"] == 0
    assert phrases.how_ended(_row(data, 4)) == "cleared: restore abcd2345"


def test_what_was_restored_says_how_long_it_is_held():
    session = _busy()
    session.clear("T12")
    session.observe(events.Cleared({"T12": "bcde3456"}))
    session.observe(events.Restored("T12", True, session.at))
    row = _row(_report(session), 12)
    assert (row["state"], row["pinned_by"], row["expires"]["held_until"], row["expires"]["at_call"]) == ("live", "", 33, None)
    assert phrases.ends_until(row) == "restored, held until T33"
    session.pin("T12")
    assert phrases.ends_until(_row(_report(session), 12)) == "pinned"


@pytest.mark.parametrize("word", ["T9", "t9", "9", "toolu_nine", "_nine"])
def test_a_result_goes_by_its_number_its_id_and_a_part_of_it(word):
    session = _busy()
    session.call("Read", {"file_path": "/p/c.ts"}, id="toolu_nine")
    data = _report(session)
    assert names.find_result(data, word)["number"] == (13 if "nine" in word else 9)


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("T99", "there is no call T99. The newest is T12. Near it: T8, T9, T10, T11, T12"),
        ("0", "there is no call T0. The newest is T12. Near it: T1, T2, T3, T4, T5"),
        ("same", '"same" could be T13, T14. Give more of the id, or the number'),
        ("none-such", 'no result has an id with "none-such" in it. Give a number such as T14. The newest are'),
        ("sa", 'no result has an id with "sa" in it'),
    ],
)
def test_a_name_of_none_or_several_is_answered_with_those_near(word, message):
    session = _busy()
    session.call("Read", {"file_path": "/p/c.ts"}, id="toolu_same1")
    session.call("Read", {"file_path": "/p/d.ts"}, id="toolu_same2")
    data = _report(session)
    data["calls"] = 12 if word in ("T99", "0") else data["calls"]
    data["results"] = [row for row in data["results"] if row["number"] <= 12 or word not in ("T99", "0")]
    with pytest.raises(names.ResultNotFound) as error:
        names.find_result(data, word)
    assert message in str(error.value)


def test_without_a_transcript_nobody_knows_which_compactions_were_clears():
    session = _busy()
    session.compact()
    found = report.build(Outlook(SITE, "", session.state, session.rules, session.at))
    assert (found["compacted"], found["compactions"]) == (session.state.index, None)
    assert f"{session.state.index} results are no longer in the context, whole or in part." in laid_out(notes(found), 100)


def test_a_compacted_result_is_shown_as_out_of_the_context():
    session = Scenario()
    session.read("/p/a.ts")
    session.compact()
    session.read("/p/b.ts")
    with pytest.raises(names.ResultNotFound, match="T1 is out of the context"):
        names.find_result(_report(session), "T1")


@pytest.mark.parametrize(
    ("label", "columns", "short"),
    [
        ("Read src/a.ts", 26, "Read src/a.ts"),
        ("Read packages/plugin-backfill/README.md", 26, "Read …n-backfill/README.md"),
        ("Edit src/components/checkout/Step.tsx", 26, "Edit …/checkout/Step.tsx"),
        ("Bash cd /home/dev/shop && npm test", 26, "Bash … npm test"),
        ("Bash NODE_ENV=test CI=1 npm run build:all", 26, "Bash … npm run build:all"),
        ("Bash cd /a && X='a b' make", 16, "Bash … make"),
        ("Bash python3 scripts/train.py --epochs 3", 26, "Bash python3 scripts/trai…"),
        ('Grep "a very long pattern indeed"', 20, 'Grep "a very long p…'),
    ],
)
def test_a_label_is_shortened_to_its_most_telling_part(label, columns, short):
    assert phrases.shortened(label, columns) == short


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("Bash npm test", "npm test"),
        ("Bash cd /x && CI=1 npm run build 2>&1 | tail -5", "npm run build"),
        ("Bash cargo test; echo done", "cargo test"),
        ("Bash pnpm --filter @scope/package exec jest --config x", "test"),
        ("Bash", "test"),
    ],
)
def test_a_run_has_the_name_that_a_person_would_type(label, name):
    assert phrases.run_name(label, "test") == name


@pytest.mark.parametrize(("model", "requests", "says"), [
    ("claude-opus-5", 2, "~ marks estimates."),
    ("claude-opus-4-6", 2, "~ marks estimates."),  # how its model counts is no measure of this session
    ("claude-opus-5", 30, "~ marks estimates, scaled x0.82 to this session's usage."),
    ("claude-opus-4-6", 30, "~ marks estimates, scaled x0.94 to this session's usage."),
])  # fmt: skip
def test_the_panel_explains_its_tilde_once_and_a_scale_only_if_one_was_measured(tmp_path, model, requests, says):
    session = Written(tmp_path / "p")
    session.model = model
    session.say("go")
    for number in range(requests):
        session.call("Read", {"file_path": f"/p/{number}.py"}, "a line of a.py\n" * 800)
    lines = laid_out(panel(report.build(read(session.site(tmp_path / "home"), str(session.path), session.now))))
    assert [says in line for line in lines].count(True) == 1, lines


def test_retention_that_is_off_is_shown_as_off():
    session = Scenario({"enabled": False})
    assert "Retention is switched off" in "\n".join(laid_out(panel(_report(session))))


def test_there_are_words_for_every_reason_of_a_plan() -> None:
    goes = {"worth", "expired", "asked", "with_others", "not_text"}
    assert set(one_result._REASONS) == set(REASONS)
    assert set(phrases.WHY_KEPT) == set(REASONS) - goes
