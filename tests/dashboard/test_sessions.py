"""Which sessions there are, and what is told of one: the panel's numbers, to the digit."""

from __future__ import annotations

import json
import os
import shutil
import threading
from pathlib import Path

import pytest

from popkit_retention.core.operations import context_words
from popkit_retention.core.reclaim import outlook
from popkit_retention.core.state import journal, store
from popkit_retention.dashboard import session_list
from popkit_retention.dashboard.catalog import RUNS_S
from popkit_retention.dashboard.contexts import KEPT
from tests.dashboard.board import Board
from tests.patience import HANG_S
from tests.reclaim.shops import LATER_S, SESSION, Talk, spoke, worked

_CLEARED = journal.cleared(["gone"], 100, {}, 0.0)


def _as_the_command_says(board: Board, word: str) -> dict:
    """What `popkit context WORD --json` answers, in this process."""
    return json.loads(context_words.answer(f"{word} --json", board.shop.site(), str(board.shop.transcript), board.shop.at))


def test_the_report_is_the_one_of_popkit_context(board: Board) -> None:
    board.worked()
    answer = board.session()
    report = _as_the_command_says(board, "retention")
    assert len(answer["bars"]) == len(report.pop("results"))
    assert answer["report"] == report
    assert answer["session"]["reclaimable_now"] == answer["report"]["reclaimable"]["now"]["tokens"] > 0
    assert answer["session"]["context"]["tokens"] == answer["report"]["context"]["tokens"]
    assert answer["session"]["verdict"]["kind"] == answer["report"]["verdict"]["kind"] == "clear"


def test_a_session_is_shown_as_it_is_in_each_second(board: Board) -> None:
    board.shop.configure(profile="auto")
    board.worked()
    board.shop.at -= LATER_S - 10  # the cache is warm
    first = board.session()
    assert board.session() == first
    board.shop.at += 1
    assert board.session()["report"]["context"]["cache_seconds_left"] == first["report"]["context"]["cache_seconds_left"] - 1
    board.do("hold")
    assert "release" in {operation["id"] for operation in board.session()["operations"]}


def test_the_list_goes_with_the_clock_without_a_look_at_the_session(board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_list, "READING_S", HANG_S)
    board.shop.configure(profile="auto")
    board.worked()
    board.shop.at -= LATER_S - 10
    spoke(board.shop.transcript, board.shop.at + 200)  # nothing of it changes, and it runs on
    (warm,) = board.get("/api/sessions")["sessions"]
    assert (warm["running"], warm["context"]["cache"]) == (True, "warm")
    board.shop.at = warm["context"]["cache_until"] + 1
    (cold,) = board.get("/api/sessions")["sessions"]
    assert (cold["running"], cold["context"]["cache"]) == (True, "cold")
    assert cold["verdict"] == board.session()["session"]["verdict"] != warm["verdict"]


def test_an_outdated_verdict_is_shown_for_no_session_that_has_ended(board: Board) -> None:
    board.shop.configure(profile="auto")
    board.worked()
    board.shop.at -= LATER_S - 10
    spoke(board.shop.transcript, board.shop.at - RUNS_S)
    warm = board.session()["session"]
    assert warm["verdict"]["kind"] == "wait", warm["verdict"]
    assert not board.get("/api/sessions")["running"]
    board.shop.at = warm["context"]["cache_until"] + 1
    for number in range(KEPT):
        id = f"other-{number}"
        talk = Talk(str(board.shop.project), session_id=id)
        talk.prompt("Where are the apples?")
        talk.write(board.shop.transcript.with_name(id + ".jsonl"))
        board.session(id)
    (row,) = board.get("/api/sessions", q=SESSION)["sessions"]
    assert row["verdict"] == board.session()["session"]["verdict"] != warm["verdict"]


