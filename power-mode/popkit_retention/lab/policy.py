"""The interface of a policy, which anybody may implement. Pure.

Each session gets a new policy, which follows it in order. Right before each request it may clear results, and right after a result came it
may replace its text. docs/policies.md shows how to write one.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from popkit_retention.core.policy.economics import Prices

from .recorded import Block, Request, tokens_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from popkit_retention.core.policy.events import Compacted, Event


__all__ = ["STANDS", "SUMMARISED", "Block", "Choice", "Policy", "Prices", "Request", "View"]

Choice = tuple[Block, str, list[str]]  # a result, the text in its place, the reasons


# The effect of a recorded compaction under a policy: it empties the context, and the summariser's request, its summary, and what the host
# put back with it count; or it does not take place.
SUMMARISED, STANDS = "summarised", "stands"


@dataclass
class View:
    """The context right before a request, as a policy sees it: nothing of what comes later.

    `base`: tokens of system and tools, and of a conversation before the recording, which are `earlier` of them · `context`: Blocks in
    order, `sizes`: tokens of the text in the place of each · `cleared`: Block -> placeholder in its place, `entered`: Block -> text
    that entered in place of its own · `lost`: Blocks of thinking that a clear has lost · `now`: when the request is sent, `last_at`:
    when the one before was answered (seconds, 0 for none) · `number` of the request, `since` of the first one after the last compaction
    · `sent`: how many Blocks of the context the request before has sent unchanged, `ends`: with how many each of the last requests
    ended that the cache may still have · `factor`: of the session's model.
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
    number: int = 0
    since: int = 1
    sent: int = 0
    ends: list[int] = field(default_factory=list)
    factor: float = 1.0
    earlier: int = 0

    @property
    def cold(self) -> bool:
        """Return whether the whole prompt is written anyway."""
        return not self.last_at or self.now - self.last_at > self.prices.ttl_s

    def size(self, block: Block) -> int:
        """Return the tokens of the text in a block's place."""
        placeholder = self.cleared.get(block)
        if placeholder is not None:
            return tokens_of(len(placeholder), self.factor)
        entered = self.entered.get(block)
        if entered is not None:
            return block.tokens - tokens_of(len(block.text), self.factor) + tokens_of(len(entered), self.factor)
        return block.tokens + (block.thinking if self.prices.bound and block not in self.lost else 0)

    def shows(self, block: Block, string: str) -> bool:
        """Return whether the text in a block's place contains a string of the block's own text."""
        text = self.cleared.get(block, self.entered.get(block))
        return text is None or string in text


class Policy:
    """A policy that clears nothing, and the interface of all others: it is called for every event, and asked before each request.

    `rebuilds`: whether a clear builds the conversation again, so that no message is read from the cache and no thinking is left.
    `makes_whole`: whether it gives a result whole again whose references name what leaves."""

    rebuilds = makes_whole = False

    @property
    def look_ups(self) -> int:
        """Return how often cleared contents were looked up again, as a session counts that."""
        return 0

    def begin(self, cwd: str) -> None:
        """Begin a session in a folder, "" where that is not known."""

    def add(self, block: Block) -> None:
        """Handle a Block that was added to the conversation."""

    def enter(self, block: Block) -> str | None:
        """Return the text that enters in the place of a result's own, right after it was added; None for its own."""
        return None

    def event(self, event: Event) -> None:
        """Handle another event of the engine: the user's prompt."""

    def at_compaction(self, event: Compacted, view: View) -> str:
        """Return the effect of a recorded compaction: SUMMARISED, or STANDS."""
        return SUMMARISED

    def compact(self, event: Event) -> None:
        """Handle a compaction: the context was emptied."""

    def cut(self, context: list[Block]) -> None:
        """Handle a rewind of the conversation to this context, which has blocks of an earlier branch where that goes on."""

    def decide(self, view: View) -> list[Choice]:
        """Return the results to clear right before a request, and the calls whose input to clear. A result that is given its own text is
        whole again."""
        return []

    def missed(self, block: Block) -> None:
        """Handle a cleared result that was needed: it came back, and is kept."""

    def answered(self, request: Request) -> None:
        """Handle the answer to a request."""
