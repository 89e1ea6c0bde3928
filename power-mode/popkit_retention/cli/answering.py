"""Run one line of words for a command, whose answer or error is shown."""

from __future__ import annotations

import sys

from popkit_retention.core import text
from popkit_retention.core.errors import PopkitError

from .terminal import called_name, say_renamed, write_content, write_view

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from popkit_retention.core.flag_parser import Words
    from popkit_retention.core.operation_tables import Table
    from popkit_retention.core.text import Line


class Refused(PopkitError):
    """The user's request cannot be met; the message says what to do, and `command` is the line to type for that."""

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
    table: Table, does: Callable[[Words, Mapping[str, str]], Answer | int], words: list[str], environ: Mapping[str, str],
    mistakes: tuple[type[Exception], ...] = (), called: str = "", name: str = "",
) -> int:  # fmt: skip
    """Run one line of words, `help` by itself; return the exit code. `mistakes`: errors that are shown in a line, like Refused; `called`:
    how the reader calls the command; `name`: the command, where it is one word of the table ("popkit restore")."""
    from popkit_retention.core import flag_parser  # the overview needs no parser
    from popkit_retention.core.flag_parser import UsageError
    from popkit_retention.core.operation_tables import HELP

    expected: tuple[type[Exception], ...] = (UsageError, Refused, *mistakes)
    try:
        parsed = flag_parser.parse(words, table)
        if parsed.former:
            command = called or table.name
            say_renamed(f"{command} {parsed.former}", f"{command} {table.renamed[parsed.former]}", environ)
        if parsed.operation is HELP:
            from popkit_retention.core.operations.help_text import help_lines

            command = (name.rpartition(" ")[0] or table.name).replace("popkit", called_name(environ), 1)
            write_view(help_lines(parsed.argument or "", command, table), sys.stdout, environ)
            return 0
        answer = does(parsed, environ)
        return answer if isinstance(answer, int) else show(answer, "json" in parsed.flags, environ)
    except BrokenPipeError:
        raise
    except expected as error:
        typed = getattr(error, "command", "")
        after: list[Line]
        after = ["", text.whole("  " + typed)] if typed else []  # on a line of its own, so that it can be copied
        if isinstance(error, UsageError):
            more = "--help lists all flags." if name or "help" not in table.by_name else "help lists all words."
            after = [f"{name or called or table.name} {more}"]
        return fail(name or table.name, message_of(error), "--json" in words, environ, after)


def run_unattended(name: str, work: Callable[[], object], environ: Mapping[str, str]) -> None:
    """Run work of a hook's child process, whose output and exit code nobody reads: an error is logged in the hooks' log, under a name."""
    from popkit_retention.core.io import (
        hook_log,  # only needed here
    )

    try:
        work()
    except Exception as error:  # noqa: BLE001  errors of any kind belong in the log
        hook_log.log_failure(environ, name, error)


def show(answer: Answer, as_json: bool, environ: Mapping[str, str]) -> int:
    """Print an answer; return its exit code."""
    if as_json:
        if answer.data is not None:
            print(text.as_json(answer.data))
        return answer.code
    if answer.lines:
        write_view(answer.lines, sys.stdout, environ)
    if answer.content:
        write_content(answer.content, sys.stdout, answer.raw)
    return answer.code


def fail(name: str, message: str, as_json: bool, environ: Mapping[str, str], after: list[Line]) -> int:
    """Print the error of a command, and the lines `after` it; return the exit code. A message about what the command itself needs or takes
    is one sentence with its name."""
    if as_json:
        print(text.as_json({"error": text.clean(message)}))
    else:
        command = name.rpartition(" ")[2] + " "
        about = (
            f"{name} {message[len(command) :]}" if message.startswith((command + "needs ", command + "takes ")) else f"{name}: {message}"
        )
        write_view([*text.wrap(about, indent="  "), *after], sys.stderr, environ)
    return 1


def message_of(error: Exception) -> str:
    """Return an error in words; a system error with the file that it is about."""
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}" if error.filename and error.strerror else error.strerror or str(error)
    return str(error)