def test_a_session_that_cannot_be_read_keeps_no_other_from_the_list_or_the_changes(board: Board) -> None:
    board.worked()
    token = board.get("/api/changes")["token"]
    talk = Talk(str(board.shop.project), session_id="roots")
    talk.prompt("Where are the apples?")
    locked = board.shop.transcript.with_name("roots.jsonl")
    talk.write(locked)
    spoke(locked, board.shop.at)
    locked.chmod(0)
    if os.access(locked, os.R_OK):
        pytest.skip("root may read every file")
    assert {row["id"] for row in board.get("/api/sessions")["sessions"]} == {SESSION, "roots"}
    assert {row["id"] for row in board.get("/api/sessions")["sessions"]} == {SESSION, "roots"}
    assert "/api/sessions/roots" in board.get("/api/changes", since=token)["changed"]
    assert board.app_state.failed == 1, "it is noted once"


def test_the_lines_are_the_panel(board: Board) -> None:
    board.worked()
    panel = context_words.answer("retention", board.shop.site(), str(board.shop.transcript), board.shop.at, width=80).split("\n")
    assert board.session()["lines"] == panel[: len(panel) - panel[::-1].index("") - 1], "but for the commands at its end"


def test_reading_writes_nothing_of_a_session(board: Board) -> None:
    board.worked()
    outlook.look(board.shop.site(), str(board.shop.transcript), board.shop.at)
    folder = Path(board.shop.site().paths().folder)
    before = {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()}
    for path in ("", "/series", "/results/1"):
        board.get(f"/api/sessions/{SESSION}{path}")
    board.get("/api/sessions")
    assert {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()} == before


def test_the_list_has_running_ones_first_then_the_newest(board: Board) -> None:
    board.worked()
    others = {}
    for number, (hours, asked) in enumerate(((3, "apples"), (1, "pears"), (2, "quinces"))):
        talk = Talk(str(board.shop.project), session_id=f"other-{number}")
        talk.prompt(f"Where are the {asked}?")
        others[f"other-{number}"] = board.shop.transcript.with_name(f"other-{number}.jsonl")
        talk.write(others[f"other-{number}"])
        spoke(others[f"other-{number}"], board.shop.at - 3_600 * hours)
    spoke(board.shop.transcript, board.shop.at - 10)
    listed = board.get("/api/sessions")
    assert [row["id"] for row in listed["sessions"]] == [SESSION, "other-1", "other-2", "other-0"]
    assert [row["running"] for row in listed["sessions"]] == [True, False, False, False]
    assert (listed["total"], listed["running"], listed["projects"]) == (4, 1, [str(board.shop.project)])
    assert [row["id"] for row in board.get("/api/sessions", limit=2, offset=1)["sessions"]] == ["other-1", "other-2"]
    assert [row["id"] for row in board.get("/api/sessions", running=True)["sessions"]] == [SESSION]
    assert [row["id"] for row in board.get("/api/sessions", q="WHERE quince")["sessions"]] == ["other-2"]
    assert board.get("/api/sessions", project="/elsewhere")["total"] == 0


def test_a_session_that_has_ended_does_not_run(board: Board) -> None:
    board.worked()
    spoke(board.shop.transcript, board.shop.at - 10)
    board.session()
    paths = board.shop.site().paths()
    Path(paths.folder).mkdir(parents=True, exist_ok=True)
    noted = [{"event": "end", "at": board.shop.at, "why": "exit"}]
    without_client = [{"event": "over", "at": board.shop.at}, {"event": "clear", "ids": []}, {"event": "undo", "ids": []}]
    for more, running in (([], 0), (without_client, 0), ([{"event": "commit"}], 1)):
        noted += more
        Path(paths.journal).write_text("".join(json.dumps(entry) + "\n" for entry in noted))
        assert board.get("/api/sessions")["running"] == running


def test_a_row_has_the_users_first_words_without_secrets(board: Board) -> None:
    talk = Talk(str(board.shop.project))
    talk.prompt("deploy with ghp_" + "a1B2" * 9 + "\x1b[31m please")
    board.shop.write(talk)
    title = board.get("/api/sessions")["sessions"][0]["title"]
    assert "a1B2a1B2" not in title
    assert "\x1b" not in title
    assert title.startswith("deploy with ****")


