"""Memory for agents: theirs is the project's alone, adding needs the user's consent, forgetting only marks."""

from __future__ import annotations

from popkit_retention.governance.controller import Controller

from .homes import AT, Place
from .test_tools import conforms


def test_what_is_remembered_of_the_project_is_found_and_nothing_of_another(place: Place) -> None:
    mine = place.remember(place.shop, "Run make check before you commit.")
    theirs = place.remember(place.other, "Run make deploy before you commit.")
    found = place("memory_search", query="commit")
    conforms("memory_search", found)
    assert [item["id"] for item in found["items"]] == [mine]
    assert found["memory_is_on"] is False
    place.allow_all_projects()
    everywhere = place("memory_search", query="commit", project="all")
    assert {item["id"]: item["project"].split("-")[0] for item in everywhere["items"]} == {mine: "shop", theirs: "other"}


def test_adding_while_memory_is_off_is_refused_with_what_to_do(place: Place) -> None:
    assert "/popkit:context memory on" in place.mistake("memory_add", text="Run make check.")
    assert not (place.home / "memory.sqlite").exists()


def test_what_an_agent_adds_is_kept_without_secrets(place: Place) -> None:
    place.turn_memory_on(place.shop)
    token = "ghp_" + "a1B2c3D4" * 5
    added = place("memory_add", text=f"Deploy with token {token}.")
    conforms("memory_add", added)
    assert token not in added["text"]


def test_an_agent_is_told_that_what_it_adds_waits_for_the_users_yes(place: Place) -> None:
    place.turn_memory_on(place.shop)
    added = place("memory_add", text="Run make check before you commit.", key=True)
    assert (added["waits"], added["tier"]) == (True, "HOT"), "kept for good, it is only with the yes"
    assert added["note"].endswith(f"/popkit:context memory accept {added['id']}")
    assert place.mistake("memory_add", text="Run make check before you commit.").endswith("is there already: nothing was added")
    assert place("memory_status")["waiting"] == 1
    conforms("memory_status", place("memory_status"))
    found = place("memory_search", query="commit")
    conforms("memory_search", found)
    assert [item["waits"] for item in found["items"]] == [True]
    assert place.document(place.shop) == ""
    place.accept(place.shop, added["id"])
    assert "waits" not in place("memory_search", query="commit")["items"][0]
    assert "Run make check before you commit." in place.document(place.shop)


def test_forgetting_marks_in_the_agents_name_and_says_how_to_undo_it(place: Place) -> None:
    place.turn_memory_on(place.shop)
    id = place.remember(place.shop, "Run make check before you commit.")
    found = place("memory_forget", ids=[id])
    conforms("memory_forget", found)
    assert found == {"marked": [id], "undo": f"/popkit:context memory undo {id}"}
    assert place.marked(place.shop) == {id: "tool"}
    assert id in (place.home / "data" / "state" / "marked.json").read_text(), "from where the panel tells of it"


def test_what_is_marked_while_memory_is_off_is_deleted_by_nobody_unasked(place: Place) -> None:
    id = place.remember(place.shop, "Run make check before you commit.")
    assert "popkit memory run" in place("memory_forget", ids=[id])["note"]


def test_an_agent_that_would_forget_what_is_on_hold_is_told_to_leave_the_hold_to_the_user(place: Place) -> None:
    id = place.remember(place.shop, "Run make check before you commit.")
    with Controller(place.environ, now=lambda: AT) as controller:
        controller.add_hold("memory", "item", id, "alice", "audit")
    said = place.mistake("memory_forget", ids=[id])
    assert f"{id} is on hold (alice: audit)" in said
    assert "Only the user decides whether to release it" in said
    assert "hold release" not in said, "a command that an agent could run at once"
    assert place.marked(place.shop) == {}


def test_a_memory_of_another_project_cannot_be_forgotten(place: Place) -> None:
    theirs = place.remember(place.other, "Run make deploy.")
    mine = place.remember(place.shop, "Run make check.")
    assert f'there is no memory "{theirs}" of this project' in place.mistake("memory_forget", ids=[mine, theirs])
    assert place.marked(place.other) == place.marked(place.shop) == {}


def test_status_counts_the_projects_memories(place: Place) -> None:
    place.remember(place.shop, "Run make check.")
    place.remember(place.other, "Run make deploy.")
    found = place("memory_status")
    conforms("memory_status", found)
    assert (found["project"], found["items"], found["memory_is_on"]) == ("shop", 1, False)
    assert sum(tier["items"] for tier in found["tiers"].values()) == 1
