"""Results that the provider or the host has cleared from requests: noted once in the journal, which state, panel and ledger follow."""

from __future__ import annotations

from ..hosts.claude_code.usage import CLEAR
from ..io.codec import loads
from ..policy.conversation import Editing, lacking_steps
from . import journal, store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from .rebuild import Rebuilt

# JSON that the client merges into the body of each request.
VARIABLE = "CLAUDE_CODE_EXTRA_BODY"
HOW = "left out of the request by the provider"
HOW_UNASKED = "left out of the request by Claude Code"
# The provider's own defaults.
_TRIGGER, _KEEP = 100_000, 3


def editing_of(environ: Mapping[str, str]) -> Editing | None:
    """Return what the provider is asked to clear, by the client's environment; None for nothing, and for what is not understood."""
    text = environ.get(VARIABLE) or ""
    if CLEAR not in text:
        return None
    try:
        body: Any = loads(text)
        [edit] = [edit for edit in body["context_management"]["edits"] if edit["type"] == CLEAR]
    except (ValueError, LookupError, TypeError):
        return None
    trigger, keep, least = edit.get("trigger"), _value(edit.get("keep"), _KEEP), _value(edit.get("clear_at_least"), 0)
    counts_tokens = not isinstance(trigger, dict) or trigger.get("type") == "input_tokens"
    excluded = edit.get("exclude_tools")
    names = tuple(name for name in excluded if isinstance(name, str)) if isinstance(excluded, list) else ()
    return Editing(_value(trigger, _TRIGGER) if counts_tokens else 0, keep, least, names)


def _value(setting: object, otherwise: int) -> int:
    value = setting.get("value") if isinstance(setting, dict) else None
    return value if type(value) is int and value >= 0 else otherwise


def note(paths: store.ContextFiles, made: Rebuilt, editing: Editing | None) -> bool:
    """Journal the results that requests lacked; return whether there were any new ones. Two processes at the same time note them once."""
    steps = lacking_steps(made.conversation, editing)
    if not steps:
        return False
    try:
        with paths.locked():
            known = journal.ids_outside(store.read_lines(paths.journal))
            fresh = [(step, [id for id in step.ids if id not in known]) for step in steps]
            fresh = [(step, ids) for step, ids in fresh if ids]
            for step, ids in fresh:
                tokens = round(step.tokens * len(ids) / len(step.ids))
                is_asked = editing is not None
                store.journal(paths, journal.cleared_outside(ids, tokens, HOW if is_asked else HOW_UNASKED, step.at, is_asked))
    except OSError:
        return False  # another process is at work, or nothing can be written: the next look notes them
    return bool(fresh)
