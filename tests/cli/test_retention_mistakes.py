"""`popkit retention` where words, files or others are wrong: it says what to do, and the state stays as it was, byte for byte."""

from __future__ import annotations

import json

import pexpect
import pytest

from tests.cli.governed import Governed
from tests.cli.remembered import HOSTILE
from tests.kit.disks import read_only


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Governed:
    """Policies that somebody has set, and a memory on hold: for words that change nothing."""
    return prepared(Governed(tmp_path_factory.mktemp("kept")))


@pytest.fixture
def set_up(house: Governed) -> Governed:
    """The same, for whoever changes something."""
    return prepared(house)


def prepared(house: Governed) -> Governed:
    house.retention("set", "memory.older_than_days=90", "rag.keep_session_ids=a,b")
    house.add("run make check")
    (id,) = house.items()
    house.retention("hold", "add", id, "--why", "audit")
    return house


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nonsense"], 'unknown word "nonsense"'),
        (["show", "--domain", "audio"], '--domain takes memory or rag, not "audio"'),
        (["set"], "set needs KEY=VALUE…, for example: set memory.older_than_days=90"),
        (["set", "older_than_days=3"], "Write memory.older_than_days or rag.older_than_days, or add --domain"),
        (["set", "memory.older_than_days"], "is not KEY=VALUE"),
        (["set", "memory.older=3"], 'unknown key "older". Known: older_than_days'),
        (["set", "audio.limit=3"], 'unknown domain "audio"'),
        (["set", "--domain", "rag", "memory.limit=3"], "and --domain says rag"),
        (["set", "memory.limit=many"], 'limit takes a number, not "many"'),
        (["set", "memory.limit="], 'limit takes a number, not ""'),
        (["set", "memory.limit=NaN"], "limit must be a finite number"),
        (["set", "memory.older_than_days=inf"], "older_than_days must be a finite number"),
        (["set", "memory.older_than_days=-Infinity"], "must be a finite number"),
        (["set", "memory.limit=1e400"], "must be a finite number"),
        (["set", "memory.limit=" + "9" * 5_000], "limit takes a number"),
        (["set", "memory.limit+=3"], "limit is not a list"),
        (["set", "memory.vacuum=maybe"], 'vacuum must be true or false, not "maybe"'),
        (["set", "rag.keep_context_ids=1,x"], 'keep_context_ids takes numbers, not "x"'),
        (["set", "rag.keep_context_ids=-1"], "is not a context id"),
        (["set", "rag.keep_context_ids=1.5"], "is not a context id"),
        (["set", "rag.keep_session_ids=a\x1b[31mb"], "is not a session id"),
        (["set", "rag.keep_session_ids=" + "x" * 201], "is not a session id"),
        (["set", "memory.limit=7", "rag.limit=NaN"], "must be a finite number"),
        (["admin", "rollback", "99"], "there is no revision 99"),
        (["explain", "mnone"], "popkit memory list"),
        (["explain", "\x1b[31mx"], "there is no"),
        (["explain", ""], "there is no"),
        (["admin", "log", "--action", "delete"], "--action takes configured, requested, declined, applied, held,"),
        (["undo"], "nothing is marked by a retention policy. `popkit memory undo` takes other marks back"),
        (["hold", "add", "m"], "hold add needs --why TEXT: the reason"),
        (["hold", "add", "--why", "audit"], "Give ids, --session or --project"),
        (["hold", "add", "m", "--session", "s", "--why", "audit"], "only one of these"),
        (["hold", "add", "mnone", "--why", "audit"], "there is no"),
        (["hold", "add", "m", "--why", ""], "a hold needs a reason"),
        (["hold", "add", "m", "--why", "x" * 501], "of at most 500 printable characters"),
        (["hold", "add", "m", "--why", "a\x1b[31mb"], "printable characters"),
        (["hold", "add", "m", "--why", "audit", "--who", "a\x07b"], "printable characters"),
        (["hold", "add", "m", "--why", "audit", "--until", "Infinity"], 'not "Infinity"'),
        (["hold", "add", "m", "--why", "audit", "--until", "2001-01-01"], "a hold must end in the future"),
        (["hold", "add", "m", "--why", "audit", "--until", "9999999w"], "a hold must end in the future"),
        (["hold", "add", "--project", "/no/such/folder", "--why", "audit"], "--project takes a folder"),
        (["hold", "add", "--session", "s\x07", "--why", "audit"], "printable characters"),
        (["hold", "release", "hnone"], "popkit retention hold list"),
    ],
)
def test_a_mistake_exits_1_says_what_to_do_and_changes_nothing(kept: Governed, words: list, message: str) -> None:
    assert message in kept.refused(*words)


