"""The rules of retention: the built-in ones with the configuration compiled over them.

Pure: no clock, no disk. Compiled once per hook from the effective `retention` object and never changed afterwards. What the configuration
leaves out, or holds in a form that is not understood, comes from the tables here; the tiers of tools are the host's
(`hosts/claude_code/__init__.py`).
"""

from __future__ import annotations

# `globs` is imported where something may match: a hook loads what its one call needs.
from . import kinds
from .needles import is_wild, needle_of
from .tools import SHELL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from .models import Models
    from .tools import Tools

    # Of tiers or tools, built-in or as a user writes them: what does not make sense in one is passed over.
    Table = Mapping[str, Any]

# In order of lifetime.
TIERS = ("ephemeral", "short", "medium", "session", "preserved")
# The tier of a tool that no table names, MCP tools among them: what it returned is not understood, so it stays until the same call replaces
# it.
DEFAULT_TIER = "session"
# The names and values of the specification, but for `success`, which the profile `spec` leaves out (docs/decisions/state/errors.md). A
# change in place changes what results live by. `ttl_tools` counts the tool calls of one context. A missing or null lifetime means that
# age alone never ends a result.
TIER_CONFIG = {
    "ephemeral": {"ttl_tools": 1, "ttl_seconds": None},
    "short": {"ttl_tools": 5, "ttl_seconds": 300},
    "medium": {"ttl_tools": None, "ttl_seconds": None, "expiry_events": ["edit", "commit"]},
    "session": {"ttl_tools": None, "ttl_seconds": None, "expiry_events": ["supersede", "session_end"]},
    "preserved": {"ttl_tools": None, "ttl_seconds": None, "expiry_events": ["success", "manual"]},
}
EVENTS = ("edit", "commit", "supersede", "session_end", "manual")
# What may end a preserved result: an error ends when what failed succeeds later.
PRESERVED_EVENTS = ("success", "manual")
EVENT_ALIASES = {"edit_file": "edit"}

THRESHOLDS = {"notice": 0.60, "warning": 0.80, "critical": 0.90, "emergency": 0.95}
PRESERVED_PATTERNS = ("error", "fail", "decision", "STATUS.json")

# profile -> (numerator, denominator) of every lifetime. Under AUTO a clear weighs what it takes; under the others it goes by lifetimes.
AUTO, SPEC = "auto", "spec"
PROFILES = {AUTO: (1, 1), SPEC: (1, 1), "aggressive": (1, 2), "conservative": (2, 1)}
# What a configuration may call the profile that is shipped, and a user what is configured.
DEFAULT = "default"

