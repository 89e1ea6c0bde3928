"""Find the secrets that one command writes for another: through a pipe, into a file, inside `<(…)`. Pure."""

from __future__ import annotations

from .. import random_words
from . import accounts, programs, secret_options
from .line import AHEAD, Line

# Parts of a name that say that what a program reads is a secret, and the shells and readers of texts that take anything from `<(…)`.
_RECEIVING = frozenset("password passwd passphrase secret secrets login credential credentials auth authtoken".split())
_SHOWING = accounts.READERS | frozenset(("sh", "zsh", "dash", "psql", "mysql", "python", "python3", "node", "."))


def piped(line: Line, number: int) -> list[tuple[int, int]]:
    """Return the text written into the command that begins here, if that takes a secret."""
    begin = line.starts[number - 1]
    for _ in range(2):  # what only passes it on is between them
        if begin and "|" in line.gaps[begin] and "||" not in line.gaps[begin]:
            begin = line.starts[begin - 1]
    return written(line, number, begin, receives(line.command(number)))


def receives(command: list[str]) -> bool:
    """Return whether a command takes a secret from its input: a known one, or one whose name suggests a secret."""
    if not programs.RECEIVERS.isdisjoint(command) or ({"sudo", "read"} & {*command} and {"-s", "-rs"} & {*command}):
        return True
    if not command or command[0].rpartition("/")[2] in accounts.READERS:
        return False
    return any(
        not _RECEIVING.isdisjoint(word.replace("_", "-").replace(":", "-").split("-")) or word.endswith(("password", "passwd"))
        for word in command
    )


def substituted(line: Line, number: int) -> list[tuple[int, int]]:
    """Return what `echo` writes inside `<(…)`, unless a program reads it that only shows texts and compares them."""
    if line.words[number].lower() not in programs.WRITERS:
        return []
    reader = line.words[line.starts[number]].rpartition("/")[2].lower() if line.starts[number] < number else ""
    end = number + 1
    while end < len(line.words) and line.same(number, end) and ")" not in line.gaps[end]:
        end += 1
    return written(line, end, number, takes=bool(reader) and reader not in _SHOWING)


def written(line: Line, number: int, begin: int, takes: bool) -> list[tuple[int, int]]:
    """Return what `echo` writes with the words from `begin` up to a word; where it is not known to be a secret, only what looks like
    chance."""
    if line.words[begin].lower() not in programs.WRITERS or number - begin > AHEAD:
        return []
    return [
        line.value(other)
        for other in range(begin + 1, number)
        if line.words[other][0] not in "-%"
        and len(line.words[other]) > 2
        and (
            takes
            or (
                not random_words.is_hex(line.words[other])
                and secret_options.is_bare(line.words[other])
                and random_words.looks_random(line.words[other])
            )
        )
    ]
