"""`popkit memory` where words, files or others are wrong: it says what to do, and nothing is lost."""

from __future__ import annotations

import json
import sqlite3

import pexpect
import pytest

from popkit_retention.core.text import without_controls
from tests.cli.remembered import HOSTILE, Remembered
from tests.kit.forks import Forks


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nonsense"], 'unknown word "nonsense"'),
        (["list", "--tier", "lukewarm"], '--tier takes hot, warm, cold or archive, several with commas, not "lukewarm"'),
        (["admin", "search"], "admin search needs WORDS, for example: admin search how to run the tests"),
        (["admin", "search", "x", "--most", "9" * 5000], "--most takes a whole number from 1"),
        (["admin", "file", "--tokens", "5000"], "--tokens takes at most 2,000"),
        (["admin", "show", "mnone"], "no memory"),
        (["why", "mnone"], "popkit memory list shows the ids"),
        (["forget"], "To forget everything about this project: forget --all"),
        (["forget", "m1", "--all"], "forget needs ID…"),
        (["admin", "pin", "mnone"], "no memory"),
        (["forget", ""], "no memory"),
        (["undo", "mnone"], "no memory"),
        (["add", "  "], "the text is empty"),
        (["add", "-"], "the text is empty"),
        (["add", "x", "--kind", "a,b"], "an item has one kind"),
        (["add", "x", "--kind", "k" * 300], "kind has more than 200 characters"),
        (["status", "--project", "/no/such/folder"], "there is no folder"),
        (["on", "--project", "/no/such/folder"], "--project takes a folder"),
        (["status", "--project", "/etc/hosts"], "--project takes a folder"),
        (["admin", "learn", "none"], "popkit memory admin learn --past takes all sessions"),
        (["admin", "learn"], "no past sessions of shop"),
        (["admin", "learn", "no/such.jsonl"], "there is no file"),
        (["admin", "learn", "/"], "is a folder"),
        (["admin", "learn", "--past"], "no past sessions of shop"),
        (["admin", "learn", "--past", "one"], "one: cannot be read: No such file or directory"),
        (["admin", "learn", "--if-on"], "--if-on takes one transcript"),
        (["admin", "import", "/no/such/file"], "/no/such/file: No such file or directory"),
        (["admin", "import", "/"], "not a regular file"),
        (["admin", "export", "/no/such/file"], "popkit memory: /no/such/file: No such file or directory"),
        (["help", "nonsense"], 'unknown word "nonsense"'),
    ],
)
def test_a_mistake_exits_1_and_says_what_to_do(shop: Remembered, words: list, message: str) -> None:
    assert message in shop.mistake(*words)
    if "help" not in words:
        done = shop.ask(*words, "--json")
        assert (done.returncode, json.loads(done.stdout).keys()) == (1, {"error"})


@pytest.mark.parametrize("data", [b"\xff\xfe\x00binary", b"a\0b", b"x" * (5 << 20), b"x" * 1_000_001])
def test_an_invalid_item_is_refused(shop: Remembered, data: bytes) -> None:
    shop.mistake("add", "-", stdin=data)
    assert shop.items() == {}


def test_an_item_that_is_remembered_already_is_not_added_again(shop: Remembered) -> None:
    shop.add("run the tests")
    assert "there already" in shop.mistake("add", "run the tests")


def test_a_store_that_is_damaged_is_named_and_left_alone(shop: Remembered) -> None:
    shop.add("run the tests")
    (path,) = shop.home.rglob("*.sqlite")
    path.write_bytes(b"not a database" * 1_000)
    assert path.name in "".join(shop.mistake("list").split())
    assert path.read_bytes() == b"not a database" * 1_000


# --- with others -------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("column", ["tier", "score", "created_at", "text", "accesses", "marked_at"])
def test_a_corrupt_item_is_named(shop: Remembered, column: str) -> None:
    shop.add("run make check")
    spoil(shop, f"UPDATE items SET {column} = " + ("'spoilt' || x'ff'" if column == "text" else "'\"spoilt\"'"))  # noqa: S608
    message = shop.mistake("admin", "run", "--force")
    assert "damaged" in message, message
    assert "Broken" in shop.ask("admin", "verify").stdout or column == "text"


