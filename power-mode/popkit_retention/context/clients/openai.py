"""OpenAI's form: chat completions. Nothing of its package is imported."""

from __future__ import annotations

from ..models import Provider
from ..service import Used
from .form import Form, count, id_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def used(item: Any, before: Used | None) -> Used | None:
    """A completion tells it; of a stream the last chunk, where `stream_options` asks for it."""
    usage = getattr(item, "usage", None)
    if usage is None:
        return before
    prompt, cached = count(usage, "prompt_tokens"), count(getattr(usage, "prompt_tokens_details", None), "cached_tokens")
    return Used(input=max(prompt - cached, 0), cache_read=cached, output=count(usage, "completion_tokens"), id=id_of(item))


FORM = Form(Provider.OPENAI, "/chat/completions", used)
