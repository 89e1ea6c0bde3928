"""Restore: what was cleared is printed, or stands in its place again."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pexpect
import pytest

from popkit_retention.core import archive
from popkit_retention.core.policy import compacting, list_text
from popkit_retention.core.reclaim import access, restoring
from tests import locales
from tests.hooks import payloads, processes
from tests.kit.forks import Command
from tests.patience import HANG_S
from tests.reclaim.shops import Shop, code, numbered, worked

OLD = numbered(code(120))


# --- printed ----------------------------------------------------------------------------------------------------------------------


def test_a_handle_prints_the_content_and_nothing_else(cleared: Shop):
    done = cleared.popkit("restore", cleared.cleared()["read-old"])
    assert (done.code, done.out, done.err) == (0, OLD + "\n", "")


def test_of_a_list_that_holds_lists_the_calls_are_printed_in_their_order(tmp_path: Path):
    """As after the third compaction: a list holds the second's, which holds the first's."""
    chain = archive.Chain("one", "one")

    def kept(db: sqlite3.Connection, rows: list[dict[str, str]]) -> str:
        new = archive.NewRecord("", compacting.CALLS, "5 calls", json.dumps(rows), "2026-02-21T16:15:30.639Z", [], 9)
        return archive.add_records(db, chain, [new])[0]

    def said(text: str) -> dict[str, str]:
        return {"role": "assistant", "text": text}

    def fold(handle: str) -> dict[str, str]:
        return {"role": "user", "text": f"{list_text.HEAD}5 calls{list_text.MIDDLE}{handle}{list_text.TAIL}"}

    with closing(archive.open_archive(str(tmp_path / "archive.sqlite"))) as db:
        oldest = kept(db, [said("first"), said("second")])
        older = kept(db, [fold(oldest), said("third")])
        newest = kept(db, [said("zeroth"), fold(older), said("fourth")])
        record = archive.record(db, newest)
        assert record is not None
        ((_, text),) = restoring.printed(db, [record])
    assert text == "\n".join(["zeroth", fold(oldest)["text"], "third", "fourth"])


def _ways(shop: Shop) -> dict[str, list[str]]:
    handle = shop.cleared()["read-old"]
    return {"handle": [handle], "beginning of it": [handle[:5]], "id of the call": ["read-old"], "path": ["old.ts"], "pattern": ["*/old.*"]}


@pytest.mark.parametrize("way", ["handle", "beginning of it", "id of the call", "path", "pattern"])
def test_it_goes_by(cleared: Shop, way: str):
    words = _ways(cleared)[way]
    for done in (cleared.popkit("restore", *words), cleared.context("restore", *words)):
        assert done.code == 0, done
        assert done.out.strip("\n") == OLD.strip("\n")


def test_it_goes_by_the_number_of_a_call(cleared: Shop):
    assert cleared.context("restore", "T1").out.strip("\n") == OLD.strip("\n")
    refused = cleared.context("restore", "T11")
    assert refused.code == 1
    assert "was not cleared" in refused.err


def test_several_are_told_apart(cleared: Shop):
    handles = cleared.cleared()
    done = cleared.popkit("restore", "read-old", "found")
    assert f"=== {handles['read-old']}  Read old.ts\n{OLD}" in done.out
    assert f"=== {handles['found']}  Glob **/*.ts\n" in done.out


def test_since_prints_what_was_cleared_since_then(cleared: Shop):
    done = cleared.context("restore", "--since", "2h")
    assert all(handle in done.out for handle in cleared.cleared().values())
    cleared.at += 3 * 3600
    done = cleared.context("restore", "--since", "2h")
    assert (done.code, done.out) == (1, "")
    assert "nothing of this session was cleared since" in done.err


def test_as_data_it_has_the_name_and_the_content(cleared: Shop):
    for found in (cleared.popkit("restore", "read-old", "--json").json, cleared.context("restore", "read-old", "--json").json):
        (record,) = found["records"]
        assert (record["handle"], record["id"], record["content"]) == (cleared.cleared()["read-old"], "read-old", OLD)


@pytest.mark.parametrize("word", ["zzzzzzzz", "nothing.ts", "T999", "", "-", "../../etc/passwd", "'; DROP TABLE clears; --"])
def test_what_is_not_there_is_an_error(cleared: Shop, word: str):
    before = cleared.transcript.read_bytes()
    done = cleared.popkit("restore", word)
    assert (done.code, done.out) == (1, "")
    assert done.err
    assert cleared.transcript.read_bytes() == before
    cleared.archive_report()


def test_before_anything_was_archived_it_says_so(working: Shop):
    done = working.popkit("restore", "abcdabcd")
    assert done.code == 1
    assert "nothing has been archived yet" in done.err


def test_it_finds_what_another_session_cleared_next_week(cleared: Shop):
    cleared.at += 7 * 24 * 3600
    other = Shop(cleared.folder, cleared.forks, "5e551019-0000-4000-8000-000000000002")
    other.at = cleared.at
    assert other.popkit("restore", cleared.cleared()["read-old"]).out == OLD + "\n"
    assert other.popkit("restore", "old.ts").out == OLD + "\n"


@pytest.fixture
def elsewhere(cleared: Shop) -> str:
    """The handle of a key that another project's session has cleared."""
    db = archive.open_archive(str(cleared.home / "archive.sqlite"))
    chain = archive.Chain("another", "another", "", "/elsewhere", "/elsewhere/t.jsonl")
    record = archive.NewRecord("key", "read", "Read credentials", '"the key of another project"', subjects=["/elsewhere/credentials"])
    (handle,) = archive.add_records(db, chain, [record], now=cleared.at)
    db.close()
    return handle


