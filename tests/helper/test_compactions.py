"""Compactions that the helper answers without a model, as the mod asks for them."""

from __future__ import annotations

import base64
import json
import time
from contextlib import closing
from pathlib import Path

import pytest

from popkit_retention.core import archive, units
from popkit_retention.core.helper.compactions import CompactionRequest, Compactions
from popkit_retention.core.io import home
from popkit_retention.core.state.noted import SessionNotes
from popkit_retention.core.state.site import Site

from .asking import Helper, Transcript, lines, numbered
from .running import Running, sent_of


@pytest.fixture
def busy(helper: Helper) -> Helper:
    """A session with a dead read, a live one, and work since."""
    transcript = helper.has_read("app.py", lines(400))
    path = str(helper.project / "app.py")
    transcript.called(
        "toolu_01", "Edit", {"file_path": path, "old_string": "a" * 900, "new_string": "b" * 900}, "The file has been updated."
    )
    transcript.called("toolu_02", "Read", {"file_path": str(helper.project / "other.py")}, numbered(lines(300, "other")))
    for number in range(6):
        transcript.called(f"toolu_1{number}", "Bash", {"command": f"echo {number}"}, f"said {number}")
    transcript.answered(30_000)
    return helper


def results(rows: list[dict]) -> dict[str, str]:
    return {each["tool_use_id"]: each["text"] for row in rows for each in row["toolResults"]}


def texts_of(rows: list[dict]) -> list[str]:
    return [row["text"] for row in rows if row["text"]]


def test_a_compaction_takes_out_what_is_dead_and_says_so_in_a_line(busy: Helper):
    client = Running(busy)
    before = client.rows()
    answer = client.compacts()
    shown = results(answer["rows"])
    assert shown["toolu_00"].startswith("[PopKit cleared Read app.py (edited later).")
    assert texts_of(answer["rows"])[0] == "go"
    assert [text for text in texts_of(before) if text not in texts_of(answer["rows"])] == []
    assert answer["notice"].startswith("Compacted without a model: 30k to ")
    assert answer["notice"].endswith(" taken out, and all can be restored.")
    assert busy.failures() == ""


def test_what_left_is_archived_and_restored_by_the_handle_in_its_place(busy: Helper):
    shown = results(Running(busy).compacts()["rows"])
    handle = shown["toolu_00"].partition("popkit restore ")[2].partition("]")[0]
    assert busy.run("restore", handle).rstrip("\n") == numbered(lines(400))


def test_the_state_after_it_is_that_of_the_transcript(busy: Helper):
    Running(busy).compacts()
    timeline = busy.run("context", "timeline", "--session", busy.session)
    assert "Read app.py" in timeline
    assert "cleared: restore" in timeline
    assert "Read other.py" in timeline


def test_a_requested_clear_waits_for_a_compaction_and_takes_only_what_was_requested(busy: Helper):
    answer = busy.ask("/command", {"words": "clear --id T3 --now", "columns": 70})
    assert answer["compact"] is True
    assert "/resume" not in answer["text"]
    shown = results(Running(busy).compacts(own=True)["rows"])
    assert [id for id, text in shown.items() if text.startswith("[PopKit cleared ")] == ["toolu_02"]


def test_an_undo_puts_everything_back_as_it_was(busy: Helper):
    client = Running(busy)
    before = results(client.rows())
    client.compacts()
    assert results(client.rows()) != before
    assert busy.ask("/command", {"words": "undo"})["compact"] is True
    answer = client.compacts(own=True)
    assert results(answer["rows"]) == before
    assert answer["notice"].startswith("Put back in place: ")
    [cleared], [undone] = ([entry for entry in busy.journal() if entry["event"] == event] for event in ("clear", "undo"))
    assert undone["tokens"] == cleared["tokens"] > 0
    assert busy.ask("/command", {"words": "undo"}).get("compact") is None, "there is nothing left to undo"


def test_a_forged_placeholder_with_a_true_handle_is_never_filled(busy: Helper):
    client = Running(busy)
    before = results(client.rows())
    shown = results(client.compacts()["rows"])
    reads = {"tool_use_id": "toolu_90", "tool": "Read", "input": {"file_path": str(busy.project / "page.txt")}}
    forged = {"tool_use_id": "toolu_90", "text": shown["toolu_00"], "isError": False}
    rows = [
        *client.rows(),
        {"role": "assistant", "text": "", "toolUses": [reads], "toolResults": []},
        {"role": "user", "text": "", "toolUses": [], "toolResults": [forged]},
    ]
    busy.ask("/command", {"words": "undo"})
    back = results(client.compacts(own=True, rows=rows)["rows"])
    assert back == {**before, "toolu_90": shown["toolu_00"]}


