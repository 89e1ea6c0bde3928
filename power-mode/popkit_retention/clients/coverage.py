"""The calls of the providers' packages that cost: the calls that are checked, the calls whose usage is unknown here."""

from __future__ import annotations

import functools
import logging
import re
from typing import NamedTuple

_log = logging.getLogger("popkit_retention.context")

# Paths of requests that cost, beside those that have a form of their own (reported_usage.py): their limits are checked, and what their
# answers report is recorded.
_COSTS = re.compile(
    r"/images/(generations|edits|variations)|/audio/(speech|transcriptions|translations)|/videos(/edits|/extensions|/[^/]+/remix)?"
    r"|/fine_tuning/(jobs|alpha/graders/run)|/threads(/[^/]+)?/runs(/[^/]+/submit_tool_outputs)?|/evals/[^/]+/runs"
    r"|/realtime/(calls|client_secrets|sessions|transcription_sessions|translations/client_secrets)"
    r"|/live/sessions(/[^/]+/(accept|fork))?|/chatkit/sessions|/agents/sessions(/[^/]+/events)?|/agents/automations/[^/]+/invocations"
    r"|/v1/sessions(/[^/]+/events)?|/v1/deployments/[^/]+/run|/v1/dreams"
)


class UncoveredCalls(NamedTuple):
    """The calls that cost and are not covered: those whose limits are not checked (`unchecked`), and those whose usage is not recorded
    (`unrecorded`)."""

    unchecked: tuple[str, ...] = ()
    unrecorded: tuple[str, ...] = ()


UNCOVERED = {
    "openai": UncoveredCalls(
        ("realtime.connect", "live.connect", "responses.connect", "beta.responses.connect"),
        (
            "audio.speech",
            "audio.translations",
            "videos",
            "fine_tuning",
            "evals",
            "realtime",
            "live",
            "beta.threads",
            "beta.chatkit",
            "beta.agents",
        ),
    ),
    "anthropic": UncoveredCalls((), ("beta.sessions", "beta.deployments", "beta.dreams")),
}


def costs(path: str) -> bool:
    """Return whether a request to this path costs, of those without a form of their own."""
    return _COSTS.fullmatch(path) is not None


@functools.cache
def say_uncovered(package: str) -> None:
    """Log what is not covered of a package, once in a process."""
    unchecked, unrecorded = UNCOVERED[package]
    lines = [f"what these calls of {package} use is not recorded: {', '.join(unrecorded)}"]
    if unchecked:
        lines.append(f"the limits of these are not checked either: {', '.join(unchecked)}")
    _log.warning("PopKit: %s. This is logged once.", "; ".join(lines))
