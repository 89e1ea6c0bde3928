"""`help`: the table of words and flags as text."""

from __future__ import annotations

from .. import text
from ..flag_parser import CONTEXT, Table, flags_of, word_named

_COLUMN = 20
_COMMAND = "/popkit:context"


def overview(command: str = _COMMAND, cli: bool = False, table: Table = CONTEXT) -> list[text.Line]:
    """The lines of `help`."""
    lines = [*text.title(table.title), f"{command} WORD", ""]
    for word in table.words:
        lines += _entry(word.usage(), word.help + (" (the default)" if word.name == table.default else ""))
        for flag in (flag for flag in word.flags if cli or not flag.cli):
            if flag.name != "--json":
                lines += _entry("  " + flag.usage(), flag.help)
    lines += ["", "With every word but help:"]
    for flag in flags_of(table.words[0], cli, table).values():
        if flag.cli or flag.name == "--json":
            lines += _entry("  " + flag.usage(), flag.help)
    if cli:
        lines += text.wrap(table.without_site)
    return [*lines, "", *text.wrap(table.notes["ID"])]


def of_word(name: str, command: str = _COMMAND, cli: bool = False, table: Table = CONTEXT) -> list[text.Line]:
    """The lines of `help WORD`."""
    word = word_named(name, table)
    lines = [*text.title(f"{command} {word.usage()}"), *text.wrap(word.help[:1].upper() + word.help[1:] + "."), ""]
    for flag in flags_of(word, cli, table).values():
        lines += _entry(flag.usage(), flag.help)
    named = " ".join([word.takes, *(flag.value for flag in word.flags)])
    words = "".join(char if char.isalnum() or char == "_" else " " for char in named).split()
    said = [note for name, note in table.notes.items() if name in words]
    return lines + (["", *text.wrap(" ".join(said))] if said else [])


def _entry(name: str, said: str) -> list[text.Line]:
    if text.width(name) > _COLUMN:
        return ["  " + name, *text.indented(text.wrap(said), " " * (_COLUMN + 2))]
    return text.pair("  " + name, said, _COLUMN + 2)
