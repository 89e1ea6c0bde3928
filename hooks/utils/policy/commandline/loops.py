"""Unroll a loop over known words into its commands, once per word. Pure."""

from __future__ import annotations

from .command import INSIDE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from .command import Command

# Commands that a loop is written out to at most; what makes it end before its last word; what may stand for other words.
_MOST = 64
_LEAVE = (["break"], ["continue"], ["exit"], ["return"])
_EXPANDED = frozenset("$`*?[{")


def literal_in(line: str) -> str:
    """Return what of a line stands in single quotes, or behind a backslash."""
    escaped = ["$" + piece.split(" ", 1)[0] for piece in line.split("\\$")[1:]]
    return "'" + "'".join("".join(line.split('"')[::2]).split("'")[1::2] + escaped)


def written_out(name: str, words: Sequence[str], body: Sequence[Command], unquoted: str, literal: str) -> list[Command]:
    """Return the commands that a loop runs, whose variable has this name; none where that is not known, or each time the same. `unquoted`:
    the line without what is quoted, in which a word with blanks is several; `literal`: what of it is no variable."""
    is_known = (
        len(words) * len(body) <= _MOST
        and all(map(_EXPANDED.isdisjoint, words))
        and not ("$" + name in unquoted and any(len(word.split()) != 1 for word in words))
        and not ("$" + name in literal or "${" + name in literal)
        and not any(command.words[:1] in _LEAVE for command in body)
        and not any(command.group for command in body)  # else each time in a shell of its own
        and not any(text.partition("=")[0].rstrip("+") == name for command in body for text in (*command.assignments, *command.words))
        and any("$" + name in word or "${" + name in word for command in body for word in command.words)  # else the same each time
    )
    if not is_known:
        return []
    found = [command for value in words for command in _run_once(body, name, value)]
    for again in found[len(body) :: len(body)]:
        again.joined = again.joined and INSIDE  # nothing joins it to the run before
    return found


def _run_once(body: Sequence[Command], name: str, value: str) -> list[Command]:
    """Return the commands as they run while the loop's variable has a value."""

    def change(text: str) -> str:
        return _with_value(text, name, value)

    return [command.changed(change) for command in body]


def _with_value(text: str, name: str, value: str) -> str:
    """Return a text with a value in place of `$name` and `${name}`."""
    written, *pieces = text.replace("${" + name + "}", "$" + name + "\0").split("$" + name)
    for piece in pieces:
        if piece[:1].isalnum() or piece[:1] == "_":  # a longer name
            written += "$" + name + piece
            continue
        before, sign, other = written.rpartition("$")
        written = before + "${" + other + "}" if sign and other.isidentifier() else written  # which ends here, whatever follows
        written += value + piece[piece[:1] == "\0" :]
    return written
