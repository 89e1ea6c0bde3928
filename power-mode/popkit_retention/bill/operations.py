"""The operations of `popkit bill`."""

from __future__ import annotations

from popkit_retention.core.argument_types import FILE, WHEN
from popkit_retention.core.operation_tables import CHANGES, Flag, Operation, Table

from ..operations import HOST, JSON, MANY_SESSIONS, PATH_NOTE, YES

_SINCE = Flag("--since WHEN", "only sessions that were active since then: 12h, 8w, or a date (default: 30d)", WHEN)
BILL = Table(
    "popkit bill",
    "what you pay for: each prompt, what the cache lost, your plan's limits; and what could be removed",
    Operation(
        "[PATH…]",
        "what each prompt of this project contains, and what its bill was made of",
        _SINCE,
        Flag("--details", "also each tool, skill, agent, and section of a file"),
        *MANY_SESSIONS,
        HOST,
        type=FILE,
        more="With PATH, which is a transcript, a folder of them, or an address such as s3://company/sessions/, it shows what their bill"
        " was made of.",
        does="whole",
    ),
    Operation(
        "misses [PATH…]",
        "what the prompt cache lost, why, and what that cost",
        _SINCE,
        *MANY_SESSIONS,
        HOST,
        type=FILE,
        more="A request is expected to read from the cache what the previous request left there. If it wrote that again, the cause is what"
        " the transcript shows between the two. " + PATH_NOTE,
        does=f"{__package__}.misses_command:misses",
    ),
    Operation(
        "limits",
        "how full your plan's limits are, when they will be full, and what used them",
        more="Claude Code reports the limits while a session with PopKit's panel runs. The pace is that of the last hour, for the weekly"
        " limit that of the last day; when it will be full is shown only where that comes before the reset.",
        does=f"{__package__}.limits_command:limits",
    ),
    Operation(
        "hide NAME",
        "hide an MCP server or tool from this project's sessions",
        Flag("--now", "from the running session's next request on, not only the next session: as /popkit bill hide NAME --now"),
        YES,
        effect=CHANGES,
        more="Then it costs no tokens, and Claude cannot call it. NAME is the name that the bill shows. With --now, it first says"
        " what it costs to write the prompt to the cache again.",
        does=f"{__package__}.hiding_command:take_out",
    ),
    Operation(
        "defer NAME",
        "keep an MCP server or tool out of this project's prompts until Claude looks for it",
        YES,
        effect=CHANGES,
        more="Claude Code does this by itself, unless the server or its settings say otherwise (alwaysLoad). It needs Claude Code's tool"
        " search, which ENABLE_TOOL_SEARCH=false switches off.",
        does=f"{__package__}.hiding_command:take_out",
    ),
    Operation(
        "show NAME",
        "bring back a hidden or deferred server or tool",
        effect=CHANGES,
        does=f"{__package__}.hiding_command:bring_back",
    ),
    Operation(
        "draft-skill FILE#SECTION",
        "write a section of CLAUDE.md as a draft of a skill",
        Flag("--out FILE", "the new file to write", FILE, needed=True),
        effect=CHANGES,
        more="The file itself is not changed.",
        does=f"{__package__}.skill_command:draft_skill",
    ),
    common=(JSON,),
    examples={"NAME": "linear", "FILE#SECTION": "CLAUDE.md#Deploying"},
    module=f"{__package__}.command",
)
