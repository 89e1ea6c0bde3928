"""Answer a Read that the host answered with "file unchanged", where the earlier Read that this means is no longer in the context.

The host compares with what its process has read, not with what the context still holds: after a compaction, a rewind, or a clear that the
client has loaded, the text is nowhere. What the Read shows now is counted as the host counts it; whatever the host would have refused or
shown in another form is left alone: better its own answer than a wrong text. Reads one regular file, changes nothing.
"""

from __future__ import annotations

from ..hosts.claude_code import projects
from ..io.files import open_regular
from ..io.system import join
from ..io.system import now as time_of_day
from ..policy import parts
from ..policy.estimate import estimate_tokens
from ..state import journal, live, reconciling, store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..policy.context import ContextState
    from ..policy.tools import Call
    from ..state.live import Site
    from ..state.rebuild import Rebuilt

# Larger files the host reads only with a limit.
WHOLE_BYTES = 256 * 1024
# Of a larger file with a limit all lines are counted, and a hook has no time for more.
MOST_BYTES = 16 * 1024 * 1024
# Shown as pictures, pages or cells.
_OTHER_FORMS = (".ipynb", ".pdf", ".png", ".jpg", ".jpeg", ".gif", ".webp")
_INPUT = frozenset(("file_path", "offset", "limit"))
_BYTE_ORDER_MARK = "\ufeff"
# From this version on the host takes another tool output from a hook; older ones add a text of at most so many characters instead.
REPLACES_SINCE = (2, 1, 121)
_ADDED_CHARS = 9_500


def full_read(tool_input: dict[str, Any], cwd: str) -> dict[str, Any] | None:
    """Return the `tool_response` of a Read with this input: {"type": "text", "file": {"filePath", "content", "numLines", "startLine",
    "totalLines"}}; None where it cannot be made for certain. A path is the one that the host reports: absolute, or below `cwd`.

    The host's counting: an end of line at the end opens one line more, so an empty file has 1; CR LF is LF; a byte order mark is not shown.
    `offset` is the first line's number, from 1; the host takes 0 for the first line too and calls it 0."""
    path, offset, limit = tool_input.get("file_path"), tool_input.get("offset", 1), tool_input.get("limit")
    if any(tool_input[name] for name in tool_input if name not in _INPUT):
        return None  # a page, or a part that the host chose by what was left of the window
    if not isinstance(path, str) or type(offset) is not int or offset < 0 or not (limit is None or (type(limit) is int and limit > 0)):
        return None
    text = _text_of(path if path.startswith("/") or not cwd else join(cwd, path), WHOLE_BYTES if limit is None else MOST_BYTES)
    if text is None:
        return None
    total = text.count("\n") + 1
    first = min(max(offset - 1, 0), total)
    last = total if limit is None else min(first + limit, total)
    shown = text.split("\n", last)[first:last]
    return {
        "type": "text",
        "file": {
            "filePath": path,
            "content": "\n".join(shown),
            "numLines": len(shown),
            "startLine": offset,
            "totalLines": total,
        },
    }


def _text_of(path: str, most: int) -> str | None:
    """Return the text of a regular file of at most so many bytes, its lines ended by LF; None for any other, and where it is not UTF-8."""
    if path.lower().endswith(_OTHER_FORMS):
        return None
    try:
        with open_regular(path) as file:
            data = file.read(most + 1)
        if len(data) > most or b"\0" in data:
            return None
        text = data.decode()
    except (OSError, ValueError):  # ValueError: no UTF-8, or a path that no file can have
        return None
    return text.removeprefix(_BYTE_ORDER_MARK).replace("\r\n", "\n").removesuffix("\r")


def repair(site: Site, call: Call, transcript_path: str, agent_id: str) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """Return (the answer to the host or None, the tool_response that the model sees now, or None where that stays as it is)."""
    path = parts.normal_path(str(call.tool_input.get("file_path") or ""), call.cwd)
    transcript_path = projects.transcript_of_agent(transcript_path, agent_id) if agent_id else transcript_path
    seen = _seen(site, transcript_path, agent_id)
    if seen is None or _is_shown(seen.state, path, _limits_of(call.tool_input)) or _just_read(site, agent_id, path):
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
    """Return the context as its transcript tells it; None where nothing can be said for certain."""
    import os

    try:
        if transcript_path and os.path.getsize(transcript_path) <= live.REBUILD_BYTES:
            return reconciling.rebuilt(site, site.paths(agent_id), transcript_path)
    except (OSError, ValueError):
        pass  # the host writes late: then the earlier Read cannot have gone yet
    return None


def _limits_of(tool_input: dict[str, Any]) -> list[int]:
    """Return the lines that the Read is about, as a part's scope."""
    offset, limit = tool_input.get("offset"), tool_input.get("limit")
    first = offset if isinstance(offset, int) and offset > 0 else 1
    return [first, first + limit - 1] if isinstance(limit, int) and limit > 0 else [first, 0]


def _is_shown(state: ContextState, path: str, limits: list[int]) -> bool:
    """Return whether a result in the context shows these lines of the file."""
    wanted = ("read:" + path, limits)
    for result in (*state.live.values(), *state.expired.values()):
        if not result.cleared and any(
            parts.covers(part, wanted) or part[1] == list(parts.WHOLE) for part in result.parts if part[0] == wanted[0]
        ):
            return True
    return False


def _just_read(site: Site, agent_id: str, path: str) -> bool:
    """Return whether a hook has just seen such a Read: its line may not be written yet."""
    stored = store.load(site.paths(agent_id))
    now = time_of_day(site.environ)
    return stored is not None and any(
        now - result.at < reconciling.TRANSCRIPT_LAG_S and any(part[0] == "read:" + path for part in result.parts)
        for result in stored.state.live.values()
    )