# Quiet age, in calls, that an expired result must have before a clear takes it unasked. No profile scales it: what was just edited is
# needed again whatever the lifetimes are.
GRACE_CALLS = {kind.name: kind.grace for kind in kinds.ALL if kind.grace is not None}
RESTORE_HOLD_CALLS = 20
# What of the compaction partner is switched on.
COMPACTION = {"advise": True, "index": True}
# How far a result says what the context shows already, and what of it is left out unsaid.
SAY_ONCE, SHAPES = ("off", "reads", "any"), ("off", "safe", "strong")
DEFAULT_SAY_ONCE, DEFAULT_SHAPE = "any", "safe"
# Whether sessions learn how to ask.
HINTS, DEFAULT_HINTS = ("off", "on"), "off"
# Whether compactions are answered without a model, and down to which share of the conversation where a target is needed.
COMPACT, WHEN_COLD = ("off", "on"), ("off", "ask", "on")
# At a fifth of the conversation a compaction costs what the host's own does, and keeps half as much again of what is needed
# (docs/measured.md).
DEFAULT_COMPACT, DEFAULT_WHEN_COLD, COMPACT_TARGET = "on", "ask", 0.2
# Look-ups in 100 requests that compacting by itself may cost.
AUTO_MISSES = 8
# Nobody needs more room than a conversation of so few tokens leaves.
COMPACT_LEAST_TOKENS = 10_000
# Days for which what is stored beside the archive is kept (state/sweeping.py).
KEEP_DAYS = {"originals": 14, "sessions": 90}
# Where memory across sessions is kept ("": SQLite in our folder), tokens of its MEMORY.md, what shortens texts ("": we), and the bounds of
# its tiers, by the specification's names.
MEMORY_TOKENS = 500
MEMORY_TIERS: dict[str, dict[str, Any]] = {
    "hot": {
        "max_age_hours": 24, "max_messages": 10, "min_composite_score": 0.7,
        "retention_criteria": {"composite_score_minimum": 0.6, "reinforced_within_days": 3},
    },
    "warm": {
        "max_age_days": 7, "min_composite_score": 0.3,
        "promotion_criteria": {
            "accessed_within_hours": 4, "access_count_in_hot_window": 3, "composite_score_rises_above": 0.75,
            "reinforcement_count_minimum": 2,
        },
        "entry_criteria": {"composite_score_minimum": 0.5, "retention_probability_minimum": 0.5},
    },
    "cold": {
        "max_age_days": 30, "promotion_criteria": {"accessed_after_demotion": True}, "deletion_allowed": True,
        "delete_if": {"age_days": 30, "composite_score_below": 0.1, "access_count": 0, "retention_probability_below": 0.05},
    },
    "archive": {"entry_criteria": {"composite_score_minimum": 0.8, "access_count_minimum": 5}},
}  # fmt: skip
MEMORY = {"store": "", "tokens": MEMORY_TOKENS, "summariser": "", "tiers": MEMORY_TIERS}
# Whether an agent's tools (`popkit mcp`) may be asked about other projects than the one they run in.
MCP = {"all_projects": False}
# Where snapshots and usage of assembled contexts go ("": SQLite in our folder), who usage is booked to ("": the login name), what a session
# and a month may use (None: no limit), whether a request beyond that goes ("warn") or not ("refuse"), days for which snapshots are kept,
# where traces go ("": nowhere).
CONTEXT = {
    "database": "", "user": "", "session_tokens": None, "month_tokens": None, "session_usd": None, "month_usd": None, "on_exceeded": "warn",
    "snapshot_days": 30, "traces": "",
}  # fmt: skip

# These words of `preserved_patterns` are about what a result is; every other pattern is a glob on its path or command.
ERROR_WORDS = ("error", "fail")
DECISION_WORD = "decision"


class TierRule:
    """The endings of a tier's results: `ttl_calls` tool calls, `ttl_s` seconds (None: never by age), and `events`."""

    __slots__ = ("events", "ttl_calls", "ttl_s")

    def __init__(self, ttl_calls: int | None, ttl_s: int | None, events: frozenset[str]) -> None:
        self.ttl_calls = ttl_calls
        self.ttl_s = ttl_s
        self.events = events

    @property
    def ends_by_age(self) -> bool:
        return self.ttl_calls is not None or self.ttl_s is not None


