"""Anthropic's form: Messages, of the beta too. Nothing of its package is imported."""

from __future__ import annotations

from ..models import Provider
from ..service import Used
from .form import Form, count, id_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def used(item: Any, before: Used | None) -> Used | None:
    """A message tells all at once. Of a stream the first event tells what went in, and each `message_delta` all that came out so far; some
    of them tell both."""
    message = getattr(item, "message", item)
    usage = getattr(message, "usage", None)
    if usage is None:
        return before
    told = Used(
        input=count(usage, "input_tokens"),
        cache_read=count(usage, "cache_read_input_tokens"),
        cache_write=count(usage, "cache_creation_input_tokens"),
        cache_write_1h=count(getattr(usage, "cache_creation", None), "ephemeral_1h_input_tokens"),
        output=count(usage, "output_tokens"),
        id=id_of(message),
    )
    if before is None:
        return told
    return Used._make([*map(max, before[:-1], told[:-1]), before.id or told.id])


FORM = Form(Provider.ANTHROPIC, "/v1/messages", used)