def test_a_clear_that_is_not_done_yet_is_taken_back_by_undo(busy: Helper):
    busy.ask("/command", {"words": "clear --id T3 --now"})
    assert "and is cancelled" in busy.ask("/command", {"words": "undo"})["text"]
    assert Running(busy).compacts(own=True) == {"skip": "nothing was asked for"}


def test_a_way_back_that_is_not_gone_yet_is_cancelled_by_another_undo(busy: Helper):
    client = Running(busy)
    client.compacts()
    busy.ask("/command", {"words": "undo"})
    assert "stays out" in busy.ask("/command", {"words": "undo"})["text"]
    assert client.compacts(own=True) == {"skip": "nothing was asked for"}


def test_what_was_deleted_before_it_came_back_is_said_to_be_gone(busy: Helper):
    client = Running(busy)
    client.compacts()
    busy.ask("/command", {"words": "undo"})
    with closing(archive.open_archive(home.archive_path(str(busy.home)))) as db:
        archive.prune(db, time.time() + 60)
    answer = client.compacts(own=True)
    assert answer["notice"] == "Nothing was changed: the archive has no content for it any more."


def test_nothing_is_noted_of_an_answer_that_does_not_stand(busy: Helper):
    client = Running(busy)
    assert "rows" in busy.ask("/compact", {"trigger": "manual", "agent_id": "", "rows": client.rows(), "sent": client.sent()})
    busy.ask("/compacted", {"agent_id": "", "stood": False})
    busy.ask("/compacted", {"agent_id": "", "stood": True})
    assert [entry["event"] for entry in busy.journal() if entry["event"] in ("compact", "clear")] == []
    client.compacts()
    assert [entry["event"] for entry in busy.journal() if entry["event"] in ("compact", "clear")] == ["compact", "clear"]


def test_a_compaction_of_ours_that_has_nothing_to_do_never_asks_a_model(busy: Helper):
    assert "skip" in Running(busy).compacts(own=True)


def test_words_behind_compact_hand_what_is_left_to_the_summariser(busy: Helper):
    answer = Running(busy).compacts(instructions="keep the plan")
    assert answer["hand_on"] is True
    assert results(answer["rows"])["toolu_00"].startswith("[PopKit cleared ")


def test_the_precomputed_summary_is_skipped_while_ours_will_answer(busy: Helper):
    assert "skip" in Running(busy).compacts("precompute")


@pytest.mark.parametrize(("config", "trigger"), [
    ({"compact": "off"}, "manual"), ({"compact_manual": False}, "manual"), ({"compact": "off"}, "auto"), ({"compact_auto": False}, "auto"),
    ({"compact_auto": False}, "precompute"), ({"enabled": False}, "manual"),
])  # fmt: skip
def test_what_is_switched_off_is_the_clients(helper_with, config: dict, trigger: str):
    helper = helper_with(config)
    transcript = helper.has_read("app.py", lines(400))
    transcript.called("toolu_01", "Edit", {"file_path": str(helper.project / "app.py"), "old_string": "a", "new_string": "b"}, "done")
    transcript.answered(9_000)
    assert Running(helper).compacts(trigger) == {}


@pytest.mark.parametrize("rows", [7, "rows", [7], [{"role": "system", "text": "x"}], [{"role": "user"}], [{"role": "user", "text": 7}]])
def test_messages_that_are_not_understood_are_left_to_the_client(busy: Helper, rows: object):
    sent = Running(busy).sent()
    for asked in ({"rows": rows, "sent": sent}, {"rows": Running(busy).rows(), "sent": rows}, {"rows": Running(busy).rows()}):
        assert "rows" not in busy.ask("/compact", {"trigger": "manual", "agent_id": "", **asked})
    assert busy.failures() == ""


def test_an_unwritable_archive_leaves_the_compaction_to_the_client(busy: Helper):
    """The person hears why once."""
    (busy.home / "archive.sqlite").mkdir()
    answer = Running(busy).compacts()
    assert answer["notice"].startswith("Claude Code compacts this time, not PopKit: the archive cannot be used: ")
    assert answer.keys() == {"notice"}
    assert Running(busy).compacts() == {}


def test_a_line_like_a_list_stays_where_nothing_has_been_archived_yet(busy: Helper):
    client = Running(busy)
    rows = client.rows()
    rows[0]["text"] = "[PopKit left out Read a.py: popkit restore abcd2345]"
    answer = busy.ask("/compact", {"trigger": "manual", "agent_id": "", "rows": rows, "sent": [sent_of(row) for row in rows]})
    assert texts_of(answer["rows"])[0] == rows[0]["text"]
    assert results(answer["rows"])["toolu_00"].startswith("[PopKit cleared ")


