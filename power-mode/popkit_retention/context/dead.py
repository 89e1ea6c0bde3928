"""The engine over a conversation: which of its results are dead, and how likely the others are needed again.

An SDK's messages are its third driver, beside hooks and transcripts: each call with its result is an event, and so is each request of the
user's. They carry no times, so nothing here ends by the clock.
"""

from __future__ import annotations

import functools
from collections import OrderedDict
from typing import NamedTuple

from hooks.utils.hosts.claude_code import calls
from hooks.utils.hosts.claude_code.tools import TOOLS
from hooks.utils.policy import worth
from hooks.utils.policy.commits import Commits
from hooks.utils.policy.context import ContextState
from hooks.utils.policy.conversation import Conversation
from hooks.utils.policy.events import Call, Prompted

from . import shipped
from .said import REQUEST

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from hooks.utils.policy.context import Result

    from .dialogue import Dialogue
    from .said import ToolUse


# Conversations that are remembered as they were told, so that the next build tells only what is new.
_MOST_FOLDS = 32


class Judged(NamedTuple):
    """A result in the message `number`: the engine's Result of it, its text, whether it is `dead`, and how likely it is needed again."""

    number: int
    id: str
    result: Result
    text: str
    dead: bool
    need: float
    quiet: int


class _Fold:
    """What the engine knows of the first `told` messages of a conversation. `places`: the number of the message that a result stands in."""

    __slots__ = ("commits", "conversation", "places", "state", "told", "uses")

    def __init__(self, folder: str) -> None:
        self.state = ContextState()
        self.state.cwd = folder
        self.conversation = Conversation(self.state, lambda profile: shipped.rules())
        self.commits = Commits()
        self.uses: dict[str, ToolUse] = {}
        self.places: dict[str, int] = {}
        self.told = 0

    def tell(self, dialogue: Dialogue) -> None:
        """Tells the engine what was said since."""
        for number in range(self.told, len(dialogue.said)):
            said = dialogue.said[number]
            if said.part == REQUEST:
                self.conversation.observe(Prompted())
            self.uses.update((use.id, use) for use in said.uses)
            for answer in said.results:
                use = self.uses.pop(answer.id)
                tool = TOOLS.of(use.tool)
                told = calls.outcome_of_error if answer.error else functools.partial(calls.outcome_of_text, tool, use.input)
                call = Call(answer.id, tool, use.input, told(answer.text))
                call.committed = self.commits.files_of(call, answer.text)
                self.conversation.observe(call)
                self.places[call.id] = number
        self.told = len(dialogue.said)


# By folder, and by all that was told. A build takes a fold out while it goes on with it, so no two builds share one.
_folds: OrderedDict[tuple[str, int], _Fold] = OrderedDict()


def judge(dialogue: Dialogue, folder: str = "") -> list[Judged]:
    """All results that could leave, in their order: not what holds more than text. `folder`: where relative paths begin."""
    chain = [0]
    for digest in dialogue.digests:
        chain.append(hash((chain[-1], digest)))
    known = (_folds.pop((folder, told), None) for told in reversed(chain))
    fold = next((fold for fold in known if fold is not None), None) or _Fold(folder)
    fold.tell(dialogue)
    found = [judged for result in fold.conversation.results() for judged in _judged(dialogue, fold, result)]
    _folds[folder, chain[-1]] = fold
    while len(_folds) > _MOST_FOLDS:
        _folds.popitem(last=False)
    return found


def _judged(dialogue: Dialogue, fold: _Fold, result: Result) -> Iterator[Judged]:
    number = fold.places.get(result.id, -1)
    answer = next((each for each in dialogue.said[number].results if each.id == result.id), None)
    if number >= 0 and answer is not None and not answer.more:
        quiet, need = fold.state.quiet_age(result), shipped.need_model().probability(result, fold.state, TOOLS)
        dead = result.ended is not None and need <= worth.MOST_NEED and not worth.is_in_use(result, quiet)
        yield Judged(number, answer.id, result, answer.text, dead, need, quiet)
