"""The help on any table of operations."""

from __future__ import annotations

from .. import text
from ..flag_parser import operations_of
from ..operation_tables import ADMIN, Flag, Operation, Table
from . import OF_SHELL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_COLUMN = 20  # of what a word means in help


def help_lines(name: str, command: str, table: Table, shell: bool = True) -> list[text.Line]:
    """Return the lines of `help NAME`, "" for all of a command; UsageError for a name that is none. `command`: how the reader calls it."""
    operations = operations_of(name, table) if name else [one for one in table.operations if not (one.admin or one.hidden)]
    if len(operations) == 1:
        return _of_one(operations[0], command, table, shell)
    alone = name not in ("", ADMIN) or "" in [operation.name for operation in operations]
    lines = [
        *text.title(" ".join(filter(None, (command, name, "" if alone else "WORD")))),
        *([] if name else [*_sentence(table.title), ""]),
    ]
    for operation in operations:
        default = " (the default)" if operation.name and operation is table.by_name.get("") else ""
        usage = operation.usage(operation.name) if operation.name else f"{command} {operation.usage()}".rstrip()
        lines += _entry(usage, (operation.help or table.title) + default)
        lines += _flags(operation.flags, shell, "  ") if name not in ("", ADMIN) or not operation.name else []
    rest = [] if name else [operation.name for operation in table.operations if operation.admin]
    lines += _entry(f"{ADMIN} WORD", f"what few need: {', '.join(rest)}") if rest else []
    common = _flags(table.common, shell, "  ")
    if name in ("", ADMIN) and len(operations) > 1:
        lines += ["", *text.wrap(f"{command} help WORD lists the flags of one.")]
    lines += ["", "With every word but help:", *common] if common else []
    return lines + _notes("", table, shell)


def of_shell_lines() -> list[text.Line]:
    """Return the lines of help on the commands of `popkit` that a session answers, too."""
    return ["", "As in a shell, with the same words behind it:", *[line for word in OF_SHELL for line in _entry(word, OF_SHELL[word])]]


def _of_one(operation: Operation, command: str, table: Table, shell: bool) -> list[text.Line]:
    lines = text.title(f"{command} {operation.usage()}".rstrip())
    lines += _sentence(operation.help or table.title)
    for line in operation.more.split("\n") if operation.more else ():
        is_to_copy = line[:2] == "  " and line[2:3] != " "
        lines += [text.whole(line)] if is_to_copy else [line] if line[:2] == "  " or not line else text.wrap(line)
    lines += ["", *_flags(table.flags_of(operation, shell).values(), shell)]
    named = " ".join([operation.usage(), *(flag.label for flag in operation.flags)])
    return lines + _notes(named, table, shell)


def _sentence(words: str) -> list[text.Line]:
    return text.wrap(words[:1].upper() + words[1:] + ".")


def _notes(named: str, table: Table, shell: bool) -> list[text.Line]:
    """Return the notes on the labels of a usage line; for "", those below all operations."""
    words = "".join(char if char.isalnum() or char == "_" else " " for char in named).split()
    if words:
        notes = [note for label, note in table.notes.items() if label in words]
        return ["", *text.wrap(" ".join(notes))] if notes else []
    lines = text.wrap(table.notes[""]) if shell and "" in table.notes else []
    return [*lines, "", *text.wrap(table.notes["ID"])] if "ID" in table.notes else lines


def _flags(flags: Iterable[Flag], shell: bool, indent: str = "") -> list[text.Line]:
    return [line for flag in flags if shell or not flag.shell_only for line in _entry(indent + flag.usage, flag.explained())]


def _entry(name: str, meaning: str) -> list[text.Line]:
    return text.entry("  " + name, meaning, _COLUMN + 2)
