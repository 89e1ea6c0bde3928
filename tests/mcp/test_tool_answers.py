"""What tools answer, each of its project alone: what left the context is found and comes back; adding to memory needs the user's consent,
and forgetting only marks; retention goes through the one controller, logged as a tool's, and never deletes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from popkit_retention.governance.controller import Controller
from popkit_retention.governance.policies import DEFAULT_POLICY
from popkit_retention.mcp.server import Cancelled
from popkit_retention.mcp.tool_service import Tools
from tests.mcp.homes import AT, DIALECT, Place, silent
from tests.mcp.talking import Session, tool_call
from tests.mcp.test_tools import conforms
from tests.reclaim.shops import Shop, worked


def test_what_was_cleared_comes_back_as_it_was(place: Place) -> None:
    handle = place.clear_from(place.shop, "Read a.ts", "first line\n  second “line”\n")
    answer = place("context_restore", handle=handle)
    conforms("context_restore", answer)
    assert (answer["content"], answer["label"], answer["next_offset"]) == ("first line\n  second “line”\n", "Read a.ts", None)
    assert place("context_restore", handle=handle[:6])["handle"] == handle


def test_long_contents_come_in_pages(place: Place) -> None:
    content = "".join(f"line {number}\n" for number in range(9_000))
    handle = place.clear_from(place.shop, "Read a.ts", content)
    pages, offset = [], 0
    while offset is not None:
        page = place("context_restore", handle=handle, offset=offset, limit=30_000)
        pages.append(page["content"])
        offset = page["next_offset"]
    assert "".join(pages) == content
    assert len(place("context_restore", handle=handle)["content"]) == 20_000
    assert place("context_restore", handle=handle, offset=10**9)["content"] == ""


def test_another_projects_contents_stay_its_own(place: Place) -> None:
    theirs = place.clear_from(place.other, "Read other.ts", "their secret plan")
    assert "nothing that left a context of this project" in place.mistake("context_restore", handle=theirs)
    place.allow_all_projects()
    assert place("context_restore", handle=theirs, project="all")["content"] == "their secret plan"


def test_where_nothing_was_archived_there_is_nothing_to_restore(place: Place) -> None:
    assert place.mistake("context_restore", handle="abcd2345") == "nothing has been archived yet"
    assert not (place.home / "archive.sqlite").exists()


def test_status_is_that_of_the_session_that_runs_the_server_else_of_the_newest(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    shop.write(worked(str(shop.project)))
    shop.clear()
    for more in ({"CLAUDE_CODE_SESSION_ID": shop.session_id}, {}, {"CLAUDE_CODE_SESSION_ID": "another"}):
        tools = Tools(shop.environ(**more), str(shop.project))
        answer = tools.call("context_status", {}, DIALECT, silent)["structuredContent"]
        conforms("context_status", answer)
        assert answer["session"] == shop.session_id
        assert answer["cleared"]["items"] == 3
        assert answer["context"]["tokens"] > 0
        assert set(answer["tiers"]) >= {"medium", "session"}


def test_without_a_session_status_says_so(place: Place) -> None:
    assert place.mistake("context_status").startswith("no session of this project has written a transcript yet")


def test_what_was_cleared_is_found_by_its_words_in_this_project_alone(place: Place) -> None:
    handle = place.clear_from(place.shop, "Read cart.ts", "line one\nthe basket total is calculated here\nline three")
    theirs = place.clear_from(place.other, "Read other.ts", "their basket total")
    answer = place("context_search", query="basket total")
    conforms("context_search", answer)
    assert [(match["handle"], match["label"]) for match in answer["results"]] == [(handle, "Read cart.ts")]
    assert answer["results"][0]["lines"] == ["the basket total is calculated here"]
    assert place("context_restore", handle=handle)["content"].startswith("line one")
    place.allow_all_projects()
    assert {match["handle"] for match in place("context_search", query="basket total", project="all")["results"]} == {handle, theirs}


def test_a_checkout_in_another_folder_is_the_same_project(place: Place) -> None:
    handle = place.clear_from(place.shop / "packages" / "cart", "Read cart.ts", "the basket total")
    (place.shop / ".git").mkdir()
    (place.shop / ".git" / "config").write_text("[core]\n")
    assert [match["handle"] for match in place("context_search", query="basket")["results"]] == [handle]


def test_secrets_in_lines_that_are_found_are_masked(place: Place) -> None:
    token = "ghp_" + "a1B2c3D4" * 5
    place.clear_from(place.shop, "Read .env", f"GITHUB_TOKEN={token}\n")
    (answer,) = place("context_search", query="GITHUB_TOKEN")["results"]
    assert token not in str(answer)


def test_where_nothing_was_archived_nothing_is_found(place: Place) -> None:
    assert place("context_search", query="anything") == {"results": [], "more": False}
    assert not (place.home / "archive.sqlite").exists()


def test_the_answer_says_that_there_is_more_than_was_asked_for(place: Place) -> None:
    for number in range(4):
        place.clear_from(place.shop, f"Read {number}.ts", f"the basket total {number}")
    answer = place("context_search", query="basket", most=3)
    assert (len(answer["results"]), answer["more"]) == (3, True)


# --- memory ------------------------------------------------------------------------------------------------------------------------------


def test_what_is_remembered_of_the_project_is_found_and_nothing_of_another(place: Place) -> None:
    id = place.remember(place.shop, "Run make check before you commit.")
    theirs = place.remember(place.other, "Run make deploy before you commit.")
    answer = place("memory_search", query="commit")
    conforms("memory_search", answer)
    assert [item["id"] for item in answer["items"]] == [id]
    assert answer["memory_is_on"] is False
    place.allow_all_projects()
    everywhere = place("memory_search", query="commit", project="all")
    assert {item["id"]: item["project"].split("-")[0] for item in everywhere["items"]} == {id: "shop", theirs: "other"}


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
    assert added["note"].endswith(f"/popkit:context memory admin accept {added['id']}")
    assert place.mistake("memory_add", text="Run make check before you commit.").endswith("is there already: nothing was added")
    assert place("memory_status")["waiting"] == 1
    conforms("memory_status", place("memory_status"))
    answer = place("memory_search", query="commit")
    conforms("memory_search", answer)
    assert [item["waits"] for item in answer["items"]] == [True]
    assert place.document(place.shop) == ""
    place.accept(place.shop, added["id"])
    assert "waits" not in place("memory_search", query="commit")["items"][0]
    assert "Run make check before you commit." in place.document(place.shop)


def test_forgetting_marks_in_the_agents_name_and_says_how_to_undo_it(place: Place) -> None:
    place.turn_memory_on(place.shop)
    id = place.remember(place.shop, "Run make check before you commit.")
    answer = place("memory_forget", ids=[id])
    conforms("memory_forget", answer)
    assert answer == {"marked": [id], "undo": f"/popkit:context memory undo {id}"}
    assert place.marked(place.shop) == {id: "tool"}
    assert id in (place.home / "data" / "state" / "marked.json").read_text(), "from where the panel tells of it"


def test_what_is_marked_while_memory_is_off_is_deleted_by_nobody_unasked(place: Place) -> None:
    id = place.remember(place.shop, "Run make check before you commit.")
    assert "popkit memory admin run" in place("memory_forget", ids=[id])["note"]


def test_an_agent_that_would_forget_held_memories_is_told_to_leave_the_hold_alone(place: Place) -> None:
    """The hold is the user's."""
    id = place.remember(place.shop, "Run make check before you commit.")
    with Controller(place.environ, now=lambda: AT) as controller:
        controller.add_hold("memory", "item", id, "alice", "audit")
    mistake = place.mistake("memory_forget", ids=[id])
    assert f"{id} is on hold (alice: audit)" in mistake
    assert "Only the user decides whether to release it" in mistake
    assert "hold release" not in mistake, "a command that an agent could run at once"
    assert place.marked(place.shop) == {}


