"""The one table of configuration keys: what each may hold, what it means, what holds where no file says anything, what a project may do.

Plain data. `usable` reads documents by it, `schema` makes the JSON Schema of it, the pydantic model of the services and the table of
docs/configuration.md are held to it.

A field is a dict: `kind`, what that kind needs (`low` and `high`, `words`, `of`, `fields`, …), `about` in words for people, `null` where
null may stand (what it means, in words), and at the top level `default` and `project`.
"""

from __future__ import annotations

from ..io.storage import LOGS, Storage
from ..policy import kinds
from ..policy.ruleset import (
    AUTO,
    COMPACT,
    COMPACT_TARGET,
    COMPACTION,
    CONTEXT,
    DEFAULT,
    DEFAULT_COMPACT,
    DEFAULT_HINTS,
    DEFAULT_SAY_ONCE,
    DEFAULT_SHAPE,
    DEFAULT_WHEN_COLD,
    GRACE_CALLS,
    HINTS,
    KEEP_DAYS,
    KEEP_WARM_REQUESTS,
    KEEP_WARM_USD,
    MCP,
    MEMORY,
    MOST_WARM_REQUESTS,
    PRESERVED_PATTERNS,
    PROFILES,
    RESTORE_HOLD_CALLS,
    SAY_ONCE,
    SHAPES,
    THRESHOLDS,
    TRY,
    WHEN_COLD,
)
from ..policy.tiers import EVENT_ALIASES, EVENTS, PRESERVED_EVENTS, TIER_CONFIG, TIERS

