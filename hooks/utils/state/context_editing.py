"""Note the results that the provider or the host has cleared from requests."""

from __future__ import annotations

from ..io.codec import as_object, loads
from . import journal, journal_bookings, store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ..policy.lacking import Editing
    from .rebuild import Rebuild

# JSON that the client merges into the body of each request.
VARIABLE = "CLAUDE_CODE_EXTRA_BODY"
HOW = "left out of the request by the provider"
HOW_UNASKED = "left out of the request by Claude Code"
# The provider's own defaults.
_TRIGGER, _KEEP = 100_000, 3


def editing_of(environ: Mapping[str, str]) -> Editing | None:
    """Return the context editing that the client's environment asks of the provider; None for none, or for one that is not understood."""
    text = environ.get(VARIABLE)
    if not text:
        return None
    from ..hosts.transcripts.usage import CLEAR

    try:
        body: Any = loads(text)
        [edit] = [edit for edit in body["context_management"]["edits"] if edit["type"] == CLEAR]
    except (ValueError, LookupError, TypeError):
        return None
    trigger, keep, least = edit.get("trigger"), _value_of(edit.get("keep"), _KEEP), _value_of(edit.get("clear_at_least"), 0)
    counts_tokens = not isinstance(trigger, dict) or trigger.get("type") == "input_tokens"
    excluded = edit.get("exclude_tools")
    names = tuple(name for name in excluded if isinstance(name, str)) if isinstance(excluded, list) else ()
    from ..policy.lacking import Editing

    return Editing(_value_of(trigger, _TRIGGER) if counts_tokens else 0, keep, least, names)


def _value_of(setting: object, otherwise: int) -> int:
    """Return the number that a setting of context editing has; `otherwise` where it has none."""
    value = as_object(setting).get("value")
    return value if type(value) is int and value >= 0 else otherwise


def note_cleared(paths: store.ContextFiles, fresh: Rebuild, editing: Editing | None) -> bool:
    """Journal the results that requests lacked; return whether there were any new ones. Two processes at the same time note them once."""
    from ..policy.lacking import lacking_steps

    steps = lacking_steps(fresh.conversation, editing)
    if not steps:
        return False
    try:
        with paths.locked():
            known = journal_bookings.ids_outside(journal.read(paths))
            new = [(step, [id for id in step.ids if id not in known]) for step in steps]
            new = [(step, ids) for step, ids in new if ids]
            for step, ids in new:
                tokens = round(step.tokens * len(ids) / len(step.ids))
                is_asked = editing is not None
                store.journal(paths, journal.cleared_outside(ids, tokens, HOW if is_asked else HOW_UNASKED, step.at, is_asked))
    except OSError:
        return False  # another process is at work, or nothing can be written: the next look notes them
    return bool(new)
