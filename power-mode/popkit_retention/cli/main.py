"""Run the command line, which imports the module of a command only when that is called."""

from __future__ import annotations

import importlib
import os
import sys

from hooks.utils import text
from hooks.utils.flag_parser import nearest
from hooks.utils.io import home

from . import answering, terminal
from .answering import Answer
from .commands import COMMANDS, PARSE_THEMSELVES, RENAMED, names, overview, titles, version, words_of_context

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def main(argv: list[str] | None = None, environ: Mapping[str, str] = os.environ) -> int:
    """Run one command; return the exit code: 0, or 1 for what the user got wrong."""
    argv = sys.argv[1:] if argv is None else argv
    if sys.stdout is None:  # started with it closed: the next file that is opened would take its place
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
            return answering.show(Answer(overview(rest == ["--all"]), titles()), rest == ["--json"], environ)
        name, rest = rest[0], [*rest[1:], "--help"]
        if name.startswith("-"):
            return _not_known(
                f'"{text.cut(text.clean(name), 40)}" is not a command. popkit help takes the name of one, --all or --json', environ
            )
    if name in ("--version", "-V", "version"):
        print("popkit " + version())
        return 0
    if name in RENAMED:
        terminal.say_renamed(f"popkit {name}", f"popkit {RENAMED[name]}", environ)
        rest = _out_of_replay(rest) if name == "replay" else rest
        name, *words = RENAMED[name].split()
        rest = [*words, *rest]
    if name in words_of_context():
        from . import context_command

        return context_command.word([name, *rest], environ)
    if name not in COMMANDS:
        from hooks.utils.config import gone

        if name in gone.WORDS:
            return answering.fail("popkit", gone.WORDS[name], "--json" in rest, environ, [])
        return _not_known(f'unknown command "{text.cut(text.clean(name), 40)}"{nearest(name, names())}', environ)
    module_name, _, function = COMMANDS[name].partition(".")
    module = importlib.import_module("." + module_name, __package__)
    command = getattr(module, function)
    if name in PARSE_THEMSELVES:
        code: int = command(rest, environ)
        return code
    from ..operations.tables import TABLES

    return answering.run(TABLES[name], command, rest, environ, getattr(module, "MISTAKES", ()))


def _not_known(message: str, environ: Mapping[str, str]) -> int:
    known = ", ".join((*names(), "help", "--version"))
    terminal.write_view(text.wrap(f"popkit: {message}. Known: {known}", indent="  "), sys.stderr, environ)
    return 1


def _out_of_replay(words: list[str]) -> list[str]:
    """Return words that followed `popkit replay`, whose --decisions is --out."""
    old, new = "--decisions", "--out"
    return [new + word[len(old) :] if word.partition("=")[0] == old else word for word in words]
