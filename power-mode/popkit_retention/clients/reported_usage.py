"""The tokens that the answer of a provider reports. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Optional

from popkit_retention.core.io.codec import as_text

from ..context.provider_forms import Provider
from ..context.requests import AnswerUsage
from .coverage import costs


class Form(NamedTuple):
    """The differences between the providers' requests and answers. `path`: where the requests go. `used(item, before)`: the tokens used by
    an answer, or by an event of a stream and the events before it (`before`). `builds`: whether a context is built; limits apply, and usage
    is recorded, without it too. `messages`, `system`: the fields of a request with its messages and its system prompt."""

    provider: Provider
    path: str
    used: Callable[[Any, AnswerUsage | None], AnswerUsage | None]
    builds: bool = False
    messages: str = "messages"
    system: str = "system"


def _anthropic_used(item: Any, before: AnswerUsage | None) -> AnswerUsage | None:
    """Read the usage of a message, which reports all at once, or of an event: the first of a stream reports the input, and each
    `message_delta` all the output so far; some of them report both."""
    message = getattr(item, "message", item)
    usage = getattr(message, "usage", None)
    if usage is None:
        return before
    used = AnswerUsage(
        input=_count(usage, "input_tokens"),
        cache_read=_count(usage, "cache_read_input_tokens"),
        cache_write=_count(usage, "cache_creation_input_tokens"),
        cache_write_1h=_count(getattr(usage, "cache_creation", None), "ephemeral_1h_input_tokens"),
        output=_count(usage, "output_tokens"),
        id=_id_of(message),
    )
    if before is None:
        return used
    return used._replace(**{name: max(getattr(before, name), getattr(used, name)) for name in _COUNTS}, id=before.id or used.id)


def _openai_used(item: Any, before: AnswerUsage | None) -> AnswerUsage | None:
    """Read the usage of a completion, or of a stream's last chunk, where `stream_options` asks for it."""
    usage = getattr(item, "usage", None)
    if usage is None:
        return before
    return _openai_sums(usage, "prompt_tokens", "completion_tokens", _id_of(item))


def _responses_used(item: Any, before: AnswerUsage | None) -> AnswerUsage | None:
    """Read the usage of a response, or of the last event of its stream, which carries the response."""
    response = getattr(item, "response", item)
    usage = getattr(response, "usage", None)
    if usage is None:
        return before
    return _openai_sums(usage, "input_tokens", "output_tokens", _id_of(response))


def _openai_sums(usage: object, prompt: str, output: str, id: str) -> AnswerUsage:
    """Return the tokens of a usage whose fields have these names; those that were cached are among the prompt's."""
    tokens, cached = _count(usage, prompt), _count(getattr(usage, prompt + "_details", None), "cached_tokens")
    return AnswerUsage(input=max(tokens - cached, 0), cache_read=cached, output=_count(usage, output), id=id)


def _any_used(item: Any, before: AnswerUsage | None) -> AnswerUsage | None:
    """Read the usage of an answer of another kind, such as a picture or a transcript, or of an event, where it has tokens."""
    usage = getattr(item, "usage", None)
    for prompt, output in (("input_tokens", "output_tokens"), ("prompt_tokens", "completion_tokens")):
        if _count(usage, prompt) or _count(usage, output):
            return _openai_sums(usage, prompt, output, _id_of(item))
    return before


# What is retrieved later: the model, and the usage.
Retrieved = tuple[str, Optional[AnswerUsage]]


def response_used(item: Any) -> Retrieved:
    """Read a response that ran in the background, or an event of its stream. The usage of any other is known since it was created."""
    response = getattr(item, "response", item)
    used = _responses_used(item, None) if getattr(response, "background", None) is True else None
    return str(getattr(response, "model", None) or ""), used


def batch_used(item: Any) -> Retrieved:
    """Read a batch of OpenAI's that has ended: its usage is that of all its requests."""
    usage = getattr(item, "usage", None)
    has_ended = getattr(item, "status", None) in _ENDED and _count(usage, "total_tokens") > 0
    used = _openai_sums(usage, "input_tokens", "output_tokens", _id_of(item))._replace(batch=True) if has_ended else None
    return str(getattr(item, "model", None) or ""), used


def message_used(item: Any) -> Retrieved:
    """Read a line of the results of a batch of Anthropic's: a message, where the request succeeded."""
    message = getattr(getattr(item, "result", None), "message", None)
    used = _anthropic_used(message, None)
    return str(getattr(message, "model", None) or ""), used and used._replace(batch=True)


def _unreported(item: Any, before: AnswerUsage | None) -> AnswerUsage | None:
    """Return nothing: a batch is answered later, elsewhere, and a legacy completion of Anthropic's reports no usage."""
    return None


def _id_of(answer: object) -> str:
    value = getattr(answer, "id", None)
    return as_text(value)


def _count(holder: object, name: str) -> int:
    value = getattr(holder, name, None)
    return value if isinstance(value, int) and value > 0 else 0


_COUNTS = AnswerUsage._fields[:5]
_ENDED = frozenset({"completed", "expired", "cancelled", "failed"})
FORMS = {
    form.path: form
    for form in (
        Form(Provider.ANTHROPIC, "/v1/messages", _anthropic_used, builds=True),
        Form(Provider.OPENAI, "/chat/completions", _openai_used, builds=True),
        Form(Provider.RESPONSES, "/responses", _responses_used, builds=True, messages="input", system="instructions"),
        Form(Provider.OPENAI, "/responses/compact", _responses_used),
        Form(Provider.OPENAI, "/completions", _openai_used),
        Form(Provider.OPENAI, "/embeddings", _openai_used),
        Form(Provider.OPENAI, "/batches", _unreported),
        Form(Provider.ANTHROPIC, "/v1/messages/batches", _unreported),
        Form(Provider.ANTHROPIC, "/v1/complete", _unreported),
    )
}


def form_of(path: str) -> Form | None:
    """Return the form of the requests that go to a path; None where they cost nothing."""
    path = path.partition("?")[0]
    return FORMS.get(path) or (Form(Provider.OPENAI, path, _any_used) if costs(path) else None)
