"""The records of a session that is read."""

from __future__ import annotations

from dataclasses import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from popkit_retention.core.policy.calls import Call

    from ..lessons import Observation


@dataclass(frozen=True)
class Prompt:
    """A text that reached the assistant other than from a tool. `by_user`: whether a person typed it, rather than the host on their
    behalf."""

    at: float
    text: str
    by_user: bool


@dataclass(frozen=True)
class HookText:
    """A text that a hook added to the conversation."""

    at: float
    text: str


@dataclass(frozen=True)
class AssistantText:
    """A text of the assistant's, or the input of a call (`operation`: what the call does, "" for a text; `tool_input`), written in the
    folder `cwd`, in the answer to this `request` (numbered from 1)."""

    at: float
    cwd: str
    operation: str
    tool_input: dict
    text: str
    request: int = 1


@dataclass(frozen=True)
class CallResult:
    """A completed call, the text that it returned, and the folder in which it was made (`call.cwd` is the folder afterwards)."""

    call: Call
    text: str
    cwd: str


@dataclass(frozen=True)
class Observations:
    """The evidence of a session alone, before its checkout is consulted. `written`: names; `unaided`: names that it wrote before any text
    had shown them. All other fields are as in a Lesson."""

    session: str
    began: float
    ended: float
    notes: tuple[Observation, ...]
    observed: tuple[Observation, ...]
    written: tuple[str, ...]
    unaided: frozenset[str]
    lookups: int
    tokens: int
    showings: tuple
    missing: tuple[tuple[str, str], ...]
