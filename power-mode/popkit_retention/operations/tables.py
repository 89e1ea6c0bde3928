"""The one table of all commands of `popkit`: their operations, from which parser, help, completion, documents and tools are made."""

from __future__ import annotations

from hooks.utils.argument_types import FILE, FOLDER, WHEN, choice, whole
from hooks.utils.operation_tables import CHANGES, DESTROYS, Flag, Operation, Table
from hooks.utils.operations import CONTEXT
from hooks.utils.policy.ruleset import SAY_ONCE, SHAPES

from . import HOST, JSON, MANY_SESSIONS, YES
from .data_tables import ARCHIVE, MEMORY, RETENTION

_SHOW = Flag("--dry-run", "only show the change")
_MODEL = Flag(
    "--model ID", "use the prices of this model, such as claude-opus-5-5 (default: the model that answered each session)", default=""
)
_TTLS = Flag("--ttl 5m|1h|both", "lifetime of the prompt cache", default="5m")
_PATH_NOTE = (
    "PATH is a transcript, a folder of them, a database of OpenCode, or an address such as s3://company/sessions/; without PATH, it"
    " covers all sessions of this user."
)
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
        more="TRANSCRIPT can also be the id of a session, a rollout of Codex, an export of OpenCode, its database or a folder (the newest"
        " session in it). With --host opencode, this project's newest comes first.",
    ),
    common=(JSON,),
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
        more=f"{_PATH_NOTE} docs/policies.md shows how to write a policy of your own.",
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
    ),
    renamed={"--decisions": "replay"},
)
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
    ),
    Operation(
        "set KEY=VALUE…",
        "set limits in your own configuration: the change is shown first, and made if you agree",
        YES,
        _SHOW,
        effect=CHANGES,
        more="KEY is one of session_tokens, month_tokens, session_usd, month_usd; KEY=none removes a limit. With on_exceeded=refuse,"
        " agents and proxies send nothing once a limit is used up; with on_exceeded=warn, they go on and say so.",
    ),
)
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
    ),
    Operation(
        "misses [PATH…]",
        "what the prompt cache lost, why, and what that cost",
        _SINCE,
        *MANY_SESSIONS,
        HOST,
        type=FILE,
        more="A request is expected to read from the cache what the previous request left there. If it wrote that again, the cause is what"
        " the transcript shows between the two. " + _PATH_NOTE,
    ),
    Operation(
        "limits",
        "how full your plan's limits are, when they will be full, and what used them",
        more="Claude Code reports the limits while a session with PopKit's panel runs. The pace is that of the last hour, for the weekly"
        " limit that of the last day; when it will be full is shown only where that comes before the reset.",
    ),
    Operation(
        "hide NAME",
        "hide an MCP server or tool from this project's sessions",
        YES,
        effect=CHANGES,
        more="Then it costs no tokens, and Claude cannot call it. NAME is the name that the bill shows.",
    ),
    Operation(
        "defer NAME",
        "keep an MCP server or tool out of this project's prompts until Claude looks for it",
        YES,
        effect=CHANGES,
        more="Claude Code does this by itself, unless the server or its settings say otherwise (alwaysLoad). It needs Claude Code's tool"
        " search, which ENABLE_TOOL_SEARCH=false switches off.",
    ),
    Operation("show NAME", "bring back a hidden or deferred server or tool", effect=CHANGES),
    Operation(
        "draft-skill FILE#SECTION",
        "write a section of CLAUDE.md as a draft of a skill",
        Flag("--out FILE", "the new file to write", FILE, needed=True),
        effect=CHANGES,
        more="The file itself is not changed.",
    ),
    common=(JSON,),
    examples={"NAME": "linear", "FILE#SECTION": "CLAUDE.md#Deploying"},
)
_PROJECT = Flag("--project DIR", "the project (default: $CLAUDE_PROJECT_DIR, else this folder)", FOLDER)
CONFIG = Table(
    "popkit config",
    "check and show the configuration",
    Operation(
        "check [FILE…]",
        "report every problem with file, key, value and what is allowed",
        JSON,
        _PROJECT,
        type=FILE,
        more="With FILE, it checks these files instead of those that apply here.",
    ),
    Operation("show", "show each value and where it comes from", JSON, _PROJECT),
    Operation("path", "show the files, lowest first", _PROJECT),
    Operation("schema", "print the JSON Schema for editors"),
)
DOCTOR = Table(
    "popkit doctor", "check that everything is in place and works, and say how to fix what is wrong", Operation(""), common=(JSON,)
)
DASHBOARD = Table(
    "popkit dashboard",
    "one page that shows everything live, on this machine",
    Operation(
        "",
        "",
        Flag("--port N", "serve on this port (default: 7457, or a free one; 0: a free one)", whole(0, 65_535)),
        Flag("--ipv6", "also serve on ::1"),
        Flag("--no-open", "only print the address, open no browser"),
        Flag("--json", "print the address as JSON"),
        more="Sessions, memory, retention, budgets: served to this machine only, at an address with a token that is new each time."
        " Press Ctrl-C to stop it. popkit setup dashboard installs what it needs, once.",
    ),
)
SETUP = Table(
    "popkit setup",
    "install what some commands need beyond Python, make your shell find popkit, or PopKit in OpenCode",
    Operation(
        "[NAME]",
        "",
        Flag("--undo", "for opencode and shell: take back what it changed"),
        Flag("--yes", "for opencode and shell: make the change without asking"),
        Flag("--scope user|project", "for opencode: whose opencode.json to change", default="user"),
        effect=CHANGES,
        type=choice("neo4j", "embeddings", "dashboard", "postgres", "cluster", "tokens", "traces", "opencode", "shell"),
        more="""Without NAME, it lists what can be set up. Packages go into a virtual environment in PopKit's folder.

`popkit setup opencode` adds PopKit's plugin to opencode.json and tui.json. It shows the change and asks first.

`popkit setup shell` links popkit into a folder on your PATH, and asks first. It goes on working after an upgrade.""",
    ),
    common=(JSON,),
)
_SCOPE = Flag("--scope user|project", "whose settings.json to change", default="user")
STATUSLINE = Table(
    "popkit statusline",
    "one line for Claude Code's status line",
    Operation("", "print the status line, from the JSON that Claude Code writes to standard input"),
    Operation(
        "install",
        "have Claude Code 2.1.331 and later draw the line under your own; for earlier versions, show the change to settings.json, and make"
        " it if you agree",
        Flag("--replace", "replace another status line; uninstall brings it back"),
        YES,
        _SCOPE,
        effect=CHANGES,
    ),
    Operation(
        "uninstall",
        "show the change to settings.json that restores what was there before, and make it if you agree",
        YES,
        _SCOPE,
        effect=CHANGES,
    ),
)
MCP = Table(
    "popkit mcp",
    "tools for agents, over MCP (an MCP client starts it)",
    Operation(
        "",
        more="""A server on standard input and output, which gives an agent tools to search what left its context (context_search, \
context_restore, context_status), to use what past sessions have taught (memory_*), and to see and change the retention policies of stored \
data (retention_*). What an agent deletes is only marked, and you can undo it for 24 hours.

Add it to Claude Code in one of two ways:
  claude plugin install popkit-mcp@popkit
      the plugin, if you have PopKit's marketplace
  claude mcp add popkit -- popkit mcp
      only the server; `popkit` must be on your PATH

Any other MCP client can start the command `popkit mcp` in the folder of your project. An agent sees the data of that project only. To \
allow it all projects, put this into retention-config.json in PopKit's folder:
  {"retention": {"mcp": {"all_projects": true}}}""",
    ),
)
SERVE = Table(
    "popkit serve",
    "answer PopKit's code inside Claude Code or OpenCode, which starts this command",
    Operation(
        "",
        "",
        Flag("--session ID", "the session's id", needed=True),
        Flag("--transcript FILE", "its transcript", FILE, default=""),
        Flag("--cwd FOLDER", "the folder of its project", FOLDER, default=""),
        Flag("--join", "do not start one; print where the running one listens"),
        Flag("--draw", "do not start one; print what it shows, as the request on standard input asks"),
    ),
)
UNINSTALL = Table(
    "popkit uninstall",
    "delete what PopKit has stored, and remove the status line",
    Operation(
        "",
        "",
        Flag("--dry-run", "only show what would be deleted"),
        YES,
        Flag("--json", "as JSON; needs --yes or --dry-run"),
        effect=DESTROYS,
    ),
)
_RESTORE = CONTEXT.by_name["restore"]
RESTORE = Table(
    "popkit restore",
    "print what left the context, or put it back; list, search or delete what the archive holds",
    Operation(_RESTORE.label, _RESTORE.help, *_RESTORE.flags, *CONTEXT.common, effect=_RESTORE.effect),
    *ARCHIVE,
    notes=CONTEXT.notes,
)
COMPLETION = Table(
    "popkit completion",
    "print a script that completes the words of popkit in your shell",
    Operation(
        "bash|zsh|fish",
        more="""To load it in every shell:
  bash: echo 'eval "$(popkit completion bash)"' >> ~/.bashrc
  zsh:  echo 'eval "$(popkit completion zsh)"' >> ~/.zshrc
  fish: popkit completion fish > ~/.config/fish/completions/popkit.fish""",
    ),
    Operation("--words WORD…", "print the words that may come next, for the script", raw=True),
)
TABLES = {
    table.name.rpartition(" ")[2]: table
    for table in (
        CONTEXT, RESTORE, MEMORY, RETENTION, TRY, LAB, BILL, BUDGET,
        CONFIG, DOCTOR, DASHBOARD, SETUP, STATUSLINE, MCP, SERVE, COMPLETION, UNINSTALL,
    )
}  # fmt: skip
