"""The lab counts what a session counts: one rule, over one fold."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from popkit_retention.core.hosts.transcripts.stamps import seconds_of
from popkit_retention.core.state import journal, shipped
from popkit_retention.core.state.rebuild import rebuild
from popkit_retention.lab import measure, sent_requests
from popkit_retention.lab.compacting import Compactor
from popkit_retention.lab.policy import Choice, View
from tests.bill.conversations import Conversation
from tests.policy.priced import prices

HANDLE = "abcd2345"
FILES = 8
BEFORE = 1 + FILES + 2 + 4 + 1  # the request that the compaction comes before


def text_of(name: str) -> str:
    return "".join(f"{name} has its line {number} of many\n" for number in range(200))


def ask(conversation: Conversation, id: str, tool: str, output: str, tool_input: dict[str, str]) -> None:
    conversation.wait(1)
    conversation.use(id, tool, tool_input, message=f"m-{conversation.count}")
    conversation.result(id, output)
    conversation.request()


Call = tuple[str, str, dict[str, str]]  # a tool, its output, its input


def reading(name: str) -> Call:
    return "Read", text_of(name), {"file_path": f"/shop/{name}"}


SEARCH: Call = ("Grep", text_of("found"), {"pattern": "found"})
RUN: Call = ("Bash", text_of("passed"), {"command": "npm test"})
EDIT: Call = ("Edit", "done", {"file_path": "/shop/0.py", "old_string": "a", "new_string": "b"})
# what is done behind the compaction -> look-ups that it is, where the compaction was ours
AGAIN: dict[str, tuple[list[Call], int]] = {
    "nothing": ([], 0),
    "a file, twice": ([reading("0.py"), reading("0.py")], 1),
    "two files": ([reading("0.py"), reading("1.py")], 2),
    "another": ([reading("other.py")], 0),
    "a search": ([SEARCH], 1),
    "a run": ([RUN], 1),
    "after an edit": ([EDIT, reading("0.py"), RUN], 0),
}


def before(conversation: Conversation) -> None:
    for number in range(FILES):
        ask(conversation, f"t{number}", *reading(f"{number}.py"))
    ask(conversation, "g0", *SEARCH)
    ask(conversation, "b0", *RUN)
    for number in range(4):  # the newest stay
        ask(conversation, f"n{number}", "Bash", f"{number}", {"command": f"echo {number}"})


def go_on(conversation: Conversation, again: list[Call]) -> None:
    for number, call in enumerate(again):
        ask(conversation, f"a{number}", *call)


class Once(Compactor):
    """Compacts before one request, down to nothing, as if by itself or because it was due."""

    def __init__(self, number: int, is_due: bool) -> None:
        super().__init__(prices(), shipped.need_model(), shipped.rules())
        self.number, self.due_then = number, is_due
        self.cleared_ids: list[str] = []

    def decide(self, view: View) -> list[Choice]:
        self.view = view
        if view.number != self.number:
            return []
        choices = self._compacted(view, self.at(view.now), 0.0, is_due=self.due_then)
        self.cleared_ids = [block.id for block, _, _ in choices if block.id]
        return choices


@pytest.mark.parametrize("why", ["long", "auto"])
@pytest.mark.parametrize("name", AGAIN)
def test_a_session_and_its_replay_count_the_same_look_ups(tmp_path: Path, name: str, why: str):
    again, expected = AGAIN[name]
    recorded = Conversation()
    before(recorded)
    recorded.prompt("go on")
    recorded.request()
    go_on(recorded, again)
    policy = Once(BEFORE, why == "auto")
    measure.score(sent_requests.read(str(recorded.written(tmp_path / "recorded.jsonl")), with_needs=False), policy, prices())

    live = Conversation()
    before(live)
    live.wait(5)
    live.compact()
    at = seconds_of(live.entries[-1]["timestamp"])
    live.prompt("go on")
    live.request()
    go_on(live, again)
    noted = [journal.compacted(why, 60_000, 20_000, [HANDLE], at), journal.cleared(policy.cleared_ids, 30_000, {}, at)]
    rebuilt = rebuild(str(live.written(tmp_path / "live.jsonl")), noted, lambda _: shipped.rules(), original=lambda _: json.dumps("x"))

    assert {"t0", "t1", "g0", "b0"} <= set(policy.cleared_ids)
    counts = [conversation.look_ups.count for conversation in (policy.conversation, rebuilt.conversation)]
    assert counts[0] == counts[1]
    if why == "long":
        assert counts[0] == expected
