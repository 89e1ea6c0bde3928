"""The specification's records of a tool call.

Hooks themselves do not import this: `dataclasses` costs more than a whole hook.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, Optional, Tuple  # noqa: UP035  annotations of a dataclass are read at run time on 3.9


@dataclass(frozen=True)
class ToolResultMeta:
    """Metadata of one tool result for retention tracking."""

    tool_name: str
    tool_call_index: int
    """The call's number in its context, from 1."""
    timestamp: str
    """ISO 8601, UTC."""
    retention_tier: str
    """ephemeral, short, medium, session or preserved."""
    expiry_trigger: Optional[str]  # noqa: UP045
    """What ends it: "tool_count:5", "supersede:npm test", "edit:/path/file.ts"; None for never."""
    content_hash: str
    """SHA-256 of the content in hex, "" for no content; of the results of a context its first 32 digits, which the state keeps."""
    token_estimate: int


@dataclass(frozen=True)
class HookContext:
    """A completed tool call, as hooks pass it on."""

    session_id: str
    tool_name: str
    tool_input: Dict[str, Any] = field(default_factory=dict)  # noqa: UP006
    tool_use_id: str = ""
    """"" lets the tracker number the call."""
    cwd: str = ""
    agent_id: str = ""
    """"" for the main thread."""
    prompt_id: Optional[str] = None  # noqa: UP045
    error: bool = False
    """Whether the call failed; the result is then its error text."""
    timestamp: float = 0.0
    """Seconds since the epoch; 0 for now."""
    tool_results_meta: Tuple[ToolResultMeta, ...] = ()  # noqa: UP006
    """The live results of the context, oldest first: `process_retention` returns a context that has them."""