@pytest.mark.parametrize("word", ["credentials", "*", "**", "/elsewhere/**", "Read credentials"])
def test_a_path_never_reaches_into_another_project(cleared: Shop, elsewhere: str, word: str):
    for done in (cleared.popkit("restore", word), cleared.popkit("restore", word, environ={"CLAUDE_CODE_SESSION_ID": cleared.session_id})):
        assert "the key of another project" not in done.out
        assert done.out or "give its handle" in " ".join(done.err.split())
    assert cleared.popkit("restore", elsewhere).out == "the key of another project\n", "a person may ask for it"


def test_a_path_is_found_from_a_folder_within_the_project(cleared: Shop):
    inner = cleared.project / "src" / "deep"
    inner.mkdir(parents=True)
    done = cleared.forks.run(Command(["restore", "old.ts"]), cleared.environ(), cwd=str(inner))
    assert (done.code, done.out) == (0, OLD + "\n")
    beside = cleared.folder / "shop-two"
    beside.mkdir()
    assert cleared.forks.run(Command(["restore", "old.ts"]), cleared.environ(), cwd=str(beside)).code == 1


def test_what_is_pruned_after_it_was_printed_is_no_failure(cleared: Shop):
    with access.OpenArchive(str(cleared.home)) as db:
        records = restoring.records_for(db, "read-old", cleared.session_id, "")
        assert [text for _, text in restoring.printed(db, records)] == [OLD]
        archive.prune(db, cleared.at + 1)
        assert restoring.book_printed(cleared.site(), db, records, cleared.at) == ""
    assert cleared.ledger()["restored"] == 0


def test_what_was_pruned_is_gone_for_good(cleared: Shop):
    handle = cleared.cleared()["read-old"]
    cleared.at += 40 * 24 * 3600
    assert cleared.popkit("restore", "prune", "--older-than", "30d", "--yes").code == 0
    done = cleared.popkit("restore", handle)
    assert done.code == 1
    assert OLD not in done.out
    assert cleared.transcript.read_bytes()  # and it stands


@pytest.mark.parametrize("words", [["--since", "60d"], ["abcdabcd"]])
def test_after_a_prune_a_restore_says_that_it_was_pruned(cleared: Shop, words: list[str]):
    """When, and how much; not that nothing was ever cleared."""
    cleared.at += 40 * 24 * 3600
    assert cleared.popkit("restore", "prune", "--older-than", "30d", "--yes").code == 0
    done = cleared.context("restore", *words)
    error = " ".join(done.err.split())
    assert done.code == 1
    assert "3 results that this session had cleared were pruned on 2026-" in error
    assert "nothing of this session was cleared" not in error


def test_a_prune_is_not_told_of_a_time_that_begins_behind_it(cleared: Shop):
    cleared.at += 40 * 24 * 3600
    assert cleared.popkit("restore", "prune", "--older-than", "30d", "--yes").code == 0
    cleared.at += 2 * 24 * 3600
    done = cleared.context("restore", "--since", "1d")
    assert done.code == 1
    assert "nothing of this session was cleared since" in " ".join(done.err.split())


def test_a_picture_is_mentioned(shop: Shop):
    talk = worked(str(shop.project))
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBO" * 900}}
    talk.use("picture", "mcp__demo__look", {"at": "it"})
    talk.result("picture", [{"type": "text", "text": "a picture"}, picture])
    shop.write(talk)
    shop.clear(ids=("picture",))
    printed = shop.popkit("restore", "picture").out
    assert "a picture" in printed
    assert "2,700 bytes" in printed
    assert "iVBO" not in printed


# --- letters that a terminal obeys ------------------------------------------------------------------------------------------------

HOSTILE = "a\x1b[2J\x1b]0;title\x07b\rc\x9b1m \u202egnp.exe \ud800 日本\u3000é\tok\x00"
SHOWN = r"a\x1b[2J\x1b]0;title\x07b\rc\x9b1m \u202egnp.exe \ud800 日本" + "\u3000é\tok" + r"\x00"


@pytest.fixture
def hostile(shop: Shop) -> str:
    """The handle of a content with such letters in it."""
    talk = worked(str(shop.project))
    talk.bash("hostile", "cat it", "\n\n".join([HOSTILE] * 20))
    shop.write(talk)
    shop.clear(ids=("hostile",))
    return shop.cleared()["hostile"]


