"""The size of a context around a change of its messages, system and tools included. Pure."""

from __future__ import annotations

from ..io.codec import as_objects
from ..policy import messages

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..policy.conversation import Conversation
    from ..policy.messages import Message

# An estimate of fewer tokens is not held against what was measured; and it is never taken to be wrong by more.
_LEAST_ESTIMATED, _SCALES = 2_000, (0.5, 2.0)


class Sizes:
    """Tokens of a context `before` and `after` a change, whether the former were `measured`, and those of the calls and results that `left`
    by it, negative for what came back."""

    __slots__ = ("after", "before", "left", "measured")

    def __init__(self, before: int, after: int, left: int, measured: bool) -> None:
        self.before = before
        self.after = after
        self.left = left
        self.measured = measured


def sizes_of(conversation: Conversation, current: Sequence[Message], sent: object, before: int, after: int) -> Sizes:
    """Return the sizes of a change that takes the `current` messages, which have `before` estimated tokens, to `after`. What stands is
    known: the newest request had it, or it was noted of the compaction since. That says by how much the estimate is wrong, once the
    thinking in the messages as they are `sent`, which leaves with any change, is taken off."""
    measured, stands = conversation.is_measured, conversation.stands
    waiting = _since_request(current, conversation) if measured else 0
    estimated = before - waiting
    base = conversation.base or max(0, stands - estimated)
    known = stands - base - (_thought_in(sent) if measured else 0)
    is_known = (measured or conversation.carried > 0) and min(known, estimated) >= _LEAST_ESTIMATED
    scale = min(_SCALES[1], max(_SCALES[0], known / estimated)) if is_known else 1.0
    stays, left = base + round(scale * after), round(scale * (before - after))
    stood = stands + round(scale * waiting) if measured or is_known else base + before
    return Sizes(max(stood, stays + left), stays, left, measured)


def _since_request(current: Sequence[Message], conversation: Conversation) -> int:
    """Return the estimated tokens of the results that no request has had yet."""
    texts = [shown.text for message in current for shown in message.results if shown.id in conversation.unseen]
    return round(sum(map(messages.result_tokens, texts)) * conversation.state.calibration)


def _thought_in(sent: object) -> int:
    """Return the estimated tokens of the thinking in messages as they are sent."""
    contents = [message.get("content") for message in as_objects(sent)]
    blocks = [block for content in contents if isinstance(content, list) for block in content if isinstance(block, dict)]
    return sum(map(messages.thinking_tokens, blocks))
