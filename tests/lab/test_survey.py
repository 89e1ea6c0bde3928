"""Many sessions under many policies: what is read, what is left out, how sums become means, to the digit in whatever order the sessions
come."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popkit_retention.core import text
from popkit_retention.core.policy.ruleset import AUTO_MISSES
from popkit_retention.lab import measure, replay_policies, sent_requests, survey, survey_views
from popkit_retention.lab.survey import COUNTS, PolicyScore, SessionScores, Total
from popkit_retention.lab.survey_card import card_of
from popkit_retention.parallel.sources import DAMAGED
from tests.lab.transcripts import Transcript, filled
from tests.views.written import spec_session

NAMES = ["spec", "spec-cold"]


def session(path: Path, rounds: int = 20, seed: int = 1) -> Path:
    """A session of one prompt and so many calls, some of whose results are needed later."""
    transcript, random_ = Transcript(), random.Random(seed)
    transcript.prompt(filled(100))
    transcript.first("t0", 100)
    transcript.result("t0", filled(200, "src/module_0/handler.ts"))
    for number in range(1, rounds):
        transcript.wait(20)
        back = random_.randrange(number)
        transcript.answer(f"see src/module_{back}/handler.ts" if random_.random() < 0.5 else "go on", f"m{number}")
        transcript.call(f"t{number}", message=f"m{number}")
        transcript.result(f"t{number}", filled(random_.randrange(10, 200) * 10, f"src/module_{number}/handler.ts"))
    begun_in = next(("/" + part[1:] for part in path.parts if part.startswith("-")), "/shop")
    transcript.entries = [{**entry, "cwd": begun_in} for entry in transcript.entries]
    path.parent.mkdir(parents=True, exist_ok=True)
    transcript.write(path)
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three sessions of two repositories, one of them by a subagent."""
    session(tmp_path / "-shop" / "one.jsonl", 30, 1)
    session(tmp_path / "-shop" / "one" / "subagents" / "agent-a1.jsonl", 12, 2)
    session(tmp_path / "-forum" / "two.jsonl", 16, 3)
    return tmp_path


def surveyed(folder: Path, **more) -> dict:
    return survey.survey([str(folder)], NAMES, (300,), 1, **more)


def test_sessions_below_a_folder_are_found_those_of_subagents_too(folder) -> None:
    report = surveyed(folder)
    assert [(Path(row["path"]).name, row["repository"]) for row in report["rows"]] == [
        ("two.jsonl", "forum"),
        ("one.jsonl", "shop"),
        ("agent-a1.jsonl", "shop"),
    ]
    assert (report["sessions"], report["repositories"], report["requests"]) == (3, 2, 58)


def test_a_name_says_the_repository_where_it_has_one() -> None:
    assert survey.repository_of("/data/owner-shop__01-abc-0.jsonl") == "owner-shop"
    assert survey.repository_of("/home/x/.claude/projects/-home-x-shop/5e55.jsonl") == "-home-x-shop"
    assert survey.repository_of("/p/-home-x-shop/5e55/subagents/agent-1.jsonl") == "-home-x-shop"


@pytest.mark.parametrize(
    "cwd",
    [
        "/home/x/shop",
        "/home/x/shop/.claude/worktrees/brave-otter",
        "/home/x/.claude-worktrees/shop/brave-otter",
        "/home/x/conductor/workspaces/shop/lima",
        "/home/x/.codex/worktrees/9a6a/shop",
        "/home/x/worktrees/shop/brave-otter/Shop",
        "D:\\shop\\.claude\\worktrees\\brave-otter",
    ],
)
def test_all_worktrees_of_a_repository_are_one(cwd: str) -> None:
    assert survey.repository_of("/home/x/.claude/projects/-anything/5e55.jsonl", cwd) == "shop"


def test_a_session_without_a_known_price_is_left_out_and_named(tmp_path: Path) -> None:
    path = session(tmp_path / "-shop" / "one.jsonl")
    path.write_text(path.read_text().replace("claude-opus-5", "their-model-9"))
    report = surveyed(tmp_path)
    assert (report["sessions"], report["skipped"]) == (0, {"no price is known of their-model-9": 1})
    assert surveyed(tmp_path, model="claude-opus-5")["sessions"] == 1
    assert surveyed(tmp_path, model="gpt-99")["sessions"] == 0  # the table knows such models, and no price of theirs


def test_what_is_installed_comes_first(folder: Path) -> None:
    scores = survey.survey([str(folder)], None, (300,), 1)["ttls"]["300"]
    assert list(scores)[:3] == ["default", "default+auto", "nothing"]


def test_how_many_sessions_keep_the_look_ups_is_told_where_there_are_long_ones(folder: Path, tmp_path: Path) -> None:
    def said(place: Path) -> tuple[float | None, str]:
        found = survey.survey([str(place)], None, (300,), 1)
        words = text.laid_out(survey_views.lines_of({**found, "card": card_of(found, "0")}))
        return found["ttls"]["300"]["default"]["within_bound"], " ".join(" ".join(words).split())

    short, words = said(folder)
    assert short is None
    assert "in 100 requests: default 0.00, default+auto 0.00 misses/100:" in words
    session(tmp_path / "long" / "one.jsonl", 100)
    assert (
        f"default+auto 0.00. Of the sessions of 100 requests or more (1), 100% and 100% had at most {AUTO_MISSES}."
        in said(tmp_path / "long")[1]
    )


def test_a_file_that_is_named_twice_counts_once(folder) -> None:
    path = str(folder / "-forum" / "two.jsonl")
    assert survey.survey([str(folder), path, path], [], (300,), 1)["sessions"] == 3


