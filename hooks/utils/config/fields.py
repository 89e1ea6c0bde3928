"""The table of configuration keys: for each its type, its meaning, its default, the project's rights.

Plain data. `validation` reads documents by it; `scripts/docs` makes the shipped `retention-config.json`, the JSON Schema and the tables of
docs/configuration.md of it.

At the top level a field (`field_kinds`) also has `default`, `project`, and where they are of use `shipped` (what the shipped file has in
place of the default) and `see` (whether the document says more below its table).
"""

from __future__ import annotations

from ..io.storage import LOGS, Storage
from ..policy import kinds, ruleset
from ..policy.ruleset import EVENT_ALIASES, EVENTS, PRESERVED_EVENTS, TIER_CONFIG, TIERS
from .field_kinds import FLAG, LONGEST_PATTERN, MOST_CALLS, PATTERN, PROSE, address, described, keyed, listed, number, record, whole, word
from .memory_fields import MEMORY_TIERS

STORAGE = (
    Storage("your configuration", {"": r"retention-config\.json"}, keep=("Your configuration stays.",), stays=True),
    Storage(LOGS, {"cache": r"(config|told)-[^/]*"}),  # see `effective` and `is_news`
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .field_kinds import Field

MOST_SECONDS = 31_536_000  # a year
FEWEST_WINDOW_TOKENS, MOST_WINDOW_TOKENS = 1_000, 100_000_000
MOST_DOLLARS = 10_000
# A pattern costs every hook a comparison, so a file cannot bring thousands.
MOST_ENTRIES = 200

# What a project's file may do with a key. It comes with a repository that may be anybody's, so it never loosens what protects the user:
# it tunes (SET), switches off (OFF), adds to a list (ADD), makes a hold longer (LONGER); for all else (NOTHING) it has no say.
SET, OFF, ADD, LONGER, NOTHING = "set", "switch off", "add", "make longer", "nothing"
# The same as a sentence on the key; SET needs none.
PROJECT_WORDS = {
    SET: "",
    OFF: "A project's file can only switch it off.",
    ADD: "A project's file can only add to it.",
    LONGER: "A project's file can only make it longer.",
    NOTHING: "Only your own file may hold it, not a project's.",
}

RISING = "rising shares: notice < warning < critical < emergency"
NO_LIMIT = "no limit"
NEVER_BY_AGE = "only null; preserved results never expire by age"


def setting(about: str, kind: Field, default: object, project: str, **more: object) -> Field:
    """Return a key of the configuration: its meaning, its kind, its default, the project's rights."""
    return {**kind, "about": about, "default": default, "project": project, **more}


TIER_NAME = word(*TIERS)
EVENT = word(*EVENTS, *EVENT_ALIASES)
CALLS, HOLD, SECONDS = whole(1, MOST_CALLS), whole(0, MOST_CALLS), whole(1, MOST_SECONDS)
SHARE = number(0.01, 1, "a share of the context window")
WINDOW = whole(FEWEST_WINDOW_TOKENS, MOST_WINDOW_TOKENS)
READ_PRICE = number(0, 1, "a share of the input price")
WRITE_PRICE = number(1, 10, "a multiple of the input price")
DOLLARS = number(0, MOST_DOLLARS, "dollars per million tokens")

_DESCRIPTION = described("What the tier is for; shown to people only.", PROSE)
TIER = described(
    "How results of one tier end. A field that is left out keeps the value of the layer below.",
    record(
        "Tier",
        {
            "ttl_tools": described(
                "Tool calls of the same context after which a result expires; null: their number ends nothing.", CALLS, null=NO_LIMIT
            ),
            "ttl_seconds": described("Seconds after which a result expires; null: time ends nothing.", SECONDS, null=NO_LIMIT),
            "expiry_events": described(
                "Events that expire a result: edit (also spelt edit_file), commit, supersede, session_end, manual.", listed(EVENT, "events")
            ),
            "description": _DESCRIPTION,
        },
    ),
)
PRESERVED_TIER = described(
    "The preserved tier never expires by age. An error ends when what failed succeeds later, a task list with the next one.",
    record(
        "PreservedTier",
        {
            "ttl_tools": {"kind": "null", "allowed": NEVER_BY_AGE, "about": "Only null."},
            "ttl_seconds": {"kind": "null", "allowed": NEVER_BY_AGE, "about": "Only null."},
            "expiry_events": described(
                "manual: a person clears it; success: an error also ends when the same call succeeds later (never under the profile spec).",
                listed(word(*PRESERVED_EVENTS), "events"),
            ),
            "description": _DESCRIPTION,
        },
    ),
)
OVERRIDE = described(
    "The tier of one tool's results.",
    record(
        "ToolOverride",
        {
            "tier": described("The tier of calls that no pattern matches.", TIER_NAME),
            "default": described("Another spelling of tier; give only one of the two.", TIER_NAME),
            "patterns": described(
                "Globs on the path, for Bash the first words of the command or a glob on all of it, each with a tier. The first that "
                "matches wins; null removes a pattern of a layer below.",
                keyed({**TIER_NAME, "null": "no such pattern"}, "patterns and tiers"),
            ),
        },
        "one_tier",
    ),
)
MOST_KEPT_S = 604_800
MODEL = described(
    "Facts about one model; one that is left out counts as the most cautious case.",
    record(
        "Model",
        {
            "read": described("Price of a token read from the cache.", READ_PRICE),
            "write_5m": described("Price of a token written to the cache for five minutes.", WRITE_PRICE),
            "write_1h": described("The same for an hour.", WRITE_PRICE),
            "input": described("Dollars per million tokens of the prompt.", DOLLARS),
            "output": described("Dollars per million tokens of the answer.", DOLLARS),
            "long_prompt": whole(1, MOST_WINDOW_TOKENS, "Tokens of a prompt above which the next two prices hold."),
            "long_input": described("Dollars per million tokens of such a prompt.", DOLLARS),
            "long_output": described("Dollars per million tokens of the answer to such a prompt.", DOLLARS),
            "window": described("The context window in tokens, in place of what Claude Code and the session say of it.", WINDOW),
            "window_before": described("The window that the model had before the day of window_since.", WINDOW),
            "window_since": {"kind": "text", "shortest": 0, "longest": 10, "about": "The day from which window holds, as in 2026-03-13."},
            "thinking_bound": described("Whether changing earlier messages loses the thinking that follows.", FLAG),
            "kept_s": whole(0, MOST_KEPT_S, "Seconds for which the provider keeps an unused cache by itself."),
            "tokens": number(0.2, 5, "tokens of this model for each of Claude Opus 5", "Its tokens for one that Claude Opus 5 counts."),
        },
    ),
)
_TIERS_ABOUT = {
    "ephemeral": "Acknowledgments: edits, mkdir.",
    "short": "Searches.",
    "medium": "File contents.",
    "session": "Tests, builds, and everything not known more exactly.",
    "preserved": "Errors, decisions, preserved patterns.",
}
_THRESHOLDS_ABOUT = {
    "notice": "The share of the window at which PopKit first speaks up.",
    "warning": "The same, and it says what could be cleared.",
    "critical": "The critical level.",
    "emergency": "The last level before the window is full.",
}
_GRACE_ABOUT = {
    kinds.READ: "Calls for which an expired file content stays: what was just edited is often needed again.",
    kinds.RUN: "The same for tests, builds and other runs.",
    kinds.ACK: "The same for acknowledgements: edits, `mkdir`.",
    kinds.OTHER: "The same for everything else.",
}
_COMPACTION_ABOUT = {
    "advise": "Whether `/compact` tells the summariser what is dead and what must survive.",
    "index": "Whether a short index of what can be restored is added after it.",
}

_KEEP_ABOUT = {
    "originals": (0, "Days for which a transcript is kept as it was before its last change, while the transcript is there."),
    "sessions": (1, "Days without a change after which a session's stored state is deleted; its contents stay in the archive."),
}
MOST_MEMORY_TOKENS = 2_000
_MEMORY = {
    "store": described("Where memory is kept: `\"\"` for PopKit's folder, a file's path, or a server's URL, like `neo4j://…`.", PROSE),
    "tokens": whole(1, MOST_MEMORY_TOKENS, "The most tokens for `MEMORY.md`: every prompt of a session carries them."),
    "summariser": described('A command line that shortens the text on its standard input; `""`: PopKit picks sentences.', PROSE),
    "tiers": described("The bounds of memory's tiers; `popkit config schema` describes each.", MEMORY_TIERS),
}

MOST_TOKENS = 10**12
_TOKENS, _DOLLARS = whole(1, MOST_TOKENS), number(0.01, 10**6, "dollars")
_CONTEXT = {
    "database": described(
        'Where snapshots and usage are kept: `""` for SQLite in PopKit\'s folder only, or additionally `postgresql://host[:port]/name`.',
        address(("postgresql",), "postgresql://host[:port]/name", "PGUSER and PGPASSWORD"),
    ),
    "user": described(
        'The user that usage is booked to; `""`: your login name.', {"kind": "text", "shortest": 0, "longest": LONGEST_PATTERN}
    ),
    "session_tokens": described("The most tokens for the requests of one session.", _TOKENS, null=NO_LIMIT),
    "month_tokens": described("The same for all your requests of a calendar month.", _TOKENS, null=NO_LIMIT),
    "session_usd": described("The most dollars that one session may cost.", _DOLLARS, null=NO_LIMIT),
    "month_usd": described("The same for all your requests of a calendar month.", _DOLLARS, null=NO_LIMIT),
    "on_exceeded": described(
        "What an agent or a proxy does with a request once a limit is used up. `warn`: send it, and say so; `refuse`: send nothing.",
        word("warn", "refuse"),
    ),
    "snapshot_days": described("Days for which snapshots of assembled contexts are kept.", whole(1, 36_500)),
    "traces": described(
        'Where traces of the context builder go: a receiver of OTLP over HTTP such as `http://127.0.0.1:4318`; `""`: nowhere.',
        address(("http", "https"), "http://host[:port][/path]", "OTEL_EXPORTER_OTLP_HEADERS"),
    ),
}

_MCP = {"all_projects": described("Whether an agent's tools (`popkit mcp`) may access all projects, not only the one they run in.", FLAG)}

FIELDS = {
    "enabled": setting("Whether results are tracked at all.", FLAG, True, OFF),
    "profile": setting(
        "What a clear takes out. `auto` (also called `default`): what costs more to keep than to clear. `spec`: what has expired and is "
        "past its grace; `aggressive`: the same with lifetimes halved (at least 1), `conservative`: doubled.",
        word(*ruleset.PROFILES, ruleset.DEFAULT),
        ruleset.AUTO,
        SET,
        see=True,
    ),
    "tiers": setting(
        "Lifetimes and events of each tier, from the shortest life to the longest.",
        record(
            "Tiers",
            {tier: described(about, PRESERVED_TIER if tier == "preserved" else TIER) for tier, about in _TIERS_ABOUT.items()},
        ),
        TIER_CONFIG,
        SET,
    ),
    "tool_overrides": setting(
        "Tiers by tool name, which may hold wildcards (mcp__github__*): a tier, an object, or null for no override.",
        keyed(
            {"kind": "either", "of": (TIER_NAME, OVERRIDE), "null": "no override", "allowed": "a tier, an object with tier and patterns"},
            "tools and their tiers",
        ),
        {},
        SET,
        shipped={"Read": {"patterns": {"*.md": "short", "*.json": "medium", "*.test.*": "session"}}},
        see=True,
    ),
    "preserved_patterns": setting(
        "What is preserved. `error` and `fail`: failed calls; `decision`: answers of the user; every other entry is a pattern of paths and "
        "command lines.",
        listed(PATTERN, "patterns"),
        list(ruleset.PRESERVED_PATTERNS),
        ADD,
        see=True,
    ),
    "thresholds": setting(
        "Shares of the context window at which PopKit speaks up; each lies above the one before.",
        record(
            "Thresholds",
            {name: described(about, SHARE) for name, about in _THRESHOLDS_ABOUT.items()},
            "rising",
        ),
        ruleset.THRESHOLDS,
        NOTHING,
    ),
    "window_tokens": setting(
        "The context window in tokens, in place of what Claude Code and the session say of it.",
        WINDOW,
        None,
        NOTHING,
        null="what they say, else the window of the model",
    ),
    "pins": setting("Patterns of paths whose results never expire.", listed(PATTERN, "path patterns"), [], ADD),
    "grace_calls": setting(
        "Calls for which an expired result must have been left alone before a clear takes it unasked, by kind; auto weighs instead.",
        record(
            "GraceCalls",
            {kind: described(_GRACE_ABOUT.get(kind, f"The same for {kinds.of(kind).many}."), HOLD) for kind in ruleset.GRACE_CALLS},
        ),
        ruleset.GRACE_CALLS,
        LONGER,
        see=True,
    ),
    "restore_hold_calls": setting(
        "Calls for which a restored result is held as if it were pinned.", HOLD, ruleset.RESTORE_HOLD_CALLS, LONGER
    ),
    "compaction": setting(
        "What PopKit adds when the conversation is compacted.",
        record(
            "Compaction",
            {name: described(about, FLAG) for name, about in _COMPACTION_ABOUT.items()},
        ),
        ruleset.COMPACTION,
        OFF,
    ),
    "compact": setting(
        "Whether PopKit answers compactions without a model, in Claude Code 2.1.326 and later: `off` (they are Claude Code's own), `on`.",
        word(*ruleset.COMPACT),
        ruleset.DEFAULT_COMPACT,
        OFF,
        see=True,
    ),
    "compact_manual": setting("Whether it answers a `/compact` that no words follow.", FLAG, True, OFF),
    "compact_auto": setting("Whether it answers where the context is nearly full.", FLAG, True, OFF),
    "compact_agents": setting("Whether it answers for subagents too.", FLAG, True, OFF),
    "compact_when_cold": setting(
        "Whether it compacts by itself between turns, where the prompt cache is cold or the conversation long and that pays: `off`, "
        "`ask` (once, in the pane), `on`.",
        word(*ruleset.WHEN_COLD),
        ruleset.DEFAULT_WHEN_COLD,
        NOTHING,
    ),
    "auto_misses": setting(
        "Compacting by itself is held back near so many look-ups in 100 requests because of PopKit: less leaves, then nothing until more "
        "requests have come. There can be more.",
        number(0, 100, "look-ups in 100 requests"),
        ruleset.AUTO_MISSES,
        NOTHING,
    ),
    "compact_target": setting(
        "The share of the conversation that is left where a compaction has to make room, beside the files that were read last. What is "
        "dead leaves in any case.",
        number(0.05, 1, "a share of the conversation, system and tools apart"),
        ruleset.COMPACT_TARGET,
        NOTHING,
    ),
    "say_once": setting(
        "What is left out of a result because the context already shows it: `off` (nothing), `reads` (what was read of the same file), "
        "`any` (whatever a result, Write or Edit shows).",
        word(*ruleset.SAY_ONCE),
        ruleset.DEFAULT_SAY_ONCE,
        OFF,
        see=True,
    ),
    "shape": setting(
        "What is left out of a result because it says little or nothing: `off` (nothing), `safe` (escape codes, overwritten progress, "
        "repeated log lines), `strong` (also what a long output says beside its failures, its verdict, its best matches and its ends).",
        word(*ruleset.SHAPES),
        ruleset.DEFAULT_SHAPE,
        OFF,
        see=True,
    ),
    "hints": setting(
        "Whether a session starts with one sentence that asks Claude to send independent look-ups in one message, and to update the todo "
        "list only along with other calls: `off`, `on`.",
        word(*ruleset.HINTS),
        ruleset.DEFAULT_HINTS,
        OFF,
        see=True,
    ),
    "keep_days": setting(
        "How long PopKit keeps what it stores beside the archive.",
        record(
            "KeepDays",
            {name: described(about, whole(low, 36_500)) for name, (low, about) in _KEEP_ABOUT.items()},
        ),
        ruleset.KEEP_DAYS,
        NOTHING,
    ),
    "memory": setting("Memory across sessions.", record("Memory", _MEMORY), ruleset.MEMORY, NOTHING),
    "mcp": setting("The tools of `popkit mcp`.", record("Mcp", _MCP), ruleset.MCP, NOTHING),
    "context": setting(
        "Budgets, snapshots and traces of assembled contexts.",
        record("Context", _CONTEXT),
        ruleset.CONTEXT,
        NOTHING,
    ),
    "data_rules": setting(
        'Names of the data rules that apply on this machine, such as `["hipaa"]`: under any, nothing of a session\'s content is written '
        "to disk. `[]`: none applies where Claude Code does not know. Your organisation's file may hold it, too.",
        listed({"kind": "text", "shortest": 1, "longest": 60}, "names of rules"),
        None,
        NOTHING,
        null="those that Claude Code names",
        see=True,
    ),
    "models": setting(
        "Prices and windows of the models.",
        record(
            "Models",
            {
                "dated": {"kind": "text", "shortest": 0, "longest": 10, "about": "The month that the figures are of."},
                "by_id": described(
                    "Ids of models, from claude- or gpt- on, with what holds for them; null removes one.",
                    keyed({**MODEL, "null": "no such model"}, "model ids and what holds for them"),
                ),
            },
        ),
        {},
        NOTHING,
    ),
}
# Keys by which a file says something about itself; they are not settings.
NOTES = {
    "$schema": described("Where an editor finds this schema; not a setting.", PROSE),
    "$comment": described("A note for readers; not a setting.", PROSE),
}
RETENTION = described(
    "The settings of tiered retention. Everything may be left out: the layer below then counts.", record("Retention", {**FIELDS, **NOTES})
)
DOCUMENT = described(
    "A configuration file: the settings in a retention object.",
    record("RetentionDocument", {"retention": described("The settings.", RETENTION), **NOTES}),
)
# `gateway` is reserved: it would send requests elsewhere.
USER_ONLY = (*(key for key, field in FIELDS.items() if field["project"] == NOTHING), "gateway")
