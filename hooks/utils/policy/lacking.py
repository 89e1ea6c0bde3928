"""Find the results that requests lacked because the provider or the host left them out. Pure.

A result that requests lacked although the transcript holds it has been left out by the provider or the host. An answer may say how many
those were, the oldest first; else the prompt shows it, where it is known what was asked for: it has fallen by what that takes.
"""

from __future__ import annotations

from .context import OUTSIDE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from .context import Result
    from .conversation import Conversation
    from .usage import Usage

# A prompt that falls by fewer tokens tells nothing: estimates are not that good.
_LEAST_TOKENS = 500
# What is estimated to be over a limit may be a little under it.
_NEARLY = 0.9
_BEFORE_S = 0.001


class Editing:
    """The provider's instructions on omitting results: results once a prompt has more tokens than its `trigger`, but for so many of the
    newest (`keep`), where they have tokens enough (`at_least`), and but for those of some tools (`spared`)."""

    __slots__ = ("at_least", "keep", "spared", "trigger")

    def __init__(self, trigger: int, keep: int, at_least: int, spared: tuple[str, ...]) -> None:
        self.trigger = trigger
        self.keep = keep
        self.at_least = at_least
        self.spared = spared


class Step:
    """`ids` of the results that a request lacked for the first time, `tokens` of them, and `at`, right before its answer (seconds)."""

    __slots__ = ("at", "ids", "tokens")

    def __init__(self, ids: list[str], tokens: int, at: float) -> None:
        self.ids = ids
        self.tokens = tokens
        self.at = at


def lacking_steps(conversation: Conversation, editing: Editing | None) -> list[Step]:
    """Return what the requests since the last compaction lacked, each result once. Results that are known to be cleared are not named
    again."""
    requests = _since_compaction(conversation)
    results, dropped, lacked = conversation.results(), set[str](), list[Step]()
    previous: Usage | None = None
    for number, (usage, added) in enumerate(requests, conversation.count - len(requests) + 1):
        # Most requests lack nothing, and a look at all results for each of them adds up.
        may_lack = results if editing is not None or usage.left_out[0] else ()
        sent = [result for result in may_lack if result.id in conversation.places and conversation.places[result.id].request < number]
        expected = (previous.tokens if previous else 0) + round(added * conversation.state.calibration)
        due = _due(sent, usage, editing, expected, bool(dropped), conversation.state.calibration)
        new = [result for result in due if result.id not in dropped]
        dropped.update(result.id for result in new)
        unknown = [result for result in new if not result.cleared]
        if unknown:
            tokens = (len(due) == len(unknown) and usage.left_out[1]) or _tokens(unknown, conversation.state.calibration)
            lacked.append(Step([result.id for result in unknown], tokens, usage.at - _BEFORE_S))
        previous = usage
    return lacked


def is_near_clearing(editing: Editing, prompt: int) -> bool:
    """Return whether a prompt of so many tokens is about as large as those from which the provider leaves results out."""
    return prompt >= _NEARLY * editing.trigger


def has_begun_clearing(conversation: Conversation, editing: Editing | None) -> bool:
    """Return whether requests since the last compaction lacked results, or may have: one was as large as it takes."""
    if any(result.cleared == OUTSIDE for result in conversation.results()):
        return True
    return editing is not None and any(is_near_clearing(editing, usage.tokens) for usage, _ in _since_compaction(conversation))


def _since_compaction(conversation: Conversation) -> list[tuple[Usage, int]]:
    requests = conversation.requests
    return requests[next((at for at in range(len(requests), 0, -1) if not requests[at - 1][0].tokens), 0) :]


def _due(
    sent: Sequence[Result], usage: Usage, editing: Editing | None, expected: int, is_at_work: bool, calibration: float
) -> Sequence[Result]:
    """Return the results, of those handed in for a request, that it lacked, oldest first; `expected`: tokens of its prompt with all of
    them."""
    may_go = [result for result in sent if result.tool not in editing.spared] if editing else sent
    if usage.left_out[0]:
        return may_go[: usage.left_out[0]]
    if editing is None or not expected:
        return ()
    old = may_go[: max(0, len(may_go) - editing.keep)]
    if is_at_work:  # it goes on for as long as it is asked for: what comes is more than what leaves, so the prompt need not fall
        return old
    tokens, fallen = _tokens(old, calibration), expected - usage.tokens
    is_over = is_near_clearing(editing, expected) and tokens >= _NEARLY * editing.at_least
    return old if is_over and fallen >= max(_LEAST_TOKENS, tokens / 2) else ()


def _tokens(results: Sequence[Result], calibration: float) -> int:
    return round(sum(result.tokens for result in results) * calibration)
