"""What commands with a table of words share: answering a line of words, showing answers and mistakes, values of flags."""

from __future__ import annotations

import sys

from hooks.utils import flag_parser, text
from hooks.utils.text import quote as shown
from hooks.utils.views.help import of_word, overview

from . import screen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_DIGITS = 9


class Answer:
    """What a word answers: lines to show, the same as data, `content` to print as it is, and the exit code."""

    __slots__ = ("code", "content", "data", "lines")

    def __init__(self, lines: list[text.Line], data: object = None, content: str = "", code: int = 0):
        self.lines = lines
        self.data = data
        self.content = content
        self.code = code


class Command:
    """A command of words: its name and its table, how the reader calls it, and which errors are mistakes, to be told in a line."""

    __slots__ = ("called", "mistakes", "name", "table")

    def __init__(self, name: str, table: flag_parser.Table, mistakes: tuple[type[Exception], ...], called: str = "") -> None:
        self.name = name
        self.table = table
        self.mistakes = mistakes
        self.called = called or name

    def run(self, words: list[str], environ: Mapping[str, str], answer: Callable[[flag_parser.Parsed], Answer]) -> int:
        """Answers one line of words, `help` by itself; the exit code."""
        try:
            parsed = flag_parser.parse(words, cli=True, table=self.table)
            if parsed.word == "help":
                screen.show(self._help(parsed.arguments), sys.stdout, environ)
                return 0
            return show(answer(parsed), "json" in parsed.flags, environ)
        except BrokenPipeError:
            raise
        except self.mistakes as error:
            hint = f"{self.called} help lists all words and flags." if isinstance(error, flag_parser.UsageError) else ""
            return fail(self.name, said(error), "--json" in words, environ, hint)

    def _help(self, arguments: list[str]) -> list[text.Line]:
        return of_word(arguments[0], self.name, True, self.table) if arguments else overview(self.name, True, self.table)


def show(answer: Answer, as_json: bool, environ: Mapping[str, str]) -> int:
    """Prints an answer; its exit code."""
    if as_json:
        print(text.as_json(answer.data))
        return answer.code
    if answer.lines:
        screen.show(answer.lines, sys.stdout, environ)
    if answer.content:
        screen.write_content([answer.content.removesuffix("\n")], sys.stdout)
    return answer.code


def fail(name: str, message: str, as_json: bool, environ: Mapping[str, str], hint: str = "") -> int:
    """Tells of a mistake of a command, with what else helps; the exit code."""
    if as_json:
        print(text.as_json({"error": text.clean(message)}))
    else:
        lines = [*text.wrap(f"{name}: {message}", indent="  "), *([hint] if hint else [])]
        screen.show(lines, sys.stderr, environ)
    return 1


def said(error: Exception) -> str:
    """An error in words; one of the system with the file that it is about."""
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}" if error.filename and error.strerror else error.strerror or str(error)
    return str(error)


# --- values of flags -------------------------------------------------------------------------------------------------------------------


def number(flags: dict[str, str], name: str, default: int) -> int:
    """The whole number from 1 that a flag gives; UsageError for anything else."""
    word = flags.get(name)
    if word is None:
        return default
    if not (word.isascii() and word.isdigit() and len(word) <= _DIGITS and int(word)):
        raise flag_parser.UsageError(f"--{name} takes a whole number from 1, of at most {_DIGITS} digits, not {shown(word)}")
    return int(word)


def several(flags: dict[str, str], name: str, known: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The words that a flag gives, split at commas; UsageError for one that is not among the known ones, however it is spelt."""
    given = tuple(word.strip() for word in flags.get(name, "").split(",") if word.strip())
    if name in flags and not given:
        raise flag_parser.UsageError(f"--{name} needs a value")
    if not known:
        return given
    found = {each.lower(): each for each in known}
    for word in given:
        if word.lower() not in found:
            raise flag_parser.UsageError(f"unknown {name} {shown(word)}. Known: {', '.join(found)}")
    return tuple(found[word.lower()] for word in given)
