"""The settings that can be tried on every second session, their values, and when a trial is read. Plain data."""

from __future__ import annotations

from .ruleset import DEFAULT_SAY_ONCE, DEFAULT_SHAPE, TRY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

HINTS, SAY_ONCE, SHAPE, MEMORY, COMPACT = "hints", "say_once", "shape", "memory", "compact"
# setting -> (its value in a session with it, in one without)
ARMS = {
    HINTS: ("on", "off"), SAY_ONCE: (DEFAULT_SAY_ONCE, "off"), SHAPE: (DEFAULT_SHAPE, "off"), MEMORY: ("on", "off"), COMPACT: ("on", "off"),
}  # fmt: skip
# What a session has for which no coin was thrown: what is shipped.
USUAL = {HINTS: "off", SAY_ONCE: DEFAULT_SAY_ONCE, SHAPE: DEFAULT_SHAPE, MEMORY: "on", COMPACT: "on"}
BY_HELPER = (SAY_ONCE, SHAPE, COMPACT)  # what only sessions have that the helper serves
PER_ARM = 20  # sessions of each arm that a trial is read after
# A session that did not end counts once it has been quiet for so long.
QUIET_S = 86_400.0


def is_tried(config: Mapping[str, Any], name: str) -> bool:
    """Return whether a configuration has a setting tried."""
    value = config.get(name)
    return isinstance(value, dict) and value.get(TRY) is True if name == MEMORY else value == TRY