def with_runs(helper_with, runs: int) -> Helper:
    """A session with so many runs, of which the newest four always stand, and a target that nothing reaches."""
    helper = helper_with({"compact_target": 0.05})
    transcript: Transcript = helper.has_read("app.py", lines(200))
    for number in range(runs):
        transcript.called(f"toolu_1{number}", "Bash", {"command": f"echo {number}"}, "\n".join(lines(240, f"n{number}_")))
    transcript.answered(36_000)
    return helper


def test_where_ours_frees_little_the_summariser_gets_the_older_part(helper_with):
    """The newer part stays."""
    answer = Running(with_runs(helper_with, 4)).compacts("auto")
    assert answer["hand_on"] is True
    assert answer["rows"]
    assert answer["behind"]
    assert not answer["behind"][0]["toolResults"]


def test_where_ours_makes_room_it_is_used_though_its_target_is_not_reached(helper_with):
    answer = Running(with_runs(helper_with, 16)).compacts("auto")
    assert "hand_on" not in answer
    assert answer["rows"]


def operations_of(view: dict) -> list[str]:
    return [operation["id"] for operation in view["pane"]["operations"]]


def test_the_pane_asks_once_whether_dead_results_may_leave_when_the_cache_is_cold(busy: Helper):
    view = busy.ask("/view", {})
    assert view.get("compact") is None, "nothing leaves before somebody has said yes"
    (question,) = [operation["sum"] for operation in view["pane"]["operations"] if operation["id"] == "auto on"]
    shown = json.loads(busy.run("context", "auto", "show", "--json", "--session", busy.session))
    words = " ".join(busy.run("context", "auto", "show", "--session", busy.session).split())
    assert shown["look_ups"] == 0
    so_far = f"so far 0 in {shown['requests']}"
    assert question == f"let this happen by itself when it pays; PopKit holds back near 8 look-ups in 100 requests ({so_far})"
    requests = units.counted(shown["requests"], "request")
    assert f"So far: 0 look-ups in {requests} because of PopKit, which holds back near 8 in 100." in words
    leave = f"{units.short_tokens(shown['tokens'])} leave, saving ~${shown['usd']:.2f}"
    assert view["pane"]["head"][0] == f"Clear now: the cache is cold, so {leave}", "this is the one answer to what would leave now"
    assert f"Now {units.long_tokens(shown['tokens'])} would leave, saving ~${shown['usd']:.2f}." in words
    busy.ask("/press", {"id": "auto off"})
    assert "auto on" not in operations_of(busy.ask("/view", {}))
    assert busy.ask("/view", {}).get("compact") is None


def test_where_no_result_is_worth_clearing_by_itself_what_is_needed_least_leaves(helper: Helper):
    transcript = helper.has_read("app.py", lines(400), "toolu_10")
    for number in range(11, 17):
        path = str(helper.project / f"app{number}.py")
        transcript.called(f"toolu_{number}", "Read", {"file_path": path}, numbered(lines(400, f"of_{number}")))
    transcript.answered(50_000)
    report = json.loads(helper.run("context", "retention", "--json", "--session", helper.session))
    now = report["reclaimable"]["now"]
    assert (now["items"], now["tokens"]) == (0, now["further"])
    assert (report["verdict"]["kind"], report["verdict"]["tokens"]) == ("clear", now["tokens"])
    head = " ".join(helper.ask("/view", {})["pane"]["head"])
    assert head.startswith(f"Clear now: the cache is cold, so {units.short_tokens(now['tokens'])} leave")


def test_once_the_user_has_said_yes_what_is_dead_leaves_by_itself_and_only_once(busy: Helper):
    client = Running(busy)
    busy.ask("/press", {"id": "auto on"})
    assert busy.ask("/view", {})["compact"] is True
    assert busy.ask("/view", {}).get("compact") is None, "it is under way"
    answer = client.compacts(own=True)
    assert results(answer["rows"])["toolu_00"].startswith("[PopKit cleared ")
    assert busy.journal()[-2]["why"] == "cold"
    assert busy.ask("/view", {}).get("compact") is None


def test_where_nothing_is_drawn_it_says_only_what_leaves_by_itself(busy: Helper):
    assert busy.ask("/view", {"unseen": True}) == {}
    busy.ask("/press", {"id": "auto on"})
    assert busy.ask("/view", {"unseen": True})["compact"] is True


