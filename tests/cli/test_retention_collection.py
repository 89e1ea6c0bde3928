"""`popkit retention gc`, `undo`, `archive` and `restore`: what goes, when, who is asked, and how it comes back."""

from __future__ import annotations

import json
from pathlib import Path

import pexpect
import pytest

from popkit_retention.core.state import jobs
from popkit_retention.core.state.site import Site
from tests.cli.governed import Governed
from tests.cli.played import SESSION
from tests.cli.remembered import DAY_S
from tests.reclaim.earlier import answer

OLD = ("run the tests with make check", "deploy with make ship", "never push on a Friday")


@pytest.fixture
def aged(house: Governed) -> Governed:
    """Three memories of a year ago, and one of today."""
    for words in OLD:
        house.add(words)
    house.now += 365 * DAY_S
    house.add("the newest")
    return house


def texts(house: Governed) -> set[str]:
    return {item["text"] for item in (*house.items().values(), *house.items("--marked").values())}


def marked(house: Governed) -> int:
    return next(each["marked"] for each in house.answers("show")["domains"] if each["domain"] == "memory")


# --- collecting ------------------------------------------------------------------------------------------------------------------------


def test_a_dry_run_shows_what_would_go_and_changes_nothing(aged: Governed) -> None:
    before = aged.bytes()
    shown = aged.retention("gc", "--dry-run")
    assert "To mark    3 memories" in shown
    assert "make check" in shown
    assert "1 younger than 30 days" in shown
    assert shown.endswith("This was a dry run: nothing was changed.\n")
    assert aged.bytes() == before


def test_what_was_marked_is_deleted_by_a_collection_a_day_later_and_not_before(aged: Governed) -> None:
    shown = aged.retention("gc", "--yes")
    assert "Marked     3 memories" in shown
    assert "remove the marks before then:\n  popkit retention undo" in shown
    assert marked(aged) == 3
    aged.now += DAY_S - 60
    assert "Waiting    3 marked for less than 24 h" in aged.retention("gc", "--yes")
    assert len(texts(aged)) == 4
    aged.now += 120
    assert "Deleted    3 memories for good" in aged.retention("gc", "--yes")
    assert texts(aged) == {"the newest"}
    assert [entry["action"] for entry in aged.answers("admin", "log")["entries"]] == ["deleted", "deleting", "marked"]
    assert aged.answers("admin", "verify")["ok"] is True


def test_undo_takes_marks_back_one_or_all(aged: Governed) -> None:
    aged.retention("gc", "--yes")
    (entry,) = aged.answers("admin", "log", "--action", "marked")["entries"]
    ids = entry["ids"]
    shown = aged.retention("undo", ids[0])
    assert shown == f"Removed 1 mark:\n  memory  {ids[0]}\n"
    assert marked(aged) == 2
    assert aged.retention("undo").startswith("Removed 2 marks:")
    assert "nothing is marked" in aged.refused("undo")
    aged.now += 2 * DAY_S
    aged.retention("gc", "--dry-run")
    assert len(texts(aged)) == 4


def test_what_is_held_after_it_was_marked_stays(aged: Governed) -> None:
    aged.retention("gc", "--yes")
    aged.retention("hold", "add", "--project", str(aged.project), "--why", "audit", "--who", "alice")
    aged.now += 2 * DAY_S
    shown = aged.retention("gc", "--yes")
    assert "Unmarked   3 on hold" in shown
    assert len(texts(aged)) == 4
    id = next(id for id, item in aged.items().items() if "make check" in item["text"])
    assert "Hold" in aged.retention("explain", id)


def test_nothing_happens_without_a_yes(aged: Governed) -> None:
    before = aged.bytes()
    done = aged.asked("gc", stdin="n\n")
    assert done.returncode == 1
    assert "To mark    3 memories" in done.stdout
    assert "nothing was changed. --yes skips the question" in " ".join(done.stderr.split())
    assert aged.bytes() == before
    assert "help" not in done.stderr, "who says no has misunderstood no word"
    assert aged.asked("gc", stdin="y\n").returncode == 0
    assert marked(aged) == 3


def test_a_person_is_asked_on_the_terminal(aged: Governed) -> None:
    child = aged.at_terminal("retention", "gc")
    child.expect(r"\[y/N\]")
    child.sendline("y")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0
    assert marked(aged) == 3


def test_where_there_is_nothing_to_collect_nobody_is_asked(house: Governed) -> None:
    assert house.retention("gc").endswith("There is nothing to collect.\n")


def test_json_needs_a_yes_or_a_dry_run(aged: Governed) -> None:
    assert json.loads(aged.asked("gc", "--json").stdout)["error"].startswith("nothing was changed: --json needs")
    assert len(aged.answers("gc", "--dry-run")["domains"][0]["marks"]) == 3
    assert marked(aged) == 0
    answer = aged.answers("gc", "--yes")
    assert (answer["dry_run"], len(answer["domains"][0]["marks"])) == (False, 3)


