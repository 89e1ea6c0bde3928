"""The records of a request, from the caller's question to the answer's usage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..usage.budgets import Standing
from ..usage.unchecked import UncheckedRequests
from .build_types import ContextTier, Message
from .conversations import mark_of
from .provider_forms import Provider

_UNNAMED = "conversation-"


class Caller(NamedTuple):
    """The caller of a request. `user_id`: "" where no user is named; requests then stay as they are. `project`: the folder whose memory and
    files may enter, "" for none. `agent`: its name, for people."""

    user_id: str
    session_id: str = ""
    project: str = ""
    agent: str = ""

    def within(self, messages: Sequence[Message]) -> Caller:
        """Return the caller with a session: an unnamed conversation is a session of its own."""
        return self if self.session_id else self._replace(session_id=_UNNAMED + mark_of(messages))


class Request(NamedTuple):
    """The parts of a request that a build needs, as plain data. `max_tokens`: the most tokens that the request may have; None: the model's
    window. `forced`: the layers that enter as with the fullest budget."""

    provider: Provider
    model: str
    messages: list[Message]
    system: Any = None
    tools: Any = None
    max_tokens: int | None = None
    forced: Sequence[ContextTier] = ()


def tiers_of(value: object) -> tuple[ContextTier, ...]:
    """Return the layers in a value of `force_include_tiers`. TypeError for anything but a list, ValueError for the name of no layer."""
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"force_include_tiers takes a list, not {type(value).__name__}")
    names = [tier.value for tier in ContextTier]
    for name in value:
        if name not in names:
            raise ValueError(f"force_include_tiers takes {', '.join(names)}, not {name!r:.40}")
    return tuple(map(ContextTier, value))


class AnswerUsage(NamedTuple):
    """The tokens that one answer used. `input`: the uncached input. `cache_write_1h`: the part of `cache_write` that is cached for an hour.
    `id`: the provider's id of the answer, "" where it has none. `batch`: whether it was asked in a batch, at a lower price."""

    input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cache_write_1h: int = 0
    output: int = 0
    id: str = ""
    batch: bool = False


class Notice(NamedTuple):
    """The additional information in an answer: `exceeded`, the limit that is used up, `faults`, why a provider would refuse the messages,
    `unchecked`, the requests so far whose limits could not be checked, this one included, `unbuilt`, why no context could be built."""

    exceeded: Standing | None = None
    faults: Sequence[str] = ()
    unchecked: UncheckedRequests | None = None
    unbuilt: str = ""

    def __bool__(self) -> bool:
        return any(self)

    def as_fields(self) -> dict[str, object]:
        """Return the notice as plain fields. The name of a database is not for whoever asks a proxy."""
        limit, unchecked = self.exceeded, self.unchecked
        fields: dict[str, object] = {}
        if limit is not None:
            fields["exceeded"] = {**limit._asdict(), "used_percent": round(limit.used_percent, 2)}
        if self.faults:
            fields["faults"] = list(self.faults)
        if unchecked is not None:
            fields["unchecked"] = {"since": unchecked.as_fields()["since"], "requests": unchecked.requests}
        if self.unbuilt:
            fields["unbuilt"] = self.unbuilt
        return fields


class PreparedRequest(NamedTuple):
    """A request that may be sent: with these `messages`, or with its own (None). `notice`: for its answer."""

    messages: list[Message] | None = None
    notice: Notice = Notice()
