"""Repair, through the real hook: a Read answers "file unchanged", and the earlier Read is no longer in the context."""

from __future__ import annotations

import json
import time

import pytest

from tests.hooks import payloads, processes
from tests.kit.forks import Done, Hook
from tests.reclaim.shops import Shop, Talk, code

NEW, OLD = "2.1.330", "2.1.100"
TEXT = code(60)


class Reading:
    """A session that has read a file, and reads it again."""

    def __init__(self, shop: Shop, version: str, agent: str = ""):
        self.shop, self.agent = shop, agent
        self.path = shop.project / "app.ts"
        self.path.write_text(TEXT)
        self.talk = Talk(str(shop.project), version)
        self.talk.prompt("go")
        self.file = shop.transcript.with_suffix("") / "subagents" / f"agent-{agent}.jsonl" if agent else shop.transcript

    def write(self) -> None:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        if self.agent:
            for entry in self.talk.entries:
                entry.update(isSidechain=True, agentId=self.agent)
        self.talk.write(self.file)

    def again(self, agent: str = "", **asked: int) -> Done:
        """The Read that answers "file unchanged"."""
        self.shop.at = max(self.shop.at, time.time())
        more = {"agent_id": agent, "agent_type": "general-purpose"} if agent else {}
        payload = payloads.call(
            "Read",
            {"file_path": str(self.path), **asked},
            {"type": "file_unchanged", "file": {"filePath": str(self.path)}},
            session_id=self.shop.session_id,
            transcript_path=str(self.shop.transcript),
            cwd=str(self.shop.project),
            **more,
        )
        return self.shop.forks.run(Hook("post-tool-use", payload), self.shop.environ())


def _compacted(reading: Reading) -> None:
    reading.talk.read("first", str(reading.path), TEXT)
    reading.talk.compact()
    reading.talk.say("So.")
    reading.write()


def _rewound(reading: Reading) -> None:
    fork = reading.talk.last
    reading.talk.read("first", str(reading.path), TEXT)
    reading.talk.prompt("no, otherwise", parent=fork)
    reading.write()


def _placeholder(reading: Reading) -> None:
    reading.talk.read("first", str(reading.path), TEXT)
    reading.talk.say("So.")
    reading.write()
    reading.shop.at = reading.talk.now + 4_000
    assert reading.shop.clear(ids=("first",))[1] is not None


GONE = {"compacted": _compacted, "rewound": _rewound, "cleared": _placeholder}


@pytest.mark.parametrize("version", ["2.1.121", "2.1.330", "2.2.0"])
@pytest.mark.parametrize("gone", GONE.values(), ids=GONE)
def test_the_full_text_takes_the_place_of_the_answer(shop: Shop, gone, version: str):
    reading = Reading(shop, version)
    gone(reading)
    ran = reading.again()
    answer = json.loads(ran.stdout)["hookSpecificOutput"]
    assert answer["hookEventName"] == "PostToolUse"
    file = answer["updatedToolOutput"]["file"]
    assert answer["updatedToolOutput"]["type"] == "text"
    assert (file["filePath"], file["content"], file["startLine"]) == (str(reading.path), TEXT, 1)
    assert "additionalContext" not in answer
    (result,) = [row for row in processes.Home(shop.folder).state(shop.session_id).live.values() if row.kind == "read"]
    assert result.tokens > 300, "the tracker knows what the model sees now"


@pytest.mark.parametrize("version", [OLD, "2.1.120"])
@pytest.mark.parametrize("gone", GONE.values(), ids=GONE)
def test_an_older_client_gets_the_text_beside_the_answer(shop: Shop, gone, version: str):
    reading = Reading(shop, version)
    gone(reading)
    answer = json.loads(reading.again().stdout)["hookSpecificOutput"]
    assert TEXT in answer["additionalContext"]
    assert str(reading.path) in answer["additionalContext"]
    assert "updatedToolOutput" not in answer


def test_what_an_older_client_would_not_show_is_left_away(shop: Shop):
    reading = Reading(shop, OLD)
    reading.path.write_text(code(400))
    _compacted(reading)
    assert reading.again().silent


@pytest.mark.parametrize("version", [OLD, NEW])
def test_where_the_earlier_read_is_still_there_nothing_is_said(shop: Shop, version: str):
    reading = Reading(shop, version)
    reading.talk.read("first", str(reading.path), TEXT)
    reading.talk.say("So.")
    reading.write()
    assert reading.again().silent


def test_an_expired_read_is_still_there(shop: Shop):
    reading = Reading(shop, NEW)
    reading.talk.read("first", str(reading.path), TEXT)
    reading.talk.edit("edit", str(reading.path))
    reading.write()
    assert reading.again().silent


def test_after_an_undo_nothing_is_said(shop: Shop):
    reading = Reading(shop, NEW)
    _placeholder(reading)
    shop.undo()
    assert reading.again().silent


def test_the_range_that_was_asked_for_is_what_it_shows(shop: Shop):
    reading = Reading(shop, NEW)
    reading.talk.read("first", str(reading.path), TEXT, offset=5, limit=10)
    reading.talk.read("other", str(reading.path), TEXT, offset=30, limit=10)
    reading.talk.say("So.")
    reading.write()
    shop.at = reading.talk.now + 4_000
    assert shop.clear(ids=("first",))[1] is not None
    file = json.loads(reading.again(offset=5, limit=10).stdout)["hookSpecificOutput"]["updatedToolOutput"]["file"]
    assert file["content"] == "\n".join(TEXT.split("\n")[4:14])
    assert (file["startLine"], file["numLines"]) == (5, 10)


def test_what_was_read_of_another_part_does_not_count(shop: Shop):
    reading = Reading(shop, NEW)
    reading.talk.read("other", str(reading.path), TEXT, offset=30, limit=10)
    reading.talk.say("So.")
    reading.write()
    assert not reading.again(offset=5, limit=10).silent


# --- main thread and subagents ------------------------------------------------------------------------------------------------------


def test_what_the_main_thread_has_does_not_help_a_subagent(shop: Shop):
    main = Reading(shop, NEW)
    main.talk.read("first", str(main.path), TEXT)
    main.talk.say("So.")
    main.write()
    _compacted(Reading(shop, NEW, "abc"))
    answer = json.loads(main.again("abc").stdout)["hookSpecificOutput"]
    assert answer["updatedToolOutput"]["file"]["content"] == TEXT
    assert main.again().silent, "the main thread has it"


def test_what_a_subagent_has_does_not_help_the_main_thread(shop: Shop):
    main = Reading(shop, NEW)
    _compacted(main)
    agent = Reading(shop, NEW, "abc")
    agent.talk.read("first", str(agent.path), TEXT)
    agent.talk.say("So.")
    agent.write()
    assert agent.again("abc").silent
    assert not main.again().silent


@pytest.mark.parametrize("agent", ["../x", "a/b", "nobody"])
def test_a_subagent_whose_transcript_is_not_known_is_told_nothing(shop: Shop, agent: str):
    main = Reading(shop, NEW)
    _compacted(main)
    assert main.again(agent).silent


# --- nothing for certain ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spoil", ["no file", "no text", "no transcript"])
def test_where_it_cannot_be_said_for_certain_nothing_is_said(shop: Shop, spoil: str):
    reading = Reading(shop, NEW)
    _compacted(reading)
    if spoil == "no file":
        reading.path.unlink()
    elif spoil == "no text":
        reading.path.write_bytes(b"\xff\xfe\x00")
    else:
        shop.transcript.unlink()
    assert reading.again().silent
