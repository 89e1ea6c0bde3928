"""The operations of the lab's commands."""

from __future__ import annotations

from popkit_retention.core.argument_types import FILE, choice, whole
from popkit_retention.core.operation_tables import Flag, Operation, Table
from popkit_retention.core.policy.ruleset import SAY_ONCE, SHAPES

from ..operations import HOST, JSON, MANY_SESSIONS, PATH_NOTE

_MODEL = Flag(
    "--model ID", "use the prices of this model, such as claude-opus-5-5 (default: the model that answered each session)", default=""
)
_TTLS = Flag("--ttl 5m|1h|both", "lifetime of the prompt cache", default="5m")
TRY = Table(
    "popkit try",
    "show what PopKit would have done in your sessions of the last 30 days, or in a made-up one; writes nothing",
    Operation(
        "[TRANSCRIPT]",
        "",
        Flag("--last N", "only the newest N calls of the timeline", whole(), default=20),
        Flag("--all", "all of them"),
        HOST,
        type=FILE,
        more="TRANSCRIPT can also be a session's id, a session file of Codex, pi or Copilot CLI, an export of OpenCode, its database, or a"
        " folder (its newest session). With --host opencode, this project's newest comes first.",
        does="run",
    ),
    common=(JSON,),
    module=f"{__package__}.try_command",
)
LAB = Table(
    "popkit lab",
    "what past sessions would have saved, cost and missed under each policy",
    Operation(
        "[PATH…]",
        "",
        Flag(
            "--policy NAME",
            "only these policies (default: what PopKit does without being asked, its parts, and what Claude Code does); name your own as"
            " module:Class or path/to/file.py:Class",
            many=True,
        ),
        _TTLS,
        _MODEL,
        JSON,
        Flag("--parquet FILE", "also write a row for each session, lifetime and policy as Parquet", FILE),
        *MANY_SESSIONS,
        HOST,
        type=FILE,
        more=f"{PATH_NOTE} docs/policies.md shows how to write a policy of your own.",
        does="compare",
    ),
    Operation(
        "replay FILE",
        "what one policy would have cleared in a past session, request by request, as JSON lines",
        Flag("--policy NAME", "the policy to follow, or your own as module:Class or path/to/file.py:Class", default="auto"),
        Flag("--ttl 5m|1h", "lifetime of the prompt cache", default="5m"),
        Flag("--say-once HOW", "leave out of results what the context shows already (default: off)", choice(*SAY_ONCE)),
        Flag("--shape HOW", "leave out of results what carries no information (default: off)", choice(*SHAPES)),
        _MODEL,
        Flag("--out OUT.jsonl", "where to write the decisions; - is standard output", FILE, default="-"),
        type=FILE,
        more="FILE is the transcript of a session, or of a subagent.",
        does=f"{__package__}.replay_command:write_decisions",
    ),
    renamed={"--decisions": "replay"},
    module=f"{__package__}.command",
)
