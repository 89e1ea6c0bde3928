"""The compaction partner, through the real hooks: what the summariser is told before, what the model is told after."""

from __future__ import annotations

import json
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from hooks.utils.io import home
from hooks.utils.policy.estimate import estimate_tokens
from hooks.utils.reclaim import access, compaction_advice
from hooks.utils.state import live, store
from hooks.utils.state.archived import Originals
from tests.hooks import processes
from tests.kit.crowds import held
from tests.reclaim.shops import STEP_S, Shop, Talk, code, worked


def _before(shop: Shop, trigger: str = "auto") -> str:
    """What PreCompact prints."""
    common = {"session_id": shop.session_id, "transcript_path": str(shop.transcript), "cwd": str(shop.project)}
    payload = {**common, "hook_event_name": "PreCompact", "trigger": trigger, "custom_instructions": ""}
    ran = processes.run("pre-compact", payload, shop.environ(CLAUDE_PROJECT_DIR=str(shop.project)))
    assert (ran.code, ran.stderr) == (0, b"")
    return ran.stdout.decode()


def _after(shop: Shop, source: str = "compact") -> str:
    """What SessionStart adds to the conversation."""
    common = {"session_id": shop.session_id, "transcript_path": str(shop.transcript), "cwd": str(shop.project)}
    payload = {**common, "hook_event_name": "SessionStart", "source": source, "model": "claude-opus-5"}
    ran = processes.run("session-start", payload, shop.environ(CLAUDE_PROJECT_DIR=str(shop.project)))
    assert (ran.code, ran.stderr) == (0, b"")
    return json.loads(ran.stdout)["hookSpecificOutput"]["additionalContext"] if ran.stdout else ""


def _advised(shop: Shop) -> list[dict]:
    return [entry for entry in store.read_lines(shop.site().paths().journal) if entry["event"] == "advice"]


def _compact(shop: Shop, talk: Talk) -> None:
    talk.compact()
    talk.write(shop.transcript)


def test_the_summariser_is_told_what_is_dead_and_what_must_survive(shop: Shop):
    shop.write(worked(str(shop.project)))
    assert shop.context("pin", "lib.ts").code == 0
    told = _before(shop)
    assert not told.startswith("{"), "JSON would be pasted as it stands"
    assert estimate_tokens(told) <= 600
    keep, _, dead = told.partition("Outdated:")
    assert "old.ts" in dead
    assert "app.ts" in dead
    assert "lib.ts" in keep, "pinned"
    assert "no such place: shop" in keep, "an error, word for word"
    assert "which one?" in keep, "a decision"
    assert code(3) not in told, "by name, not content"


@pytest.mark.parametrize("trigger", ["auto", "manual"])
def test_afterwards_the_model_is_told_what_can_be_restored(shop: Shop, trigger: str):
    talk = worked(str(shop.project))
    shop.write(talk)
    _before(shop, trigger)
    _compact(shop, talk)
    told = _after(shop)
    assert estimate_tokens(told) <= 250
    handle = told.partition("lib.ts")[0].split()[-2]
    assert shop.popkit("restore", handle).out.startswith("     1→export const lib0")
    assert _after(shop) == "", "once"


def test_what_was_cleared_before_is_in_the_index_too(shop: Shop):
    talk = worked(str(shop.project))
    shop.write(talk)
    handles = shop.clear()[1].handles
    _before(shop)
    assert handles["read-old"] in _after(shop)


def test_what_is_said_is_booked(shop: Shop):
    shop.write(worked(str(shop.project)))
    told = _before(shop)
    assert [entry["tokens"] for entry in _advised(shop)] == [estimate_tokens(told)]
    index = _after(shop)
    assert [entry["tokens"] for entry in _advised(shop)] == [estimate_tokens(told), estimate_tokens(index)]
    assert shop.ledger()["advice_tokens"] == estimate_tokens(told) + estimate_tokens(index)
    assert shop.ledger()["net"] <= 0


def test_after_a_compaction_by_hand_the_host_repeats_it_and_that_is_booked_too(shop: Shop):
    shop.write(worked(str(shop.project)))
    told = _before(shop, "manual")
    index = _after(shop)
    assert _advised(shop)[-1]["tokens"] > estimate_tokens(told) + estimate_tokens(index)


@pytest.mark.parametrize("where", ["user", "project"])
def test_either_can_be_switched_off(shop: Shop, where: str):
    shop.write(worked(str(shop.project)))
    shop.configure(where, compaction={"advise": False, "index": True})
    assert _before(shop) == ""
    assert "popkit restore" in _after(shop)
    shop.configure(where, compaction={"advise": True, "index": False})
    assert "Outdated" in _before(shop)
    assert _after(shop) == ""


def test_with_both_switched_off_nothing_is_archived_or_booked(shop: Shop):
    shop.write(worked(str(shop.project)))
    shop.configure(compaction={"advise": False, "index": False})
    assert (_before(shop), _after(shop)) == ("", "")
    assert not (shop.home / "archive.sqlite").exists()
    assert _advised(shop) == []


