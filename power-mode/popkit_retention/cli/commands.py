"""Name the commands of the command line, and what each is for."""

from __future__ import annotations

import os

from hooks.utils import text
from hooks.utils.io import home
from hooks.utils.version import VERSION

# Command -> the module and the function that does it, loaded when it is called: function(parsed, environ) -> Answer | exit code. The module
# may have MISTAKES: errors that are shown in a line, beside Refused. All commands but those in PARSE_THEMSELVES have their table parsed.
COMMANDS = {
    "context": "context_command.run",
    "restore": "context_command.restore",
    "memory": "memory_command.run",
    "retention": "retention_command.run",
    "try": "try_command.run",
    "lab": "lab_command.run",
    "bill": "spending_command.bill",
    "budget": "spending_command.budget",
    "config": "config_command.run",
    "doctor": "doctor_command.run",
    "dashboard": "program_commands.dashboard",
    "setup": "setup_command.run",
    "statusline": "statusline_command.run",
    "mcp": "program_commands.mcp",
    "serve": "program_commands.serve",
    "completion": "program_commands.completion",
    "uninstall": "uninstall_command.run",
}
# The commands that a person needs most, with which help begins -> what they do. Words of `popkit context` are commands, too.
FIRST = {
    "context": "what the context holds, and what to do about it",
    "clear": "remove what is no longer needed, when that pays off",
    "undo": "take back the last clear",
    "restore": "bring back what left the context; search the archive",
    "why": "why a result stays, or why it left",
    "auto": "let PopKit clear by itself once the prompt cache is cold",
    "bill": "what you pay, what the cache lost, your plan's limits",
    "try": "what PopKit would say about your newest session",
}
# What a command was called in the version before -> its words.
RENAMED = {"archive": "restore", "limits": "bill limits", "misses": "bill misses", "replay": "lab replay"}
PARSE_THEMSELVES = ("context", "restore", "memory", "retention")  # function(words, environ) -> exit code
_COLUMN = 14  # of the left column of the overview
_COMMIT, _COMMIT_CHARS = frozenset("0123456789abcdef"), 12  # how Claude Code names a copy


def words_of_context() -> dict[str, str]:
    """Return word -> what it does, of the words of `popkit context` that are commands, too."""
    from hooks.utils.operations import CONTEXT

    return {word: operation.help for word, operation in CONTEXT.by_name.items() if word not in ("", "help", *COMMANDS)}


def names() -> list[str]:
    """Return the names of all commands, those first that a person needs most."""
    return list(dict.fromkeys((*FIRST, *words_of_context(), *COMMANDS)))


def titles() -> dict[str, str]:
    """Return command -> what it does."""
    from ..operations.tables import TABLES

    known = {**words_of_context(), **{name: TABLES[name].title for name in COMMANDS}, **FIRST}
    return {name: known[name] for name in names()}


def overview(everything: bool = False) -> list[text.Line]:
    """Return the commands that a person needs most, or all."""
    shown = titles() if everything else FIRST
    lines: list[text.Line] = [*text.title("PopKit: lifetimes for tool results"), "popkit COMMAND", ""]
    for name, title in shown.items():
        lines += text.pair("  " + name, title, _COLUMN)
    rest = "" if everything else f"popkit help --all shows the other {len(names()) - len(FIRST)} commands. "
    return [*lines, "", *text.wrap(rest + "popkit help COMMAND says more; popkit --version shows the version.")]


def version() -> str:
    """Return the version, with the commit where Claude Code has installed one: it names the folder of a copy by that."""
    copy = os.path.basename(home.plugin_root())
    return VERSION + (f" ({copy})" if _COMMIT.issuperset(copy) and len(copy) == _COMMIT_CHARS else "")
