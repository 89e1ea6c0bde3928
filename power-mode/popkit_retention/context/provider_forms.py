"""The form of a provider's messages: how they are parsed, how they are edited. Pure.

The caller's messages are read, never changed; where one has to differ, a new one is made of its parts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, NamedTuple

from .anthropic_form import edit_anthropic, parse_anthropic
from .message_records import Edit, ParsedMessage
from .openai_form import edit_openai, parse_openai
from .responses_form import edit_responses, join, parse_responses, split


class Provider(str, Enum):
    """The provider whose form the messages have: the system prompt is beside Anthropic's, and among OpenAI's. The items of OpenAI's
    Responses have a form of their own."""

    ANTHROPIC = "anthropic"
    OPENAI = "openai"
    RESPONSES = "responses"


def _as_they_are(messages: Sequence[Any]) -> Sequence[Any]:
    return messages


class Form(NamedTuple):
    """A provider's form of messages. `parse`: a message as Parsed, None for one that is not of the form. `edit`: a new message.
    `keeps_system`: whether the system's messages are among the others for good, so that they stay when an exchange leaves. `alternates`:
    whether no two messages of the user's may follow each other. `join`: the caller's list as messages; `split`: messages as such a list."""

    parse: Callable[[Any], ParsedMessage | None]
    edit: Callable[[Any, Edit], Any]
    keeps_system: bool
    alternates: bool
    join: Callable[[Sequence[Any]], Sequence[Any]] = _as_they_are
    split: Callable[[Sequence[Any]], Sequence[Any]] = _as_they_are


FORMS = {
    Provider.ANTHROPIC: Form(parse_anthropic, edit_anthropic, keeps_system=False, alternates=True),
    Provider.OPENAI: Form(parse_openai, edit_openai, keeps_system=True, alternates=False),
    Provider.RESPONSES: Form(parse_responses, edit_responses, keeps_system=True, alternates=False, join=join, split=split),
}