AROUND = "<system_instruction>\nYou work inside an app\n</system_instruction>\n\n<ide_opened_file>a.ts</ide_opened_file>\n"


@pytest.mark.parametrize(("prompts", "title"), [
    ([AROUND + "split the <parser> module"], "split the <parser> module"),
    ([AROUND, "go on"], "go on"),
    ([AROUND], ""),
    (["<un_closed> and more"], "<un_closed> and more"),
    (["<div>what a person wrote</div> breaks"], "<div>what a person wrote</div> breaks"),
])  # fmt: skip
def test_a_title_is_a_persons_own_words_without_what_programs_put_before_them(board: Board, prompts: list[str], title: str) -> None:
    talk = Talk(str(board.shop.project))
    for prompt in prompts:
        talk.prompt(prompt)
    board.shop.write(talk)
    assert board.get("/api/sessions")["sessions"][0]["title"] == title


def test_a_session_that_began_with_a_command_has_its_words(board: Board) -> None:
    talk = Talk(str(board.shop.project))
    talk.prompt(
        "<command-message>review is running…</command-message>\n<command-name>/review</command-name>\n<command-args>the API</command-args>"
    )
    board.shop.write(talk)
    assert board.get("/api/sessions")["sessions"][0]["title"] == "/review the API"


def test_a_session_that_begins_with_a_summary_has_the_name_that_it_was_given(board: Board) -> None:
    talk = Talk(str(board.shop.project))
    talk.prompt("This session is being continued from a previous conversation.", isCompactSummary=True)
    board.shop.write(talk)
    lines = board.shop.transcript.read_text()
    board.shop.transcript.write_text('{"type": "custom-title", "customTitle": "The new shop"}\n' + lines)
    assert board.get("/api/sessions")["sessions"][0]["title"] == "The new shop"


def test_a_session_that_is_asked_about_does_not_run_for_that(board: Board) -> None:
    board.worked()
    spoke(board.shop.transcript, board.shop.at - 3_600)
    outlook.look(board.shop.site(), str(board.shop.transcript), board.shop.at)
    folder = board.shop.site().paths().folder
    os.utime(folder, (board.shop.at,) * 2)
    assert board.get("/api/sessions")["running"] == 0


def test_a_session_without_a_transcript_is_shown_from_what_was_stored(board: Board) -> None:
    board.worked()
    reported = _as_the_command_says(board, "retention")
    board.shop.transcript.unlink()
    row = board.get("/api/sessions")["sessions"][0]
    assert (row["here"], row["calls"], row["expired_tokens"]) == (False, reported["calls"], reported["expired"]["tokens"])
    answer = board.session()
    assert answer["report"]["calls"] == reported["calls"]
    assert [operation["id"] for operation in answer["operations"]] == ["hold"]
    assert board.get(f"/api/sessions/{SESSION}/series")["points"] == []


def test_a_transcript_outside_of_the_clients_folder_is_never_opened(board: Board, tmp_path: Path) -> None:
    board.worked()
    elsewhere = tmp_path / "elsewhere.jsonl"
    shutil.move(board.shop.transcript, elsewhere)
    board.shop.transcript.symlink_to(elsewhere)
    linked = board.shop.transcript.parent.parent / "linked"
    linked.symlink_to(tmp_path)
    assert board.get("/api/sessions")["total"] == 0
    for id in (SESSION, "elsewhere"):
        board.get(f"/api/sessions/{id}", 404)


def test_an_id_that_is_none_finds_nothing(board: Board) -> None:
    board.worked()
    for id in ("..", "%2e%2e", "..%2F..%2Fetc%2Fpasswd", "%00", "a%0Ab", "5e551019", "%F0%9F%92%A9", "x" * 401):
        for path in (f"/api/sessions/{id}", f"/api/sessions/{id}/series", f"/api/sessions/{id}/results/1"):
            answer = board.client.get(path)
            assert answer.status_code in (400, 404), (path, answer.text)
            assert answer.json().keys() == {"error"}, path


