"""What the user forgets is a day later in no file of ours: every byte below our folder is read."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest

from tests.cli.remembered import DAY_S, Remembered

# A note, a command and a path whose words nothing else speaks.
NOTE = "Always call the zyxomatic foobarizer of Quillfeather before you deploy to Vermillionport."
SECRETIVE = "src/quaxolotl/wibblesnatch_ledger.ts"
LONG = " ".join(f"On day {day} the Grumblewick team moved service {day * 7919} to Farnsborough{day}, which was slow." for day in range(60))
TELLING = ("zyxomatic", "foobarizer", "quillfeather", "vermillionport", "quaxolotl", "wibblesnatch", "grumblewick", "farnsborough")


def files_of(home: Path) -> dict[str, bytes]:
    """Every file below our folder, whatever it is called."""
    return {str(path.relative_to(home)): path.read_bytes() for path in home.rglob("*") if path.is_file()}


def speaking(home: Path, words: tuple[str, ...] = TELLING) -> dict[str, list[str]]:
    """The files that hold any of these words, in UTF-8 of any case, UTF-16, or packed by zlib, and which."""
    found = {}
    for name, data in files_of(home).items():
        seen = [word for word in words if _holds(data, word)]
        if seen:
            found[name] = seen
    return found


def _holds(data: bytes, word: str) -> bool:
    told = data.lower() + b"".join(part.lower() for part in _unpacked(data))
    return any(word.encode(coding) in told for coding in ("utf-8", "utf-16-le"))


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
    shop.memory("learn", str(shop.session("first", SECRETIVE)))
    shop.memory("learn", str(shop.session("second")))
    shop.add(NOTE, "--key")
    shop.add(LONG)
    shop.memory("promote", *(id for id, item in shop.items().items() if item["tier"] == "HOT"))
    shop.start()
    for days in (1, 9, 9):
        shop.now += days * DAY_S
        shop.memory("run", "--force")
    return shop


def secret_ids(shop: Remembered) -> list[str]:
    """The items of which nothing is to be left."""
    return [id for id, item in shop.items().items() if any(word in str(item).lower() for word in TELLING)]


def end_a_session(shop: Remembered) -> None:
    """What the child of a session's end does, at this time."""
    done = shop.ask("learn", str(shop.session("third")), "--if-on", "--quiet")
    assert (done.returncode, shop.log()) == (0, "")


def test_the_texts_are_really_there_before(learnt: Remembered) -> None:
    found = speaking(learnt.home)
    assert {"memory.sqlite"} < found.keys()
    assert any("backups/archive-" in name for name in found), found.keys()
    assert {word for words in found.values() for word in words} == set(TELLING)


@pytest.mark.parametrize("how", ["items", "all"])
def test_a_day_after_forgetting_no_file_of_ours_holds_a_word_of_it(learnt: Remembered, how: str) -> None:
    going = secret_ids(learnt)
    learnt.memory("forget", *(["--all"] if how == "all" else going))
    learnt.now += DAY_S + 60
    end_a_session(learnt)
    assert not {id for id in going if id in learnt.memory("list", "--all", "--marked")}
    assert speaking(learnt.home) == {}
    assert learnt.json("verify")["ok"]


def test_within_the_day_undo_brings_all_of_it_back(learnt: Remembered) -> None:
    before = learnt.items().keys()
    learnt.memory("forget", "--all")
    learnt.now += DAY_S - 2 * 3_600
    learnt.memory("run", "--force")
    learnt.memory("undo")
    assert learnt.items().keys() == before
    assert any(item["text"] == NOTE for item in learnt.items().values())


def test_forget_names_the_archives_that_it_does_not_reach(learnt: Remembered) -> None:
    first, second = secret_ids(learnt)[:2]
    assert "Archives" not in learnt.memory("forget", first)
    done = learnt.run("retention", "archive", second)
    assert done.returncode == 0, done
    said = learnt.memory("forget", second)
    assert said.endswith("Archives that you have made may keep copies. To see them:\n  popkit retention archives\n")
