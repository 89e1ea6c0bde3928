"""Repair: a Read is answered with "file unchanged", but the earlier Read that this means is no longer in the context.

The host compares with what its process has read, not with what the context still holds: after a compaction, a rewind, or a clear that
the client has loaded, the text is nowhere.
"""

from __future__ import annotations

from ..hosts.claude_code import projects
from ..io.system import now as time_of_day
from ..policy import parts
from ..policy.estimate import estimate_tokens
from ..state import journal, live, store
from .unchanged import full_read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..policy.calls import Call
    from ..policy.context import ContextState
    from ..state.rebuild import Rebuilt
    from ..state.site import Site

# From this version on the host takes another tool output from a hook; older ones add a text of at most so many characters instead.
REPLACES_SINCE = (2, 1, 121)
_ADDED_CHARS = 9_500


def repair(
    site: Site, payload: dict[str, Any], call: Call, transcript_path: str, agent_id: str
) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """(the answer to the host or None, the tool_response that the model sees now, or None where that stays as it is)."""
    path = parts.normal_path(str(call.tool_input.get("file_path") or ""), call.cwd)
    transcript_path = projects.transcript_of_agent(transcript_path, agent_id) if agent_id else transcript_path
    seen = _seen(site, transcript_path, agent_id)
    if seen is None or _is_shown(seen.state, path, _asked(call.tool_input)) or _just_read(site, agent_id, path):
        return None, None
    response = full_read(call.tool_input, call.cwd)
    if response is None:
        return None, None
    if seen.index.version >= REPLACES_SINCE:
        return {"hookSpecificOutput": {"hookEventName": "PostToolUse", "updatedToolOutput": response}}, response
    text = f"{path} holds (the earlier Read is no longer in this conversation):\n{response['file']['content']}"
    if len(text) > _ADDED_CHARS:
        return None, None
    _book(site.paths(agent_id), estimate_tokens(text), call.at)
    return {"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": text}}, None


def _book(paths: store.ContextFiles, tokens: int, now: float) -> None:
    store.journal(paths, journal.advised(tokens, now))


def _seen(site: Site, transcript_path: str, agent_id: str) -> Rebuilt | None:
    """The context as its transcript tells it; None where nothing can be said for certain."""
    import os

    try:
        if transcript_path and os.path.getsize(transcript_path) <= live.REBUILD_BYTES:
            return live.rebuilt(site, site.paths(agent_id), transcript_path)
    except (OSError, ValueError):
        pass  # the host writes late: then the earlier Read cannot have gone yet
    return None


def _asked(tool_input: dict[str, Any]) -> list[int]:
    """The lines that the Read is about, as a part's scope."""
    offset, limit = tool_input.get("offset"), tool_input.get("limit")
    first = offset if isinstance(offset, int) and offset > 0 else 1
    return [first, first + limit - 1] if isinstance(limit, int) and limit > 0 else [first, 0]


def _is_shown(state: ContextState, path: str, asked: list[int]) -> bool:
    """Whether a result that stands in the context shows these lines of the file."""
    wanted = ("read:" + path, asked)
    for result in (*state.live.values(), *state.expired.values()):
        if not result.cleared and any(
            parts.covers(part, wanted) or part[1] == list(parts.WHOLE) for part in result.parts if part[0] == wanted[0]
        ):
            return True
    return False


def _just_read(site: Site, agent_id: str, path: str) -> bool:
    """Whether a hook has just seen such a Read: its line may not be written yet."""
    stored = store.load(site.paths(agent_id))
    now = time_of_day(site.environ)
    return stored is not None and any(
        now - result.at < live.TRANSCRIPT_LAG_S and any(part[0] == "read:" + path for part in result.parts)
        for result in stored.state.live.values()
    )
