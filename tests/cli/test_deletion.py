"""What is deleted: `popkit uninstall` takes what PopKit has made and nothing else, and what the user forgets is in no file of ours."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest

from tests.cli.governed import Governed
from tests.cli.played import SESSION, Played
from tests.cli.remembered import DAY_S, Remembered

# --- uninstall ---------------------------------------------------------------------------------------------------------------------------


# What others may keep in a folder that PopKit was given: names like ours, and files in folders that are called as ours are.
FOREIGN = (
    "projects/my-code/main.py", "projects/-home-dev/session.jsonl", "projects-old/x", "sessions/foreign/deep/y", "sessions/foreign/z",
    f"sessions/{SESSION}/mine.txt", "sessions/123.json", "cache/pip/w", "cache/mine", "packages.json", "packs/a", "archive.sqlite.bak",
    "interpreters", "swept-floors.txt", "statusline.py", "doctor.json.mine", "retention-config.json", "venv/pyvenv.cfg",
    "data/set.csv", "data/state/mine.json", "data/state/deep/retention.lock", "data/archive/2019.zip", "data/archive/rag/contents",
    "data/archive/rag-20261122T233000Z-k3f9a2/mine.txt", "data/archive/contents", "data/other/retention-policies.json",
    "memory/MEMORY.md", "memory/notes/MEMORY.md", "memory/mine.sqlite", "memory/shop-0123456789ab/notes.md", "memory/backups/mine.jsonl",
)  # fmt: skip


def lay(folder: Path, names: tuple) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("precious")


def names_of(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir() or path.is_symlink()}


def test_files_of_others_in_our_folder_stay(played: Played) -> None:
    played.started()
    assert (played.home / "sessions" / SESSION / "session.json").exists()
    lay(played.home, FOREIGN)
    elsewhere = played.user / "elsewhere"
    lay(elsewhere, ("main.state.json", f"{SESSION}/session.json"))
    (played.home / "sessions" / "linked").symlink_to(elsewhere)
    done = played.popkit("uninstall", "--yes")
    assert done.returncode == 0, done
    assert names_of(played.home) == {*FOREIGN, "sessions/linked"}
    assert len(names_of(elsewhere)) == 2
    assert "Left in" in done.stdout


def test_the_hosts_own_folder_as_ours_keeps_its_transcripts(played: Played) -> None:
    environ = {"POPKIT_HOME": str(played.claude)}
    played.env.update(environ)
    lay(played.claude, ("settings.json", "projects/-shop/a.jsonl", "sessions/7.json"))
    before = names_of(played.claude)
    (played.claude / "settings.json").write_text("{}")
    played.started()
    assert played.run("uninstall", "--yes").returncode == 0
    assert names_of(played.claude) == before


def test_everything_that_popkit_makes_goes(played: Played) -> None:
    ours = (
        "archive.sqlite", "archive.sqlite-journal", "need-model.json", "doctor.json", "hooks.log", "hooks.log.old", "hooks.log.lock",
        "interpreter", "interpreter.4711", "past.jsonl", "statusline.sh", "statusline.previous.json", "swept", "swept.4711.tmp",
        "opencode.previous.json", "pi.previous.json",
        "venv.lock", "venv/pyvenv.cfg", "venv/lib/site-packages/x.py", "cache/config-a.jsonl", "projects/x/need-model.json",
        "sessions/a/main.state.json", "sessions/a/main.state.json.corrupt", "sessions/a/agent-b.journal.jsonl", "sessions/a/clear.lock",
        "sessions/a/main.receipts.jsonl", "sessions/a/warming.lock",
        "sessions/a/session.json.lock", "sessions/a/original.jsonl", "sessions/.swept-b/main.expired.jsonl",
        "memory.sqlite", "memory.sqlite-wal", "memory/job.lock", "memory/backups/archive-1790000000.jsonl",
        "memory/shop-0123456789ab/MEMORY.md", "memory/shop-0123456789ab/MEMORY.md.4711.tmp", "memory/shop-0123456789ab/settings.json",
        "memory/shop-0123456789ab/alerts.json", "memory/shop-0123456789ab/ended-a.json",
        "data/state/retention-policies.json.tmp-4711-1790000000", "data/state/retention.lock", "data/state/retention-hourly.json",
        "data/state/marked.json", "data/state/marked.json.lock", "data/state/marked.json.4711.tmp",
        "data/archive/rag-20261122T233000Z-k3f9a2/manifest.json", "data/archive/rag-20261122T233000Z-k3f9a2/contents",
        "data/archive/.new-memory-20261122T233000Z-k3f9a2/contents",
    )  # fmt: skip
    lay(played.home, tuple(name for name in ours if name != "archive.sqlite"))
    (played.home / "venv" / "lib64").symlink_to("lib")
    done = played.popkit("uninstall", "--yes")
    assert done.returncode == 0, done
    assert not played.home.exists()


def test_a_dry_run_deletes_nothing_and_names_a_way_to_keep_what_sessions_taught(played: Played) -> None:
    lay(played.home, ("memory.sqlite",))
    done = played.run("uninstall", "--dry-run")
    assert done.returncode == 0, done
    assert "To keep what sessions taught:\n  popkit memory admin export --all FILE\n" in done.stdout
    assert done.stdout.endswith("This was a dry run: nothing was deleted.\n")
    assert (played.home / "memory.sqlite").exists()


def test_it_says_which_archives_and_holds_would_be_lost(tmp_path: Path) -> None:
    house = Governed(tmp_path)
    house.add("run make check")
    (id,) = house.items()
    house.retention("hold", "add", id, "--why", "audit", "--who", "alice")
    house.retention("admin", "archive", id)
    shown = house.run("uninstall", "--dry-run").stdout
    assert "1 hold in force: somebody wants this data to stay" in shown
    assert "alice: audit" in shown
    assert f"  {house.home}/data/archive\n" in shown
    assert "archives of popkit retention " in " ".join(shown.split())
    assert house.run("uninstall", "--yes").returncode == 0
    assert not house.home.exists()


def test_a_folder_that_is_a_link_is_not_followed(played: Played) -> None:
    elsewhere = played.user / "elsewhere"
    lay(elsewhere, ("state/retention-policies.json", "archive/rag-20261122T233000Z-k3f9a2/contents", "swept"))
    played.home.mkdir(parents=True)
    for name in ("data", "sessions"):
        (played.home / name).symlink_to(elsewhere)
    assert played.run("uninstall", "--yes").returncode == 0
    assert len(names_of(elsewhere)) == 3


# --- what the user forgets ---------------------------------------------------------------------------------------------------------------


# A note, a command and a path whose words nothing else speaks.
NOTE = "Always call the zyxomatic foobarizer of Quillfeather before you deploy to Vermillionport."
SECRETIVE = "src/quaxolotl/wibblesnatch_ledger.ts"
LONG = " ".join(f"On day {day} the Grumblewick team moved service {day * 7919} to Farnsborough{day}, which was slow." for day in range(60))
SECRET_WORDS = ("zyxomatic", "foobarizer", "quillfeather", "vermillionport", "quaxolotl", "wibblesnatch", "grumblewick", "farnsborough")


def files_of(home: Path) -> dict[str, bytes]:
    """Every file below our folder, whatever it is called."""
    return {str(path.relative_to(home)): path.read_bytes() for path in home.rglob("*") if path.is_file()}


def speaking(home: Path, words: tuple[str, ...] = SECRET_WORDS) -> dict[str, list[str]]:
    """The files that hold any of these words, in UTF-8 of any case, UTF-16, or packed by zlib, and which."""
    found = {}
    for name, data in files_of(home).items():
        seen = [word for word in words if _holds(data, word)]
        if seen:
            found[name] = seen
    return found


def _holds(data: bytes, word: str) -> bool:
    texts = data.lower() + b"".join(part.lower() for part in _unpacked(data))
    return any(word.encode(coding) in texts for coding in ("utf-8", "utf-16-le"))


def _unpacked(data: bytes) -> list[bytes]:
    """What zlib has packed anywhere in these bytes."""
    parts, at = [], data.find(b"\x78")
    while at != -1:
        if data[at + 1 : at + 2] in (b"\x01", b"\x5e", b"\x9c", b"\xda"):
            try:
                parts.append(zlib.decompressobj().decompress(data[at : at + (1 << 20)], 1 << 20))
            except zlib.error:
                pass
        at = data.find(b"\x78", at + 1)
    return parts


@pytest.fixture
def learnt(shop: Remembered) -> Remembered:
    """Memory is on; sessions and the user have taught many things, among them those that are to be forgotten; a weekly copy is made, and a
    session was given MEMORY.md."""
    shop.memory("on")
    shop.memory("admin", "learn", str(shop.session("first", SECRETIVE)))
    shop.memory("admin", "learn", str(shop.session("second")))
    shop.add(NOTE, "--key")
    shop.add(LONG)
    shop.memory("admin", "promote", *(id for id, item in shop.items().items() if item["tier"] == "HOT"))
    shop.start()
    for days in (1, 9, 9):
        shop.now += days * DAY_S
        shop.memory("admin", "run", "--force")
    return shop


def secret_ids(shop: Remembered) -> list[str]:
    """The items of which nothing is to be left."""
    return [id for id, item in shop.items().items() if any(word in str(item).lower() for word in SECRET_WORDS)]


def end_a_session(shop: Remembered) -> None:
    """What the child of a session's end does, at this time."""
    done = shop.ask("admin", "learn", str(shop.session("third")), "--if-on", "--quiet")
    assert (done.returncode, shop.log()) == (0, "")


