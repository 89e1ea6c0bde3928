"""`help`: the table of words and flags as text."""

from __future__ import annotations

from ..flag_parser import DEFAULT, WORDS, flags_of, word_named
from . import text

_COLUMN = 20
_COMMAND = "/popkit:context"
IDS = "ID is T12 or 12, as the panel and the timeline show it, or a tool_use id, or a unique part of one. PATH may contain * and **."

HANDLES = "HANDLE stands in the placeholder of a cleared result."


def overview(command: str = _COMMAND, cli: bool = False) -> list[str]:
    """The lines of `help`."""
    lines = [*text.title("PopKit: lifetimes for tool results"), f"{command} WORD", ""]
    for word in WORDS:
        lines += _entry(word.usage(), word.help + (" (the default)" if word.name == DEFAULT else ""))
        for flag in word.flags:
            if flag.name != "--json":
                lines += _entry("  " + flag.usage(), flag.help)
    lines += ["", "With every word but help:"]
    for flag in flags_of(WORDS[0], cli).values():
        if flag.cli or flag.name == "--json":
            lines += _entry("  " + flag.usage(), flag.help)
    if cli:
        lines += text.wrap("Without --session or --transcript, it is the newest session of this folder's project.")
    return [*lines, "", *text.wrap(IDS)]


def of_word(name: str, command: str = _COMMAND, cli: bool = False) -> list[str]:
    """The lines of `help WORD`."""
    word = word_named(name)
    lines = [*text.title(f"{command} {word.usage()}"), *text.wrap(word.help[:1].upper() + word.help[1:] + "."), ""]
    for flag in flags_of(word, cli).values():
        lines += _entry(flag.usage(), flag.help)
    named = " ".join([word.takes, *(flag.value for flag in word.flags)])
    said = [note for name, note in (("ID", IDS), ("HANDLE", HANDLES)) if name in named]
    return lines + (["", *text.wrap(" ".join(said))] if said else [])


def _entry(name: str, said: str) -> list:
    lines = text.wrap(said, text.WIDTH - _COLUMN - 2)
    if text.width(name) > _COLUMN:
        return ["  " + name, *[" " * (_COLUMN + 2) + line for line in lines]]
    return [f"  {name:<{_COLUMN}}{lines[0]}", *[" " * (_COLUMN + 2) + line for line in lines[1:]]]
