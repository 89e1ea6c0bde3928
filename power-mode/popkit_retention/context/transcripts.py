"""What the requests of a Claude Code session used, as its transcripts tell: the main thread's and those of its subagents.

The host writes an answer down block by block, each with the usage so far; of a message the last counts. What a transcript says of tokens
that came out may be less than was billed.
"""

from __future__ import annotations

import os
from glob import escape, glob
from typing import TYPE_CHECKING, Any

from hooks.utils.edges.codec import loads
from hooks.utils.edges.files import open_regular
from hooks.utils.host.stamps import seconds_of

from .database.usage import TRANSCRIPT, Tokens, Used, usd_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hooks.utils.policy.models import Models

_MOST_TOKENS = 10**9


def used_in(transcript_path: str, session_id: str, user: str, project: str, models: Models) -> list[Used]:
    """The requests of a session. OSError for a transcript that cannot be read."""
    stem = transcript_path.removesuffix(".jsonl")
    found: dict[str, Used] = {}
    for path in [transcript_path, *sorted(glob(os.path.join(escape(stem), "subagents", "*.jsonl")))]:
        for id, model, at, tokens in _answers(path):
            usd = usd_of(models.model(model), tokens)
            found[id] = Used(TRANSCRIPT, id, session_id, user, model, at, tokens, usd, project)
    return list(found.values())


def _answers(path: str) -> Iterator[tuple[str, str, float, Tokens]]:
    with open_regular(path) as file:
        for line in file:
            if b'"usage"' in line and b'"assistant"' in line:
                try:
                    answer = _answer(loads(line.decode("utf-8", "replace")))
                except ValueError:
                    continue  # the host is writing it
                if answer is not None:
                    yield answer


def _answer(entry: Any) -> tuple[str, str, float, Tokens] | None:
    message = entry.get("message") if isinstance(entry, dict) and entry.get("type") == "assistant" else None
    usage = message.get("usage") if isinstance(message, dict) else None
    if not isinstance(message, dict) or not isinstance(usage, dict):
        return None
    id, model, at = message.get("id"), message.get("model"), seconds_of(entry.get("timestamp"))
    if not isinstance(id, str) or not id or not isinstance(model, str) or model == "<synthetic>" or not at:
        return None
    written = _count(usage, "cache_creation_input_tokens")
    created = usage.get("cache_creation")
    hour = min(written, _count(created, "ephemeral_1h_input_tokens")) if isinstance(created, dict) else 0
    tokens = Tokens(
        _count(usage, "input_tokens"), _count(usage, "cache_read_input_tokens"), written - hour, hour, _count(usage, "output_tokens")
    )
    return id, model, at, tokens


def _count(usage: dict[str, Any], name: str) -> int:
    value = usage.get(name)
    return value if type(value) is int and 0 < value < _MOST_TOKENS else 0