@pytest.mark.parametrize("word", [["status"], ["add", "x"], ["admin", "run", "--force"]])
def test_corrupt_data_kept_beside_items_is_named(shop: Remembered, word: list) -> None:
    shop.add("run make check")
    spoil(shop, "INSERT INTO kept SELECT 'sessions:' || project, '{' FROM items UNION SELECT 'job', '{'")
    assert "is malformed" in shop.mistake(*word)


@pytest.mark.parametrize("clock", ["nan", "inf", "-1", "1e400", "253402300800"])
def test_a_clock_that_no_calendar_has_is_the_real_one(shop: Remembered, clock: str) -> None:
    id = shop.add("run make check")
    for words in (["admin", "run", "--force"], ["why", id], ["status"]):
        assert shop.ask(*words, POPKIT_CLOCK=clock).returncode == 0


def spoil(shop: Remembered, statement: str) -> None:
    db = sqlite3.connect(shop.home / "memory.sqlite")
    with db:
        db.execute(statement)
    db.close()


@pytest.mark.parametrize("written", [b"\xff{", b"[]", b"[" * 60_000, b'"' * 100_000])
def test_corrupt_settings_are_named_and_rewritten(shop: Remembered, written: bytes) -> None:
    shop.memory("on")
    (path,) = shop.home.glob("memory/*/settings.json")
    path.write_bytes(written)
    for words in (["status"], ["add", "run make check"]):
        message = "".join(shop.mistake(*words).split())  # a long path is folded
        assert "settings.json:notasitwaswritten:popkitmemoryon" in message
    shop.memory("on")
    assert shop.json("status")["on"] is True


def test_several_processes_at_once_lose_nothing(forks: Forks, shop: Remembered) -> None:
    shop.add("the first")
    shop.together(forks, [["memory", "add", f"thing {number}"] for number in range(6)])
    assert {item["text"] for item in shop.items().values()} == {"the first", *(f"thing {number}" for number in range(6))}
    assert shop.json("admin", "verify") == {"ok": True, "broken": []}


@pytest.mark.parametrize("words", ["list", "admin export"])
def test_a_reader_that_leaves_early_is_not_an_error(shop: Remembered, words: str) -> None:
    for number in range(3):
        shop.add(f"thing number {number} " + "and more " * 5_000)
    done = shop.in_shell(f"popkit memory {words} | head -c 10")
    assert (done.returncode, done.stderr) == (0, b"")


def test_no_hostile_text_reaches_a_terminal(shop: Remembered) -> None:
    id = shop.json("add", "-", stdin=HOSTILE)["items"][0]["id"]
    kept = shop.json("admin", "show", id)["text"]
    shop.memory("admin", "pin", id)
    for words in (["list"], ["admin", "file"], ["admin", "show", id]):
        child = shop.at_terminal("memory", *words)
        child.expect(pexpect.EOF)
        assert not set("\x1b\x07\u202e\u200b\U000e0041") & set(child.before), words
    assert kept == HOSTILE
    piped = shop.ask("admin", "show", id).stdout
    assert piped.endswith("\n" + without_controls(HOSTILE) + "\n"), "a pipe gets the text, with its control characters visible"
    assert not set("\x1b\x07") & set(piped)
    for words in (["admin", "search", "make"], ["why", id], ["admin", "pin", id]):
        assert not set("\x1b\x07\u202e\u200b\U000e0041") & set(shop.memory(*words))


def test_an_item_on_hold_is_not_forgotten(shop: Remembered) -> None:
    id = shop.add("run the linter before you commit")
    hold = {"id": "h7", "scope": "item", "target": id, "who": "alice", "why": "audit", "created_at": 0, "until": 4e9, "released_at": None}
    with sqlite3.connect(shop.home / "memory.sqlite") as db:
        db.execute("INSERT INTO kept VALUES ('holds', ?)", (json.dumps([hold]),))
    db.close()
    message = shop.mistake("forget", id)
    assert f"{id} is on hold (alice: audit, until 2096-10-02). Release it first: popkit retention hold release h7" in message
    assert shop.items()[id]["marked_at"] is None
