"""The commands of the command line: those of no feature, then those that features bring."""

from __future__ import annotations

import os

from popkit_retention.core import text
from popkit_retention.core.io import home
from popkit_retention.core.version import VERSION

from .. import features
from ..features import Command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from popkit_retention.core.operation_tables import Table

_HERE = __package__
_TABLES = f"{_HERE}.tables"
CORE = {
    command.name: command
    for command in (
        Command("context", "popkit_retention.core.operations:CONTEXT", 10, f"{_HERE}.context_command:run"),
        Command("restore", f"{_HERE}.restore_table:RESTORE", 20, f"{_HERE}.restore_command:restore", renamed={"archive": ("restore", {})}),
        Command("check-compaction", f"{_TABLES}:CHECK_COMPACTION", 25),
        Command("config", f"{_TABLES}:CONFIG", 90),
        Command("doctor", f"{_TABLES}:DOCTOR", 100),
        Command("setup", f"{_HERE}.setup_table:SETUP", 120),
        Command("statusline", f"{_TABLES}:STATUSLINE", 130),
        Command("serve", f"{_TABLES}:SERVE", 150),
        Command("completion", f"{_TABLES}:COMPLETION", 160),
        Command("uninstall", f"{_TABLES}:UNINSTALL", 170),
    )
}
# The commands that a person needs most, with which help begins: command -> (its place, what it does). Words of `popkit context` are
# commands, too, and features add theirs.
_FIRST = {
    "context": (10, "what the context holds, and what to do about it"),
    "clear": (20, "remove what is no longer needed, when that pays off"),
    "undo": (30, "take back the last clear"),
    "restore": (40, "bring back what left the context; search the archive"),
    "why": (50, "why a result stays, or why it left"),
    "auto": (60, "let PopKit clear by itself once the prompt cache is cold"),
}
_INDENT, _COLUMN = "  ", 14  # of the left column of the overview, at least
_COMMIT, _COMMIT_CHARS = frozenset("0123456789abcdef"), 12  # how Claude Code names a copy


def every() -> dict[str, Command]:
    """Return all commands by their names, in the order of their ranks."""
    brought = [command for feature in features.every() for command in feature.commands]
    return {command.name: command for command in sorted((*CORE.values(), *brought), key=lambda command: command.rank)}


def called(name: str) -> Command | None:
    """Return the command of a name; None for an unknown one. Features are looked at only for a name that is not ours."""
    return CORE.get(name) or every().get(name)


def renamed() -> dict[str, tuple[str, Mapping[str, str]]]:
    """Return the name of a command in the previous version -> its words, with its previous flags -> the current ones."""
    return {old: new for command in every().values() for old, new in command.renamed.items()}


def first() -> dict[str, str]:
    """Return the commands with which help begins -> what they do."""
    ranked = {**_FIRST, **{command.name: command.first for command in every().values() if command.first}}
    return {name: title for name, (_, title) in sorted(ranked.items(), key=lambda entry: entry[1])}


def words_of_context() -> dict[str, str]:
    """Return the words of `popkit context` that are commands, too, with what they do: those that no other command answers."""
    from popkit_retention.core.operations import CONTEXT

    others, words = ("", "help", *CORE), CONTEXT.by_name.items()
    return {word: operation.help for word, operation in words if word not in others and not (operation.raw or operation.implied)}


def names() -> list[str]:
    """Return the names of all commands, those first that a person needs most."""
    return list(dict.fromkeys((*first(), *words_of_context(), *every())))


def tables() -> dict[str, Table]:
    """Return command -> its table of operations."""
    return {name: command.operations() for name, command in every().items()}


def titles() -> dict[str, str]:
    """Return command -> what it does."""
    known = {**words_of_context(), **{name: table.title for name, table in tables().items()}, **first()}
    return {name: known[name] for name in names()}


def overview(everything: bool = False) -> list[text.Line]:
    """Return the commands that a person needs most, or all."""
    shown = titles() if everything else first()
    lines: list[text.Line] = [*text.title("PopKit: lifetimes for tool results"), "popkit COMMAND", ""]
    column = max(_COLUMN, max(map(len, shown)) + len(_INDENT) + 1)
    for name, title in shown.items():
        lines += text.pair(_INDENT + name, title, column)
    rest = "" if everything else f"popkit help --all shows the other {len(names()) - len(shown)} commands. "
    return [*lines, "", *text.wrap(rest + "popkit help COMMAND says more; popkit --version shows the version.")]


def version() -> str:
    """Return the version, with the commit where Claude Code has installed it: the folder of an installed copy is named for its commit."""
    copy = os.path.basename(home.plugin_root())
    return VERSION + (f" ({copy})" if _COMMIT.issuperset(copy) and len(copy) == _COMMIT_CHARS else "")
