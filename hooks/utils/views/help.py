"""Help: the tables of operations as text."""

from __future__ import annotations

from .. import text
from ..flag_parser import operations_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..flag_parser import Flag, Operation, Table

_COLUMN = 20


def lines_of(name: str, command: str, table: Table, shell: bool = True) -> list[text.Line]:
    """Return the lines of `help NAME`, "" for all of a command; UsageError for a name that is none. `command`: how the reader calls it."""
    operations = operations_of(name, table) if name else list(table.operations)
    if len(operations) == 1:
        return _of_one(operations[0], command, table, shell)
    alone = name or "" in [operation.name for operation in operations]
    lines = [*text.title(f"{command} {name}".rstrip() if alone else f"{command} WORD"), *([] if name else [*_sentence(table.title), ""])]
    for operation in operations:
        default = " (the default)" if operation.name and operation is table.by_name.get("") else ""
        usage = operation.usage() if operation.name else f"{command} {operation.usage()}".rstrip()
        lines += _entry(usage, (operation.help or table.title) + default)
        lines += _flags(operation.flags, shell, "  ")
    common = _flags(table.common, shell, "  ")
    lines += ["", "With every word but help:", *common] if common else []
    return lines + _notes("", table, shell)


def _of_one(operation: Operation, command: str, table: Table, shell: bool) -> list[text.Line]:
    lines = text.title(f"{command} {operation.usage()}".rstrip())
    lines += _sentence(operation.help or table.title)
    for line in operation.more.split("\n") if operation.more else ():
        lines += [line] if line.startswith("  ") or not line else text.wrap(line)
    lines += ["", *_flags(table.flags_of(operation, shell).values(), shell)]
    named = " ".join([operation.usage(), *(flag.label for flag in operation.flags)])
    return lines + _notes(named, table, shell)


def _sentence(said: str) -> list[text.Line]:
    return text.wrap(said[:1].upper() + said[1:] + ".")


def _notes(named: str, table: Table, shell: bool) -> list[text.Line]:
    """Return what the labels mean that stand in a text; without one, what is said below all operations."""
    words = "".join(char if char.isalnum() or char == "_" else " " for char in named).split()
    if words:
        notes = [note for label, note in table.notes.items() if label in words]
        return ["", *text.wrap(" ".join(notes))] if notes else []
    lines = text.wrap(table.notes[""]) if shell and "" in table.notes else []
    return [*lines, "", *text.wrap(table.notes["ID"])] if "ID" in table.notes else lines


def _flags(flags: Iterable[Flag], shell: bool, indent: str = "") -> list[text.Line]:
    return [line for flag in flags if shell or not flag.shell_only for line in _entry(indent + flag.usage, flag.explained())]


def _entry(name: str, meaning: str) -> list[text.Line]:
    if text.width(name) > _COLUMN:
        return ["  " + name, *text.indented(text.wrap(meaning), " " * (_COLUMN + 2))]
    return text.pair("  " + name, meaning, _COLUMN + 2)
