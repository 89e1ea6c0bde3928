"""What a client puts beside texts, calls and results, through every compaction of the newest client: nothing of it is lost.

Each kind stands in the request before; behind a clear of one result, a compaction between turns and in mid-turn, the undo of each, and in a
session that goes on, it stands there still, or the archive has it under a handle that stands there. Nothing stands twice.
"""

from __future__ import annotations

import gzip
import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest

from .carrying import AT_START, OF_THE_SERVER, SHOWN, TOLD, TYPED, TYPED_LATER, Story, carried, holds, loaded, mused
from .compacted import boundaries, thinks, toasts, words
from .installs import Installed
from .kept import kept
from .provider import MANUAL, blocks_of, mode_of
from .reclaimed import whole
from .scripted_api import Recorded

HANDLE = re.compile(r"popkit restore ([a-z2-7]{8,})")
# Each stage of the first session, and the one that it has to hold as much as.
STAGES = {
    "cleared": "before", "clear undone": "before", "compacted": "clear undone", "compaction undone": "clear undone",
    "full": "before full", "gone on": "before full", "full undone": "before full", "resumed": "full undone",
}  # fmt: skip
UNDONE = {"clear undone": "before", "compaction undone": "clear undone", "full undone": "before full"}


@pytest.fixture(scope="module")
def story(clients: dict[str, Installed]) -> Iterator[Story]:
    with kept(clients["newest"], carried) as session:
        yield session.played


@pytest.fixture(scope="module")
def loading(clients: dict[str, Installed]) -> Iterator[Story]:
    with kept(clients["newest"], loaded) as session:
        yield session.played


@pytest.fixture(scope="module")
def musing(clients: dict[str, Installed]) -> Iterator[Story]:
    with kept(clients["newest"], mused) as session:
        yield session.played


def archived(story: Story) -> dict[str, str]:
    """handle -> what the archive has under it, as its file says."""
    with closing(sqlite3.connect(f"file:{story.world.popkit_home / 'archive.sqlite'}?mode=ro", uri=True)) as archive:
        rows = archive.execute("SELECT id, coalesce(content, content_compressed) FROM thought_records").fetchall()
    return {handle: str(gzip.decompress(kept) if kept[:2] == b"\x1f\x8b" else kept) for handle, kept in rows}


def where(story: Story, request: Recorded, text: str) -> str:
    """Where a request has a text: there, behind a handle that is there, or nowhere."""
    times = request.text.count(json.dumps(text, ensure_ascii=False)[1:-1])
    if times:
        return "there" if times == 1 else f"{times} times"
    contents = archived(story)
    named = [handle for handle in HANDLE.findall(request.text) if text in (contents.get(handle) or "")]
    return "behind its handle" if named else "LOST"


def test_every_kind_is_in_the_request_before_and_none_is_lost_or_stands_twice(story: Story):
    kinds = {**TOLD, **SHOWN}
    table = {kind: {stage: where(story, request, text) for stage, request in story.requests.items()} for kind, text in kinds.items()}
    columns = ("before", *STAGES)
    print("\n" + " | ".join(("kind", *columns)))
    for kind, found in table.items():
        print(" | ".join((kind, *(found.get(stage, "no request") for stage in columns))))
    assert {kind: found["before"] for kind, found in table.items()} == dict.fromkeys(kinds, "there")
    for kind in TOLD:
        assert table[kind] == dict.fromkeys(story.requests, "there"), kind
    for kind in SHOWN:
        assert set(table[kind].values()) <= {"there", "behind its handle"}, kind


SAID_AGAIN = ("# Environment", "deferred tools", "agent types", "skills are available")


def test_what_the_client_says_again_stands_once_from_the_next_result_or_prompt_on(story: Story):
    times = {stage: {story.requests[stage].text.count(text) for text in SAID_AGAIN} for stage in ("before", "compacted", "full", "gone on")}
    assert times == {"before": {1}, "compacted": {1}, "full": {0}, "gone on": {1}}


def test_what_a_hook_says_at_each_start_never_piles_up(story: Story):
    """A compaction is a start, too. Nobody knows before whether the hook says it again."""
    times = {stage: request.text.count(AT_START) for stage, request in story.requests.items()}
    assert times["before"] == 1
    assert set(times.values()) <= {1, 2}, times


@pytest.mark.parametrize("stage", STAGES)
def test_what_the_person_typed_in_mid_turn_is_word_for_word_theirs(story: Story, stage: str):
    said = words(story.requests[stage], "user")
    assert said.count(TYPED) == 1
    assert said.count(TYPED_LATER) == (stage in ("full", "gone on", "full undone", "resumed"))


def results(request: Recorded) -> dict[str, str]:
    """The texts of results, without the reminders that the client puts behind them."""
    return {id: text.partition("\n\n<system-reminder>")[0] for id, text in request.tool_results().items()}


