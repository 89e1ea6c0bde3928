"""The records of a message, from its parsing to its editing. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

# The part of a message in its conversation: a system message, a request of the user's, an answer of the assistant's, and the
# results of the tools that it called.
SYSTEM, REQUEST, ANSWER, RESULTS = "system", "request", "answer", "results"


class ToolUse(NamedTuple):
    """A call of a tool: its `id`, the `tool`, its `input` ({} where that is no object), and whether the provider takes the call with a
    shorter input (`shortens`)."""

    id: str
    tool: str
    input: dict[str, Any]
    shortens: bool = True


class ToolResult(NamedTuple):
    """The result of the call `id`: its `text`, whether it is an `error`, and whether there is `more` than text in it, which a text cannot
    replace."""

    id: str
    text: str
    error: bool = False
    more: bool = False


class ParsedMessage(NamedTuple):
    """A message: its `part` in the conversation, the tools it `uses`, the `results` in it, its `texts` beside them, the tokens of its
    `thinking`, the number of blocks of it (`thoughts`), and whether it holds them `alone`."""

    part: str
    uses: tuple[ToolUse, ...] = ()
    results: tuple[ToolResult, ...] = ()
    texts: tuple[str, ...] = ()
    thinking: int = 0
    thoughts: int = 0
    alone: bool = False


# In the place of a notice: the result's own text, without the numbers of its lines; the call's own input, its long texts shortened.
BARE = ""


class Edit(NamedTuple):
    """The difference of a message from the caller's: `notices` in the place of results (by the id of the call; BARE where a call's input is
    shortened), its thinking is left out, `additions` before the user's text."""

    notices: Mapping[str, str]
    drops_thinking: bool
    additions: Sequence[str]
