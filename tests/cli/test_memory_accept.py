"""`popkit memory` and what agents have added: it says what waits for the user's yes, and takes it."""

from __future__ import annotations

from pathlib import Path

import pytest

from popkit_retention.memory.items import AGENT
from popkit_retention.memory.memory import Memory
from tests.cli.remembered import Remembered, fits

SAID = "Run make check before you commit."


@pytest.fixture
def house(tmp_path: Path) -> Remembered:
    """The shop, with memory on."""
    made = Remembered(tmp_path)
    made.memory("on")
    return made


def added(house: Remembered, text: str = SAID, key: bool = False) -> str:
    """What an agent adds; its id."""
    memory = Memory.of({**house.env, "POPKIT_CLOCK": str(house.now)}, str(house.project))
    item = memory.add(text, source=AGENT, key=key)
    memory.close()
    return item.id


def words(shown: str) -> str:
    assert fits(shown), shown
    return " ".join(shown.split())


def test_every_word_that_shows_an_item_says_that_it_waits_and_how_to_accept_it(house: Remembered) -> None:
    id = added(house)
    for word in (["list"], ["search", "commit"], ["list", "--waiting"]):
        shown = house.memory(*word)
        assert "(waits for your yes)" in shown
        assert "1 of these items was added by an agent. MEMORY.md leaves it out until you accept it:" in words(shown)
        assert f"\n  popkit memory accept {id}\n" in shown
    for word in ("why", "show"):
        shown = words(house.memory(word, id))
        assert "What note, said by an agent" in shown
        assert f"Waits for your yes. Until then it is not in MEMORY.md: popkit memory accept {id}" in shown
    assert "Waiting 1 item that an agent added, until you accept it: popkit memory list --waiting" in words(house.memory("status"))
    assert "added by an agent, and waits for your yes" in words(house.memory("file", "--why"))


def test_what_is_accepted_stands_in_memory_md_and_shows_who_said_it(house: Remembered) -> None:
    id = added(house)
    assert house.memory("file") == "MEMORY.md would be empty. popkit memory file --why says why.\n"
    shown = house.memory("accept", id)
    assert shown.startswith("Accepted: 1 item\n")
    assert "From now on MEMORY.md can tell it." in shown
    assert SAID in house.memory("file")
    (document,) = house.home.glob("memory/*/MEMORY.md")
    assert SAID in document.read_text()
    assert "said by an agent, accepted by you" in words(house.memory("why", id))
    assert "accept" not in house.memory("list")


def test_all_that_waits_is_accepted_at_once_and_nothing_else(house: Remembered) -> None:
    mine = house.add("Ids are UUIDs of version 7.")
    ids = {added(house), added(house, "Deploy on Mondays.")}
    refused = added(house, "Skip the tests.")
    house.memory("forget", refused)
    assert set(house.items("--waiting")) == ids
    assert {item["id"] for item in house.json("accept", "--all")["items"]} == ids
    assert house.mistake("accept", "--all") == "popkit memory: nothing waits for your yes"
    assert house.memory("list", "--waiting") == "Nothing waits for your yes.\n"
    assert "does not wait for your yes" in house.mistake("accept", mine)
    assert "accept --all" in house.mistake("accept")


def test_who_adds_what_an_agent_added_before_has_accepted_it_as_he_says_it(house: Remembered) -> None:
    id = added(house)
    assert house.json("add", "--key", "--", SAID)["items"][0]["id"] == id
    assert (house.items()[id]["source"], house.items()[id]["tier"]) == ("accepted", "ARCHIVE")
    other = added(house, "Deploy on Mondays.", key=True)
    assert "a key decision once you accept it" in words(house.memory("why", other))
    house.memory("accept", other)
    assert house.items()[other]["tier"] == "ARCHIVE"


def test_inside_claude_code_the_same_word_accepts(house: Remembered) -> None:
    id = added(house)
    shown = house.ask("list", POPKIT_CALLED_AS="/popkit:context memory").stdout
    assert f"\n  /popkit:context memory accept {id}\n" in shown
    house.work()
    done = house.popkit("context", "memory", "accept", id)
    assert (done.returncode, done.stdout.startswith("Accepted: 1 item")) == (0, True), done.stderr


def test_an_export_says_what_waits_and_so_does_its_import(house: Remembered, tmp_path: Path) -> None:
    waits, accepted = added(house), added(house, "Deploy on Mondays.")
    house.memory("accept", accepted)
    lines = house.memory("export", "--all")
    (tmp_path / "other").mkdir()
    other = Remembered(tmp_path / "other")
    other.memory("import", "-", stdin=lines)
    assert {id: item["source"] for id, item in other.items().items()} == {waits: "agent", accepted: "accepted"}
    assert SAID not in other.memory("file")