def test_the_limit_takes_the_oldest_first_and_says_what_is_left(aged: Governed) -> None:
    aged.retention("set", "memory.limit=2")
    shown = aged.retention("gc", "--yes", "--domain", "memory")
    assert "Marked     2 memories" in shown
    assert "Left       1 more for the next collection" in shown
    assert "Eligible   3, of which one collection deletes 2 (limit)" in aged.retention("show")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["gc", "--quiet"], "--quiet works only with --auto"),
        (["gc", "--auto", "--yes"], "it does not work with --yes"),
        (["undo", "mnone"], "there is no"),
        (["admin", "archive", "mnone"], "there is no"),
        (["admin", "archive", "--note", "a\x1b[31mb"], "a note is one line"),
        (["admin", "archive", "--note", "x" * 1_001], "a note is one line"),
        (["admin", "archive", "--domain", "rag"], "nothing may be deleted"),
        (["admin", "restore", "../../etc"], "is not the id of an archive"),
        (["admin", "restore", "memory-20261122T233000Z-k3f9a2"], "there is no archive"),
    ],
)
def test_a_mistake_changes_nothing(aged: Governed, words: list, message: str) -> None:
    aged.retention("hold", "list")
    assert message in aged.refused(*words)


# --- by itself -------------------------------------------------------------------------------------------------------------------------


def test_hooks_children_collect_where_auto_gc_is_on_and_print_nothing(aged: Governed) -> None:
    assert aged.retention(*jobs.COLLECT[1:]) == ""
    assert marked(aged) == 0
    aged.retention("set", "memory.auto_gc=true")
    assert aged.retention(*jobs.COLLECT[1:]) == ""
    assert marked(aged) == 3
    assert {entry["by"] for entry in aged.answers("admin", "log", "--action", "marked")["entries"]} == {"job"}
    assert "the hourly job: marked 3 memories" in aged.retention("admin", "log", "--action", "marked")


def test_what_goes_wrong_in_a_hooks_child_is_in_the_log(aged: Governed) -> None:
    aged.retention("set", "memory.auto_gc=true")
    (aged.home / "data" / "state" / "retention-policies.json").write_text("{")
    assert aged.retention(*jobs.COLLECT[1:]) == ""
    assert " retention " in aged.log()


def test_by_hand_auto_says_what_it_did(aged: Governed) -> None:
    aged.retention("set", "memory.auto_gc=true")
    assert "Marked     3 memories" in aged.retention("gc", "--auto")
    assert aged.retention("gc", "--auto") == "Nothing is due.\n"


# --- archives --------------------------------------------------------------------------------------------------------------------------


def test_what_was_archived_comes_back_after_it_was_deleted(aged: Governed) -> None:
    shown = aged.retention("admin", "archive", "--note", "before the audit")
    assert shown.startswith("Archived 3 memories (")
    (archive,) = aged.answers("admin", "archives")["archives"]
    assert f"  popkit retention admin restore {archive['archive_id']}\n" in shown
    assert "before the audit" in aged.retention("admin", "archives")
    aged.retention("gc", "--yes")
    aged.now += 2 * DAY_S
    aged.retention("gc", "--yes")
    assert texts(aged) == {"the newest"}
    assert aged.retention("admin", "restore", archive["archive_id"]) == "Brought back 3 memories.\n"
    assert texts(aged) == {*OLD, "the newest"}
    assert "Nothing was brought back" in aged.retention("admin", "restore", archive["archive_id"])
    assert aged.answers("admin", "verify", "--read-data")["archives"] == 1


def test_an_archive_is_deleted_after_asking_and_not_while_a_hold_could_be_about_it(aged: Governed) -> None:
    aged.retention("admin", "archive", "--note", "before the audit")
    (archive,) = aged.answers("admin", "archives")["archives"]
    done = aged.asked("admin", "remove", archive["archive_id"], stdin="n\n")
    assert done.returncode == 1
    assert "3 memories" in done.stdout
    assert "before the audit" in done.stdout
    assert "nothing was deleted" in done.stderr
    for unknown, message in (
        ("x", "is not the id of an archive"),
        ("rag-20261122T233000Z-k3f9a2", "there is no archive rag-20261122T233000Z-k3f9a2"),
    ):
        done = aged.asked("admin", "remove", archive["archive_id"], unknown, stdin="y\n")
        assert (done.returncode, done.stdout) == (1, ""), "nobody is asked about what is not there"
        assert message in " ".join(done.stderr.split())
    hold = aged.answers("hold", "add", "--project", str(aged.project), "--why", "audit")["holds"][0]["id"]
    assert f"Release the hold first: popkit retention hold release {hold}" in aged.refused(
        "admin", "remove", archive["archive_id"], "--yes"
    )
    for each in aged.answers("hold", "list")["holds"]:
        aged.retention("hold", "release", each["id"])
    assert aged.retention("admin", "remove", archive["archive_id"], "--yes") == f"Deleted {archive['archive_id']} for good.\n"
    assert aged.answers("admin", "archives") == {"archives": []}
    assert aged.answers("admin", "verify", "--read-data")["ok"]


