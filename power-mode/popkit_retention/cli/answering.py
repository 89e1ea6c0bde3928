"""Run one line of words for a command; show its answer, or its error in a line."""

from __future__ import annotations

import sys

from hooks.utils import flag_parser, text
from hooks.utils.flag_parser import UsageError
from hooks.utils.operations import help_lines

from . import screen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hooks.utils.flag_parser import Parsed, Table


class Refused(Exception):
    """What the user asked for cannot be done; the message says what to do, and `command` is what to type for it."""

    def __init__(self, message: str, command: str = ""):
        super().__init__(message)
        self.command = command


class Answer:
    """The answer to an operation: lines to show, the same as data, `content` to print after them (`raw`: byte for byte), the exit code."""

    __slots__ = ("code", "content", "data", "lines", "raw")

    def __init__(self, lines: list[text.Line], data: object = None, content: str = "", code: int = 0, raw: bool = False):
        self.lines = lines
        self.data = data
        self.content = content
        self.code = code
        self.raw = raw


def run(
    table: Table, does: Callable[[Parsed, Mapping[str, str]], Answer | int], words: list[str], environ: Mapping[str, str],
    mistakes: tuple[type[Exception], ...] = (), called: str = "", name: str = "",
) -> int:  # fmt: skip
    """Run one line of words, `help` by itself; return the exit code. `mistakes`: errors that are shown in a line, like Refused; `called`:
    how the reader calls the command; `name`: what its errors begin with, where that is another one."""
    expected: tuple[type[Exception], ...] = (UsageError, Refused, *mistakes)
    try:
        parsed = flag_parser.parse(words, table)
        if parsed.operation is flag_parser.HELP:
            screen.show(help_lines(parsed.argument or "", table.name, table), sys.stdout, environ)
            return 0
        answer = does(parsed, environ)
        return answer if isinstance(answer, int) else show(answer, "json" in parsed.flags, environ)
    except BrokenPipeError:
        raise
    except expected as error:
        typed = getattr(error, "command", "")
        after = ["", "  " + typed] if typed else []  # on a line of its own, so that it can be copied
        if isinstance(error, UsageError):
            more = "help lists all words and flags." if "help" in table.by_name else "--help lists all flags."
            after = [f"{called or table.name} {more}"]
        return fail(name or table.name, message_of(error), "--json" in words, environ, after)


def run_unattended(name: str, work: Callable[[], object], environ: Mapping[str, str]) -> None:
    """Do work for a hook's child, whose output and exit code nobody reads: an error goes to the hooks' log, under a name."""
    from hooks.utils.io import storage  # which a command that prints does without

    try:
        work()
    except Exception as error:  # noqa: BLE001  whatever it is, the log is where it is looked for
        storage.log_failure(environ, name, error)


def show(answer: Answer, as_json: bool, environ: Mapping[str, str]) -> int:
    """Print an answer; return its exit code."""
    if as_json:
        print(text.as_json(answer.data))
        return answer.code
    if answer.lines:
        screen.show(answer.lines, sys.stdout, environ)
    if answer.content:
        screen.write_content(answer.content, sys.stdout, answer.raw)
    return answer.code


def fail(name: str, message: str, as_json: bool, environ: Mapping[str, str], after: list[str]) -> int:
    """Print the error of a command, and the lines `after` it; return the exit code."""
    if as_json:
        print(text.as_json({"error": text.clean(message)}))
    else:
        lines = [*text.wrap(f"{name}: {message}", indent="  "), *after]
        screen.show(lines, sys.stderr, environ)
    return 1


def message_of(error: Exception) -> str:
    """Return an error in words; one of the system with the file that it is about."""
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}" if error.filename and error.strerror else error.strerror or str(error)
    return str(error)