class Ruleset:
    """The rules of one context. `pins` are the path patterns of the configuration; a context has its own besides.

    `tools` are those of the host, `tool_tiers` their tiers below the configuration.
    `grace_calls` has the keys of GRACE_CALLS; `restore_hold_calls` is how many calls a restored result is held.
    """

    @classmethod
    def from_config(cls, config: dict[str, Any], tools: Tools, profile: str | None = None) -> Ruleset:
        """Compile an effective `retention` object for a host's tools; `profile` is the session's choice and beats the configured one."""
        return cls(config, tools, profile)

    def __init__(self, config: dict[str, Any], tools: Tools, profile: str | None) -> None:
        self._config = config
        self._models: Models | None = None
        self.tools = tools
        self.enabled = config.get("enabled") is not False
        self.profile = _known_profile(profile) or _known_profile(config.get("profile")) or AUTO
        self.window_tokens: int | None = config.get("window_tokens")
        self.thresholds = {**THRESHOLDS, **_object(config.get("thresholds"))}
        self.pins = _strings(config.get("pins"), ())
        patterns = _strings(config.get("preserved_patterns"), PRESERVED_PATTERNS)
        self.preserve_errors = any(word in patterns for word in ERROR_WORDS)
        self.preserve_decisions = DECISION_WORD in patterns
        self._preserved_globs = [p for p in patterns if p not in ERROR_WORDS and p != DECISION_WORD]
        self._tiers_configured = _object(config.get("tiers"))
        self.use_tables(TIER_CONFIG, tools.tiers)
        self._overrides = _object(config.get("tool_overrides"))
        self._glob_tools = tuple(name for name in self._overrides if is_wild(name))
        grace = _object(config.get("grace_calls"))
        self.grace_calls = {kind: _calls(grace.get(kind), calls) for kind, calls in GRACE_CALLS.items()}
        self.restore_hold_calls = _calls(config.get("restore_hold_calls"), RESTORE_HOLD_CALLS)
        compaction = _object(config.get("compaction"))
        self.compaction_advise = compaction.get("advise") is not False
        self.compaction_index = compaction.get("index") is not False
        say_once, shape = config.get("say_once"), config.get("shape")
        self.say_once = say_once if say_once in SAY_ONCE else DEFAULT_SAY_ONCE
        self.shape = shape if shape in SHAPES else DEFAULT_SHAPE

    def use_tables(self, tier_config: Table, tool_tiers: Table) -> None:
        """Use other tables than the built-in ones below what is configured; lifetimes are read at once, tools when they are asked for."""
        self._tiers = _tier_rules(tier_config, self._tiers_configured, self.profile)
        self.tool_tiers = tool_tiers

    @property
    def models(self) -> Models:
        """Return the table of models (economics.py), which few callers need."""
        if self._models is None:
            from .models import models_of

            self._models = models_of(self._config)
        return self._models

    @property
    def weighs(self) -> bool:
        """Return whether a clear takes what costs more to keep than to clear, whatever its lifetime says."""
        return self.profile == AUTO

    def tier_rule(self, tier: str) -> TierRule:
        """Return the rule of a tier; a name that is no tier gets the rule of `preserved`, so that nothing unknown expires."""
        return self._tiers.get(tier) or self._tiers["preserved"]

    def tier_of_tool(self, tool: str) -> str:
        """Return the tier of a tool by its name alone: `session` for tools that no table names."""
        entry = self.tool_tiers.get(tool, DEFAULT_TIER)
        if isinstance(entry, dict):
            entry = entry.get("default")
        return entry if entry in TIERS else DEFAULT_TIER

    def tier_of_operation(self, operation: str) -> str:
        """Return the tier of what does the same as the host's tool for an operation."""
        return self.tier_of_tool(self.tools.first(operation))

    def tier_of_command(self, kind: str, name: str) -> str:
        """Return the tier of a command in a shell's line: of the first pattern that its name begins with, else by what it does."""
        entry = self.tool_tiers.get(self.tools.first(SHELL))
        patterns = entry.get("patterns") if isinstance(entry, dict) else None
        for pattern, tier in patterns.items() if isinstance(patterns, dict) else ():
            if _starts_with_words(name, pattern) and tier in TIERS:
                return tier
        return self.tier_of_operation(kinds.of(kind).operation)

    def override(self, tool: str, subjects: list[str]) -> tuple[str, str] | None:
        """Return the configured (tier, reason) of a call, None if the configuration does not speak of it.

        `subjects` are paths or, for a shell, command lines (words joined by one blank each): the whole one and the simple
        commands in it. The tool's exact name beats a name with wildcards; the first pattern that matches any subject
        beats the tool's plain tier.
        """
        entry, name = self._override_of(tool)
        if isinstance(entry, str):
            return (entry, f"configured for {name}") if entry in TIERS else None
        if not isinstance(entry, dict):
            return None
        matches = _command_matches if self.tools.of(tool).operation == SHELL else _matches
        for pattern, tier in _object(entry.get("patterns")).items():
            if tier in TIERS and any(matches(pattern, subject) for subject in subjects):
                return tier, f"configured for {name} {pattern}"
        tier = entry.get("tier") or entry.get("default")
        return (tier, f"configured for {name}") if tier in TIERS else None

    def _override_of(self, tool: str) -> tuple[object, str]:
        if tool in self._overrides:
            return self._overrides[tool], tool
        for name in self._glob_tools:
            if _matches_command(name, tool):
                return self._overrides[name], name
        return None, tool

    def preserving_glob(self, subjects: list[str]) -> str | None:
        """Return the first preserved pattern that matches a path or command line among `subjects`."""
        return _first_match(self._preserved_globs, subjects)

    def pinned_by(self, subjects: list[str], patterns: Iterable[str] = ()) -> str | None:
        """Return the first of the context's pin `patterns`, then of the configured pins, that matches any of `subjects`."""
        return _first_match(patterns, subjects) or _first_match(self.pins, subjects)


