"""What the rules of other tools have in common: the results of the context with their ages, marks that later results set, and what a call
was about. Pure."""

from __future__ import annotations

import json

from hooks.utils.policy.parts import normal_path
from hooks.utils.policy.tools import EDITS

from .measure import Policy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hooks.utils.policy.events import Event

    from .measure import Choice, View
    from .sessions import Block, Request

_OLD = "[Old tool result content cleared]"
_LABEL_CHARS = 80


class Born:
    """How far the conversation was when a result came: user turns, requests answered, calls completed."""

    __slots__ = ("calls", "requests", "users")

    def __init__(self, users: int, requests: int, calls: int):
        self.users = users
        self.requests = requests
        self.calls = calls


class Rule(Policy):
    """Keeps the results of the context (`results`, oldest first) and the ages of those that may go (`live`: not cleared before). A rule
    says which results it `considers`, `picks` some before each request, and has a `text` for the place of each."""

    placeholder = _OLD
    reason = ""

    def __init__(self) -> None:
        self.users = self.requests = self.calls = 0
        self.results: list[Block] = []
        self.live: dict[Block, Born] = {}

    def add(self, block: Block) -> None:
        if block.id:
            self.calls += 1
            self.results.append(block)
            if self.considers(block):
                self.live[block] = Born(self.users, self.requests, self.calls)

    def event(self, event: Event) -> None:
        if event.name == "prompted":
            self.users += 1

    def answered(self, request: Request) -> None:
        self.requests += 1

    def compact(self, event: Event) -> None:
        self.cut([])

    def cut(self, context: list[Block]) -> None:
        left = set(context)
        self.results = [block for block in context if block.id]
        self.live = {block: born for block, born in self.live.items() if block in left}

    def decide(self, view: View) -> list[Choice]:
        picked = self.picks(view)
        for block in picked:
            del self.live[block]
        return [(block, self.text(block), [self.reason]) for block in picked]

    def considers(self, block: Block) -> bool:
        """Whether a result may ever go."""
        return True

    def picks(self, view: View) -> list[Block]:
        """The Blocks of `live` that go now."""
        return []

    def text(self, block: Block) -> str:
        """What stands in the place of a result."""
        return self.placeholder

    def all_but_last(self, keep: int) -> list[Block]:
        """The live ones that are not among the last `keep` results considered."""
        last = [block for block in self.results if self.considers(block)][-keep:]
        return [block for block in self.live if block not in last]


class Marking(Rule):
    """Clears at once what a later result makes obsolete: `mark` puts it into `stale`."""

    def __init__(self) -> None:
        super().__init__()
        self.stale: set[Block] = set()
        self.forget()

    def forget(self) -> None:
        """Empties what `mark` goes by."""

    def mark(self, block: Block) -> None:
        """Takes a new result in."""

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
        found = sorted((block for block in self.stale if block in self.live), key=lambda block: block.place)
        self.stale.clear()
        return found


def signature(block: Block) -> str:
    """A call's tool and what it was given, without what is null."""
    given = {name: value for name, value in block.call.tool_input.items() if value is not None}
    return block.call.tool + "::" + json.dumps(given, sort_keys=True)


def is_edit(block: Block) -> bool:
    """Whether a call changed a file."""
    return block.call.operation in EDITS and not block.call.outcome.error


def path_of(block: Block) -> str:
    """The file that a call reads or edits, absolute; "" for none."""
    path = text_of(block.call.tool_input, "file_path", "notebook_path")
    return normal_path(path, block.call.cwd) if path else ""


def label_of(block: Block) -> str:
    """What a call was about, on one line."""
    what = text_of(block.call.tool_input, "file_path", "notebook_path", "command", "pattern", "description", "url", "query")
    return " ".join(what.split())[:_LABEL_CHARS]


def text_of(tool_input: dict, *names: str) -> str:
    """The first of these inputs that is a text; "" for none."""
    return next((value for value in map(tool_input.get, names) if isinstance(value, str)), "")


def bytes_of(block: Block) -> int:
    """Bytes of a result as UTF-8."""
    text = block.text
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def lines_of(block: Block) -> int:
    """Lines of a result."""
    return block.text.count("\n") + 1
