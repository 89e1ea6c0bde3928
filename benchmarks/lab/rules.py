"""Base classes for the rules of other tools: the results in the context with their ages, marks that later results set, and helpers about a
call. Pure."""

from __future__ import annotations

import json
from typing import NamedTuple

from popkit_retention.core.policy.parts import normal_path
from popkit_retention.core.policy.tools import EDITS
from popkit_retention.lab.policy import Choice, Policy, View
from popkit_retention.lab.recorded import Block, Request, rewound

TYPE_CHECKING = False
if TYPE_CHECKING:
    from popkit_retention.core.policy.events import Event

_OLD = "[Old tool result content cleared]"
_LABEL_CHARS = 80


class Born(NamedTuple):
    """The user turns and the answered requests before a result."""

    users: int
    requests: int


class Rule(Policy):
    """Tracks the results of the context (`results`, oldest first) and the ages of those that may be cleared (`live`: not cleared before). A
    rule defines which results it `considers`, which it `picks` before each request, and the `text` in the place of each."""

    placeholder = _OLD
    reason = ""

    def __init__(self) -> None:
        self.users = self.requests = 0
        self.results: list[Block] = []
        self.live: dict[Block, Born] = {}
        self.left: dict[Block, Born] = {}  # the same of branches that were left

    def add(self, block: Block) -> None:
        if block.id:
            self.results.append(block)
            if self.considers(block):
                self.live[block] = Born(self.users, self.requests)

    def event(self, event: Event) -> None:
        if event.name == "prompted":
            self.users += 1

    def answered(self, request: Request) -> None:
        self.requests += 1

    def compact(self, event: Event) -> None:
        self.cut([])

    def cut(self, context: list[Block]) -> None:
        self.results = [block for block in context if block.id]
        self.live, self.left = rewound(self.live, self.left, context)

    def decide(self, view: View) -> list[Choice]:
        picked = self.picks(view)
        for block in picked:
            del self.live[block]
        return [(block, self.text(block), [self.reason]) for block in picked]

    def considers(self, block: Block) -> bool:
        """Return whether a result may ever be cleared."""
        return True

    def picks(self, view: View) -> list[Block]:
        """Return the Blocks of `live` that are cleared now."""
        return []

    def text(self, block: Block) -> str:
        """Return the text in the place of a result."""
        return self.placeholder

    def all_but_last(self, keep: int) -> list[Block]:
        """Return the live results that are not among the last `keep` considered."""
        last = [block for block in self.results if self.considers(block)][-keep:]
        return [block for block in self.live if block not in last]


class Marking(Rule):
    """Clears at once a result that a later one makes obsolete: `mark` puts it into `stale`."""

    def __init__(self) -> None:
        super().__init__()
        self.stale: set[Block] = set()
        self.forget()

    def forget(self) -> None:
        """Empty the data that `mark` uses."""

    def mark(self, block: Block) -> None:
        """Take a new result into account."""

    def add(self, block: Block) -> None:
        super().add(block)
        if block.id:
            self.mark(block)

    def cut(self, context: list[Block]) -> None:
        super().cut(context)
        self.stale.clear()
        self.forget()
        for block in self.results:
            self.mark(block)

    def picks(self, view: View) -> list[Block]:
        picked = sorted((block for block in self.stale if block in self.live), key=lambda block: block.place)
        self.stale.clear()
        return picked


def signature(block: Block) -> str:
    """Return a call's tool and its input without nulls, as text."""
    tool_input = {name: value for name, value in block.call.tool_input.items() if value is not None}
    return block.call.tool + "::" + json.dumps(tool_input, sort_keys=True)


def is_edit(block: Block) -> bool:
    """Return whether a call changed a file."""
    return block.call.operation in EDITS and not block.call.outcome.error


def path_of(block: Block) -> str:
    """Return the file that a call reads or edits, absolute; "" for none."""
    path = text_of(block.call.tool_input, "file_path", "notebook_path")
    return normal_path(path, block.call.cwd) if path else ""


def label_of(block: Block) -> str:
    """Return the subject of a call, on one line."""
    subject = text_of(block.call.tool_input, "file_path", "notebook_path", "command", "pattern", "description", "url", "query")
    return " ".join(subject.split())[:_LABEL_CHARS]


def text_of(tool_input: dict, *names: str) -> str:
    """Return the first of these inputs that is a text; "" for none."""
    return next((value for value in map(tool_input.get, names) if isinstance(value, str)), "")


def bytes_of(block: Block) -> int:
    """Return the bytes of a result as UTF-8."""
    text = block.text
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def lines_of(block: Block) -> int:
    """Return the lines of a result."""
    return block.text.count("\n") + 1
