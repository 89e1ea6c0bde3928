"""What an agent adds is not the person's word: it stands apart, as such, until a person accepts it."""

from __future__ import annotations

from pathlib import Path

import pytest

from popkit_retention.memory import document
from popkit_retention.memory.items import ACCEPTED, AGENT, ARCHIVE, NOTE, PATH, SESSION, USER, BadItem
from popkit_retention.memory.memory import ItemNotFound
from popkit_retention.memory.stores.in_memory import InMemoryStore
from popkit_retention.memory.stores.protocol import DuplicateId
from popkit_retention.memory.stores.sqlite import SqliteStore

from .remembering import DAY, HOUR, NOW, PROJECT, Remembering, lesson, wrote

RULE = "Run make check before you commit."


def added(remembering: Remembering, text: str = RULE, **fields: object) -> str:
    """What an agent adds; its id."""
    return remembering.memory.add(text, source=AGENT, **fields).id


def test_what_an_agent_adds_is_found_and_is_not_in_the_document(remembering: Remembering) -> None:
    id = added(remembering)
    for built in (remembering.memory.document(2_000), remembering.memory.audited_document(2_000), remembering.memory.document(2_000, RULE)):
        assert (built.text, built.items, built.left_out) == ("", [], [(id, document.WAITS)])
    assert [item.id for item, _ in remembering.memory.search("make check")] == [id]
    assert [item.id for item in remembering.memory.waiting()] == [id]


def test_nothing_that_an_agent_can_do_brings_it_into_the_document(remembering: Remembering) -> None:
    id = added(remembering, confidence=1.0, writes=1_000, sessions=1_000, held=True)
    remembering.memory.mark_key([id])
    for _ in range(20):
        remembering.memory.search(RULE)
        with pytest.raises(DuplicateId):
            added(remembering)
    remembering.memory.run(force=True)
    assert remembering.memory.document(2_000).text == ""
    assert remembering.item(id).source == AGENT


def test_what_is_accepted_is_in_the_document_and_it_stays_known_who_said_it(remembering: Remembering) -> None:
    id = added(remembering)
    (item,) = remembering.memory.accept([id])
    assert (item.source, item.waits) == (ACCEPTED, False)
    assert RULE in remembering.memory.document(2_000).text
    assert remembering.memory.waiting() == []
    assert remembering.memory.why(id)["log"][0]["action"] == "accepted"


def test_what_does_not_wait_is_not_accepted(remembering: Remembering) -> None:
    mine = remembering.memory.add("Ids are UUIDs.").id
    waits = added(remembering)
    with pytest.raises(BadItem, match="does not wait for your approval"):
        remembering.memory.accept([waits, mine])
    assert remembering.item(waits).waits, "all of them, or none"
    with pytest.raises(ItemNotFound):
        remembering.memory.accept(["m000"])


def test_the_user_who_says_the_same_has_said_yes(remembering: Remembering) -> None:
    id = added(remembering)
    assert remembering.memory.add(RULE).id == id
    assert remembering.item(id).source == ACCEPTED
    with pytest.raises(DuplicateId):
        remembering.memory.add(RULE)


def test_an_agent_that_says_what_the_user_has_said_changes_nothing(remembering: Remembering) -> None:
    id = remembering.memory.add(RULE).id
    before = remembering.item(id)
    with pytest.raises(DuplicateId):
        added(remembering)
    assert remembering.item(id) == before


def test_the_user_who_says_the_same_in_a_session_has_said_yes(remembering: Remembering) -> None:
    note, path = added(remembering), added(remembering, "src/shop.ts", kind=PATH)
    remembering.memory.learn(lesson("s1", wrote(RULE, kind=NOTE), wrote("src/shop.ts")))
    assert (remembering.item(note).source, remembering.item(path).source) == (ACCEPTED, SESSION)


def test_a_key_decision_of_an_agent_is_kept_for_good_only_with_the_yes(remembering: Remembering) -> None:
    id = added(remembering)
    remembering.memory.mark_key([id])
    assert (remembering.item(id).tier, remembering.item(id).for_good) == ("HOT", False)
    remembering.memory.run(force=True)
    assert remembering.item(id).tier != ARCHIVE
    remembering.memory.accept([id])
    assert (remembering.item(id).tier, remembering.item(id).for_good) == (ARCHIVE, True)


def test_nothing_that_waits_is_kept_for_good(remembering: Remembering) -> None:
    id = added(remembering)
    with pytest.raises(BadItem, match=f"popkit memory admin accept {id}"):
        remembering.memory.promote([id])
    old = added(remembering, "Deploy on Mondays.", tier=ARCHIVE)
    remembering.memory.run(force=True)
    assert remembering.item(old).tier != ARCHIVE
    earned = remembering.keep("earned", source=AGENT, profile="spec", score=1.0, access_count=9, accesses=[NOW] * 9, reinforcements=9)
    remembering.memory.run(force=True)
    assert remembering.item(earned.id).tier != ARCHIVE


def test_what_waits_fades_and_what_is_accepted_does_not(remembering: Remembering) -> None:
    waits, accepted = (
        remembering.keep(
            id, text=text, source=AGENT, uniqueness=0.01, tier="COLD", created_at=NOW - 200 * DAY, last_accessed=NOW - 200 * DAY
        )
        for id, text in (("m1", "Deploy on Mondays."), ("m2", RULE))
    )
    remembering.memory.accept([accepted.id])
    remembering.memory.run(force=True)
    remembering.after(25 * HOUR).run(force=True)
    assert [item.id for item in remembering.store.get([waits.id, accepted.id])] == [accepted.id]


def test_what_the_user_refuses_is_deleted_and_a_yes_takes_that_back(remembering: Remembering) -> None:
    id = added(remembering)
    remembering.memory.forget([id])
    assert remembering.memory.waiting() == []
    remembering.memory.accept([id])
    assert remembering.item(id).marked_at is None
    assert RULE in remembering.memory.document(2_000).text


def test_who_said_it_and_whether_it_waits_goes_through_an_export(remembering: Remembering, tmp_path: Path) -> None:
    waits, accepted, mine = added(remembering, "Deploy on Mondays."), added(remembering), remembering.memory.add("Ids are UUIDs.").id
    remembering.memory.accept([accepted])
    for store in (InMemoryStore(), SqliteStore(str(tmp_path / "other.sqlite"))):
        other = Remembering(store)
        assert other.memory.import_lines(remembering.memory.export()) == 3
        assert {id: other.item(id).source for id in (waits, accepted, mine)} == {waits: AGENT, accepted: ACCEPTED, mine: USER}
        assert [item.id for item in other.memory.waiting()] == [waits]
        store.close()


def test_what_agents_added_before_there_was_a_yes_waits_for_one(remembering: Remembering) -> None:
    """Such a home holds their items as key decisions in ARCHIVE, and told."""
    old = remembering.keep("old", source=AGENT, key=True, tier=ARCHIVE)
    remembering.store.set_value("document:" + PROJECT, [old.id])
    assert remembering.memory.audited_document().text == ""
    assert remembering.store.logged(most=1)[0]["gone"] == {old.id: document.WAITS}
