"""The operations of the commands that belong to no feature."""

from __future__ import annotations

from popkit_retention.core.argument_types import FILE, FOLDER, whole
from popkit_retention.core.operation_tables import CHANGES, DESTROYS, Flag, Operation, Table

from ..operations import JSON, YES

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
        does="check",
    ),
    Operation("show", "show each value and where it comes from", JSON, _PROJECT, does="show"),
    Operation("path", "show the files, lowest first", _PROJECT, does="path"),
    Operation("schema", "print the JSON Schema for editors", does="schema"),
    module=f"{__package__}.config_command",
)
DOCTOR = Table(
    "popkit doctor",
    "check that everything is in place and works, and say how to fix what is wrong",
    Operation("", does="run"),
    common=(JSON,),
    module=f"{__package__}.doctor_command",
)
CHECK_COMPACTION = Table(
    "popkit check-compaction",
    "what a compaction has lost of your words, open errors, names and paths, each with its way back",
    Operation(
        "[TRANSCRIPT]",
        "",
        Flag("--lines N", "so many lines of the list", whole(1, 1_000), default=20),
        Flag("--all", "also the list of each earlier compaction"),
        Flag("--show LINE", "instead print the text in this line of the transcript", whole()),
        JSON,
        type=FILE,
        more="Lost is what stood in the conversation before and in nothing that the next request was sent, whether that is the summary of"
        " Claude Code or another host, or a compaction of PopKit's. What is most likely to be needed again comes first. TRANSCRIPT can also"
        " be the id of a session, a session file of Codex, pi or Copilot CLI, an export of OpenCode, its database or a folder (the newest"
        " session in it); without it, the session is the newest of this folder's project.",
        does="check",
    ),
    module=f"{__package__}.check_compaction_command",
)
_SCOPE = Flag("--scope user|project", "whose settings.json to change", default="user")
STATUSLINE = Table(
    "popkit statusline",
    "one line for Claude Code's status line",
    Operation("", "print the status line, from the JSON that Claude Code writes to standard input", does="print_line"),
    Operation(
        "install",
        "have Claude Code 2.1.331 and later draw the line under your own; for earlier versions, show the change to settings.json, and make"
        " it if you agree",
        Flag("--replace", "replace another status line; uninstall brings it back"),
        YES,
        _SCOPE,
        effect=CHANGES,
        does="install",
    ),
    Operation(
        "uninstall",
        "show the change to settings.json that restores what was there before, and make it if you agree",
        YES,
        _SCOPE,
        effect=CHANGES,
        does="uninstall",
    ),
    module=f"{__package__}.statusline_command",
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
        does="run",
    ),
    module=f"{__package__}.serve_command",
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
        does="run",
    ),
    module=f"{__package__}.uninstall_command",
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
        does="run",
    ),
    Operation("--words WORD…", "print the words that may come next, for the script", raw=True, does="complete", hidden=True),
    module=f"{__package__}.completion_command",
)
