"""The engine over a conversation: which of its results are dead, and how likely the others are needed again.

An SDK's messages are its third driver, beside hooks and transcripts: each call with its result is an event, and so is each request of the
user's. They carry no times, so nothing here ends by the clock.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

from hooks.utils.host import responses
from hooks.utils.host.commits import Commits
from hooks.utils.policy import worth
from hooks.utils.policy.context import ContextState
from hooks.utils.policy.conversation import Conversation
from hooks.utils.policy.events import Call, Prompted
from hooks.utils.policy.outline import outline_of
from hooks.utils.policy.placeholder import why, with_outline

from . import shipped
from .said import REQUEST

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hooks.utils.policy.context import Result
    from hooks.utils.policy.need import NeedModel

    from .dialogue import Dialogue
    from .said import ToolResult, ToolUse

_LABEL_CHARS = 80


class Judged(NamedTuple):
    """A result in the message `number`: the engine's Result of it, its text, whether it is `dead`, and how likely it is needed again."""

    number: int
    id: str
    result: Result
    text: str
    dead: bool
    need: float
    quiet: int

    def notice(self) -> str:
        """What stands in its place: what it was, why it is out, and of a large one the names in it."""
        label = " ".join("".join(char if char.isprintable() else " " for char in self.result.label).split())
        label = label if len(label) <= _LABEL_CHARS else label[: _LABEL_CHARS - 1] + "…"
        return with_outline(f"[PopKit left out {label} ({why(self.result, self.quiet)})]", outline_of(self.result, self.text))


def judge(dialogue: Dialogue, folder: str = "") -> list[Judged]:
    """All results that could leave, in their order: not what holds more than text. `folder`: where relative paths begin."""
    state = ContextState()
    state.cwd = folder
    conversation = Conversation(state, lambda profile: shipped.rules())
    places = _tell(conversation, dialogue)
    model, found = shipped.need_model(), []
    for result in conversation.results():
        number, answer = places.get(result.id, (-1, None))
        if answer is not None and not answer.more:
            found.append(_judged(number, answer, result, state, model))
    return found


def _judged(number: int, answer: ToolResult, result: Result, state: ContextState, model: NeedModel) -> Judged:
    quiet = state.quiet_age(result)
    need = model.probability(result, state)
    dead = result.ended is not None and need <= worth.MOST_NEED and not worth.is_in_use(result, quiet)
    return Judged(number, answer.id, result, answer.text, dead, need, quiet)


def _tell(conversation: Conversation, dialogue: Dialogue) -> dict[str, tuple[int, ToolResult]]:
    """Tells the engine what happened; where each result stands, by the engine's id."""
    uses: dict[str, ToolUse] = {}
    places, commits = {}, Commits()
    for number, said in enumerate(dialogue.said):
        if said.part == REQUEST:
            conversation.observe(Prompted())
        uses.update((use.id, use) for use in said.uses)
        for answer in said.results:
            use = uses[answer.id]
            told = responses.outcome_of_error if answer.error else functools.partial(responses.outcome_of_text, use.tool, use.input)
            call = Call(answer.id, use.tool, use.input, told(answer.text))
            call.committed = commits.files_of(call, answer.text)
            conversation.observe(call)
            places[call.id] = (number, answer)
    return places
