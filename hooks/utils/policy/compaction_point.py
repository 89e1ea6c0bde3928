"""Tell at how many tokens a host compacts a conversation by itself. Pure."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .session_facts import SessionFacts

# What the client keeps free of the window for an answer, and beside that.
_ANSWER, _BUFFER = 20_000, 13_000
_LATER = 1.2  # a request that is so many times larger shows that the client does not compact there


def noted(session: SessionFacts, tokens: int) -> dict[str, object]:
    """Return what the client said, as a fact of the session that holds until something else is told."""
    return {"tokens": tokens, "told": session.compaction, "model": session.model, "window": session.window_tokens}


def point(window: int, session: SessionFacts, tokens: int) -> int:
    """Return at how many tokens the host compacts a conversation in a window, by the facts of the `session`, if the `tokens` of its newest
    request do not show otherwise; the window where it does not, or nobody has told."""
    said, fact = session.compaction, session.compacts_at
    if said is None:
        return window
    if fact and isinstance(fact.get("tokens"), int) and fact == noted(session, fact["tokens"]):
        room = fact["tokens"] + _BUFFER
    else:
        limit = said.get("window")
        room = 0 if said.get("off") is True else (min(window, limit) if type(limit) is int else window) - _ANSWER
    percent = said.get("percent")  # which what the client says does not include
    share = int(room * percent / 100) if isinstance(percent, (int, float)) else room
    at = min(share, room - _BUFFER)
    return max(at, tokens) if at > 0 and tokens <= _LATER * at and max(at, tokens) < window else window