@pytest.mark.parametrize("words", [["nonsense"], ["set", "memory.limit=NaN"], ["explain", "mnone"], ["hold", "release", "hnone"]])
def test_a_mistake_is_json_where_json_is_asked_for(kept: Governed, words: list) -> None:
    before = kept.bytes()
    done = kept.asked(*words, "--json")
    assert (done.returncode, json.loads(done.stdout).keys()) == (1, {"error"})
    assert kept.bytes() == before


@pytest.mark.parametrize(
    ("written", "message"),
    [
        (b"{", "is not JSON"),
        (b"1" * (33 << 20), "is larger than"),
        (b'{"version": 99}', "was written by a later PopKit"),
    ],
)
@pytest.mark.parametrize("words", [["show"], ["set", "memory.limit=7"], ["apply"]])
def test_a_policies_file_that_cannot_be_read_is_named_and_left_alone(set_up: Governed, words: list, written: bytes, message: str) -> None:
    path = set_up.home / "data" / "state" / "retention-policies.json"
    path.write_bytes(written)
    error = set_up.refused(*words)
    assert message in error
    assert path.name in error.replace(" ", "")
    assert path.read_bytes() == written


@pytest.mark.parametrize("words", [["admin", "log"], ["admin", "history"], ["set", "memory.limit=7"], ["hold", "release", "h1"]])
def test_a_log_that_is_damaged_is_named_and_left_alone(set_up: Governed, words: list) -> None:
    path = set_up.home / "data" / "state" / "retention-log.sqlite"
    path.write_bytes(b"not a database" * 1_000)
    assert path.name in set_up.refused(*words).replace(" ", "")
    shown = set_up.retention("admin", "verify", code=1)
    assert "Broken: log:" in shown


@pytest.mark.parametrize(
    "words", [["set", "memory.limit=7"], ["hold", "add", "--session", "s", "--why", "audit"], ["admin", "rollback", "1"]]
)
def test_a_folder_that_cannot_be_written_is_named(set_up: Governed, words: list) -> None:
    with read_only(set_up.home / "data"):
        error = set_up.refused(*words)
    assert "ead-only file system" in error or "ermission denied" in error or "readonly database" in error


@pytest.mark.parametrize("words", ["set memory.limit=7", "hold add --session s --why audit", "rollback 0", "apply"])
def test_a_disk_that_takes_no_more_leaves_everything_as_it_was(set_up: Governed, words: str) -> None:
    before, entries = set_up.bytes(), set_up.answers("admin", "log")["entries"]
    done = set_up.in_shell(f"ulimit -f 0; exec popkit retention {words} 2>&1 | cat")
    assert b"popkit" in done.stdout
    assert b"Traceback" not in done.stdout
    assert (set_up.bytes(), set_up.answers("admin", "log")["entries"]) == (before, entries)
    assert set_up.answers("admin", "verify")["ok"] is True


def test_a_folder_that_is_a_file_is_named(house: Governed) -> None:
    house.home.mkdir(parents=True)
    (house.home / "data").write_text("mine")
    error = house.refused("set", "memory.limit=7")
    assert "data" in error
    assert "directory" in error


def test_no_home_and_a_relative_one_are_refused(house: Governed) -> None:
    assert "POPKIT_HOME" in house.refused("show", POPKIT_HOME="some/where")
    assert "set POPKIT_HOME" in house.refused("set", "memory.limit=7", HOME="~nobody")


def test_no_hostile_text_reaches_a_terminal(house: Governed) -> None:
    id = house.json("add", "-", stdin=HOSTILE)["items"][0]["id"]
    house.now += 365 * 86_400.0
    child = house.at_terminal("retention", "explain", id)
    child.expect(pexpect.EOF)
    printed = [
        house.retention(*words)
        for words in (["apply"], ["gc", "--dry-run"], ["hold", "add", id, "--why", "audit"], ["hold"], ["admin", "log"])
    ]
    for shown in (child.before, *printed):
        assert not set("\x1b\x07\u202e\u200b\U000e0041") & set(shown)