@pytest.mark.parametrize(("stage", "before"), UNDONE.items())
def test_an_undo_puts_every_text_back_and_what_shows_more_says_how_it_is_seen(story: Story, stage: str, before: str):
    was, now = (results(story.requests[name]) for name in (before, stage))
    assert set(was) <= set(now)
    differing = {id: now[id] for id, text in was.items() if text != now[id]}
    shown = {block["tool_use_id"] for message in story.requests["before"].body["messages"] for block in blocks_of(message)
             if block["type"] == "tool_result" and json.dumps(block["content"]).count('"base64"')}  # fmt: skip
    assert set(differing) <= shown
    for text in differing.values():
        assert HANDLE.search(text)


def test_a_picture_is_restored_by_the_handle_in_its_place(story: Story):
    for kind, data in SHOWN.items():
        handles = [handle for handle in HANDLE.findall(story.requests["resumed"].text) if data in (archived(story).get(handle) or "")]
        assert handles, kind
        assert story.world.restored(handles[0]).strip(), kind


def test_no_model_is_asked_and_the_person_hears_of_each(story: Story):
    assert {request.kind for request in story.world.api.requests} == {"turn"}
    assert [toast.partition(":")[0] for toast in toasts(story.runs[0])] == ["Compacted without a model", "Put back in place"] * 3
    assert [entry["trigger"] for entry in boundaries(story.runs[0])] == ["manual"] * 4 + ["auto", "manual"]
    assert story.world.errors() == ""


def test_transcript_and_state_are_whole_afterwards(story: Story):
    session_id = story.runs[0].session_id
    assert whole(story.world.home.transcript(session_id))
    assert story.world.agrees(session_id)


def test_in_the_terminal_what_is_carried_is_not_shown_as_if_the_person_had_typed_it(story: Story):
    rows = [row.strip() for row in story.screen.splitlines() if row.strip()]
    reminders = [at for at, row in enumerate(rows) if row.startswith("❯ <system-reminder>")]
    print("\n" + "\n".join(rows[:40]))
    assert [rows[at - 1] for at in reminders] == ["› Prompt from the popkit plugin"] * len(reminders)


# --- tools that were loaded ------------------------------------------------------------------------------------------------------------


def tools(request: Recorded) -> set[str]:
    return {tool["name"] for tool in request.body["tools"]}


def test_tools_that_were_loaded_stay_in_the_list(loading: Story):
    before = tools(loading.requests["before"])
    assert "WebFetch" in before
    sizes = {stage: sorted(tools(request) & {"WebFetch", "CronList"}) for stage, request in loading.requests.items()}
    print("\n", sizes)
    assert {stage: "WebFetch" in names for stage, names in sizes.items()} == dict.fromkeys(sizes, True)
    assert {stage: "CronList" in names for stage, names in sizes.items()} == {
        stage: stage in ("before full", "full", "searched", "search compacted") for stage in sizes
    }


def test_between_turns_the_compaction_is_ours_and_in_mid_turn_the_clients_own(loading: Story):
    first, other = loading.runs
    assert [toast.partition(":")[0] for toast in toasts(first)] == ["Compacted without a model", "Put back in place"]
    assert toasts(other)[0].startswith("Claude Code compacts this time, not PopKit: CronList is loaded")
    assert other.results[1]["result"] == "rested"
    assert len(loading.world.api.of_kind("summary")) == 2


# --- blocks of the server's tools --------------------------------------------------------------------------------------------------------


def test_server_tool_blocks_and_citations_are_carried_or_the_client_summarises(loading: Story):
    before, after = loading.requests["searched"], loading.requests["search compacted"]
    assert holds(before, OF_THE_SERVER) == dict.fromkeys(OF_THE_SERVER, 1)
    if holds(after, OF_THE_SERVER) == holds(before, OF_THE_SERVER):
        return
    summary = loading.world.api.of_kind("summary")[-1]
    assert holds(summary, OF_THE_SERVER) == dict.fromkeys(OF_THE_SERVER, 1)
    assert loading.world.api.summary.partition(" [[")[0] in after.text
    assert toasts(loading.runs[1])[-1].startswith("Claude Code compacts this time, not PopKit: ")


# --- thinking by hand -----------------------------------------------------------------------------------------------------------------


def test_a_model_that_thinks_by_hand_goes_on_when_its_window_is_full_in_mid_turn(musing: Story):
    before = musing.requests["before full"]
    assert mode_of(before.body, before.headers).thinking == MANUAL
    assert len(thinks(before)) == 1
    assert [result["is_error"] for run in musing.runs for result in run.results] == [False] * 6
    assert musing.runs[0].results[0]["result"] in ("rested", "filled")


def test_between_turns_ours_compacts_it(musing: Story):
    assert [toast.partition(":")[0] for toast in toasts(musing.runs[0])][-1] == "Compacted without a model"
    assert HANDLE.search(musing.requests["compacted"].text)
    assert HANDLE.findall(musing.requests["resumed"].text) == HANDLE.findall(musing.requests["compacted"].text)


@pytest.mark.parametrize("name", ["story", "loading", "musing"])
def test_every_request_is_one_that_the_provider_takes(request: pytest.FixtureRequest, name: str):
    api = request.getfixturevalue(name).world.api
    assert [fault for each in api.requests for fault in each.faults] == []
    assert api.refused == []
