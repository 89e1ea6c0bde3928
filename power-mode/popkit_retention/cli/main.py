"""Run the command line, which imports the module of a command only when that is called."""

from __future__ import annotations

import os
import sys

from popkit_retention.core import text
from popkit_retention.core.io import home

from .. import features
from . import answering, commands, terminal
from .answering import Answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


LACKING = 2  # the exit code of a command that needs a missing feature


def main(argv: list[str] | None = None, environ: Mapping[str, str] = os.environ) -> int:
    """Run one command; return the exit code: 0, 1 for a mistake of the user's, or LACKING."""
    argv = sys.argv[1:] if argv is None else argv
    if sys.stdout is None:  # started with a closed stream: the next file that is opened would take its place
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    try:
        code = _run(argv, environ)
        sys.stdout.flush()
    except home.NoHome as error:
        print(f"popkit: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        _write_no_more()  # the reader of the pipe has closed it (`| head`)
        return 0
    except OSError as error:
        from . import answering

        print(f"popkit: {text.clean(answering.message_of(error))}", file=sys.stderr)
        _write_no_more()
        return 1
    except KeyboardInterrupt:
        return 130
    return code


def _write_no_more() -> None:
    """Discard output that is still buffered: writing it at the interpreter's end would fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(argv: list[str], environ: Mapping[str, str]) -> int:
    name, rest = (argv[0], argv[1:]) if argv else ("help", [])
    if name in ("help", "-h", "--help"):
        if not rest or rest in (["--json"], ["--all"]):
            as_json = rest == ["--json"]  # the overview loads no tables
            return answering.show(Answer(commands.overview(rest == ["--all"]), commands.titles() if as_json else None), as_json, environ)
        name, rest = rest[0], [*rest[1:], "--help"]
        if name.startswith("-"):
            return _not_known(
                f'"{text.cut(text.clean(name), 40)}" is not a command. popkit help takes the name of one, --all or --json', environ
            )
    if name in ("--version", "-V", "version"):
        print("popkit " + commands.version())
        return 0
    if name in commands.words_of_context():
        from . import context_command

        return context_command.word([name, *rest], environ)
    command = commands.called(name)
    if command is None:
        renamed = commands.renamed()
        if name not in renamed:
            return _unknown(name, rest, environ)
        words, flags = renamed[name]
        terminal.say_renamed(f"popkit {name}", f"popkit {words}", environ)
        return _run([*words.split(), *_with_flags(rest, flags)], environ)
    lacks = features.missing(command.needs)
    if lacks:
        return _lacking(name, lacks, "--json" in rest, environ)
    if command.run:
        code: int = features.found(command.run)(rest, environ)
        return code
    table = command.operations()
    mistakes = getattr(features.module(table.module), "MISTAKES", ())
    return answering.run(table, lambda parsed, environ: table.function(parsed.operation)(parsed, environ), rest, environ, mistakes)


def _unknown(name: str, rest: list[str], environ: Mapping[str, str]) -> int:
    from popkit_retention.core.config import gone
    from popkit_retention.core.flag_parser import nearest

    if name in gone.WORDS:
        return answering.fail("popkit", gone.WORDS[name], "--json" in rest, environ, [])
    known = commands.names()
    return _not_known(f'unknown command "{text.cut(text.clean(name), 40)}"{nearest(name, known)}', environ)


def _lacking(name: str, lacks: list[str], as_json: bool, environ: Mapping[str, str]) -> int:
    """Say that a command needs features that this installation lacks; return the exit code."""
    needed = f"it needs {text.listed(lacks)}, which this installation lacks. Install PopKit again, as README.md says"
    answering.fail(f"popkit {name}", needed, as_json, environ, [])
    return LACKING


def _not_known(message: str, environ: Mapping[str, str]) -> int:
    known = ", ".join((*commands.names(), "help", "--version"))
    terminal.write_view(text.wrap(f"popkit: {message}. Known: {known}", indent="  "), sys.stderr, environ)
    return 1


def _with_flags(words: list[str], flags: Mapping[str, str]) -> list[str]:
    """Return words with the flags of the previous version replaced by the current ones."""
    split = [word.partition("=") for word in words]
    return ["".join((flags.get(name, name), equals, value)) for name, equals, value in split]