# --- one session ----------------------------------------------------------------------------------------------------------------------


def test_bars_have_a_result_each_from_its_call_to_its_end(board: Board) -> None:
    board.worked()
    answer = board.session()
    rows = {row["number"]: row for row in _as_the_command_says(board, "retention")["results"]}
    assert [bar["number"] for bar in answer["bars"]] == list(rows)
    for bar in answer["bars"]:
        row = rows[bar["number"]]
        assert (bar["state"], bar["tokens"], bar["tier"]) == (row["state"], row["tokens"], row["tier"])
        assert bar["to_call"] == (None if row["state"] == "live" else row["ended"]["at_call"])
        assert bar["note"]


def test_a_result_says_why_in_the_words_of_the_command(board: Board) -> None:
    board.worked()
    number = next(bar["number"] for bar in board.session()["bars"] if bar["state"] == "live")
    answer = board.get(f"/api/sessions/{SESSION}/results/{number}")
    why = context_words.answer(f"why T{number}", board.shop.site(), str(board.shop.transcript), board.shop.at, width=80)
    assert "\n".join(answer["why"]) == why
    assert answer["row"]["number"] == number
    board.get(f"/api/sessions/{SESSION}/results/999", 404)


def test_the_layers_come_to_the_whole_context(board: Board) -> None:
    board.worked()
    answer = board.session()
    assert sum(answer["layers"].values()) == answer["report"]["context"]["tokens"]
    rows = _as_the_command_says(board, "retention")["results"]
    reads = [row["tokens"] for row in rows if row["kind"] == "read" and row["state"] != "cleared"]
    assert answer["layers"]["tier3"] == sum(reads) > 0


# --- over time ------------------------------------------------------------------------------------------------------------------------


def test_the_last_point_of_the_series_is_what_the_panel_says(board: Board) -> None:
    board.worked()
    answer, points = board.session(), board.get(f"/api/sessions/{SESSION}/series")["points"]
    last = points[-1]
    assert last["tokens"] == answer["report"]["context"]["tokens"]
    assert last["expired"] == answer["report"]["expired"]["tokens"]
    assert last["tiers"] == {tier: sums["live"]["tokens"] for tier, sums in answer["report"]["tiers"].items()}
    assert last["layers"] == answer["layers"]
    assert [point["at"] for point in points] == sorted(point["at"] for point in points)
    assert all(sum(point["layers"].values()) == point["tokens"] for point in points)


def test_what_was_cleared_is_carried_until_then(board: Board) -> None:
    board.worked()
    before = board.get(f"/api/sessions/{SESSION}/series")["points"]
    board.shop.clear()
    after = board.get(f"/api/sessions/{SESSION}/series")
    assert [point["expired"] for point in after["points"][:-1]] == [point["expired"] for point in before[:-1]]
    assert after["points"][-1]["expired"] < before[-1]["expired"]
    assert after["marks"] == [{"at": board.shop.at, "words": "cleared"}]


def test_a_long_session_has_at_most_three_hundred_points(board: Board) -> None:
    talk = Talk(str(board.shop.project))
    talk.prompt("go on")
    for number in range(1_300):
        talk.bash(f"b{number}", f"mkdir -p out/{number}")
    board.shop.write(talk)
    points = board.get(f"/api/sessions/{SESSION}/series")["points"]
    assert 150 <= len(points) <= 300
    assert points[-1]["tokens"] == board.session()["report"]["context"]["tokens"]


def test_compactions_are_listed(board: Board) -> None:
    talk = worked(str(board.shop.project))
    talk.compact()
    talk.tokens = 9_000
    talk.read("after", str(board.shop.project) + "/after.ts", "x\n" * 50)
    talk.say("Done.")
    board.shop.write(talk)
    series = board.get(f"/api/sessions/{SESSION}/series")
    (mark,) = series["marks"]
    at = mark["at"]
    assert mark["words"] == "compacted"
    before, after = ([point["tokens"] for point in series["points"] if (point["at"] > at) is later] for later in (False, True))
    assert after
    assert max(after) < before[-1]


