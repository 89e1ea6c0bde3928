"""The context for agents: what left it is found and comes back, of this project alone."""

from __future__ import annotations

from pathlib import Path

from popkit_retention.mcp.service import Tools
from tests.reclaim.shops import Shop, worked

from .homes import DIALECT, Place, silent
from .test_tools import conforms


def test_what_was_cleared_comes_back_as_it_was(place: Place) -> None:
    handle = place.clear_from(place.shop, "Read a.ts", "first line\n  second “line”\n")
    found = place("context_restore", handle=handle)
    conforms("context_restore", found)
    assert (found["content"], found["label"], found["next_offset"]) == ("first line\n  second “line”\n", "Read a.ts", None)
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
        found = tools.call("context_status", {}, DIALECT, silent)["structuredContent"]
        conforms("context_status", found)
        assert found["session"] == shop.session_id
        assert found["cleared"]["items"] == 3
        assert found["context"]["tokens"] > 0
        assert set(found["tiers"]) >= {"medium", "session"}


def test_without_a_session_status_says_so(place: Place) -> None:
    assert place.mistake("context_status").startswith("no session of this project has written a transcript yet")


def test_what_was_cleared_is_found_by_its_words_in_this_project_alone(place: Place) -> None:
    mine = place.clear_from(place.shop, "Read cart.ts", "line one\nthe basket total is calculated here\nline three")
    theirs = place.clear_from(place.other, "Read other.ts", "their basket total")
    found = place("context_search", query="basket total")
    conforms("context_search", found)
    assert [(each["handle"], each["label"]) for each in found["results"]] == [(mine, "Read cart.ts")]
    assert found["results"][0]["lines"] == ["the basket total is calculated here"]
    assert place("context_restore", handle=mine)["content"].startswith("line one")
    place.allow_all_projects()
    assert {each["handle"] for each in place("context_search", query="basket total", project="all")["results"]} == {mine, theirs}


def test_a_checkout_in_another_folder_is_the_same_project(place: Place) -> None:
    mine = place.clear_from(place.shop / "packages" / "cart", "Read cart.ts", "the basket total")
    (place.shop / ".git").mkdir()
    (place.shop / ".git" / "config").write_text("[core]\n")
    assert [each["handle"] for each in place("context_search", query="basket")["results"]] == [mine]


def test_secrets_in_lines_that_are_found_are_masked(place: Place) -> None:
    token = "ghp_" + "a1B2c3D4" * 5
    place.clear_from(place.shop, "Read .env", f"GITHUB_TOKEN={token}\n")
    (found,) = place("context_search", query="GITHUB_TOKEN")["results"]
    assert token not in str(found)


def test_where_nothing_was_archived_nothing_is_found(place: Place) -> None:
    assert place("context_search", query="anything") == {"results": [], "more": False}
    assert not (place.home / "archive.sqlite").exists()


def test_more_than_was_asked_for_is_said_to_be_there(place: Place) -> None:
    for number in range(4):
        place.clear_from(place.shop, f"Read {number}.ts", f"the basket total {number}")
    found = place("context_search", query="basket", most=3)
    assert (len(found["results"]), found["more"]) == (3, True)