def test_a_memory_of_another_project_cannot_be_forgotten(place: Place) -> None:
    theirs = place.remember(place.other, "Run make deploy.")
    id = place.remember(place.shop, "Run make check.")
    assert f'there is no memory "{theirs}" of this project' in place.mistake("memory_forget", ids=[id, theirs])
    assert place.marked(place.other) == place.marked(place.shop) == {}


def test_status_counts_the_projects_memories(place: Place) -> None:
    place.remember(place.shop, "Run make check.")
    place.remember(place.other, "Run make deploy.")
    answer = place("memory_status")
    conforms("memory_status", answer)
    assert (answer["project"], answer["items"], answer["memory_is_on"]) == ("shop", 1, False)
    assert sum(tier["items"] for tier in answer["tiers"].values()) == 1


# --- retention ---------------------------------------------------------------------------------------------------------------------------


OLD = {"id": "old", "created_at": "2020-01-01T00:00:00Z", "source_type": "context"}
HOSTILE = [
    None, 5, "text", [], {}, {"id": "a\x00b", "created_at": 1}, {"id": True}, {"id": "x" * 10_000}, {"id": "\ud800", "created_at": 1e308},
    {"id": "days", "created_at": "soon", "source_type": "context"}, {"id": "never", "created_at": [1], "source_type": {"a": 1}},
]  # fmt: skip