@pytest.mark.parametrize(
    ("noted", "words"),
    [
        ([journal.compacted("manual", 900, 100, ["abcd2345"], 0.0), _CLEARED], "compacted"),
        ([journal.compacted("auto", 900, 100, ["abcd2345"], 0.0), _CLEARED], "compacted"),
        ([journal.compacted("asked", 900, 100, ["abcd2345"], 0.0), _CLEARED], "cleared"),
        ([journal.compacted("cold", 900, 100, ["abcd2345"], 0.0), _CLEARED], "cleared"),
        ([journal.undone(["gone"], 100, 0.0), journal.put_back(["abcd2345"], 0.0)], "put back"),
    ],
)
def test_a_change_of_ours_has_its_own_name_though_the_host_calls_it_a_compaction(board: Board, noted: list, words: str) -> None:
    talk = worked(str(board.shop.project))
    talk.compact()
    talk.say("Done.")
    board.shop.write(talk)
    (mark,) = board.get(f"/api/sessions/{SESSION}/series")["marks"]
    at = mark["at"] - 0.2
    for entry in noted:
        store.journal(board.shop.site().paths(), {**entry, "at": at})
    assert board.get(f"/api/sessions/{SESSION}/series")["marks"] == [{"at": at, "words": words}]


def test_halves_of_characters_in_one_session_keep_no_other_from_being_shown(board: Board) -> None:
    board.worked()
    folder = next((board.shop.home.parent / "claude" / "projects").iterdir())
    broken = json.dumps([json.loads(line) for line in (folder / f"{SESSION}.jsonl").read_text().splitlines()])
    for whole in ("claude-opus-5", "old.ts", "please fix it", "export const"):
        broken = broken.replace(whole, whole[:3] + "\\ud83d" + whole[3:])
    (folder / "broken.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in json.loads(broken)))
    Path(os.fsdecode(bytes(folder) + b"/\xff\xfe.jsonl")).write_text("{}\n")
    assert {row["id"] for row in board.get("/api/sessions")["sessions"]} == {SESSION, "broken"}
    assert board.session("broken")["session"]["context"]["model"] == "cla?ude-opus-5"
    assert board.get("/api/sessions/broken/results/1")["row"]["label"]
    assert board.app_state.failed == 0


def test_a_session_that_vanishes_while_it_is_looked_for_is_passed_over(board: Board) -> None:
    folders = [board.shop.home / "sessions" / f"short-{number}" for number in range(100)]
    for folder in folders:
        folder.mkdir(parents=True)
    over = threading.Event()

    def come_and_go() -> None:
        while not over.is_set():
            for folder in folders:
                folder.rmdir()
                folder.mkdir()

    comes_and_goes = threading.Thread(target=come_and_go, daemon=True)
    comes_and_goes.start()
    try:
        for _ in range(100):
            assert board.app_state.catalog.sessions().keys() <= {folder.name for folder in folders}
    finally:
        over.set()
        comes_and_goes.join()


def test_what_the_last_compaction_lost_is_a_list_of_its_own(board: Board) -> None:
    talk = worked(str(board.shop.project))
    talk.prompt("Never touch src/generated.")
    talk.say("noted")
    board.shop.write(talk)
    assert board.get(f"/api/sessions/{SESSION}/lost") == {"when": "", "sums": "", "rows": []}
    line = next(at for at, entry in enumerate(talk.entries, 1) if "src/generated" in json.dumps(entry))
    talk.compact()
    board.shop.write(talk)
    lost = board.get(f"/api/sessions/{SESSION}/lost")
    assert lost["when"] == f"Claude Code's summary, because the context was nearly full (line {len(talk.entries) - 1})"
    assert {"about": "you", "lost": "Never touch src/generated.", "way": str(line)} in lost["rows"]
    board.get("/api/sessions/none/lost", 404)
