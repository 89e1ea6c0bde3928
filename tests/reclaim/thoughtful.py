"""A clear that takes thinking along, to be called in a process of its own."""

from __future__ import annotations

from hooks.utils.policy.planning import Selection
from hooks.utils.reclaim import clearing
from hooks.utils.state import live


def clear(environ: dict[str, str], session_id: str, project: str, transcript: str, now: float) -> None:
    clearing.clear(live.Site(environ, session_id, project), transcript, now, Selection(), with_thinking=True)
