"""The interface of a policy, which anybody may implement: what it is told of a session, what it may decide, and when. Pure.

A policy is made anew for each session and told of it in order. Right before each request it may clear results, and right after a result
came it may have another text enter in its place. docs/policies.md shows how to write one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hooks.utils.policy.economics import Prices

from .blocks import Block, Request, tokens_of

if TYPE_CHECKING:
    from hooks.utils.policy.events import Compacted, Event

__all__ = ["FOLDED", "STANDS", "SUMMARISED", "Block", "Choice", "Policy", "Prices", "Request", "View"]

Choice = tuple[Block, str, list[str]]  # a result, the text in its place, the reasons
# The effect of a recorded compaction under a policy: it empties the context; it does, and the summariser's request and what the host put
# back into the context with its summary count; it does not take place.
FOLDED, SUMMARISED, STANDS = "folded", "summarised", "stands"


@dataclass
class View:
    """The context right before a request, as a policy sees it: nothing of what comes later.

    `base`: tokens of system and tools · `context`: Blocks in order, `sizes`: tokens of the text in the place of each · `cleared`: Block ->
    placeholder in its place, `entered`: Block -> text that entered in place of its own · `lost`: Blocks of thinking that a clear has lost ·
    `now`: when the request is sent, `last_at`: when the one before was answered (seconds, 0 for none), `used_at`: when the cache was used
    last · `number` of the request, `since` of the first one after the last compaction · `sent`: how many Blocks of the context the request
    before has sent unchanged, `ends`: with how many each of the last requests ended that the cache may still have · `compacted`: whether
    the context was just emptied.
    """

    base: int
    prices: Prices
    context: list[Block] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    cleared: dict[Block, str] = field(default_factory=dict)
    entered: dict[Block, str] = field(default_factory=dict)
    lost: set[Block] = field(default_factory=set)
    now: float = 0.0
    last_at: float = 0.0
    used_at: float = 0.0
    number: int = 0
    since: int = 1
    sent: int = 0
    ends: list[int] = field(default_factory=list)
    compacted: bool = False

    @property
    def cold(self) -> bool:
        """Whether the whole prompt is written anyway."""
        return self.compacted or not self.last_at or self.now - self.used_at > self.prices.ttl_s

    def size(self, block: Block) -> int:
        """Return the tokens of the text in a block's place."""
        placeholder = self.cleared.get(block)
        if placeholder is not None:
            return tokens_of(len(placeholder))
        entered = self.entered.get(block)
        if entered is not None:
            return block.tokens - tokens_of(len(block.text)) + tokens_of(len(entered))
        return block.tokens + (block.thinking if self.prices.bound and block not in self.lost else 0)

    def shows(self, block: Block, string: str) -> bool:
        """Return whether the text in a block's place has a string that the block's own text has."""
        text = self.cleared.get(block, self.entered.get(block))
        return text is None or string in text


class Policy:
    """A policy that clears nothing, and the interface of all others: it is called for every event, and asked before each request.

    `rebuilds`: whether a clear builds the conversation again, so that no message is read from the cache and no thinking is left."""

    rebuilds = False

    def begin(self, cwd: str) -> None:
        """Begin a session in a folder, "" where that is not known."""

    def add(self, block: Block) -> None:
        """Handle a Block that the conversation grew by."""

    def enter(self, block: Block) -> str | None:
        """Return the text that enters in the place of a result's own, right after it was added; None for its own."""
        return None

    def event(self, event: Event) -> None:
        """Handle another event of the engine: the user spoke."""

    def at_compaction(self, event: Compacted, view: View) -> str:
        """Return the effect of a recorded compaction: FOLDED, SUMMARISED, STANDS."""
        return FOLDED

    def compact(self, event: Event) -> None:
        """Handle that the context was emptied."""

    def cut(self, context: list[Block]) -> None:
        """Handle that the conversation was rewound to this context."""

    def decide(self, view: View) -> list[Choice]:
        """Return the results that are cleared right before a request, and the calls whose input is."""
        return []

    def warm(self, request: Request, prompt: int) -> int:
        """Return how many requests in a row keep the cache of a prompt of so many tokens warm after an answer."""
        return 0

    def missed(self, block: Block) -> None:
        """Handle a cleared result that was needed: it came back, and is kept."""

    def answered(self, request: Request) -> None:
        """Handle the answer to a request."""
