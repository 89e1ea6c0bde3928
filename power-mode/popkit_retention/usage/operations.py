"""The operations of `popkit budget`."""

from __future__ import annotations

from popkit_retention.core.operation_tables import CHANGES, Flag, Operation, Table

from ..operations import JSON, YES

BUDGET = Table(
    "popkit budget",
    "limits per session and per month, and how much of them is used",
    Operation(
        "",
        "the limits per session and per month, how much of them is used, and how large a context they allow",
        Flag("--session ID", "for this session (default: your newest)", default=""),
        Flag("--user NAME", "for this user (default: context.user, or your login name)", default=""),
        JSON,
        Flag("--check", "only check that the database can be used; changes nothing"),
        more="There are four limits, each off until you set it: session_tokens, month_tokens, session_usd, month_usd.",
        does="report",
    ),
    Operation(
        "set KEY=VALUE…",
        "set limits in your own configuration: the change is shown first, and made if you agree",
        YES,
        Flag("--dry-run", "only show the change"),
        effect=CHANGES,
        more="KEY is one of session_tokens, month_tokens, session_usd, month_usd; KEY=none removes a limit. With on_exceeded=refuse,"
        " agents and proxies send nothing once a limit is used up; with on_exceeded=warn, they go on and say so.",
        does="set_limits",
    ),
    examples={"KEY=VALUE": "month_usd=50"},
    module=f"{__package__}.command",
)
