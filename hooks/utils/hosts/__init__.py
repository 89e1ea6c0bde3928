"""The hosts: coding agents, a folder for each. Outside of them no tool's name is compared."""

from __future__ import annotations

# How the ids of a host's sessions begin; any other session is Claude Code's.
OPENCODE, PI = "ses_", "pi_"
CLAUDE_CODE = "Claude Code"
_GUESTS = {OPENCODE: "OpenCode", PI: "pi"}
# Words for a host that keeps its sessions itself: its name comes before them, the consequence after.
KEEPS = "keeps this session itself"
# How a person calls us in every version of Claude Code, and where code of ours inside it answers.
COMMAND, IN_CLIENT = "/popkit:context", "/popkit"


def is_guest(session_id: str) -> bool:
    """Return whether a session's host runs no hooks of ours: its plugin tells the helper, which keeps the transcript."""
    return session_id.startswith((OPENCODE, PI))


def is_kept(session_id: str) -> bool:
    """Return whether a session's host keeps it where nothing of ours is changed."""
    return session_id.startswith(OPENCODE)


def kept_by(host: str) -> str:
    """Return in words why nothing is cleared from a session that its host keeps itself."""
    return f"{host} {KEEPS}, so only /compact removes anything"


def name_of(session_id: str) -> str:
    """Return the name of the host of a session that a client of ours knows, as people call it."""
    return next((name for prefix, name in _GUESTS.items() if session_id.startswith(prefix)), CLAUDE_CODE)
