"""The engine's judgement of a conversation's results: how likely each is needed again.

An SDK's messages are the engine's third driver, beside hooks and transcripts: each call with its result is an event, and so is each request
of the user's. They carry no times, so nothing here expires by the clock. Rules, models and the model of need are the shipped ones.
"""

from __future__ import annotations

import functools
from collections import OrderedDict
from typing import NamedTuple

from popkit_retention.core.hosts.tools import tools_of
from popkit_retention.core.hosts.transcripts import outcomes
from popkit_retention.core.policy import worth
from popkit_retention.core.policy.commits import Commits
from popkit_retention.core.policy.context import ContextState, Result
from popkit_retention.core.policy.conversation import Conversation
from popkit_retention.core.policy.events import Call, Prompted
from popkit_retention.core.policy.need_model import NeedModel
from popkit_retention.core.policy.ruleset import Ruleset
from popkit_retention.core.state import shipped

from .dialogue import Dialogue
from .message_records import REQUEST, ToolUse

# Number of conversations that are remembered, so that the next build observes only new messages.
_MOST_FOLDS = 32


@functools.lru_cache(maxsize=1)
def _rules() -> Ruleset:
    return shipped.rules()


@functools.lru_cache(maxsize=1)
def _need_model() -> NeedModel:
    return shipped.need_model()


def binds_thinking(model: str) -> bool:
    """Return whether a model accepts its thinking only in the very conversation that it comes from; True for an unknown model."""
    return _rules().models.model(model).thinking_bound


def window_of(model: str) -> int | None:
    """Return the size of a model's window in tokens; None for an unknown model."""
    known = _rules().models.model(model)
    return known.window if known.known else None


class JudgedResult(NamedTuple):
    """A result in the message `number`: the engine's Result of it, its text, whether it is `dead`, whether an edit of its file ended it
    (`edited`), how likely it is needed again (`need`), and for how many calls it has been `quiet`."""

    number: int
    id: str
    result: Result
    text: str
    dead: bool
    edited: bool
    need: float
    quiet: int


class _Fold:
    """The engine's state after the first `count` messages of a conversation. `places`: the number of the message that a result is in."""

    __slots__ = ("commits", "conversation", "count", "places", "state", "uses")

    def __init__(self, folder: str) -> None:
        self.state = ContextState()
        self.state.cwd = folder
        self.conversation = Conversation(self.state, lambda profile: _rules())
        self.commits = Commits()
        self.uses: dict[str, ToolUse] = {}
        self.places: dict[str, int] = {}
        self.count = 0

    def go_on(self, dialogue: Dialogue) -> None:
        """Observe the messages since."""
        for number in range(self.count, len(dialogue.parsed)):
            parsed = dialogue.parsed[number]
            if parsed.part == REQUEST:
                self.conversation.observe(Prompted(0.0))
            self.uses.update((use.id, use) for use in parsed.uses)
            for result in parsed.results:
                use, text = self.uses.pop(result.id), result.text
                tool = tools_of("").of(use.tool)
                outcome = outcomes.outcome_of_error(text) if result.error else outcomes.outcome_of_text(tool, use.input, text)
                call = Call(result.id, tool, use.input, outcome)
                call.committed = self.commits.files_of(call, text)
                self.conversation.observe(call)
                self.places[call.id] = number
        self.count = len(dialogue.parsed)


# By folder and by the hash of all messages observed. A build takes a fold out while it uses it, so no two builds share a fold.
_folds: OrderedDict[tuple[str, int], _Fold] = OrderedDict()


def judge(dialogue: Dialogue, folder: str = "") -> list[JudgedResult]:
    """Return all results that could leave, in their order. Results that hold more than text cannot. `folder`: the base of relative
    paths."""
    chain = [0]
    for digest in dialogue.digests:
        chain.append(hash((chain[-1], digest)))
    known = (_folds.pop((folder, observed), None) for observed in reversed(chain))
    fold = next((fold for fold in known if fold is not None), None) or _Fold(folder)
    fold.go_on(dialogue)
    judged = list(filter(None, (_judged(dialogue, fold, result) for result in fold.conversation.results())))
    _folds[folder, chain[-1]] = fold
    while len(_folds) > _MOST_FOLDS:
        _folds.popitem(last=False)
    return judged


def _judged(dialogue: Dialogue, fold: _Fold, result: Result) -> JudgedResult | None:
    number = fold.places.get(result.id, -1)
    answer = next((candidate for candidate in dialogue.parsed[number].results if candidate.id == result.id), None)
    if number < 0 or answer is None or answer.more:
        return None
    quiet, need = fold.state.quiet_age(result), _need_model().probability(result, fold.state, tools_of(""))
    dead = result.ended is not None and need <= worth.MOST_NEED and not worth.is_in_use(result, quiet)
    edited = result.ended is not None and result.ended[0] == "edited"
    return JudgedResult(number, answer.id, result, answer.text, dead, edited, need, quiet)
