"""Retention policies for agents: through the one controller, logged as a tool's deeds, never deleting."""

from __future__ import annotations

import json

import pytest

from popkit_retention.governance.controller import Controller
from popkit_retention.governance.policies import DEFAULT_POLICY
from popkit_retention.mcp.call_queue import Cancelled

from .homes import AT, DIALECT, Place
from .talking import Session, tool_call
from .test_tools import conforms

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
    found = place("retention_configure", domain="rag", config={"older_than_days": 99_999, "limit": 9})
    conforms("retention_configure", found)
    assert (found["status"], found["policy"]["older_than_days"], found["policy"]["limit"]) == ("applied", 3_650, 9)
    assert [each["key"] for each in found["adjusted"]] == ["older_than_days"]
    both = place("retention_policies")
    conforms("retention_policies", both)
    assert (both["rag"], both["memory"]) == (found["policy"], DEFAULT_POLICY.to_json())
    assert "retention_get" in both["deprecated"]


def test_what_would_keep_less_waits_for_the_user_who_is_to_be_told(place: Place) -> None:
    found = place("retention_configure", domain="memory", config={"older_than_days": 7, "limit": 9})
    conforms("retention_configure", found)
    assert (found["success"], found["status"], found["asked"]) == (False, "waiting", {"older_than_days": 7, "limit": 9})
    assert found["policy"] == place("retention_get", domain="memory") == DEFAULT_POLICY.to_json()
    assert "Nothing has changed" in found["note"]
    assert f"popkit retention accept {found['request']}" in found["note"]
    with Controller(place.environ) as controller:
        controller.accept(found["request"])
        assert controller.get("memory") == DEFAULT_POLICY.to_json(), "for this project alone"
    assert place("retention_get", domain="memory")["older_than_days"] == 7
    both = place("retention_policies")
    conforms("retention_policies", both)
    assert both["memory"]["older_than_days"] == 7


def test_what_a_project_says_otherwise_is_told_of_all_projects(place: Place) -> None:
    mine = place.clear_from(place.shop, "Read shop.ts", "old text", at=AT - 10 * 86_400)
    place.clear_from(place.other, "Read other.ts", "old text too", at=AT - 10 * 86_400)
    found = place("retention_configure", domain="rag", config={"older_than_days": 7})
    with Controller(place.environ) as controller:
        controller.accept(found["request"])
    assert [each["id"] for each in place("retention_apply", domain="rag")["eligible"]] == [mine]
    place.allow_all_projects()
    found = place("retention_apply", domain="rag", project="all")
    conforms("retention_apply", found)
    assert (found["counts"]["total"], found["eligible"]) == (1, [])
    assert [each["label"] for own in found["own"] for each in own["eligible"]] == ["Read shop.ts"]


def test_what_a_tool_does_is_logged_as_a_tools(place: Place) -> None:
    place("retention_configure", domain="memory", config={"limit": 7})
    place("retention_apply", domain="memory")
    with Controller(place.environ) as controller:
        entries = controller.log()["entries"]
    assert [(each["action"], each["by"]) for each in entries] == [("applied", "tool"), ("configured", "tool")]


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"older_than": 3}, 'arguments.config has no "older_than"'),
        ({"limit": "many"}, "arguments.config.limit must be a number"),
        ({"auto_gc": None}, "arguments.config.auto_gc must be true or false"),
        ({"keep_session_ids": ["a\x07b"]}, "is not a session id"),
        ({"keep_context_ids": [0.5]}, "is not a context id"),
    ],
)
def test_a_policy_that_none_can_be_changes_nothing(config: dict, said: str, place: Place) -> None:
    assert said in place.mistake("retention_configure", domain="rag", config=config)
    assert place("retention_get", domain="rag") == DEFAULT_POLICY.to_json()
    with Controller(place.environ) as controller:
        assert controller.log()["entries"] == []


def test_resources_of_the_caller_are_told_in_full_and_change_nothing(place: Place) -> None:
    resources = [{**OLD, "id": f"r{number}"} for number in range(200)] + HOSTILE
    found = place("retention_apply", domain="rag", resources=resources)
    conforms("retention_apply", found)
    assert found["counts"] == {"eligible": 200, "protected": len(HOSTILE), "total": 200 + len(HOSTILE)}
    assert (len(found["eligible"]), len(found["protected"])) == (200, len(HOSTILE))
    assert all(each["reasons"] for each in found["eligible"] + found["protected"])
    assert state_of(place) == {}


def test_options_stand_in_for_the_policy_of_one_call(place: Place) -> None:
    found = place("retention_apply", domain="rag", resources=[OLD], options={"source_types": ["action"], "older_than_days": 2})
    assert found["protected"][0]["reasons"] == ["source_type_not_in_policy"]
    assert place("retention_get", domain="rag") == DEFAULT_POLICY.to_json()
    assert "older_than" in place.mistake("retention_apply", domain="rag", resources=[OLD], options={"older_than": 1})


def test_of_what_is_stored_only_the_projects_is_told_with_labels(place: Place) -> None:
    mine = place.clear_from(place.shop, "Read shop.ts", "old text", at=AT - 90 * 86_400)
    theirs = place.clear_from(place.other, "Read other.ts", "old text too", at=AT - 90 * 86_400)
    found = place("retention_apply", domain="rag")
    conforms("retention_apply", found)
    assert [(each["id"], each["label"]) for each in found["eligible"] + found["protected"]] == [(mine, "Read shop.ts")]
    assert theirs not in json.dumps(found)
    place.allow_all_projects()
    assert place("retention_apply", domain="rag", project="all")["counts"]["total"] == 2


def test_of_what_is_stored_long_lists_are_cut_and_that_is_said(place: Place) -> None:
    for number in range(5):
        place.clear_from(place.shop, f"Read {number}.ts", f"text {number}", at=AT - 90 * 86_400)
    found = place("retention_apply", domain="rag", most=2)
    assert sum(len(found[name]) for name in ("eligible", "protected")) == 2
    assert sum(found["not_shown"].values()) == 3
    assert found["counts"]["total"] == 5


def test_an_archive_copies_and_deletes_nothing(place: Place) -> None:
    mine = place.clear_from(place.shop, "Read shop.ts", "old text", at=AT - 90 * 86_400)
    found = place("retention_archive", domain="rag", resources=[{"id": mine}], options={"note": "before the move"})
    conforms("retention_archive", found)
    assert found["resource_count"] == 1
    assert (place.home / "data" / "archive" / found["archive_id"] / "manifest.json").exists()
    assert place("context_restore", handle=mine)["content"] == "old text"


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
    *told, _ = session.answers(tool_call("retention_archive", {"domain": "rag"}, progressToken=7))
    assert [message["params"] for message in told][-1] == {"progressToken": 7, "progress": 3, "total": 3}

    def cancelled(done: float, total: float | None = None) -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        place.tools.call("retention_archive", {"domain": "rag"}, DIALECT, cancelled)
    with Controller(place.environ) as controller:
        assert len(controller.archives()["archives"]) == 1
        assert controller.verify()["ok"]