def test_the_texts_are_really_there_before(learnt: Remembered) -> None:
    speaking_files = speaking(learnt.home)
    assert {"memory.sqlite"} < speaking_files.keys()
    assert any("backups/archive-" in name for name in speaking_files), speaking_files.keys()
    assert {word for words in speaking_files.values() for word in words} == set(SECRET_WORDS)


@pytest.mark.parametrize("how", ["items", "all"])
def test_a_day_after_forgetting_no_file_of_ours_holds_a_word_of_it(learnt: Remembered, how: str) -> None:
    going = secret_ids(learnt)
    learnt.memory("forget", *(["--all"] if how == "all" else going))
    learnt.now += DAY_S + 60
    end_a_session(learnt)
    assert not {id for id in going if id in learnt.memory("list", "--all", "--marked")}
    assert speaking(learnt.home) == {}
    assert learnt.json("admin", "verify")["ok"]


def test_forget_names_the_archives_that_it_does_not_reach(learnt: Remembered) -> None:
    first, second = secret_ids(learnt)[:2]
    assert "Archives" not in learnt.memory("forget", first)
    done = learnt.run("retention", "admin", "archive", second)
    assert done.returncode == 0, done
    output = learnt.memory("forget", second)
    assert output.endswith("Archives that you have made may keep copies. To see them:\n  popkit retention admin archives\n")