def _first_match(patterns: Iterable[str], subjects: list[str]) -> str | None:
    for pattern in patterns:
        if any(_matches(pattern, subject) for subject in subjects):
            return pattern
    return None


def _matches(pattern: str, subject: str) -> bool:
    if needle_of(pattern) not in subject:
        return False
    from . import globs

    return globs.matches(pattern, subject)


def _command_matches(pattern: str, command: str) -> bool:
    """Return whether the command starts with the words of the pattern, or the pattern is a glob that matches all of it."""
    return _starts_with_words(command, pattern) or (is_wild(pattern) and _matches_command(pattern, command))


def _matches_command(pattern: str, command: str) -> bool:
    if needle_of(pattern) not in command:
        return False
    from . import globs

    return globs.matches_command(pattern, command)


def _starts_with_words(command: str, words: str) -> bool:
    return command.startswith(words) and command[len(words) : len(words) + 1] in ("", " ")


def outlives(tier: str, other: str) -> bool:
    """Return whether a tier comes after another in order of lifetime."""
    return TIERS.index(tier) > TIERS.index(other)


def _tier_rules(table: Table, configured: dict[str, Any], profile: str) -> dict[str, TierRule]:
    rules, scale = {}, PROFILES[profile]
    for tier in TIERS:
        entry = {**_object(table.get(tier)), **_object(configured.get(tier))}
        events = frozenset([EVENT_ALIASES.get(event, event) for event in _strings(entry.get("expiry_events"), ())])
        rules[tier] = TierRule(_scaled(entry.get("ttl_tools"), scale), _scaled(entry.get("ttl_seconds"), scale), events & _EVENTS)
    # Whatever a configuration says, no age ends what is preserved, and no event but these; the specification knows `manual` alone.
    ends = rules["preserved"].events.intersection(PRESERVED_EVENTS) if profile != SPEC else ()
    rules["preserved"] = TierRule(None, None, frozenset(["manual", *ends]))
    return rules


_EVENTS = frozenset(EVENTS + PRESERVED_EVENTS)


def _scaled(lifetime: object, scale: tuple[int, int]) -> int | None:
    """Return a lifetime scaled, at least 1, so that no profile ends a result before it was seen; None for anything but a positive
    number."""
    if type(lifetime) is not int or lifetime < 1:
        return None
    return max(1, lifetime * scale[0] // scale[1])


def _calls(value: object, otherwise: int) -> int:
    return value if type(value) is int and value >= 0 else otherwise


def _known_profile(name: object) -> str | None:
    return name if isinstance(name, str) and name in PROFILES else None


def _strings(value: object, otherwise: tuple[str, ...]) -> tuple[str, ...]:
    return tuple([item for item in value if isinstance(item, str)]) if isinstance(value, (list, tuple)) else otherwise


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