def test_one_thing_is_archived_by_its_id(aged: Governed) -> None:
    id = next(id for id, item in aged.items().items() if item["text"] == "the newest")
    assert aged.answers("admin", "archive", id[:8])["archives"][0]["resource_count"] == 1


def test_a_flipped_bit_is_found_and_the_rest_comes_back_when_asked_for(aged: Governed) -> None:
    aged.retention("admin", "archive")
    (archive,) = aged.answers("admin", "archives")["archives"]
    path = Path(aged.home / "data" / "archive" / archive["archive_id"] / "contents")
    data = bytearray(path.read_bytes())
    data[10] ^= 1
    path.write_bytes(bytes(data))
    assert aged.answers("admin", "verify")["ok"] is True
    shown = aged.retention("admin", "verify", "--read-data", code=1)
    assert "its content is not as it was written" in " ".join(shown.split())
    assert "--sound" in aged.refused("admin", "restore", archive["archive_id"])
    assert "Damaged in the archive, and left out: 1." in aged.retention("admin", "restore", archive["archive_id"], "--sound")


# --- with others -----------------------------------------------------------------------------------------------------------------------


# --- results that left a context -------------------------------------------------------------------------------------------------------


@pytest.fixture
def cleared(house: Governed) -> Governed:
    """Two results left a context a year ago; their placeholders stand in its transcript."""
    house.start()
    for number in range(6):
        house.bash(f"cat {number}", f"line {number}\n" * 400)
    answer("clear --now --id T1,T2", Site(house.env, SESSION, str(house.project)), str(house.transcript), house.now)
    house.now += 365 * DAY_S
    return house


def test_content_behind_a_placeholder_stays_unless_the_user_insists(cleared: Governed) -> None:
    """The user is told where it stands."""
    assert "Eligible   2" in cleared.retention("show", "--domain", "rag")
    shown = cleared.retention("gc", "--dry-run", "--domain", "rag")
    assert "Kept       2 needed by a placeholder in a transcript" in shown
    assert "popkit retention gc --placeholders" in shown
    shown = cleared.retention("gc", "--yes", "--placeholders")
    assert "Marked     2 results" in shown
    assert f"  session {cleared.transcript.stem}: " in shown
    cleared.now += 2 * DAY_S
    shown = cleared.retention("gc", "--yes", "--placeholders")
    assert "Deleted    2 results for good" in shown
    assert "Now placeholders in these sessions can no longer be restored:" in shown
    assert cleared.answers("show")["domains"][1]["counts"]["total"] == 0
    assert cleared.run("restore", "verify").returncode == 0


def test_a_result_that_was_archived_comes_back_byte_for_byte_after_it_was_deleted(cleared: Governed) -> None:
    (id, *_) = [each["id"] for each in cleared.answers("apply", "--domain", "rag")["domains"][0]["eligible"]]
    before = cleared.run("restore", id).stdout
    (archive,) = cleared.answers("admin", "archive", id[:6])["archives"]
    cleared.retention("gc", "--yes", "--placeholders", "--domain", "rag")
    cleared.now += 2 * DAY_S
    cleared.retention("gc", "--yes", "--placeholders", "--domain", "rag")
    assert cleared.run("restore", id).returncode == 1
    assert cleared.retention("admin", "restore", archive["archive_id"]) == "Brought back 1 result.\n"
    assert cleared.run("restore", id).stdout == before


def test_explain_names_the_transcript_and_what_it_would_take(cleared: Governed) -> None:
    (id, *_) = [each["id"] for each in cleared.answers("apply", "--domain", "rag")["domains"][0]["eligible"]]
    shown = " ".join(cleared.retention("explain", id).split())
    assert "Because needed by a placeholder in a transcript" in shown
    assert "unless somebody runs popkit retention gc --placeholders" in shown


def test_what_became_of_something_that_is_no_longer_stored_is_in_the_log(cleared: Governed) -> None:
    (id, *_) = [each["id"] for each in cleared.answers("apply", "--domain", "rag")["domains"][0]["eligible"]]
    for _ in "12":
        cleared.retention("gc", "--yes", "--placeholders")
        cleared.now += 2 * DAY_S
    assert f"{id} is no longer stored. `popkit retention admin log --id {id}` shows what was done with it" in cleared.refused("explain", id)
    assert [entry["action"] for entry in cleared.answers("admin", "log", "--id", id)["entries"]] == ["deleted", "deleting", "marked"]
