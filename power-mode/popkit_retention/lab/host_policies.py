"""The policy that reproduces Claude Code's own clearing after a long pause. Pure."""

from __future__ import annotations

from popkit_retention.core.policy.tools import EDIT, FETCH, FIND, READ, SEARCH, SHELL, WRITE

from .policy import Choice, Policy, View
from .recorded import Block

TYPE_CHECKING = False
if TYPE_CHECKING:
    from popkit_retention.core.policy.events import Event


class Microcompact(Policy):
    """After an hour without an answer clears all results of the built-in tools but the last five."""

    idle_s, keep = 3_600, 5
    operations = frozenset((SHELL, EDIT, FIND, SEARCH, READ, FETCH, WRITE))

    def __init__(self) -> None:
        self.results: list[Block] = []  # in the context, oldest first
        self.cleared: set[Block] = set()

    def add(self, block: Block) -> None:
        if block.id and block.call.operation in self.operations:
            self.results.append(block)

    def compact(self, event: Event) -> None:
        self.results = []

    def cut(self, context: list[Block]) -> None:
        self.results = [block for block in context if block.id and block.call.operation in self.operations]

    def decide(self, view: View) -> list[Choice]:
        if not view.last_at or view.now - view.last_at <= self.idle_s:
            return []
        going = [block for block in self.results[: -self.keep] if block not in self.cleared]
        self.cleared.update(going)
        return [(block, "[Old tool result content cleared]", ["an hour had passed"]) for block in going]
