"""`popkit memory`: each word on a home of its own; one of each kind in a process of its own, too. What agents have added waits for the
user's approval."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from popkit_retention.memory.items import AGENT
from popkit_retention.memory.memory import Memory
from popkit_retention.memory.operations import MEMORY
from tests.cli.remembered import DAY_S, GOLDENS, Remembered, anywhere, export_of, fits, unwrapped

# --- what people read ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("status", ["status"]),
        ("status-store", ["status", "--store"]),
        ("list", ["list"]),
        ("list-tier", ["list", "--tier", "archive", "--kind", "note,command"]),
        ("search", ["admin", "search", "basket", "--most", "3"]),
        ("file-why", ["admin", "file", "--tokens", "20", "--why"]),
        ("run", ["admin", "run", "--force"]),
        ("loss", ["admin", "loss"]),
        ("verify", ["admin", "verify"]),
        ("help", ["help"]),
        ("help-learn", ["help", "admin", "learn"]),
    ],
)
def test_what_a_word_prints(filled: Remembered, golden, name: str, words: list) -> None:
    shown = filled.memory(*words)
    assert fits(shown)
    golden(GOLDENS / f"{name}.txt", shown)


def test_what_is_printed_of_one_item(filled: Remembered, golden) -> None:
    note = next(id for id, item in filled.items().items() if "make check before" in item["text"])
    path = next(id for id, item in filled.items().items() if item["kind"] == "path")
    whole = filled.memory("admin", "show", note)  # its text as it is, however wide
    shown = "".join(filled.memory(*words) for words in (["why", note], ["admin", "pin", note], ["forget", path], ["why", path]))
    assert fits(shown)
    golden(GOLDENS / "item.txt", anywhere(whole + shown))


def test_the_author_of_a_mark_is_shown(filled: Remembered, golden) -> None:
    ids = sorted(filled.items())[:4]
    with closing(sqlite3.connect(filled.home / "memory.sqlite")) as db, db:
        for id, by in zip(ids, ("tool", "job", "policy", "policy")):
            db.execute("UPDATE items SET marked_at = ?, marked_by = ? WHERE id = ?", (filled.now - 3_600, by, id))
        db.execute("INSERT INTO kept VALUES ('governed', ?)", (json.dumps({ids[2]: "job", ids[3]: "user"}),))
        hold = {"id": "h7", "scope": "item", "target": ids[0], "who": "alice", "why": "audit", "created_at": 0, "until": None}
        db.execute("INSERT INTO kept VALUES ('holds', ?)", (json.dumps([hold]),))
    shown = "".join(filled.memory(*words) for words in (["status"], ["list", "--marked"], *(["why", id] for id in (ids[0], ids[2]))))
    assert fits(shown)
    golden(GOLDENS / "marked.txt", anywhere(shown))


def test_before_anything_is_remembered_it_says_how_to_begin(shop: Remembered, golden) -> None:
    shown = "".join(shop.memory(*words) for words in (["status"], ["list"], ["admin", "file"]))
    shown += shop.memory("admin", "search", "anything")
    assert fits(shown)
    golden(GOLDENS / "nothing.txt", shown)


def test_a_query_leaves_nothing_behind(shop: Remembered) -> None:
    for words in (["status"], ["list"], *(["admin", word] for word in ("file", "run", "loss", "export", "verify"))):
        shop.memory(*words)
    shop.memory("admin", "search", "anything")
    shop.mistake("forget", "mnone")
    assert not list(shop.home.rglob("*.sqlite"))


@pytest.mark.parametrize("words", [word.called for word in MEMORY.operations])
def test_every_word_has_help(shop: Remembered, words: str) -> None:
    shown = shop.memory("help", *words.split())
    assert shown == shop.memory(*words.split(), "--help") or words == "help"
    assert shown.startswith(f"popkit memory {words}")
    assert fits(shown)


def test_the_overview_names_every_word(shop: Remembered) -> None:
    shown, below = shop.memory("help"), shop.memory("admin")
    assert all(f"  {word.usage()}" in shown for word in MEMORY.operations if not word.admin)
    assert all(f"  {word.usage(word.name)}" in below and f" {word.name}" in shown for word in MEMORY.operations if word.admin)
    assert shown == shop.popkit("help", "memory").stdout


@pytest.mark.parametrize(
    ("words", "stdin"),
    [
        (["status"], ""),
        (["admin", "search", "basket", "--json"], ""),
        (["admin", "export", "--all"], ""),
        (["add", "-"], "first line\n\n  second, é 漢字\n"),
        (["list", "--nonsense"], ""),
        (["admin", "show", "mnone", "--json"], ""),
    ],
    ids=str,
)
def test_in_a_process_of_its_own_a_word_says_the_same(filled: Remembered, words: list, stdin: str) -> None:
    filled.same_alone("memory", *words, stdin=stdin)


# --- each word ---------------------------------------------------------------------------------------------------------------------------


def test_what_was_added_is_found_again(shop: Remembered) -> None:
    id = shop.add("run the tests with make check")
    assert shop.json("list")["items"][0]["text"] == "run the tests with make check"
    assert shop.json("admin", "search", "how", "are", "tests", "run")["items"][0]["id"] == id
    assert shop.json("admin", "show", id)["access_count"] >= 1
    assert shop.memory("admin", "show", id).endswith("\n\nrun the tests with make check\n")


def test_words_need_no_quotes(shop: Remembered) -> None:
    shop.memory("add", "run", "the", "tests")
    assert [item["text"] for item in shop.items().values()] == ["run the tests"]


def test_a_text_may_come_from_standard_input_and_is_kept_as_it_is(shop: Remembered) -> None:
    content = "first line\n\n  second, é 漢字\n"
    id = shop.json("add", "-", stdin=content)["items"][0]["id"]
    assert shop.json("admin", "show", id)["text"] == content


def test_kinds_and_key_decisions(shop: Remembered) -> None:
    shop.add("make check", "--kind", "command")
    key = shop.add("ids are UUIDs of version 7", "--key")
    assert [item["text"] for item in shop.items("--kind", "command").values()] == ["make check"]
    assert list(shop.items("--tier", "archive")) == [key]
    assert shop.items("--tier", "hot,ARCHIVE").keys() == shop.items().keys()


def test_a_long_list_is_cut_unless_all_is_asked_for(shop: Remembered) -> None:
    project = shop.json("status")["project"]
    many = [{"id": f"thing-{number}", "text": f"thing number {number}", "project": project} for number in range(52)]
    shop.memory("admin", "import", "-", stdin=export_of(many))
    assert "There is more: --all" in shop.memory("list")
    assert (len(shop.json("list")["items"]), shop.json("list")["more"]) == (50, True)
    assert len(shop.json("list", "--all")["items"]) == 52


def test_items_are_pinned_moved_and_let_go(shop: Remembered) -> None:
    id = shop.add("run the tests with make check")
    assert shop.json("admin", "pin", id)["items"][0]["held"] is True
    assert "(pinned)" in shop.memory("list")
    assert shop.json("admin", "unpin", id)["items"][0]["held"] is False
    before = shop.items()[id]["tier"]
    assert shop.json("admin", "demote", id)["items"][0]["tier"] != before
    assert shop.json("admin", "promote", id)["items"][0]["tier"] == before
    assert shop.json("admin", "restore", id)["items"][0]["level"] == "full"


def test_what_is_forgotten_goes_after_a_day_and_can_be_brought_back_until_then(shop: Remembered) -> None:
    kept, gone = shop.add("keep this"), shop.add("drop this")
    shop.memory("forget", kept, gone)
    assert shop.items().keys() == set()
    assert shop.items("--marked").keys() == {kept, gone}
    assert "(gone in 24 h)" in shop.memory("list", "--marked")
    shop.memory("undo", kept)
    assert shop.items().keys() == {kept}
    shop.now += DAY_S + 60
    assert shop.json("admin", "run", "--force")["deleted"] == 1
    assert "no memory" in shop.mistake("undo", gone)


def test_file_prints_memory_md_within_a_budget(filled: Remembered) -> None:
    whole, short = filled.json("admin", "file"), filled.json("admin", "file", "--tokens", "60")
    assert filled.memory("admin", "file") == whole["text"]
    assert (whole["left_out"], short["tokens"] <= 60, len(short["left_out"]) > 0) == ([], True, True)
    assert len(short["items"]) + len(short["left_out"]) == len(whole["items"]) == len(filled.items())


def test_what_is_due_is_shown_before_what_comes_after_it(shop: Remembered) -> None:
    id = shop.add("npm run test:unit", "--kind", "command")
    explanation = " ".join(shop.memory("why", id).split())
    assert "Now moves to WARM with the next run, at the end of a session or by popkit memory admin run: worth" in explanation
    assert "Next " not in explanation
    shop.memory("admin", "run", "--force")
    explanation = " ".join(shop.memory("why", id).split())
    assert "Now stays in " in explanation


def test_an_answer_says_what_to_type_where_it_is_read(shop: Remembered) -> None:
    def asked(*words: str) -> str:
        return shop.ask(*words, POPKIT_CALLED_AS="/popkit:context memory").stdout

    assert "\n  /popkit:context memory admin learn --past\n" in asked("status")
    id = shop.add("the staging server is called otter")
    assert "Until then, /popkit:context memory undo brings it back." in " ".join(asked("forget", id).split())
    assert "To bring it back: /popkit:context memory undo" in " ".join(asked("why", id).split())


def test_all_memories_of_a_project_are_forgotten_and_brought_back_in_one_step(shop: Remembered) -> None:
    ids = {shop.add(f"the server number {number} is called otter") for number in range(30)}
    shown = shop.memory("forget", "--all")
    assert shown.startswith("Forgotten: 30 items\n")
    assert "\n  … 10 more\n" in shown
    assert shop.items() == {}
    assert {item["id"] for item in shop.json("undo")["items"]} == ids
    assert set(shop.items()) == ids
    assert "so this deletes it once 24 h have passed:\n  popkit memory admin run\n" in shop.memory("forget", "--all")
    shop.now += DAY_S + 1
    shop.memory("admin", "run")
    assert shop.exported() == []


def test_an_import_of_what_is_there_says_how_to_leave_that_out(shop: Remembered, tmp_path: Path) -> None:
    shop.add("the staging server is called otter")
    file = tmp_path / "out.jsonl"
    shop.memory("admin", "export", str(file))
    assert "is there already, so nothing is imported. --missing skips items that are already there" in shop.mistake(
        "admin", "import", str(file)
    )
    assert shop.memory("admin", "import", "--missing", str(file)).startswith("Imported 0 items")


def test_the_job_runs_at_most_hourly_unless_it_is_forced(shop: Remembered) -> None:
    shop.add("run the tests")
    assert shop.json("admin", "run")["ran"] is True
    shop.now += 60
    assert shop.json("admin", "run")["ran"] is False
    assert "--force" in shop.memory("admin", "run")
    assert shop.json("admin", "run", "--force")["ran"] is True
    shop.now += 3_600
    assert shop.json("admin", "run")["ran"] is True


def test_memory_is_switched_on_and_off_for_this_project(shop: Remembered, tmp_path: Path) -> None:
    shop.add("run the tests with make check")
    assert shop.json("status")["on"] is False
    assert shop.json("on")["changed"] is True
    assert shop.json("on")["changed"] is False
    assert shop.json("status")["on"] is True
    assert shop.json("status", "--project", str(tmp_path))["on"] is False
    assert "make check" in next(shop.home.glob("memory/*/MEMORY.md")).read_text(), "the next session is given it"
    assert shop.json("off")["changed"] is True
    assert shop.json("status")["on"] is False


def test_where_memory_is_on_memory_md_follows_every_change(shop: Remembered) -> None:
    shop.memory("on")
    id = shop.add("run the tests with make check")
    (path,) = shop.home.glob("memory/*/MEMORY.md")
    assert path.read_text() == shop.memory("admin", "file")
    shop.memory("forget", id)
    assert not path.exists() or "make check" not in path.read_text()


def test_folders_of_one_checkout_are_one_project_and_other_projects_are_not(shop: Remembered, tmp_path: Path) -> None:
    id = shop.add("run the tests with make check")
    inside, other = shop.project / "src" / "deep", tmp_path / "other"
    inside.mkdir(parents=True)
    other.mkdir()
    assert id in shop.memory("list", cwd=inside)
    assert id in shop.memory("list", "--project", str(shop.project), cwd=other)
    assert id not in shop.memory("list", cwd=other)
    assert "Nothing" in shop.memory("admin", "search", "tests", cwd=other)


def test_files_are_private(shop: Remembered) -> None:
    shop.memory("on")
    shop.add("run the tests with make check")
    shop.memory("admin", "export", "out.jsonl")
    written = [shop.project / "out.jsonl", *shop.home.rglob("*")]
    assert {path.stat().st_mode & 0o077 for path in written} == {0}


# --- what agents have added --------------------------------------------------------------------------------------------------------------


RULE = "Run make check before you commit."


@pytest.fixture
def house(shop: Remembered) -> Remembered:
    """The shop, with memory on."""
    shop.memory("on")
    return shop


def added(house: Remembered, text: str = RULE, key: bool = False) -> str:
    """What an agent adds; its id."""
    memory = Memory.of({**house.env, "POPKIT_CLOCK": str(house.now)}, str(house.project))
    item = memory.add(text, source=AGENT, key=key)
    memory.close()
    return item.id


def test_every_word_that_shows_an_item_says_that_it_waits_and_how_to_accept_it(house: Remembered) -> None:
    id = added(house)
    for word in (["list"], ["admin", "search", "commit"], ["list", "--waiting"]):
        shown = house.memory(*word)
        assert "(waits for your approval)" in shown
        assert "1 of these items was added by an agent. MEMORY.md leaves it out until you accept it:" in unwrapped(shown)
        assert f"\n  popkit memory admin accept {id}\n" in shown
    for word in (["why"], ["admin", "show"]):
        shown = unwrapped(house.memory(*word, id))
        assert "What note, said by an agent" in shown
        assert f"Waits for your approval. Until then it is not in MEMORY.md: popkit memory admin accept {id}" in shown
    assert "Waiting 1 item that an agent added, until you accept it: popkit memory list --waiting" in unwrapped(house.memory("status"))
    assert "added by an agent, and waits for your approval" in unwrapped(house.memory("admin", "file", "--why"))


def test_an_accepted_item_is_in_memory_md_and_shows_who_said_it(house: Remembered) -> None:
    id = added(house)
    assert house.memory("admin", "file") == "MEMORY.md would be empty. popkit memory admin file --why says why.\n"
    shown = house.memory("admin", "accept", id)
    assert shown.startswith("Accepted: 1 item\n")
    assert "From now on, MEMORY.md can include it." in shown
    assert RULE in house.memory("admin", "file")
    (document,) = house.home.glob("memory/*/MEMORY.md")
    assert RULE in document.read_text()
    assert "said by an agent, accepted by you" in unwrapped(house.memory("why", id))
    assert "accept" not in house.memory("list")


def test_all_that_waits_is_accepted_at_once_and_nothing_else(house: Remembered) -> None:
    mine = house.add("Ids are UUIDs of version 7.")
    ids = {added(house), added(house, "Deploy on Mondays.")}
    refused = added(house, "Skip the tests.")
    house.memory("forget", refused)
    assert set(house.items("--waiting")) == ids
    assert {item["id"] for item in house.json("admin", "accept", "--all")["items"]} == ids
    assert house.mistake("admin", "accept", "--all") == "popkit memory: nothing is waiting for your approval"
    assert house.memory("list", "--waiting") == "Nothing is waiting for your approval.\n"
    assert "does not wait for your approval" in house.mistake("admin", "accept", mine)
    assert "accept --all" in house.mistake("admin", "accept")


def test_adding_an_item_that_an_agent_added_accepts_it_in_the_users_words(house: Remembered) -> None:
    id = added(house)
    assert house.json("add", "--key", "--", RULE)["items"][0]["id"] == id
    assert (house.items()[id]["source"], house.items()[id]["tier"]) == ("accepted", "ARCHIVE")
    other = added(house, "Deploy on Mondays.", key=True)
    assert "a key decision once you accept it" in unwrapped(house.memory("why", other))
    house.memory("admin", "accept", other)
    assert house.items()[other]["tier"] == "ARCHIVE"


def test_inside_claude_code_the_same_word_accepts(house: Remembered) -> None:
    id = added(house)
    shown = house.ask("list", POPKIT_CALLED_AS="/popkit:context memory").stdout
    assert f"\n  /popkit:context memory admin accept {id}\n" in shown
    house.work()
    done = house.popkit("context", "memory", "admin", "accept", id)
    assert (done.returncode, done.stdout.startswith("Accepted: 1 item")) == (0, True), done.stderr
