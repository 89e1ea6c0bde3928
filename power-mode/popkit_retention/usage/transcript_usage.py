"""The usage of the requests whose answers a transcript holds. Pure.

The host writes an answer block by block, each with the usage so far; the last block of a message counts. The output tokens in a
transcript may be fewer than were billed.
"""

from __future__ import annotations

from typing import Any

from popkit_retention.core.hosts.transcripts.stamps import seconds_of
from popkit_retention.core.io.codec import as_object, loads

from .records import TRANSCRIPT, RequestUsage, Tokens, usd_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from popkit_retention.core.policy.models import Models

_MOST_TOKENS = 10**9  # of a request


def used_of(line: bytes, session_id: str, user: str, project: str, models: Models) -> RequestUsage | None:
    """Return the usage of the request whose answer is in a line of a transcript; None for any other line."""
    if b'"usage"' not in line or b'"assistant"' not in line:
        return None
    try:
        answer = _answer(loads(line.decode("utf-8", "replace")))
    except ValueError:
        return None  # the host is writing it
    if answer is None:
        return None
    id, model, at, tokens = answer
    return RequestUsage(TRANSCRIPT, id, session_id, user, model, at, tokens, usd_of(models.model(model), tokens), project)


def _answer(entry: Any) -> tuple[str, str, float, Tokens] | None:
    message = entry.get("message") if isinstance(entry, dict) and entry.get("type") == "assistant" else None
    usage = as_object(message).get("usage")
    if not isinstance(message, dict) or not isinstance(usage, dict):
        return None
    id, model, at = message.get("id"), message.get("model"), seconds_of(entry.get("timestamp"))
    if not isinstance(id, str) or not id or not isinstance(model, str) or model == "<synthetic>" or not at:
        return None
    cache_write = _count(usage, "cache_creation_input_tokens")
    created = usage.get("cache_creation")
    hour = min(cache_write, _count(created, "ephemeral_1h_input_tokens")) if isinstance(created, dict) else 0
    tokens = Tokens(
        _count(usage, "input_tokens"), _count(usage, "cache_read_input_tokens"), cache_write - hour, hour, _count(usage, "output_tokens")
    )
    return id, model, at, tokens


def _count(usage: dict[str, object], name: str) -> int:
    value = usage.get(name)
    return value if type(value) is int and 0 < value < _MOST_TOKENS else 0
