"""Where the host keeps the transcripts of subagents."""

from __future__ import annotations

from ..edges import home


def transcript_of(transcript_path: str, agent_id: str) -> str:
    """The transcript of a subagent, as the host lays it beside that of the main thread; "" for an id that is no plain name."""
    stem = transcript_path[: -len(".jsonl")] if transcript_path.endswith(".jsonl") else ""
    return f"{stem}/subagents/agent-{agent_id}.jsonl" if stem and home.safe_name(agent_id) == agent_id else ""
