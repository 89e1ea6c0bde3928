"""Handle a complete tool call: which lifetimes begin or end."""

from __future__ import annotations

from .. import retention_tracker
from ..hosts import protocol
from ..io.codec import text_in_field
from ..io.system import now as time_of_day
from ..state.site import site_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def track(payload: dict[str, object], environ: Mapping[str, str]) -> None:
    """Observe the call in its context: the main thread, or the subagent that the payload names."""
    site = site_of(payload, environ)
    host = protocol.of(text_in_field(payload, "session_id"))
    call = host.call_of(payload, time_of_day(environ)) if site else None
    if site is None or call is None:
        return
    agent_id = text_in_field(payload, "agent_id")
    transcript_path = "" if agent_id else text_in_field(payload, "transcript_path")
    retention_tracker.add_call(site, site.paths(agent_id), transcript_path, call, host.output_of(payload))
