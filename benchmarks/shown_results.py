"""The results of a recorded session, as hooks were given them, with the names that only they had shown.

A need is a name of the lab's (`recorded.strings_of`, without whole lines): an answer within `AHEAD` requests of a result writes it, and of
all that the context held, only that result showed it.
"""

from __future__ import annotations

import io
import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parents[1] / "power-mode")]

from popkit_retention.lab import measure, replay_policies, sent_requests  # noqa: E402  the benchmarks run from anywhere
from popkit_retention.lab.door_policy import Door, door_settings_of  # noqa: E402

TYPE_CHECKING = False
if TYPE_CHECKING:
    from popkit_retention.lab.recorded import Block, Session

AHEAD = 20  # requests within which a name is needed


@dataclass
class Shown:
    """A result that entered the context.

    `text`: what entered; `response`: the host's record of it, as hooks are given it, None for a call that failed, after which the host asks
    no PostToolUse hook, and where the transcript has none. `needs`: (name, number of the request whose answer writes it); `born`: requests
    before it."""

    id: str
    tool: str
    tool_input: dict[str, Any]
    text: str
    response: Any
    born: int
    failed: bool = False
    needs: list[tuple[str, int]] = field(default_factory=list)


class Recording(NamedTuple):
    """A transcript with its results, and the ids of the messages that answered its requests."""

    path: Path
    results: list[Shown]
    messages: list[str]

    @property
    def middle(self) -> int:
        """Return the number of requests in the first half."""
        return len(self.messages) // 2


def shown_in(session: Session, responses: dict[str, Any]) -> list[Shown]:
    """Return the results of a session in order. `responses`: id of a call -> the host's record of its result."""
    found: dict[Block, Shown] = {}
    sent = 0
    for kind, *arguments in session.steps:
        if kind == "request":
            sent = arguments[0].number
            for string, held in arguments[0].needs:
                only = found.get(held[0]) if len(held) == 1 else None
                if only and sent - only.born <= AHEAD and is_name(string):
                    only.needs.append((string, sent))
        elif kind == "add" and arguments[0].id:
            block = arguments[0]
            failed = bool(block.call.outcome.error)
            response = None if failed else responses.get(block.id)
            found[block] = Shown(block.id, block.call.tool, block.call.tool_input, block.text, response, sent, failed)
    return list(found.values())


def is_name(string: str) -> bool:
    """Return whether a string of the lab's is a name, and no line: a line is lost to any change of its blanks."""
    return not any(char.isspace() for char in string)


def read(path: Path) -> Recording:
    """Return the recording of a transcript."""
    session = sent_requests.read(str(path))
    results = shown_in(session, responses_in(path.read_text(encoding="utf-8", errors="replace")))
    return Recording(path, results, [request.message_id for request in session.requests])


def until(lines: str, message_id: str) -> str:
    """Return a transcript's lines before the first one of a message."""
    kept = []
    for line in io.StringIO(lines):
        if message_id in line and _message_of(line) == message_id:
            break
        kept.append(line)
    return "".join(kept)


def _message_of(line: str) -> str:
    try:
        return str(json.loads(line)["message"]["id"])
    except (ValueError, TypeError, KeyError):
        return ""


def responses_in(lines: str) -> dict[str, Any]:
    """Return id of a call -> the host's record of its result (`toolUseResult`), from a transcript's lines; lines with several results have
    no record for each."""
    found = {}
    for line in lines.split("\n"):
        try:
            entry = json.loads(line)
            blocks = [block for block in entry["message"]["content"] if block["type"] == "tool_result"]
        except (ValueError, TypeError, KeyError):
            continue
        if len(blocks) == 1 and "toolUseResult" in entry:
            found[blocks[0]["tool_use_id"]] = entry["toolUseResult"]
    return found


class Entering(Door):
    """The door, with what it let enter of each result that it shortened."""

    def __init__(self, name: str) -> None:
        super().__init__(replay_policies.shipped.rules(), None, door_settings_of(name))
        self.entered: dict[str, str] = {}  # id of a result -> text

    def enter(self, block: Block) -> str | None:
        text = super().enter(block)
        if text is not None:
            self.entered[block.id] = text
        return text


def through_door(path: Path, name: str) -> dict[str, str]:
    """Return id of a result -> the text that enters through PopKit's door of this name, for those that enter shorter."""
    door = Entering(name)
    measure.score(sent_requests.read(str(path)), door, replay_policies.ANY_PRICES)
    return door.entered