def test_a_file_that_is_not_a_session_is_left_out_and_counted_with_its_reason(folder) -> None:
    odd = folder / "odd"
    session(odd / "short.jsonl", 4)
    (odd / "empty.jsonl").write_text("")
    (odd / "noise.jsonl").write_bytes(random.Random(1).randbytes(5_000))
    (odd / "foreign.jsonl").write_text('{"role": "user", "content": "hello"}\n[]\nnull\n"x"\n' * 20)
    (odd / "notes.txt").write_text("no transcript")
    (odd / "dangling.jsonl").symlink_to(odd / "gone")
    report = survey.survey([str(folder), str(folder / "nowhere")], NAMES, (300,), 1)
    assert report["sessions"] == 3
    assert report["skipped"] == {
        "under 5 requests": 1,
        "empty": 1,
        "no conversation": 1,
        DAMAGED: 1,
        "cannot be read: No such file or directory": 2,
    }
    assert [str(odd / "empty.jsonl"), "empty"] in report["skipped_files"]
    assert [str(odd / "noise.jsonl"), DAMAGED] in report["skipped_files"]
    shown = "\n".join(text.laid_out(survey_views.lines_of({**report, "card": card_of(report, "0")}), 200))
    assert {path.stem for path in odd.iterdir() if str(path) in shown} == {"noise", "dangling"}, "every folder has some of the others"


def test_cost_and_carried_are_repository_means_and_the_rest_is_pooled(folder) -> None:
    """They are means over repositories of ratios of sums."""
    report = surveyed(folder)
    for name in NAMES:
        sums: dict = {}
        missed = cleared = dearer = 0
        for path in folder.rglob("*.jsonl"):
            read = sent_requests.read(str(path))
            priced = replay_policies.prices_for(read, 300)
            base = measure.score(read, replay_policies.POLICIES["nothing"][0](read, priced), priced)
            own = measure.score(read, replay_policies.POLICIES[name][0](read, priced), priced)
            known = sums.setdefault(survey.repository_of(str(path), read.cwd), [0, 0, 0, 0])
            for at, value in enumerate((own.cost, base.cost, own.carried, base.carried)):
                known[at] += value
            missed, cleared, dearer = missed + own.missed, cleared + own.cleared, dearer + (own.cost > 1.0001 * base.cost)
        one = report["ttls"]["300"][name]
        assert one["cost"] == pytest.approx(sum(known[0] / known[1] for known in sums.values()) / 2, abs=1e-4)
        assert one["carried"] == pytest.approx(sum(known[2] / known[3] for known in sums.values()) / 2, abs=1e-4)
        assert one["misses_per_100"] == pytest.approx(100 * missed / 58, abs=1e-4)
        assert one["dearer"] == pytest.approx(dearer / 3, abs=1e-4)
        assert (one["cleared"], one["missed"]) == (cleared, missed)


def test_clearing_nothing_is_always_there_and_costs_itself(folder) -> None:
    one = surveyed(folder)["ttls"]["300"]["nothing"]
    assert (one["cost"], one["carried"], one["misses_per_100"], one["dearer"], one["cleared"]) == (1, 1, 0, 0, 0)


def test_several_processes_find_what_one_finds(folder) -> None:
    alone, together = surveyed(folder), survey.survey([str(folder)], NAMES, (300,), 2)
    for report in (alone, together):
        report.pop("seconds")
    assert json.dumps(together, sort_keys=True) == json.dumps(alone, sort_keys=True)


def test_progress_goes_up_to_all_bytes(folder) -> None:
    transcript: list = []
    surveyed(folder, progress=lambda done, whole: transcript.append((done, whole)))
    whole = sum(path.stat().st_size for path in folder.rglob("*.jsonl"))
    assert [done for done, _ in transcript] == sorted(done for done, _ in transcript)
    assert transcript[-1] == (whole, whole)


def test_finding_nothing_is_not_an_error(tmp_path) -> None:
    report = surveyed(tmp_path)
    assert (report["sessions"], report["rows"], report["ttls"]) == (0, [], {})


def test_a_real_looking_session_is_read_whole(tmp_path) -> None:
    spec_session(tmp_path / "-shop")
    report = surveyed(tmp_path)
    assert (report["sessions"], report["skipped"]) == (1, {})


# --- sums ---------------------------------------------------------------------------------------------------------------------------------

SUMMED = ["nothing", "auto"]
numbers = st.integers(0, 10**9)


@st.composite
def rows(draw: st.DrawFn, name: int) -> SessionScores:
    requests = draw(st.integers(5, 50))
    scores = {
        policy: PolicyScore(draw(st.floats(1e-3, 1e12)), draw(st.integers(1, 10**12)), **{key: draw(numbers) for key in COUNTS})
        for policy in SUMMED
    }
    named = {"path": f"/{name}.jsonl", "repository": draw(st.sampled_from("ab")), "model": draw(st.sampled_from("mn")), "digest": f"{name}"}
    failed = draw(st.dictionaries(st.sampled_from(("own:A", "own:B")), st.sampled_from(("why", "because"))))
    return SessionScores(**named, requests=requests, bytes=draw(numbers), bad_lines=0, scores={300: scores}, failed=failed)


def result_of(events: list) -> str:
    total = Total(SUMMED, [300])
    for kind, value in events:
        total.take(value) if kind == "row" else total.skip(*value)
    return json.dumps(total.result())


@given(st.data())
def test_any_order_of_the_sessions_has_the_same_result(data: st.DataObject) -> None:
    events = [("row", data.draw(rows(number))) for number in range(data.draw(st.integers(0, 6)))]
    events += [
        ("skip", (f"/s{number}", data.draw(st.sampled_from(("empty", "broken"))))) for number in range(data.draw(st.integers(0, 120)))
    ]
    assert result_of(events) == result_of(data.draw(st.permutations(events)))
