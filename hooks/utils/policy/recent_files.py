"""Choose the reads that stay beside the target of a compaction: what was read lately is edited next. Pure.

The host's own compaction puts back the files that were read last, whole (host_compaction.py); behind ours it puts back none.
"""

from __future__ import annotations

from posixpath import basename

from . import kinds
from .estimate import RESULT_TOKENS
from .host_compaction import FILES
from .list_text import handle_of_list
from .messages import texts_in
from .parts import FILE
from .placeholder import handle_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from .context import Result
    from .conversation import Conversation
    from .messages import Message

# What the reads may take beside the target: tokens, and the share of a conversation that is small.
_TOKENS, _SHARE = 10_000, 0.125
# What a path is made of, and what ends a sentence behind it.
_PATH, _ENDS = r"[\w./\\@+-]+", ".-"
_PLANS = (kinds.TASKS, kinds.DECISION)


def reads_beside(
    messages: Sequence[Message], conversation: Conversation, staying: Collection[str], before: float
) -> dict[str, int]:  # fmt: skip
    """Return {id: estimated tokens} of the results that show the FILES files that were read last, as they are now. Those that the last
    words or the plan name come first. All ranges of a file count as one read; where they have no room, the newest of them stay. `staying`:
    ids of the results that stay, or leave, whatever this decides; `before`: estimated tokens of the conversation."""
    shown = {each.id: each.text for message in messages for each in message.results}
    live = [result for result in conversation.results() if not result.ended]
    reads: dict[str, list[Result]] = {}  # key of a file -> the results that show it, the newest last
    for result in live:
        if result.id in shown and not (result.error or handle_in(shown[result.id])):
            for key in dict.fromkeys(key for key, _ in result.parts if key.startswith(FILE)):
                reads.setdefault(key, []).append(result)
    plans = {result.kind: result.id for result in live if result.kind in _PLANS}
    named = _names(messages, plans.values())
    newest = sorted(reads, key=lambda key: (basename(key) in named, reads[key][-1].index), reverse=True)
    room = min(_TOKENS / conversation.state.calibration, _SHARE * before)
    beside: dict[str, int] = {}
    for result in [result for key in newest[:FILES] for result in reversed(reads[key])]:
        tokens = RESULT_TOKENS + result.tokens
        entered = conversation.entered.get(result.id)
        whole = tokens + (entered.kept_out if entered and entered.leans_on else 0)  # once what it refers to has left
        if result.id not in staying and result.id not in beside and whole <= room:
            beside[result.id] = tokens
            room -= whole
    return beside


def _names(messages: Sequence[Message], plans: Collection[str]) -> set[str]:
    """Return the names of files in what either side said last, and in what these calls were made with."""
    import re

    last = {message.role: message.text for message in messages if message.text and not handle_of_list(message)}
    inputs = [text for message in messages for use in message.uses if use.id in plans for text in texts_in(use.input)]
    return {basename(path.replace("\\", "/").rstrip(_ENDS)) for text in [*last.values(), *inputs] for path in re.findall(_PATH, text)}