def state_of(place: Place) -> dict[str, bytes]:
    """Everything that stands in the home, but for what only saves time."""
    files = [path for path in place.home.rglob("*") if path.is_file() and "cache" not in path.parts]
    return {str(path.relative_to(place.home)): path.read_bytes() for path in files}


def test_a_policy_is_read_changed_and_read_again(place: Place) -> None:
    assert place("retention_get", domain="rag") == DEFAULT_POLICY.to_json()
    answer = place("retention_configure", domain="rag", config={"older_than_days": 99_999, "limit": 9})
    conforms("retention_configure", answer)
    assert (answer["status"], answer["policy"]["older_than_days"], answer["policy"]["limit"]) == ("applied", 3_650, 9)
    assert [change["key"] for change in answer["adjusted"]] == ["older_than_days"]
    both = place("retention_policies")
    conforms("retention_policies", both)
    assert (both["rag"], both["memory"]) == (answer["policy"], DEFAULT_POLICY.to_json())
    assert "retention_get" in both["deprecated"]


def test_what_would_keep_less_waits_for_the_user_who_is_to_be_told(place: Place) -> None:
    answer = place("retention_configure", domain="memory", config={"older_than_days": 7, "limit": 9})
    conforms("retention_configure", answer)
    assert (answer["success"], answer["status"], answer["asked"]) == (False, "waiting", {"older_than_days": 7, "limit": 9})
    assert answer["policy"] == place("retention_get", domain="memory") == DEFAULT_POLICY.to_json()
    assert "Nothing has changed" in answer["note"]
    assert f"popkit retention admin accept {answer['request']}" in answer["note"]
    with Controller(place.environ) as controller:
        controller.accept(answer["request"])
        assert controller.get("memory") == DEFAULT_POLICY.to_json(), "for this project alone"
    assert place("retention_get", domain="memory")["older_than_days"] == 7
    both = place("retention_policies")
    conforms("retention_policies", both)
    assert both["memory"]["older_than_days"] == 7


def test_what_a_project_has_set_for_itself_is_shown_for_all_projects(place: Place) -> None:
    handle = place.clear_from(place.shop, "Read shop.ts", "old text", at=AT - 10 * 86_400)
    place.clear_from(place.other, "Read other.ts", "old text too", at=AT - 10 * 86_400)
    answer = place("retention_configure", domain="rag", config={"older_than_days": 7})
    with Controller(place.environ) as controller:
        controller.accept(answer["request"])
    assert [verdict["id"] for verdict in place("retention_apply", domain="rag")["eligible"]] == [handle]
    place.allow_all_projects()
    answer = place("retention_apply", domain="rag", project="all")
    conforms("retention_apply", answer)
    assert (answer["counts"]["total"], answer["eligible"]) == (1, [])
    assert [verdict["label"] for own in answer["own"] for verdict in own["eligible"]] == ["Read shop.ts"]


def test_what_a_tool_does_is_logged_as_a_tools(place: Place) -> None:
    place("retention_configure", domain="memory", config={"limit": 7})
    place("retention_apply", domain="memory")
    with Controller(place.environ) as controller:
        entries = controller.log()["entries"]
    assert [(entry["action"], entry["by"]) for entry in entries] == [("applied", "tool"), ("configured", "tool")]


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"older_than": 3}, 'arguments.config has no "older_than"'),
        ({"limit": "many"}, "arguments.config.limit must be a number"),
        ({"auto_gc": None}, "arguments.config.auto_gc must be true or false"),
        ({"keep_session_ids": ["a\x07b"]}, "is not a session id"),
        ({"keep_context_ids": [0.5]}, "is not a context id"),
    ],
)
def test_a_policy_that_none_can_be_changes_nothing(config: dict, message: str, place: Place) -> None:
    assert message in place.mistake("retention_configure", domain="rag", config=config)
    assert place("retention_get", domain="rag") == DEFAULT_POLICY.to_json()
    with Controller(place.environ) as controller:
        assert controller.log()["entries"] == []


def test_resources_of_the_caller_are_listed_in_full_and_change_nothing(place: Place) -> None:
    resources = [{**OLD, "id": f"r{number}"} for number in range(200)] + HOSTILE
    answer = place("retention_apply", domain="rag", resources=resources)
    conforms("retention_apply", answer)
    assert answer["counts"] == {"eligible": 200, "protected": len(HOSTILE), "total": 200 + len(HOSTILE)}
    assert (len(answer["eligible"]), len(answer["protected"])) == (200, len(HOSTILE))
    assert all(verdict["reasons"] for verdict in answer["eligible"] + answer["protected"])
    assert state_of(place) == {}


