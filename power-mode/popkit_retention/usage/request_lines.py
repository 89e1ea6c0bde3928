"""Usage of requests parsed from lines of a session's transcripts (of the main thread and of subagents) and of its journal. Pure.

The host writes an answer block by block, each with the usage so far; the last block of a message counts. The output tokens in a transcript
may be fewer than were billed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hooks.utils.hosts.claude_code.stamps import seconds_of
from hooks.utils.io.codec import loads
from hooks.utils.policy.bookings import Warmed
from hooks.utils.state import journal

from .records import MOD, TRANSCRIPT, Tokens, Used, usd_of, warmed_id

if TYPE_CHECKING:
    from hooks.utils.policy.models import Models

_MOST_TOKENS = 10**9


def used_of(line: bytes, session_id: str, user: str, project: str, models: Models) -> Used | None:
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
    return Used(TRANSCRIPT, id, session_id, user, model, at, tokens, usd_of(models.model(model), tokens), project)


def warmed_of(line: bytes, session_id: str, user: str, model: str, project: str) -> Used | None:
    """Return the usage of the request that kept the prompt cache warm of which a line of a journal is; None for any other line."""
    if b'"warmed"' not in line:
        return None
    try:
        entry = loads(line.decode("utf-8", "replace"))
    except ValueError:
        return None  # a kill has cut it short
    booking = journal.booking_of(entry)
    if not isinstance(entry, dict) or not isinstance(booking, Warmed):
        return None
    usd = entry.get("usd")
    price = float(usd) if isinstance(usd, (int, float)) and 0 <= usd < float("inf") else None
    # Only the price tells for how long the cache keeps the tokens.
    tokens = Tokens(max(0, booking.tokens - booking.read - booking.created), booking.read, booking.created, 0, booking.output)
    id = warmed_id(session_id, booking.at)
    return Used(MOD, id, session_id, user, model, booking.at, tokens, price, project)


def _answer(entry: Any) -> tuple[str, str, float, Tokens] | None:
    message = entry.get("message") if isinstance(entry, dict) and entry.get("type") == "assistant" else None
    usage = message.get("usage") if isinstance(message, dict) else None
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


def _count(usage: dict[str, Any], name: str) -> int:
    value = usage.get(name)
    return value if type(value) is int and 0 < value < _MOST_TOKENS else 0