STORAGE = (
    Storage("your configuration", {"": r"retention-config\.json"}, keep=("Your configuration stays.",), stays=True),
    Storage(LOGS, {"cache": r"config-[^/]*"}),  # what `remembered` keeps
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Field = dict[str, Any]  # see above

MOST_CALLS = 1_000_000
MOST_SECONDS = 31_536_000  # a year
FEWEST_WINDOW_TOKENS, MOST_WINDOW_TOKENS = 1_000, 100_000_000
MOST_DOLLARS = 10_000
# A pattern costs every hook a comparison, so a file cannot bring thousands.
MOST_ENTRIES = 200
LONGEST_PATTERN = 256
LONGEST_TEXT = 2_000

# What a project's file may do with a key. It comes with a repository that may be anybody's, so it never loosens what protects the user:
# it tunes (SET), switches off (OFF), adds to a list (ADD), makes a hold longer (LONGER); for all else (NOTHING) it has no say.
SET, OFF, ADD, LONGER, NOTHING = "set", "switch off", "add", "make longer", "nothing"

RISING = "rising shares: notice < warning < critical < emergency"
NO_LIMIT = "no limit"
NEVER_BY_AGE = "only null; preserved results never expire by age"


def whole(low: int, high: int, about: str = "") -> Field:
    return {"kind": "whole", "low": low, "high": high, "about": about}


def number(low: float, high: float, meaning: str, about: str = "") -> Field:
    return {"kind": "number", "low": low, "high": high, "meaning": meaning, "about": about}


def address(schemes: tuple[str, ...], form: str, credentials: str) -> Field:
    """A URL of one of the schemes, or "". It names no user and no password: `credentials` says where these come from."""
    return {"kind": "address", "schemes": schemes, "form": form, "credentials": credentials, "longest": LONGEST_TEXT}


def listed(of: Field, what: str) -> Field:
    return {"kind": "list", "of": of, "what": what}


def keyed(of: Field, what: str) -> Field:
    return {"kind": "map", "key": PATTERN, "of": of, "what": what}


def record(name: str, about: str, fields: dict[str, Field], rule: str = "") -> Field:
    return {"kind": "record", "name": name, "about": about, "fields": fields, "rule": rule}


def said(about: str, kind: Field, **more: object) -> Field:
    """The same kind, with what it means here."""
    return {**kind, "about": about, **more}


FLAG = {"kind": "flag", "about": ""}
PATTERN = {"kind": "text", "shortest": 1, "longest": LONGEST_PATTERN}
PROSE = {"kind": "text", "shortest": 0, "longest": LONGEST_TEXT}
TIER_NAME = {"kind": "word", "words": TIERS}
EVENT = {"kind": "word", "words": EVENTS + tuple(EVENT_ALIASES)}
CALLS, HOLD, SECONDS = whole(1, MOST_CALLS), whole(0, MOST_CALLS), whole(1, MOST_SECONDS)
SHARE = number(0.01, 1, "a share of the context window")
WINDOW = whole(FEWEST_WINDOW_TOKENS, MOST_WINDOW_TOKENS)
READ_PRICE = number(0, 1, "a share of the input price")
WRITE_PRICE = number(1, 10, "a multiple of the input price")
DOLLARS = number(0, MOST_DOLLARS, "dollars per million tokens")

_DESCRIPTION = said("What the tier is for; shown to people, read by nothing.", PROSE)
TIER = record(
    "Tier",
    "How results of one tier end. A field that is left out keeps the value of the layer below.",
    {
        "ttl_tools": said(
            "Tool calls of the same context after which a result expires; null: their number ends nothing.", CALLS, null=NO_LIMIT
        ),
        "ttl_seconds": said("Seconds after which a result expires; null: time ends nothing.", SECONDS, null=NO_LIMIT),
        "expiry_events": said(
            "Events that expire a result: edit (also spelt edit_file), commit, supersede, session_end, manual.", listed(EVENT, "events")
        ),
        "description": _DESCRIPTION,
    },
)
PRESERVED_TIER = record(
    "PreservedTier",
    "The preserved tier never expires by age. An error ends when what failed succeeds later, a task list with the next one.",
    {
        "ttl_tools": {"kind": "null", "allowed": NEVER_BY_AGE, "about": "Only null."},
        "ttl_seconds": {"kind": "null", "allowed": NEVER_BY_AGE, "about": "Only null."},
        "expiry_events": said(
            "manual: a person clears it; success: an error also ends when the same call succeeds later (never under the profile spec).",
            listed({"kind": "word", "words": PRESERVED_EVENTS}, "events"),
        ),
        "description": _DESCRIPTION,
    },
)
OVERRIDE = record(
    "ToolOverride",
    "The tier of one tool's results.",
    {
        "tier": said("The tier of calls that no pattern matches.", TIER_NAME),
        "default": said("Another spelling of tier; only one of the two may stand.", TIER_NAME),
        "patterns": said(
            "Globs on the path, for Bash the first words of the command or a glob on all of it, each with a tier. The first that matches "
            "wins; null removes a pattern of a layer below.",
            keyed({**TIER_NAME, "null": "no such pattern"}, "patterns and tiers"),
        ),
    },
    "one_tier",
)
MOST_KEPT_S = 604_800
MODEL = record(
    "Model",
    "What is known of one model; what is left out is taken as the most cautious case.",
    {
        "read": said("Price of a token read from the cache.", READ_PRICE),
        "write_5m": said("Price of a token written to the cache for five minutes.", WRITE_PRICE),
        "write_1h": said("The same for an hour.", WRITE_PRICE),
        "input": said("Dollars per million tokens of the prompt.", DOLLARS),
        "output": said("Dollars per million tokens of the answer.", DOLLARS),
        "long_prompt": whole(1, MOST_WINDOW_TOKENS, "Tokens of a prompt above which the next two prices hold."),
        "long_input": said("Dollars per million tokens of such a prompt.", DOLLARS),
        "long_output": said("Dollars per million tokens of the answer to such a prompt.", DOLLARS),
        "window": said("The context window in tokens.", WINDOW),
        "window_before": said("The window that the model had before the day of window_since.", WINDOW),
        "window_since": {"kind": "text", "shortest": 0, "longest": 10, "about": "The day from which window holds, as in 2026-03-13."},
        "thinking_bound": said("Whether changing earlier messages loses the thinking that follows.", FLAG),
        "kept_s": whole(0, MOST_KEPT_S, "Seconds for which the provider keeps an unused cache by itself."),
    },
)
_TIERS_ABOUT = {
    "ephemeral": "Acknowledgments: edits, mkdir.",
    "short": "Searches.",
    "medium": "File contents.",
    "session": "Tests, builds, and whatever is not known better.",
    "preserved": "Errors, decisions, preserved patterns.",
}
_THRESHOLDS_ABOUT = {
    "notice": "The first notice.",
    "warning": "A warning with what could be cleared.",
    "critical": "The critical level.",
    "emergency": "The last level before the window is full.",
}
_GRACE_ABOUT = {
    kinds.READ: "File contents: what was just edited is often needed again.",
    kinds.SEARCH: "Searches.",
    kinds.RUN: "Tests, builds and other runs.",
    kinds.ACK: "Acknowledgments: edits, mkdir.",
    kinds.OTHER: "Everything else.",
}
_COMPACTION_ABOUT = {
    "advise": "Whether the summariser is told what is dead and what must survive.",
    "index": "Whether an index of what can be restored is given back afterwards.",
}

_KEEP_ABOUT = {
    "originals": (0, "Days for which a transcript is kept as it was before its last change, while the transcript is there."),
    "sessions": (1, "Days without a change after which what is stored of a session goes; its contents stay in the archive."),
}
MOST_MEMORY_TOKENS = 2_000
_MEMORY = {
    "store": said('Where memory is kept: "" for SQLite in our own folder, neo4j://… for a server.', PROSE),
    "tokens": whole(1, MOST_MEMORY_TOKENS, "Tokens that MEMORY.md may have: every prompt of a session carries them."),
    "summariser": said('A command line that shortens a text on its input; "" for none: then sentences are chosen.', PROSE),
    "try": said("Whether a coin says which sessions are given MEMORY.md, to find out what that does: popkit try-out.", FLAG),
}

MOST_TOKENS = 10**12
_TOKENS, _DOLLARS = whole(1, MOST_TOKENS), number(0.01, 10**6, "dollars")
_CONTEXT = {
    "database": said(
        'Where snapshots and usage are kept: "" for SQLite in our own folder, postgresql://host[:port]/name for a server.',
        address(("postgresql",), "postgresql://host[:port]/name", "PGUSER and PGPASSWORD"),
    ),
    "user": said('Who usage is booked to; "" for your login name.', {"kind": "text", "shortest": 0, "longest": LONGEST_PATTERN}),
    "session_tokens": said("Tokens that the requests of one session may have.", _TOKENS, null=NO_LIMIT),
    "month_tokens": said("Tokens that all your requests of a calendar month may have.", _TOKENS, null=NO_LIMIT),
    "session_usd": said("Dollars that one session may cost.", _DOLLARS, null=NO_LIMIT),
    "month_usd": said("Dollars that all your requests of a calendar month may cost.", _DOLLARS, null=NO_LIMIT),
    "on_exceeded": said(
        "What an agent or a proxy does with a request once a limit is used up. warn: send it and say so; refuse: send nothing.",
        {"kind": "word", "words": ("warn", "refuse")},
    ),
    "snapshot_days": said("Days for which snapshots of assembled contexts are kept.", whole(1, 36_500)),
    "traces": said(
        'Where traces go, a receiver of OTLP over HTTP (http://127.0.0.1:4318); "" for nowhere.',
        address(("http", "https"), "http://host[:port][/path]", "OTEL_EXPORTER_OTLP_HEADERS"),
    ),
}

_MCP = {"all_projects": said("Whether tools of an agent may be asked about all projects, not only the one they run in.", FLAG)}

FIELDS = {
    "enabled": said("Whether results are tracked at all. A project file can only switch this off.", FLAG, default=True, project=OFF),
    "profile": said(
        "auto (also called default): a clear takes what is worth more gone than kept. spec: what has expired and is past its grace; "
        "aggressive: the same with lifetimes halved (at least 1), conservative: doubled.",
        {"kind": "word", "words": (*PROFILES, DEFAULT)},
        default=AUTO,
        project=SET,
    ),
    "tiers": {
        **record(
            "Tiers",
            "Lifetimes and events of each tier, from the shortest life to the longest.",
            {tier: said(about, PRESERVED_TIER if tier == "preserved" else TIER) for tier, about in _TIERS_ABOUT.items()},
        ),
        "default": TIER_CONFIG,
        "project": SET,
    },
    "tool_overrides": {
        **keyed(
            {"kind": "either", "of": (TIER_NAME, OVERRIDE), "null": "no override", "allowed": "a tier, an object with tier and patterns"},
            "tools and their tiers",
        ),
        "about": "Tiers by tool name, which may hold wildcards (mcp__github__*): a tier, an object, or null for no override.",
        "default": {},
        "project": SET,
    },
    "preserved_patterns": said(
        "error and fail preserve failed calls, decision preserves answers of the user; every other entry is a glob on paths and command "
        "lines whose results are preserved. A project file can only add to it.",
        listed(PATTERN, "patterns"),
        default=list(PRESERVED_PATTERNS),
        project=ADD,
    ),
    "thresholds": {
        **record(
            "Thresholds",
            "Shares of the context window at which PopKit speaks up; each lies above the one before.",
            {name: said(about, SHARE) for name, about in _THRESHOLDS_ABOUT.items()},
            "rising",
        ),
        "default": THRESHOLDS,
        "project": NOTHING,
    },
    "window_tokens": said(
        "The context window in tokens; null: the window of the model in use.",
        WINDOW,
        null="the window of the model",
        default=None,
        project=NOTHING,
    ),
    "pins": said(
        "Globs on paths whose results never expire. A project file can only add to it.",
        listed(PATTERN, "path patterns"),
        default=[],
        project=ADD,
    ),
    "grace_calls": {
        **record(
            "GraceCalls",
            "Calls for which an expired result must have been left alone before a clear takes it unasked, by kind; auto weighs instead.",
            {kind: said(_GRACE_ABOUT[kind], HOLD) for kind in GRACE_CALLS},
        ),
        "default": GRACE_CALLS,
        "project": LONGER,
    },
    "restore_hold_calls": said(
        "Calls for which a restored result is held as if it were pinned.", HOLD, default=RESTORE_HOLD_CALLS, project=LONGER
    ),
    "compaction": {
        **record(
            "Compaction",
            "What PopKit adds when the conversation is compacted. A project file can only switch it off.",
            {name: said(about, FLAG) for name, about in _COMPACTION_ABOUT.items()},
        ),
        "default": COMPACTION,
        "project": OFF,
    },
    "compact": said(
        "Whether PopKit answers compactions without a model, in Claude Code 2.1.287 and later: off (they are Claude Code's own), on, try "
        "(a coin decides for each session: popkit try-out). A project file can only switch it off.",
        {"kind": "word", "words": (*COMPACT, TRY)},
        default=DEFAULT_COMPACT,
        project=OFF,
    ),
    "compact_manual": said("Whether it answers /compact where no words stand behind it.", FLAG, default=True, project=OFF),
    "compact_auto": said("Whether it answers where the context is nearly full.", FLAG, default=True, project=OFF),
    "compact_agents": said("Whether it answers for subagents too.", FLAG, default=True, project=OFF),
    "compact_when_cold": said(
        "Whether it compacts by itself between turns where the prompt cache has gone cold and that pays: off, ask (once, in the pane), on. "
        "Only your own file may hold this key, no project's.",
        {"kind": "word", "words": WHEN_COLD},
        default=DEFAULT_WHEN_COLD,
        project=NOTHING,
    ),
    "compact_target": said(
        "The share of the conversation that is left where a compaction has to make room. What is dead leaves in any case.",
        number(0.05, 1, "a share of the conversation, system and tools apart"),
        default=COMPACT_TARGET,
        project=NOTHING,
    ),
    "say_once": said(
        "What a result leaves out as it enters, because the context shows it already: off (nothing), reads (what was read of the same "
        "file), any (whatever a result, Write or Edit shows), try (a coin decides for each session between any and off: popkit try-out). A "
        "project file can only switch it off.",
        {"kind": "word", "words": (*SAY_ONCE, TRY)},
        default=DEFAULT_SAY_ONCE,
        project=OFF,
    ),
    "shape": said(
        "What a result leaves out as it enters, because it says nothing or little: off (nothing), safe (escape codes, overwritten "
        "progress, repeated log lines), strong (also what a long output says beside its failures, its verdict, its best matches and its "
        "ends), try (a coin decides for each session between safe and off: popkit try-out). A project file can only switch it off.",
        {"kind": "word", "words": (*SHAPES, TRY)},
        default=DEFAULT_SHAPE,
        project=OFF,
    ),
    "hints": said(
        "Whether a session is asked, in one sentence at its start, to send look-ups together that do not depend on one another, and no "
        "request for the todo list alone: off, on, try (a coin decides for each session: popkit try-out). A project file can only switch "
        "it off.",
        {"kind": "word", "words": (*HINTS, TRY)},
        default=DEFAULT_HINTS,
        project=OFF,
    ),
    "clear_at_exit": said(
        "Whether the end of a session clears what is expired. Only your own file may hold this key, no project's.",
        FLAG,
        default=False,
        project=NOTHING,
    ),
    "keep_warm": said(
        "Whether the prompt cache is kept warm while you are away, where that is worth its price: off, on. Only your own file may hold "
        "this key, no project's.",
        {"kind": "word", "words": ("off", "on")},
        default="off",
        project=NOTHING,
    ),
    "keep_warm_requests": said(
        "Requests in a row that may keep the cache warm, at most. Only your own file may hold this key, no project's.",
        whole(1, MOST_WARM_REQUESTS),
        default=KEEP_WARM_REQUESTS,
        project=NOTHING,
    ),
    "keep_warm_usd": said(
        "Dollars, at the prices of the API, for which a session may keep the cache warm, at most. Only your own file may hold this key, "
        "no project's.",
        number(0, MOST_DOLLARS, "dollars"),
        default=KEEP_WARM_USD,
        project=NOTHING,
    ),
    "keep_days": {
        **record(
            "KeepDays",
            "How long PopKit keeps what it stores beside the archive. Only your own file may hold this key, no project's.",
            {name: said(about, whole(low, 36_500)) for name, (low, about) in _KEEP_ABOUT.items()},
        ),
        "default": KEEP_DAYS,
        "project": NOTHING,
    },
    "memory": {
        **record("Memory", "Memory across sessions. Only your own file may hold this key, no project's.", _MEMORY),
        "default": MEMORY,
        "project": NOTHING,
    },
    "mcp": {
        **record("Mcp", "The tools of `popkit mcp`. Only your own file may hold this key, no project's.", _MCP),
        "default": MCP,
        "project": NOTHING,
    },
    "context": {
        **record(
            "Context", "Budgets, snapshots and traces of assembled contexts. Only your own file may hold this key, no project's.", _CONTEXT
        ),
        "default": CONTEXT,
        "project": NOTHING,
    },
    "models": {
        **record(
            "Models",
            "Prices and windows of the models. Only your own file may hold this key, no project's.",
            {
                "dated": {"kind": "text", "shortest": 0, "longest": 10, "about": "The month that the figures are of."},
                "by_id": said(
                    "Ids of models, from claude- or gpt- on, with what holds for them; null removes one.",
                    keyed({**MODEL, "null": "no such model"}, "model ids and what holds for them"),
                ),
            },
        ),
        "default": {},
        "project": NOTHING,
    },
}
# What a file may say about itself; it is no setting.
NOTES = {
    "$schema": said("Where an editor finds this schema; no setting.", PROSE),
    "$comment": said("A note for readers; no setting.", PROSE),
}
RETENTION = record(
    "Retention", "The settings of tiered retention. Everything may be left out: the layer below then counts.", {**FIELDS, **NOTES}
)
DOCUMENT = record(
    "RetentionDocument",
    "A configuration file: the settings in a retention object.",
    {"retention": said("The settings.", RETENTION), **NOTES},
)
# `gateway` is reserved: it would send requests elsewhere.
USER_ONLY = (*(key for key, field in FIELDS.items() if field["project"] == NOTHING), "gateway")