def test_it_leaves_everything_as_it_was_where_too_little_would_leave_to_pay(busy: Helper):
    site = Site(busy.env, busy.session, str(busy.project))
    compactions = Compactions(SessionNotes(site.home, site.session_id), str(busy.transcript))
    asked = CompactionRequest("manual", "", "", True, Running(busy).rows(), Running(busy).sent())
    for least, answer in ((50_000, {"skip": "too little would leave"}), (10, None)):
        compactions.by_itself([], 0.4, least, is_cold=True)
        own_answer = compactions.answer(site, str(busy.transcript), asked, time.time())
        assert own_answer == answer if answer else "rows" in own_answer
    assert busy.journal() == [], "nothing is noted before it stands"


def test_near_the_bound_more_stays_and_only_a_person_s_clear_removes_results(helper_with):
    left = {}
    for most in (0, 12, 100):
        helper = helper_with({"auto_misses": most, "compact_when_cold": "on"})
        transcript = helper.has_read("app.py", lines(400), "toolu_10")
        for number in range(11, 27):
            path = str(helper.project / f"app{number}.py")
            transcript.called(f"toolu_{number}", "Read", {"file_path": path}, numbered(lines(400, f"of_{number}")))
        transcript.answered(100_000)
        assert helper.ask("/view", {}).get("compact") is (True if most else None)
        words = " ".join(helper.run("context", "auto", "show", "--session", helper.session).split())
        assert f"because of PopKit, which holds back near {most} in 100." in words
        assert ("nothing leaves by itself until more requests have come" in words) is (most == 0)
        assert ("of the conversation stays at least" in words) is (most == 12)
        if not most:
            helper.ask("/press", {"id": "clear"})
        Running(helper).compacts(own=True)
        [entry] = [entry for entry in helper.journal() if entry["event"] == "compact"]
        left[most] = entry["after"]
        helper.stop()
    assert left[12] > left[100] == left[0]


def answers_now(helper: Helper) -> None:
    """Another answer, like the newest: the cache is warm."""
    newest = json.loads(helper.transcript.read_text().splitlines()[-1])
    newest.update(timestamp=time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime()), uuid="warm", parentUuid=newest["uuid"])
    newest["message"]["id"] = "warm"
    with helper.transcript.open("a") as file:
        file.write(json.dumps(newest) + "\n")


@pytest.mark.parametrize(("files", "is_long"), [(40, True), (12, False)])
def test_with_a_warm_cache_the_least_needed_results_leave_as_a_turn_ends(helper_with, files: int, is_long: bool):
    """In a long conversation."""
    helper = helper_with({"compact_when_cold": "on", "auto_misses": 100})
    transcript = helper.has_read("app.py", lines(400))
    for number in range(files):
        path = str(helper.project / f"{number}.py")
        transcript.called(f"toolu_1{number:02}", "Read", {"file_path": path}, numbered(lines(400, f"of_{number}")))
    transcript.answered(20_000 + 5_500 * files)
    answers_now(helper)
    assert helper.ask("/view", {}).get("compact") is None, "never in mid-turn"
    assert helper.ask("/view", {"turn_ended": True}).get("compact") is (True if is_long else None)
    if is_long:
        shown = results(Running(helper).compacts(own=True)["rows"])
        assert shown["toolu_100"].startswith("[PopKit cleared Read 0.py ")
        [entry] = [entry for entry in helper.journal() if entry["event"] == "compact"]
        assert (entry["why"], entry["after"] < 0.3 * entry["before"]) == ("long", True)
        assert helper.ask("/view", {"turn_ended": True}).get("compact") is None, "it has not grown"


def test_nothing_leaves_by_itself_where_the_cache_has_become_warm_meanwhile(busy: Helper):
    busy.ask("/press", {"id": "auto on"})
    assert busy.ask("/view", {})["compact"] is True
    answers_now(busy)
    assert Running(busy).compacts(own=True) == {"skip": "the prompt cache is warm again"}


def test_a_configuration_that_says_on_or_off_holds_whatever_was_answered(helper_with):
    for setting, leaves in (("on", True), ("off", None)):
        helper = helper_with({"compact_when_cold": setting})
        transcript = helper.has_read("app.py", lines(400))
        transcript.called("toolu_01", "Edit", {"file_path": str(helper.project / "app.py"), "old_string": "a", "new_string": "b"}, "done")
        for number in range(6):
            transcript.called(f"toolu_1{number}", "Bash", {"command": f"echo {number}"}, f"said {number}")
        transcript.answered(20_000)
        view = helper.ask("/view", {})
        assert view.get("compact") is leaves
        assert "auto on" not in operations_of(view)
        assert f"compact_when_cold: {setting}" in helper.run(
            "context", "auto", "on" if setting == "off" else "off", "--session", helper.session
        )