def test_nothing_is_said_in_a_session_in_which_nothing_was_done(shop: Shop):
    talk = Talk(str(shop.project))
    talk.prompt("hello")
    talk.say("Hello.")
    shop.write(talk)
    assert (_before(shop), _after(shop)) == ("", "")
    shop.transcript.write_bytes(b"")
    assert (_before(shop), _after(shop)) == ("", "")
    shop.transcript.unlink()
    assert (_before(shop), _after(shop)) == ("", "")


@pytest.mark.parametrize("source", ["startup", "resume", "clear"])
def test_a_session_that_starts_otherwise_is_told_nothing(shop: Shop, source: str):
    shop.write(worked(str(shop.project)))
    _before(shop)
    assert _after(shop, source) == ""


def test_a_transcript_that_changes_nothing_for_it(shop: Shop):
    before = shop.write(worked(str(shop.project)))
    _before(shop)
    assert shop.transcript.read_bytes() == before
    records, clears = shop.archive_report()
    assert records > 3
    assert clears == 0, "nothing was cleared, and an undo has nothing to undo"


def test_however_much_there_is_it_keeps_within_its_tokens(shop: Shop):
    talk = worked(str(shop.project))
    for number in range(150):
        talk.read(f"more-{number}", f"{talk.cwd}/a/long/way/down/to/module{number}.ts", code(20, f"m{number}"))
        talk.edit(f"edit-more-{number}", f"{talk.cwd}/a/long/way/down/to/module{number}.ts")
        talk.use(f"fail-{number}", "mcp__demo__deploy", {"to": f"shop{number}"})
        talk.result(f"fail-{number}", f"no such place: shop{number} " * 30, error=True)
    shop.write(talk)
    told = _before(shop)
    assert 400 < estimate_tokens(told) <= 600
    assert 150 < estimate_tokens(_after(shop)) <= 250


def test_an_archive_that_cannot_be_used_costs_the_index_alone(shop: Shop):
    shop.write(worked(str(shop.project)))
    shop.home.mkdir(exist_ok=True)
    (shop.home / "archive.sqlite").write_bytes(b"no database " * 100)
    assert "Outdated" in _before(shop)
    assert _after(shop) == ""


@pytest.fixture
def locked_archive(shop: Shop):
    """An archive that somebody else holds until `end` is called."""
    shop.write(worked(str(shop.project)))
    access.archive.open_archive(home.archive_path(shop.site().home)).close()
    with held(home.archive_path(shop.site().home)) as holder:
        yield holder


def _end(holder: subprocess.Popen) -> None:
    holder.kill()
    holder.wait()


def test_a_locked_archive_costs_a_compaction_no_advice_and_its_index_comes_once_it_is_free(shop: Shop, locked_archive):
    talk = worked(str(shop.project))
    told = _before(shop)
    assert "old.ts" in told.partition("Outdated:")[2]
    _compact(shop, talk)
    _end(locked_archive)
    index = _after(shop)
    handle = index.partition("lib.ts")[0].split()[-2]
    assert shop.popkit("restore", handle).out.startswith("     1→export const lib0")
    assert _after(shop) == "", "once"


def test_what_was_folded_while_the_archive_was_locked_is_archived_at_the_next_prompt(shop: Shop, locked_archive):
    talk = worked(str(shop.project))
    _before(shop)
    _compact(shop, talk)
    assert _after(shop) == ""
    _end(locked_archive)
    common = {"session_id": shop.session_id, "transcript_path": str(shop.transcript), "cwd": str(shop.project)}
    payload = {**common, "hook_event_name": "UserPromptSubmit", "prompt": "go on"}
    assert processes.run("context-monitor", payload, shop.environ(CLAUDE_PROJECT_DIR=str(shop.project))).silent
    assert "lib.ts" in shop.popkit("archive", "list").out
    assert not Path(shop.site().paths().unarchived).exists()


def test_a_locked_archive_is_waited_for_once_and_not_again(shop: Shop, locked_archive, hook_patience):
    for _ in range(3):
        assert compaction_advice.before(shop.site(), str(shop.transcript), 0.0, manual=False)
        assert hook_patience.left_s == 0, "there is no patience left for the next"


def test_lines_that_the_host_writes_late_are_waited_for_out_of_the_same_patience(shop: Shop, hook_patience):
    talk = worked(str(shop.project))
    shop.write(talk)
    live.reconcile(shop.site(), str(shop.transcript))
    shop.at = talk.now - STEP_S
    del talk.entries[-2:]  # the hooks have just seen a result that is not in the transcript yet
    talk.write(shop.transcript)
    assert compaction_advice.before(shop.site(), str(shop.transcript), 0.0, manual=False)
    assert hook_patience.left_s == 0


def test_an_archive_that_is_locked_between_two_questions_is_waited_for_once(shop: Shop, hook_patience):
    shop.write(worked(str(shop.project)))
    first, second, third = list(shop.clear()[1].handles.values())[:3]
    originals = Originals(shop.site().home)
    assert originals(first)
    with closing(sqlite3.connect(home.archive_path(shop.site().home), isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        assert originals(second) is None
        assert int(hook_patience.left_s * 1000) == 0, "SQLite waits for whole milliseconds"
        other.execute("ROLLBACK")
    assert originals(third) is None, "nor is it asked again"
    originals.close()