def test_raw_a_content_is_what_it_was_byte_for_byte(shop: Shop, hostile: str, tmp_path: Path):
    for locale in ({"LC_ALL": "C"}, {"LC_ALL": "C.UTF-8"}, locales.latin_1(tmp_path)):
        done = subprocess.run(
            [processes.ROOT / "bin" / "popkit", "restore", "--raw", hostile], env=shop.environ(**locale), capture_output=True, check=False
        )
        assert done.stdout == ("\n\n".join([HOSTILE] * 20) + "\n").encode("utf-8", "surrogatepass")


@pytest.mark.parametrize("words", [["restore"], ["context", "restore"]], ids=" ".join)
def test_on_a_terminal_it_is_shown_without_being_obeyed(shop: Shop, hostile: str, words: list[str]):
    more = ["--transcript", str(shop.transcript)] if words[0] == "context" else []
    argv = [str(processes.ROOT / "bin" / "popkit"), *words, hostile, *more]
    env = {**shop.environ(NO_COLOR="1"), "PATH": os.environ["PATH"]}
    child = pexpect.spawn(argv[0], argv[1:], env=env, cwd=str(shop.project), timeout=HANG_S)
    shown = child.read().decode().replace("\r\n", "\n").strip("\n")
    child.close()
    assert shown == "\n\n".join([SHOWN] * 20)


def test_in_the_client_it_is_shown_without_being_obeyed(shop: Shop, hostile: str):
    done = shop.hook("context-monitor", hook_event_name="UserPromptSubmit", prompt=f"/popkit:context restore {hostile}")
    assert done.json["reason"].strip("\n") == "\n\n".join([SHOWN] * 20)


def test_what_we_say_ourselves_follows_the_locale(cleared: Shop, tmp_path: Path):
    argv = [processes.ROOT / "bin" / "popkit", "restore", "é日"]
    env = cleared.environ(**locales.latin_1(tmp_path))
    done = subprocess.run(argv, env=env, cwd=cleared.project, capture_output=True, check=False)
    assert 'called "é?"' in done.stderr.decode("latin-1")


# --- in place ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [["read-old"], ["--since", "2h"], ["T1"]])
def test_in_place_it_is_noted_for_the_time_when_the_session_is_resumed(cleared: Shop, words: list[str]):
    before, handles = cleared.transcript.read_bytes(), cleared.cleared()
    done = cleared.context("restore", *words, "--in-place", "--json")
    meant = set(handles.values()) if "--since" in words else {handles["read-old"]}
    assert (set(done.json["restored"]), done.json["later"]) == (meant, True)
    assert set(cleared.noted().back) == meant
    assert cleared.transcript.read_bytes() == before
    assert cleared.context("undo", "--json").json == {"restored": [], "stays_out": [], "later": False}, "what is noted is cancelled"
    assert cleared.noted().back == []


# --- held, and booked ---------------------------------------------------------------------------------------------------------------


def _continue(shop: Shop, talk, there: int) -> None:
    shop.at = talk.now + 8_000
    for entry in talk.entries[there:]:
        entry["timestamp"] = "2026-10-30T10:00:00.000Z"  # after the restore
    shop.goes_on(talk, there)


def _take_back(shop: Shop, talk, there: int) -> None:
    lines = shop.transcript.read_bytes().splitlines(keepends=True)
    shop.transcript.write_bytes(b"".join(lines[:there]))


@pytest.mark.parametrize("words", [["restore", "read-old"], ["context", "restore", "read-old"]])
def test_a_restore_is_booked_as_a_false_expiration(cleared: Shop, words: list):
    before = cleared.state().counts.false_expirations.get("medium", 0)
    words = [*words, "--session", cleared.session_id] if words[0] == "context" else words
    assert cleared.popkit(*words).code == 0
    assert cleared.state().counts.false_expirations["medium"] == before + 1
    stats = cleared.context("stats", "--json").json["session"]
    assert stats["false_expirations"] == sum(cleared.state().counts.false_expirations.values()) >= 1
    cleared.assert_state_follows()


def test_what_the_model_restores_by_bash_is_held(cleared: Shop):
    handle = cleared.cleared()["read-old"]
    talk = worked(str(cleared.project))
    there = len(talk.entries)
    talk.bash("restored", f"popkit restore {handle}", OLD)
    _continue(cleared, talk, there)
    state = cleared.state()
    assert state.live["restored"].kind == "restored"
    assert state.live["restored"].pinned
    assert state.holds == {"restored": state.index + 20}
    cleared.clear(tier=state.live["restored"].tier)
    assert "restored" not in cleared.cleared()


def test_the_hook_holds_it_too(tmp_path):
    home = processes.Home(tmp_path)
    call = payloads.bash("popkit restore abcdabcd", OLD)
    assert processes.run("post-tool-use", call, home.env()).silent
    state = home.state(payloads.SESSION)
    assert state.holds == {call["tool_use_id"]: 21}