def test_options_stand_in_for_the_policy_of_one_call(place: Place) -> None:
    answer = place("retention_apply", domain="rag", resources=[OLD], options={"source_types": ["action"], "older_than_days": 2})
    assert answer["protected"][0]["reasons"] == ["source_type_not_in_policy"]
    assert place("retention_get", domain="rag") == DEFAULT_POLICY.to_json()
    assert "older_than" in place.mistake("retention_apply", domain="rag", resources=[OLD], options={"older_than": 1})


def test_of_what_is_stored_only_the_projects_is_listed_with_labels(place: Place) -> None:
    handle = place.clear_from(place.shop, "Read shop.ts", "old text", at=AT - 90 * 86_400)
    theirs = place.clear_from(place.other, "Read other.ts", "old text too", at=AT - 90 * 86_400)
    answer = place("retention_apply", domain="rag")
    conforms("retention_apply", answer)
    assert [(verdict["id"], verdict["label"]) for verdict in answer["eligible"] + answer["protected"]] == [(handle, "Read shop.ts")]
    assert theirs not in json.dumps(answer)
    place.allow_all_projects()
    assert place("retention_apply", domain="rag", project="all")["counts"]["total"] == 2


def test_of_what_is_stored_long_lists_are_cut_and_the_answer_says_so(place: Place) -> None:
    for number in range(5):
        place.clear_from(place.shop, f"Read {number}.ts", f"text {number}", at=AT - 90 * 86_400)
    answer = place("retention_apply", domain="rag", most=2)
    assert sum(len(answer[name]) for name in ("eligible", "protected")) == 2
    assert sum(answer["not_shown"].values()) == 3
    assert answer["counts"]["total"] == 5


def test_an_archive_copies_and_deletes_nothing(place: Place) -> None:
    handle = place.clear_from(place.shop, "Read shop.ts", "old text", at=AT - 90 * 86_400)
    answer = place("retention_archive", domain="rag", resources=[{"id": handle}], options={"note": "before the move"})
    conforms("retention_archive", answer)
    assert answer["resource_count"] == 1
    assert (place.home / "data" / "archive" / answer["archive_id"] / "manifest.json").exists()
    assert place("context_restore", handle=handle)["content"] == "old text"


def test_an_archive_takes_options_of_the_policy_for_its_call(place: Place) -> None:
    old, older = (place.clear_from(place.shop, f"Read {days}.ts", f"text {days}", at=AT - days * 86_400) for days in (60, 90))
    options = {"older_than_days": 75}
    assert [verdict["id"] for verdict in place("retention_apply", domain="rag", options=options)["eligible"]] == [older]
    answer = place("retention_archive", domain="rag", options={**options, "note": "the oldest"})
    assert answer["resource_count"] == 1
    assert place("retention_archive", domain="rag", resources=[old, older], options=options)["resource_count"] == 1
    assert "the policy releases nothing" in place.mistake("retention_archive", domain="rag", resources=[old], options=options)
    assert place("retention_archive", domain="rag", resources=[old, older])["resource_count"] == 2


def test_what_cannot_be_archived_is_a_clear_error(place: Place) -> None:
    theirs = place.clear_from(place.other, "Read other.ts", "old text", at=AT - 90 * 86_400)
    assert theirs in place.mistake("retention_archive", domain="rag", resources=[theirs])
    assert "must hold ids" in place.mistake("retention_archive", domain="rag", resources=[5])
    assert place.mistake("retention_archive", domain="rag", resources=["nonsense"])
    assert not (place.home / "data" / "archive").exists() or not list((place.home / "data" / "archive").iterdir())


def test_an_archive_tells_how_far_it_is_and_can_be_cancelled(place: Place) -> None:
    for number in range(3):
        place.clear_from(place.shop, f"Read {number}.ts", f"text {number}", at=AT - 90 * 86_400)
    session = Session(place.tools)
    *notifications, _ = session.answers(tool_call("retention_archive", {"domain": "rag"}, progressToken=7))
    assert [message["params"] for message in notifications][-1] == {"progressToken": 7, "progress": 3, "total": 3}

    def cancelled(done: float, total: float | None = None) -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        place.tools.call("retention_archive", {"domain": "rag"}, DIALECT, cancelled)
    with Controller(place.environ) as controller:
        assert len(controller.archives()["archives"]) == 1
        assert controller.verify()["ok"]
