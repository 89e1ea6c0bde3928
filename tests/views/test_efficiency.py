"""The figures of `stats`: read from stored counters, summed over contexts, and nothing booked as reclaimed."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

from hooks.utils import efficiency_tracker as tracker
from hooks.utils.efficiency_tracker import EfficiencyMetrics
from hooks.utils.operations.context import answer
from hooks.utils.policy.context import Counts
from tests.views.written import long_session, spec_session


def _ask(written, home: Path, line: str = "stats --json") -> dict:
    return json.loads(answer(line, written.site(home), str(written.path), written.now))


def test_it_has_the_fields_of_the_specification() -> None:
    names = {field.name for field in fields(EfficiencyMetrics)}
    assert {"items_expired", "tokens_reclaimed", "supersession_events", "tier_distribution"} <= names
    assert EfficiencyMetrics().tier_distribution == {}


def test_counters_become_metrics() -> None:
    counts = Counts()
    counts.results = {"short": 3, "medium": 1}
    counts.results_tokens = {"short": 300}
    counts.expired = {"short": 2}
    counts.expired_tokens = {"short": 200}
    counts.false_expirations = {"short": 1}
    counts.superseded, counts.compacted = 1, 4
    metrics = tracker.metrics_of(counts, 1.5)
    assert metrics == tracker.metrics_of(counts.to_json(), 1.5)
    assert (metrics.items_expired, metrics.results, metrics.false_expirations, metrics.supersession_events) == (2, 4, 1, 1)
    assert (metrics.results_tokens, metrics.expired_tokens_by_tier) == ({"short": 450}, {"short": 300})
    assert (metrics.compacted, metrics.contexts, metrics.tokens_reclaimed) == (4, 1, 0)


def test_counters_that_are_none_count_for_nothing() -> None:
    broken = {"results": {"short": "many", "medium": True}, "superseded": "x", "expired": [], "compacted": None}
    assert tracker.metrics_of(broken) == EfficiencyMetrics(contexts=1)


def test_a_sum_is_the_sum_of_every_field() -> None:
    one = EfficiencyMetrics(items_expired=1, tier_distribution={"short": 1}, sessions=1)
    two = EfficiencyMetrics(items_expired=2, tier_distribution={"short": 2, "medium": 5})
    assert tracker.sum_metrics([one, two]) == EfficiencyMetrics(items_expired=3, tier_distribution={"short": 3, "medium": 5}, sessions=1)
    assert tracker.sum_metrics([]) == EfficiencyMetrics()
    assert one.tier_distribution == {"short": 1}


def test_session_project_and_all_add_up(tmp_path: Path) -> None:
    home = tmp_path / "home"
    here = spec_session(tmp_path / "a", session="here")
    _ask(spec_session(tmp_path / "b", session="same-project"), home)
    _ask(spec_session(tmp_path / "c", session="elsewhere", project="/home/dev/other"), home)
    found = _ask(here, home)
    assert [found[scope]["sessions"] for scope in ("session", "project", "all")] == [1, 2, 3]
    assert [found[scope]["results"] for scope in ("session", "project", "all")] == [14, 28, 42]
    assert found["session"]["expired_by_tier"] == {"ephemeral": 2, "short": 2, "medium": 2, "session": 1}
    assert found["session"]["supersession_events"] == 2
    assert {found[scope]["tokens_reclaimed"] for scope in ("session", "project", "all")} == {0}


def test_a_subagents_context_counts_in_its_session(tmp_path: Path) -> None:
    home = tmp_path / "home"
    written = spec_session(tmp_path / "a")
    _ask(written, home)
    folder = home / "sessions" / written.session
    state = json.loads((folder / "main.state.json").read_text())
    (folder / "agent-explore1.state.json").write_text(json.dumps({**state, "agent_id": "explore1"}))
    (folder / "agent-broken.state.json").write_text("{")
    found = _ask(written, home)
    assert set(found["contexts"]) == {"", "explore1"}
    assert found["session"]["results"] == 28
    assert _ask(written, home, "retention --json")["agents"][0]["agent"] == "explore1"


def test_expired_counts_in_stats_are_those_of_the_panel_where_nothing_was_compacted(tmp_path: Path) -> None:
    home, written = tmp_path / "home", spec_session(tmp_path / "a")
    panel = _ask(written, home, "retention --json")
    assert _ask(written, home)["session"]["items_expired"] == panel["expired"]["items"]


def test_what_was_fetched_again_unchanged_is_a_false_expiration(tmp_path: Path) -> None:
    written = spec_session(tmp_path / "a")
    written.grep("cookie", "src/a.ts: cookie\n" * 9)
    for number in range(6):
        written.bash(f"echo {number}")
    written.grep("cookie", "src/a.ts: cookie\n" * 9)
    assert _ask(written, tmp_path / "home")["session"]["false_expirations_by_tier"] == {"short": 1}


def test_a_person_sees_false_expirations_by_tier_and_what_they_are(tmp_path: Path) -> None:
    written, home = spec_session(tmp_path / "a"), tmp_path / "home"
    written.grep("cookie", "src/a.ts: cookie\n" * 9)
    for number in range(6):
        written.bash(f"echo {number}")
    written.grep("cookie", "src/a.ts: cookie\n" * 9)
    shown = answer("stats", written.site(home), str(written.path), written.now)
    lines = [line.split() for line in shown.splitlines()]
    at = next(place for place, words in enumerate(lines) if words[:2] == ["False", "expirations"])
    assert lines[at][2::2] == ["1", "1", "1"]
    assert lines[at + 1] == ["short", "1", "1", "1"]
    assert lines[at + 2][:3] == ["Removed", "by", "compactions"], "of the other tiers none was false"
    assert "A false expiration is a result that expired and was then fetched again unchanged, or restored." in " ".join(shown.split())


def test_compacted_results_are_counted_and_not_as_expired(tmp_path: Path) -> None:
    session = _ask(long_session(tmp_path / "a"), tmp_path / "home")["session"]
    assert session["compacted"] == 8
    assert session["results"] == 50


def test_where_nothing_is_stored_every_figure_is_zero(tmp_path: Path) -> None:
    assert tracker.all_metrics(str(tmp_path)) == EfficiencyMetrics()
    assert tracker.session_metrics(str(tmp_path), "none") == EfficiencyMetrics()
