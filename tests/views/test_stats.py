"""The figures of `stats`: read from stored counters, summed over contexts, and nothing booked as reclaimed; and the card that shows them to
others, as a picture and as Markdown, also where PopKit was worth nothing."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from popkit_retention.core import efficiency_tracker as tracker
from popkit_retention.core import flag_parser, text
from popkit_retention.core.efficiency_tracker import EfficiencyMetrics
from popkit_retention.core.operations import CONTEXT
from popkit_retention.core.operations.context_words import respond
from popkit_retention.core.policy import figures
from popkit_retention.core.policy.context import Counts
from popkit_retention.core.state.site import Site
from popkit_retention.core.views import card, stats
from tests.reclaim.earlier import answer
from tests.views.written import Written, spec_session


def _ask(written, home: Path, line: str = "stats --json") -> dict:
    return json.loads(answer(line, written.site(home), str(written.path), written.now))


def test_counters_become_metrics() -> None:
    counts = Counts()
    counts.results = {"short": 3, "medium": 1}
    counts.results_tokens = {"short": 300}
    counts.expired = {"short": 2}
    counts.expired_tokens = {"short": 200}
    counts.false_expirations = {"short": 1}
    counts.superseded = 1
    metrics = tracker.metrics_of(counts, 1.5)
    assert metrics == tracker.metrics_of(counts.to_json(), 1.5)
    assert (metrics.items_expired, metrics.results, metrics.false_expirations, metrics.supersession_events) == (2, 4, 1, 1)
    assert (metrics.results_tokens, metrics.expired_tokens_by_tier) == ({"short": 450}, {"short": 300})
    assert (metrics.contexts, metrics.tokens_reclaimed) == (1, 0)


def test_counters_that_are_none_count_for_nothing() -> None:
    broken = {"results": {"short": "many", "medium": True}, "superseded": "x", "expired": []}
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
    data = _ask(here, home)
    assert [data[scope]["sessions"] for scope in ("session", "project", "all")] == [1, 2, 3]
    assert [data[scope]["results"] for scope in ("session", "project", "all")] == [14, 28, 42]
    assert data["session"]["expired_by_tier"] == {"ephemeral": 2, "short": 2, "medium": 2, "session": 1}
    assert data["session"]["supersession_events"] == 2
    assert {data[scope]["tokens_reclaimed"] for scope in ("session", "project", "all")} == {0}


def test_a_subagents_context_counts_in_its_session(tmp_path: Path) -> None:
    home = tmp_path / "home"
    written = spec_session(tmp_path / "a")
    _ask(written, home)
    folder = home / "sessions" / written.session
    state = json.loads((folder / "main.state.json").read_text())
    (folder / "agent-explore1.state.json").write_text(json.dumps({**state, "agent_id": "explore1"}))
    (folder / "agent-broken.state.json").write_text("{")
    data = _ask(written, home)
    assert set(data["contexts"]) == {"", "explore1"}
    assert data["session"]["results"] == 28
    panel = _ask(written, home, "retention --json")
    (agent,) = panel["agents"]
    assert (agent["agent"], agent["calls"]) == ("explore1", panel["calls"])
    assert agent["live"]["items"] == len(state["live"]) > 0
    assert agent["expired"] == {"items": 0, "tokens": 0}, "its own log has none"


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
    assert lines[at + 2][:2] == ["Kept", "out,"], "of the other tiers none was false"
    assert "A false expiration is a result that expired and was then fetched again unchanged, or restored." in " ".join(shown.split())


def test_of_a_session_that_was_not_tracked_stats_say_where_its_figures_are_from(tmp_path: Path) -> None:
    written, home = spec_session(tmp_path / "a"), tmp_path / "home"

    def read() -> str:
        site = Site({"POPKIT_HOME": str(home)}, written.session, "/shop", only_reads=True)
        return " ".join(answer("stats", site, str(written.path), written.now).split())

    note = "This session was not tracked: its results are counted from the transcript, and only in its column."
    untracked = read()
    assert note in untracked
    assert "Tool results 14 0 0" in untracked
    _ask(written, home)
    assert note not in read()


def test_where_nothing_is_stored_every_figure_is_zero(tmp_path: Path) -> None:
    assert tracker.all_metrics(str(tmp_path)) == EfficiencyMetrics()
    assert tracker.session_metrics(str(tmp_path), "none") == EfficiencyMetrics()


# --- the card -----------------------------------------------------------------------------------------------------------------------


GOLDENS = Path(__file__).parent / "goldens"
GAIN = {"kept_out_tokens": 812_345, "reclaimed_tokens": 1_204_000, "usd_kept_out": 21.5, "usd_cleared": 9.1,
        "usd_charged": 3.25, "kept_out": 7}  # fmt: skip
LOSS = {"kept_out_tokens": 1_000, "usd_kept_out": 0.02, "usd_charged": 1.5}
UNKNOWN = {"kept_out_tokens": 1_000, "unpriced": 3}


def picture(kind: str, ledger: dict) -> str:
    return card.card(kind, figures.of_ledger(ledger), {"installed": figures.of(ledger)}, 41, "2026-11-24", "2026-11")


@pytest.mark.parametrize(("name", "ledger"), [("gain", GAIN), ("loss", LOSS), ("unknown", UNKNOWN), ("nothing", {})])
@pytest.mark.parametrize("kind", [card.SVG, card.MARKDOWN])
def test_a_card_says_the_net_whatever_it_is(kind: str, name: str, ledger: dict, golden):
    golden(GOLDENS / f"card-{name}{kind}", picture(kind, ledger))


def test_the_picture_is_xml_and_nothing_is_drawn_outside_of_it():
    root = ET.fromstring(picture(card.SVG, GAIN))  # noqa: S314  our own
    height = float(root.attrib["height"])
    texts = [each for each in root if each.tag.endswith("text")]
    assert texts
    assert all(0 < float(each.attrib["y"]) < height for each in texts)


@pytest.fixture
def session(tmp_path: Path) -> Written:
    written = Written(tmp_path / "p")
    written.say("go")
    written.grep("one")
    return written


def stats_answer(session: Written, tmp_path: Path, path: Path):
    parsed = flag_parser.parse(["stats", "--card", str(path)], CONTEXT)
    return respond(parsed, session.site(tmp_path / "home"), str(session.path), session.now, "popkit context")


@pytest.mark.parametrize("name", ["card.svg", "card.md", "card.SVG"])
def test_the_card_is_written_where_it_was_asked_for_and_again_over_itself(name: str, session: Written, tmp_path: Path):
    for _ in range(2):
        answer = stats_answer(session, tmp_path, tmp_path / name)
        assert not answer.error
    assert card.MARK in (tmp_path / name).read_text()


def test_a_file_that_is_no_card_is_never_replaced(session: Written, tmp_path: Path):
    (tmp_path / "notes.md").write_text("mine")
    with pytest.raises(flag_parser.UsageError, match="is not a card"):
        stats_answer(session, tmp_path, tmp_path / "notes.md")
    assert (tmp_path / "notes.md").read_text() == "mine"


def test_a_folder_that_is_not_there_is_named(session: Written, tmp_path: Path):
    with pytest.raises(flag_parser.UsageError) as error:
        stats_answer(session, tmp_path, tmp_path / "none" / "card.svg")
    assert str(error.value) == f"there is no folder {tmp_path / 'none'}"


def test_another_kind_of_file_is_refused(session: Written, tmp_path: Path):
    with pytest.raises(flag_parser.UsageError, match=r"--card writes \.svg or \.md"):
        stats_answer(session, tmp_path, tmp_path / "card.png")
    assert not (tmp_path / "card.png").exists()


def test_details_show_what_compactions_were_worth_by_part_and_how_it_is_known() -> None:
    parts = {"request": 0.066, "summary": 0.2, "writes": 0.131, "carries": -0.009}
    ledger = {f"usd_compaction_{part}": usd for part, usd in parts.items()}
    ledger |= {"spared_compactions": 2, "usd_compactions": 0.645, "usd_charged_compactions": 0.257, "usd_charged": 0.257}
    compacted, none = (EfficiencyMetrics(ledger=each) for each in (ledger, {"usd_kept_out": 0.1}))
    shown = "\n".join(text.laid_out(stats.stats_lines((compacted,) * 3, tracker.worth(compacted, 0.0), "", 0, {}), text.WIDTH))
    for row in ("Summaries spared", "requests (measured)", "summaries (assumed)", "writing (ours measured)", "-$0.009"):
        assert row in shown, shown
    lines = text.laid_out(stats.stats_lines((none,) * 3, tracker.worth(none, 0.0), "", 0, {}), text.WIDTH)
    assert not [line for line in lines if "ompactions" in line]