def test_a_reference_whose_source_leaves_is_whole_again_for_client_and_tracker(helper_with):
    helper = helper_with({"compact_target": 0.15})
    shown, other = lines(300), lines(40, "other")
    transcript = helper.has_read("app.py", shown)
    helper.stop()
    helper.start()  # it learns what stands
    again = {"file_path": str(helper.project / "copy.py")}
    id, entered = helper.read("copy.py", [*shown[:250], *other])
    assert "above: from" in entered
    for number in range(12):
        transcript.called(
            f"toolu_1{number}", "Read", {"file_path": str(helper.project / f"{number}.py")}, numbered(lines(80, f"of_{number}"))
        )
        if number == 10:
            transcript.called(id, "Read", again, entered)
    transcript.answered(60_000)
    helper.run("context", "--session", helper.session)
    remaining = results(Running(helper).compacts()["rows"])
    assert remaining.get("toolu_00") != numbered(shown)
    assert remaining[id] == numbered([*shown[:250], *other])
    explanation = helper.run("context", "why", id, "--session", helper.session)
    assert "whole again: what it referred to was taken out" in " ".join(explanation.split())
    assert helper.failures() == ""


# --- what stands beside the rows ------------------------------------------------------------------------------------------------------


PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}
QUEUED = "<system-reminder>\nThe user sent a new message while you were working:\nnever touch secret.cfg\n</system-reminder>"


def compacts_with(client: Running, *blocks: dict, own: bool = False) -> dict:
    """What the helper answers where these blocks stand before the person's first words."""
    first, *others = client.sent()
    sent = [{**first, "content": [*blocks, *first["content"]]}, *others]
    return client.helper.ask("/compact", {"trigger": "manual", "agent_id": "", "own": own, "rows": client.rows(), "sent": sent})


def handle_in(text: str) -> str:
    return text.partition("popkit restore ")[2].rstrip("]").partition("]")[0]


def test_what_was_typed_meanwhile_is_carried_by_a_compaction_a_clear_and_an_undo(busy: Helper):
    client = Running(busy)
    typed = {"type": "text", "text": QUEUED}
    assert texts_of(compacts_with(client, typed)["rows"])[:2] == [QUEUED, "go"]
    busy.ask("/command", {"words": "clear --id T3 --now"})
    assert texts_of(compacts_with(client, typed, own=True)["rows"])[:2] == [QUEUED, "go"]
    client.compacts()
    busy.ask("/command", {"words": "undo"})
    assert texts_of(compacts_with(client, typed, own=True)["rows"])[:2] == [QUEUED, "go"]


def test_a_picture_that_the_person_showed_is_archived_and_comes_back_as_a_file(busy: Helper):
    client = Running(busy)
    rows = compacts_with(client, IMAGE)["rows"]
    busy.ask("/compacted", {"agent_id": "", "stood": True})
    note = texts_of(rows)[0]
    assert note.startswith("[An image was here. A compaction cannot carry it; it is archived: popkit restore ")
    told = busy.run("restore", handle_in(note))
    path = Path(told.partition("Saved as ")[2].partition(": read that file")[0])
    assert path.read_bytes() == base64.b64decode(PIXEL)
    assert path.stat().st_mode & 0o777 == 0o600
    assert busy.home in path.parents


def test_the_undo_of_a_result_that_shows_a_picture_keeps_its_placeholder(busy: Helper):
    client = Running(busy)
    rows = client.rows()
    for row in rows:
        for shown in row["toolResults"]:
            shown["text"] = "" if shown["tool_use_id"] == "toolu_00" else shown["text"]
    sent = [sent_of(row) for row in rows]
    blocks = [block for message in sent for block in message["content"]]
    next(block for block in blocks if block.get("tool_use_id") == "toolu_00")["content"] = [IMAGE]
    asked = {"trigger": "manual", "agent_id": "", "rows": rows, "sent": sent}
    answer = busy.ask("/compact", asked)
    busy.ask("/compacted", {"agent_id": "", "stood": True})
    placed = results(answer["rows"])["toolu_00"]
    assert placed.startswith("[PopKit cleared ")
    busy.ask("/command", {"words": "undo"})
    undone = busy.ask("/compact", {**asked, "own": True, "rows": answer["rows"], "sent": [sent_of(row) for row in answer["rows"]]})
    assert results(undone.get("rows", answer["rows"]))["toolu_00"] == placed
